"""CIFAR-5: the first five classes of CIFAR-10, airplane to deer, cut from its files."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pacbound.data.cifar import cifar_dataset
from pacbound.data.sets.cifar_10 import ENTRY as CIFAR_10

__all__ = ["ENTRY"]

ENTRY = replace(
    CIFAR_10,
    name="cifar-5",
    title="five of the ten",
    m=25_000,
    test_m=5_000,
    classes=5,
    assemble=partial(cifar_dataset, "cifar-5", 5, 25_000, 5_000),
    cut_from=CIFAR_10.name,
)
