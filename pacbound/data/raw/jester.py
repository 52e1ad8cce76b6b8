"""Jester: what 24983 people thought of 100 jokes (Goldberg, Roeder, Gupta and Perkins, 2001).

The archive is the edition with comma-separated values; one with a spreadsheet inside has another
hash and is refused. No package carries it: where the public address does not answer with it, hand
it over with `pacbound data add jester jester-data-1.zip`.
"""

from __future__ import annotations

from pacbound.data.entry import CanonicalFile, RawEntry
from pacbound.data.sources.url import Mirrors

__all__ = ["ENTRY", "FILE"]

FILE = "jester-data-1.zip"

ENTRY = RawEntry(
    name="jester",
    title="bandit: which joke",
    rows=24_983,
    files=(
        CanonicalFile(
            FILE, 3_400_621, "4adf783a1e03bd3be063315cb6e0a064fe63e983fd289d01b8e401a8e6c41e5f"
        ),
    ),
    sources=(Mirrors(("https://goldberg.berkeley.edu/jester-data/",), ""),),
)
