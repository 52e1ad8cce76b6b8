"""Fashion-MNIST: articles of clothing in MNIST's format (Xiao, Rasul and Vollgraf, 2017)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import PurePosixPath

from pacbound.data.entry import CanonicalFile, Entry
from pacbound.data.idx import IMAGES_LABELS, idx_dataset
from pacbound.data.sources.apt import AptPackage
from pacbound.data.sources.archives import gunzip
from pacbound.data.sources.url import Mirrors

__all__ = ["ENTRY"]


def _gunzipped(members: Mapping[str, bytes]) -> dict[str, bytes]:
    return {PurePosixPath(name).stem: gunzip(member, name) for name, member in members.items()}


ENTRY = Entry(
    name="fashion-mnist",
    title="clothing",
    m=60_000,
    test_m=10_000,
    classes=10,
    files=(
        CanonicalFile(
            "train-images-idx3-ubyte",
            47_040_016,
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        ),
        CanonicalFile(
            "train-labels-idx1-ubyte",
            60_008,
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        ),
        CanonicalFile(
            "t10k-images-idx3-ubyte",
            7_840_016,
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        ),
        CanonicalFile(
            "t10k-labels-idx1-ubyte",
            10_008,
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
    ),
    sources=(
        Mirrors(
            (
                "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
                "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
            )
        ),
        AptPackage(
            "dataset-fashion-mnist",
            tuple(f"usr/share/datasets/fashion-mnist/{name}.gz" for name in IMAGES_LABELS),
            _gunzipped,
        ),
    ),
    assemble=partial(idx_dataset, "fashion-mnist", 10),
)
