"""KEEL's tables: values as they were declared, and nothing computed from the examples."""

from __future__ import annotations

import numpy as np
import pytest

from pacbound.data import catalogue, load
from pacbound.data.entry import CanonicalFile
from pacbound.data.keel import KeelTable, keel_tables
from pacbound.errors import DataError

FILE = CanonicalFile("toy.dat", 1, "0" * 64)
TOY = KeelTable("toy", 3, FILE, ("no", "yes"), {1: ("a", "b", "c"), 2: ("f", "t")})


def test_columns_become_numbers_zero_or_one_and_one_hot() -> None:
    toy = TOY.assemble({"toy.dat": b"1.5, b, t, yes\r\n-2,a,f,no\n\n3e1,c,f,yes\n"})
    expected = [[1.5, 0, 1, 0, 1], [-2, 1, 0, 0, 0], [30, 0, 0, 1, 0]]
    assert toy.train_inputs.dtype == np.float32
    assert toy.train_inputs.tolist() == expected
    assert toy.train_labels.tolist() == [1, 0, 1]
    assert (toy.name, toy.classes, toy.test_inputs) == ("keel-toy", 2, None)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"1,b,t,yes\n", "not a table of 3 rows"),
        (b"1,b,t,yes\n1,b,t\n1,b,t,yes\n", "not a table of 3 rows"),
        (b"1,d,t,yes\n1,b,t,no\n1,b,t,yes\n", "unknown value 'd'"),
        (b"1,a,t,maybe\n1,b,t,no\n1,b,t,yes\n", "unknown value 'maybe'"),
    ],
)
def test_another_table_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words):
        TOY.assemble({"toy.dat": content})


def test_all_tables_are_in_the_catalogue_and_one_download_brings_them() -> None:
    tables = keel_tables()
    assert len(tables) == 43
    entries = [catalogue()[f"keel-{name}"] for name in tables]
    assert {entry.folder for entry in entries} == {"keel"}
    assert len({entry.files for entry in entries}) == 1
    assert {entry.m for entry in entries} >= {20_000, 19_020, 10_992, 4_597, 569}
    for table in tables.values():
        assert len(set(table.classes)) == len(table.classes) >= 2
        assert all(len(set(values)) == len(values) > 0 for values in table.nominal.values())


def test_the_real_tables() -> None:
    # From the cache, or over the network the first time. Counts: the tables' own descriptions.
    wdbc = load("keel-wdbc")
    assert wdbc.train_inputs.shape == (569, 30)
    assert np.bincount(wdbc.train_labels).tolist() == [357, 212]
    letter = load("keel-letter")
    assert (letter.m, letter.classes, letter.input_shape) == (20_000, 26, (16,))
    splice = load("keel-splice")
    assert splice.train_inputs.shape == (3190, 60 * 8)
    assert np.array_equal(splice.train_inputs.sum(1), np.full(3190, 60.0))
    assert sorted(np.bincount(splice.train_labels).tolist()) == [767, 768, 1655]
