"""Covertype: the kind of forest on 581012 patches of land (Blackard and Dean, 1999)."""

from __future__ import annotations

from collections.abc import Mapping

from pacbound.data.entry import CanonicalFile, RawEntry
from pacbound.data.sources.package import without_header
from pacbound.data.sources.pip import PipPackage
from pacbound.data.sources.url import Mirrors

__all__ = ["ENTRY", "FILE"]

FILE = "covtype.data"
_CSV = "skmultiflow/data/datasets/covtype.csv"


def _from_csv(members: Mapping[str, bytes]) -> dict[str, bytes]:
    return {FILE: without_header(members[_CSV], _CSV)}


ENTRY = RawEntry(
    name="covertype",
    title="bandit: which forest",
    rows=581_012,
    files=(
        CanonicalFile(
            FILE, 75_169_317, "0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945"
        ),
    ),
    sources=(
        Mirrors(("https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/",)),
        PipPackage(
            "scikit-multiflow==0.4.1",
            (_CSV,),
            _from_csv,
            (
                *("--python-version", "3.7", "--implementation", "cp", "--abi", "cp37m"),
                *("--platform", "manylinux1_x86_64"),
            ),
        ),
    ),
)
