"""CIFAR-10's binary format: for each image its label, then its red, green and blue planes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pacbound.data.dataset import Dataset
from pacbound.errors import DataError

__all__ = ["CLASSES", "TEST", "TRAIN", "cifar_dataset", "decode_batch", "encode_batch"]

TRAIN = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
TEST = ("test_batch.bin",)

CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
"""The names of the labels 0 … 9."""

_IMAGE = (3, 32, 32)
_RECORD = 1 + 3 * 32 * 32


def decode_batch(content: bytes, where: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images (n, 3, 32, 32) and labels (n,), as views; `where` names the file in errors."""
    if not content or len(content) % _RECORD:
        raise DataError(
            f"{where} has {len(content)} bytes, not a multiple of {_RECORD}; get the file again"
        )
    records = np.frombuffer(content, np.uint8).reshape(-1, _RECORD)
    labels = records[:, 0]
    if labels.max() >= len(CLASSES):
        raise DataError(f"{where} holds label {labels.max()}; get the file again")
    return records[:, 1:].reshape(-1, *_IMAGE), labels


def encode_batch(images: NDArray[np.uint8], labels: NDArray[np.uint8]) -> bytes:
    """The canonical file of images (n, 3, 32, 32) and labels (n,)."""
    records = np.empty((len(labels), _RECORD), np.uint8)
    records[:, 0] = labels
    records[:, 1:].reshape(-1, *_IMAGE)[:] = images
    return records.tobytes()


def cifar_dataset(
    name: str, classes: int, m: int, test_m: int, contents: Mapping[str, bytes]
) -> Dataset:
    """The examples of the first classes in the six files, in file order."""
    inputs, labels = _examples(name, classes, m, TRAIN, contents)
    test_inputs, test_labels = _examples(name, classes, test_m, TEST, contents)
    return Dataset(name, inputs, labels, test_inputs, test_labels, classes)


def _examples(
    name: str, classes: int, count: int, files: Sequence[str], contents: Mapping[str, bytes]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    # Filled file by file, so memory holds only the result and one file.
    inputs = np.empty((count, *_IMAGE), np.uint8)
    labels = np.empty(count, np.int64)
    done = 0
    for file in files:
        images, all_labels = decode_batch(contents[file], f"{name} {file}")
        chosen = np.flatnonzero(all_labels < classes)
        end = done + len(chosen)
        if end <= count:
            inputs[done:end] = images[chosen]
            labels[done:end] = all_labels[chosen]
        done = end
        del images, all_labels  # these views would keep the file in memory while the next is read
    if done != count:
        raise DataError(f"{name}: {', '.join(files)} hold {done} examples instead of {count}")
    return inputs, labels
