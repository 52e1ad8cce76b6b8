"""Financial: what 21 shares gained or lost on 3713 days (Riquelme, Tucker and Snoek, 2018).

No package carries the file; hand it over with `pacbound data add financial raw_stock_contexts`
where the public address does not answer.
"""

from __future__ import annotations

from pacbound.data.entry import CanonicalFile, RawEntry
from pacbound.data.sources.url import Mirrors

__all__ = ["ENTRY", "FILE"]

FILE = "raw_stock_contexts"

ENTRY = RawEntry(
    name="financial",
    title="bandit: which portfolio",
    rows=3_713,
    files=(
        CanonicalFile(
            FILE, 1_987_117, "cf468e5aae150dfd5c6b096464cd11e85f8b01198f8e49bedb941948850a6315"
        ),
    ),
    sources=(Mirrors(("https://storage.googleapis.com/bandits_datasets/",), ""),),
)
