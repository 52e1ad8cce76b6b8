"""Read files of `torch.save` safely: a hostile file can neither run code nor exhaust memory.

`torch.load(weights_only=True)` runs no code. But a small file can make it allocate any amount of
memory: with a `bytearray`, with compressed records, or at the first use of a tensor of stride 0.
Here a file is a zip of uncompressed records that fit into it, and a pickle of containers, numbers,
texts and tensors that fit into their records.
"""

from __future__ import annotations

import pickle
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple

import torch
from torch import Tensor

from pacbound.errors import CheckpointError, FileError

__all__ = ["read_tensors"]

LARGEST_PICKLE = 16 << 20  # bytes; the names and settings of a checkpoint take some kilobytes
MOST_PARTS = 1_000_000  # parts of containers, counted once per reference
DEEPEST = 50
MOST_DIMENSIONS = 16
END, END_MARK = 22, b"PK\x05\x06"  # the end record of a zip without a comment
DTYPES = {
    "FloatStorage": torch.float32,
    "DoubleStorage": torch.float64,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}
# The opcodes that torch.save writes for containers of tensors. No others are read.
OPCODES = (
    *(pickle.PROTO, pickle.STOP, pickle.MARK, pickle.NONE, pickle.NEWTRUE, pickle.NEWFALSE),
    *(pickle.BININT, pickle.BININT1, pickle.BININT2, pickle.LONG1, pickle.BINFLOAT),
    *(pickle.BINUNICODE, pickle.EMPTY_DICT, pickle.EMPTY_LIST, pickle.EMPTY_TUPLE),
    *(pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3, pickle.APPEND, pickle.APPENDS),
    *(pickle.SETITEM, pickle.SETITEMS, pickle.BINPUT, pickle.LONG_BINPUT, pickle.BINGET),
    *(pickle.LONG_BINGET, pickle.GLOBAL, pickle.REDUCE, pickle.BINPERSID),
)


class AsksForCode(ValueError):
    """The pickle names something other than a tensor."""


class Storage(NamedTuple):
    """A record of the file, as numbers of one type."""

    values: Tensor


class Placed(NamedTuple):
    """A tensor that is built after reading: until then, the pickle cannot act on it."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    gradient: bool


class Named(NamedTuple):
    """A name in the pickle: an inert value that cannot be called or changed."""

    name: str


def read_tensors(path: Path, kind: str) -> Any:
    """The content of a `torch.save` file. Other files raise an error before memory is allocated.

    Arguments:
        kind: The expected kind of file, for error messages.
    """
    if path.exists() and not path.is_file():
        raise FileError(f"cannot read {path}: it is not a regular file")
    try:
        with path.open("rb") as stream:
            return _content(stream)
    except AsksForCode as error:
        raise CheckpointError(f"{path} is not a {kind}: it asks to run code") from error
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # a hostile file can make the reader raise anything
        flaw = "it is truncated, damaged or of another kind"
        raise CheckpointError(f"{path} is not a {kind}: {flaw}") from error


def _content(stream: BinaryIO) -> Any:
    size = stream.seek(0, 2)
    stream.seek(max(size - END, 0))
    if not stream.read(END).startswith(END_MARK):  # so every reader finds the same records
        raise ValueError("it does not end like a zip file")
    with zipfile.ZipFile(stream) as archive:
        records = archive.infolist()
        stored = all(
            x.compress_type == zipfile.ZIP_STORED and x.file_size == x.compress_size
            for x in records
        )
        fits = sum(x.file_size for x in records) <= size
        if not stored or not fits or len(set(archive.namelist())) < len(records):
            raise ValueError("its records do not fit into it")
        root, _, name = records[0].filename.partition("/")
        if not all(x.startswith(f"{root}/") and ".." not in x for x in archive.namelist()):
            raise ValueError("it has a record outside its folder")
        if name != "data.pkl" or records[0].file_size > LARGEST_PICKLE:
            raise ValueError("it does not begin with a pickle")
        if archive.read(f"{root}/byteorder") != sys.byteorder.encode():
            raise ValueError("its numbers are from a machine with another byte order")
        reader = _Reader(archive, root)
        content = reader.load()
    return _finished(content, 0, [MOST_PARTS])


class _Reader(pickle._Unpickler):  # the Python version, not the C version
    """Unpickles containers and tensors. Names are only compared, never resolved."""

    stack: list[Any]  # the operands of the opcodes
    pop_mark: Callable[[], list[Any]]

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        code[0]: pickle._Unpickler.dispatch[code[0]] for code in OPCODES
    }

    def __init__(self, archive: zipfile.ZipFile, root: str) -> None:
        super().__init__(BytesIO(archive.read(f"{root}/data.pkl")))
        self.archive, self.root = archive, root
        self.storages: dict[str, Storage] = {}

    def find_class(self, module: str, name: str) -> Named:
        whole = f"{module}.{name}"
        known = module == "torch" and name in DTYPES
        if not known and whole not in (
            "collections.OrderedDict",
            "torch._utils._rebuild_tensor_v2",
        ):
            raise AsksForCode(whole)
        return Named(name)

    def persistent_load(self, identity: Any) -> Storage:
        kind, named, key, _, count = identity
        if kind != "storage" or type(named) is not Named or not isinstance(key, str):
            raise ValueError("it refers to something that is not a storage")
        dtype, record = DTYPES[named.name], f"{self.root}/data/{key}"
        held = self.archive.getinfo(record).file_size
        if type(count) is not int or count * dtype.itemsize != held:
            raise ValueError("a storage does not have the size of its record")
        if record not in self.storages:
            content = bytearray(self.archive.read(record))
            values = torch.frombuffer(content, dtype=dtype) if held else torch.empty(0, dtype=dtype)
            self.storages[record] = Storage(values)
        if self.storages[record].values.dtype != dtype:
            raise ValueError("a storage is used with two types")
        return self.storages[record]

    def load_reduce(self) -> None:
        arguments, named = self.stack.pop(), self.stack.pop()
        if type(named) is not Named or type(arguments) is not tuple:
            raise AsksForCode("it calls something that is not a known name")
        if named.name == "OrderedDict" and not arguments:
            self.stack.append(OrderedDict())
        elif named.name == "_rebuild_tensor_v2":
            self.stack.append(_placed(*arguments[:5]))
        else:
            raise ValueError("a call has unknown arguments")

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._put([key, value])

    def load_setitems(self) -> None:
        self._put(self.pop_mark())

    def _put(self, items: list[Any]) -> None:
        """Add to the dictionary on the stack. Only str and int keys: others may be slow to hash."""
        target = self.stack[-1]
        if type(target) not in (dict, OrderedDict) or len(items) % 2:
            raise ValueError("it adds entries to something that is not a dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) not in (str, int):
                raise ValueError("a key is neither a string nor an integer")
            target[key] = value

    def load_build(self) -> None:
        """Skip the version that torch attaches to the dictionary of a module's tensors."""
        self.stack.pop()
        if type(self.stack[-1]) is not OrderedDict:
            raise AsksForCode("it sets attributes of something that is not a dictionary")

    dispatch[pickle.SETITEM[0]] = load_setitem
    dispatch[pickle.SETITEMS[0]] = load_setitems
    dispatch[pickle.REDUCE[0]] = load_reduce
    dispatch[pickle.BUILD[0]] = load_build


def _placed(storage: Any, offset: Any, shape: Any, stride: Any, gradient: Any) -> Placed:
    """A tensor in its storage; refused if it is larger than the storage or outside it."""
    numbers = (offset, *shape, *stride)
    if type(storage) is not Storage or not all(type(x) is int and x >= 0 for x in numbers):
        raise ValueError("a tensor's description is not made of numbers")
    held, entries, last = len(storage.values), 1, offset
    if len(shape) != len(stride) or len(shape) > MOST_DIMENSIONS:
        raise ValueError("a tensor has too many dimensions, or a wrong number of strides")
    for side, step in zip(shape, stride, strict=True):
        entries *= side
        last += (side - 1) * step
    if entries > held or offset > held or (entries and last >= held):
        raise ValueError("a tensor is larger than its storage")
    return Placed(storage, offset, tuple(shape), tuple(stride), bool(gradient))


def _finished(content: Any, depth: int, left: list[int]) -> Any:
    """The content with its tensors. Refuses exponential nesting, such as a list twice in itself."""
    left[0] -= 1
    if left[0] < 0 or depth > DEEPEST:
        raise ValueError("its containers are too many or too deep")
    if isinstance(content, Placed):
        values = content.storage.values.as_strided(content.shape, content.stride, content.offset)
        return values.requires_grad_() if content.gradient else values
    if isinstance(content, Storage | Named):
        raise ValueError("it holds something that is not a value")
    if isinstance(content, dict):
        pairs = ((key, _finished(value, depth + 1, left)) for key, value in content.items())
        return type(content)(pairs)
    if isinstance(content, list | tuple):
        return type(content)(_finished(part, depth + 1, left) for part in content)
    return content
