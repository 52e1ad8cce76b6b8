"""Mushroom: 8124 mushrooms, edible or poisonous (Schlimmer, 1987; UCI repository)."""

from __future__ import annotations

from collections.abc import Mapping

from pacbound.data.entry import CanonicalFile, RawEntry
from pacbound.data.sources.package import without_header
from pacbound.data.sources.pip import PipPackage
from pacbound.data.sources.url import Mirrors

__all__ = ["ENTRY", "FILE"]

FILE = "agaricus-lepiota.data"
_CSV = "tests/mushroom.csv"


def _from_csv(members: Mapping[str, bytes]) -> dict[str, bytes]:
    return {FILE: without_header(members[_CSV], _CSV)}


ENTRY = RawEntry(
    name="mushroom",
    title="bandit: eat it or not",
    rows=8_124,
    files=(
        CanonicalFile(
            FILE, 373_704, "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e"
        ),
    ),
    sources=(
        Mirrors(("https://archive.ics.uci.edu/ml/machine-learning-databases/mushroom/",), ""),
        PipPackage("wittgenstein==0.3.4", (_CSV,), _from_csv),
    ),
)
