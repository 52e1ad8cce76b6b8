"""A user's own data: an `.npz` file with x, y and optionally x_test, y_test."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data.arrays import dataset_of
from pacbound.data.dataset import Dataset
from pacbound.errors import DataError, FileError
from pacbound.memory import ensure_memory

__all__ = [
    "EXTRACTOR",
    "EXTRACTOR_INPUTS",
    "UNREADABLE",
    "read_all_arrays",
    "read_arrays",
    "read_npz",
]

EXTRACTOR = ("extractor_sha256", "extractor_origin")
"""The fields of a data set that say which frozen extractor made its inputs."""
EXTRACTOR_INPUTS = "extractor_inputs"

UNREADABLE = (
    *(OSError, ValueError, EOFError, KeyError, RuntimeError, MemoryError),
    *(zlib.error, zipfile.BadZipFile),
)
"""The exceptions of reading a file that has no arrays."""


def read_npz(path: Path) -> Dataset:
    """The data set in the file: x (m, …), y (m,) and optionally x_test, y_test.

    A file of `pacbound features` also says which extractor made its inputs.
    """
    arrays = read_arrays(path, ("x", "y"), ("x_test", "y_test", *EXTRACTOR, EXTRACTOR_INPUTS))
    if ("x_test" in arrays) != ("y_test" in arrays):
        raise DataError(f"{path} has only one of x_test and y_test; give both, or neither")
    digest, origin = (_text(path, key, arrays.get(key)) for key in EXTRACTOR)
    shape = arrays.get(EXTRACTOR_INPUTS, np.empty(0, np.int64))
    if shape.dtype.kind != "i" or shape.ndim != 1 or (shape < 1).any():
        raise DataError(f"{path}: {EXTRACTOR_INPUTS} is not the shape of an input")
    read = dataset_of(path.stem, arrays, where=str(path))
    return replace(
        read,
        extractor_sha256=digest,
        extractor_origin=origin,
        extractor_inputs=tuple(shape.tolist()),
    )


def _text(path: Path, key: str, array: NDArray[Any] | None) -> str:
    if array is None:
        return ""
    if array.dtype.kind != "U" or array.ndim:
        raise DataError(f"{path}: {key} is not a text; make the file with pacbound features")
    return str(array)


def read_arrays(
    path: Path, needed: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, NDArray[Any]]:
    """The required arrays of the file, and the optional ones it has."""
    how = f"numpy.savez(FILE, {', '.join(f'{key}=…' for key in needed)})"
    try:
        with path.open("rb") as stream:
            if stream.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX:
                raise DataError(f"{path} is a single array; save it with {how}")
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            for key in [x for x in (*needed, *optional) if x in names]:
                raise DataError(f"{path}: {key} is not an array; save it with {how}")
            present = [key for key in (*needed, *optional) if f"{key}.npy" in names]
            arrays = _arrays(path, archive, present)
    except UNREADABLE as error:
        raise FileError(
            f"cannot read {path} as .npz: {str(error)[:200]}; save it with {how}"
        ) from error
    for key in needed:
        if key not in arrays:
            raise DataError(f"{path} has no array '{key}'; save it with {how}")
    return arrays


def read_all_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Every array of a file that pacbound wrote; OSError only if the file cannot be read."""
    content = path.read_bytes()  # in memory, a damaged archive cannot seek to impossible offsets
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return _arrays(path, archive, [x.removesuffix(".npy") for x in archive.namelist()])


def _arrays(path: Path, archive: zipfile.ZipFile, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The arrays, if their declared sizes are true and fit into memory."""
    total = 0
    for key in keys:
        record = archive.getinfo(f"{key}.npy")
        with archive.open(record) as member:
            shape, _, dtype = _header(member)
            if dtype.hasobject:  # pickled objects could run code
                raise ValueError(f"{key} is an array of objects")
            size = math.prod(shape) * dtype.itemsize
            if size != record.file_size - member.tell():
                raise ValueError(f"{key} is declared with {size} bytes, but has another size")
        total += size
    ensure_memory(total, str(path))
    arrays = {}
    for key in keys:
        with archive.open(f"{key}.npy") as member:
            arrays[key] = np.lib.format.read_array(member, allow_pickle=False)
    return arrays


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(member)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError("its format version is not supported")
    return readers[version](member)
