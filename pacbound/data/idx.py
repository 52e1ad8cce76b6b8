"""The idx format of the MNIST family: a magic number, the shape, then the bytes."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pacbound.data.dataset import Dataset
from pacbound.errors import DataError

__all__ = ["IMAGES_LABELS", "decode_idx", "encode_idx", "idx_dataset"]

IMAGES_LABELS = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
"""The four files of MNIST and of data sets in its format."""

_UINT8 = 0x08  # the format's code for unsigned bytes, the only type in these data sets
_MOST_DIMENSIONS = 4


def decode_idx(content: bytes, where: str) -> NDArray[np.uint8]:
    """The array in an idx file; `where` names the file in errors."""
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != _UINT8:
        raise DataError(f"{where} is not an idx file of bytes; get the file again")
    dimensions = content[3]
    if not 1 <= dimensions <= _MOST_DIMENSIONS:
        raise DataError(f"{where} has {dimensions} dimensions; get the file again")
    header = 4 + 4 * dimensions
    if len(content) < header:
        raise DataError(f"{where} ends inside its header; get the file again")
    shape = struct.unpack(f">{dimensions}I", content[4:header])
    expected = int(np.prod(shape, dtype=object))
    if len(content) - header != expected:
        raise DataError(
            f"{where} holds {len(content) - header} bytes, but its header says {expected}; "
            "get the file again"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape).copy()


def encode_idx(array: NDArray[np.uint8]) -> bytes:
    """The canonical idx file of an array of bytes."""
    header = struct.pack(f">2x2B{array.ndim}I", _UINT8, array.ndim, *array.shape)
    return header + np.ascontiguousarray(array).tobytes()


def idx_dataset(name: str, classes: int, contents: Mapping[str, bytes]) -> Dataset:
    """The data set in the four files of `IMAGES_LABELS`."""
    arrays = [decode_idx(contents[file], f"{name} {file}") for file in IMAGES_LABELS]
    train_images, train_labels, test_images, test_labels = arrays
    return Dataset(
        name,
        train_images,
        train_labels.astype(np.int64),
        test_images,
        test_labels.astype(np.int64),
        classes,
    )
