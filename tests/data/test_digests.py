"""Digests of content, against a second implementation written from SPEC.md."""

from __future__ import annotations

import hashlib
import struct
import time
from decimal import Decimal

import numpy as np
import pytest

from pacbound.data import Dataset
from pacbound.data.digests import (
    costs_digest,
    count_duplicates,
    data_digest,
    example_costs_digest,
    example_digests,
    groups_digest,
    id_digests,
    numbered,
    unnamed_digests,
)

PIXELS = np.array([[[0, 1], [2, 255]]] * 3, np.uint8)  # SPEC.md's example e, three times
LABELS = np.array([1, 1, 0])


def sha(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def by_the_specification(values: list[list[float]], shape: str, labels: list[int]) -> list[bytes]:
    """Digests of float32 examples, one at a time."""
    found = []
    for row, label in zip(values, labels, strict=True):
        header = f"pacbound-example/2 float32 {shape} {label}\n"
        found.append(sha(header.encode() + struct.pack(f"<{len(row)}f", *row)))
    return found


def test_the_digests_of_the_specification() -> None:
    """Its appendix C."""
    e, _, other = (row.tobytes().hex() for row in example_digests(PIXELS, LABELS))
    assert e == "5d15586e88e8c5aa27352d56d067349e9106fbfdfa41846855d94442afae4b99"
    floats = example_digests(np.array([[1, -0.5]], np.float32), np.array([0]))
    assert floats.tobytes().hex() == (
        "3f9701fceca34a028e79d7687b24c53d6d1a5577a0dae6eb8535bdb9f4eaf9f3"
    )
    assert id_digests(["r17"], np.array([1])).tobytes().hex() == (
        "1c594ecd423e43d7981c1a568a3a173113df354c43fb54ef80cdb514374e99ac"
    )
    data = Dataset("three", PIXELS, LABELS, None, None, 2)
    assert data.sha256 == "41f96226dba7b60d4157bee0ebd0981b0864741a5bb45800eea70c990e1b0144"
    assert data.duplicates == 1
    assert groups_digest(data.digests, ["north", "south", "north"]) == (
        "249c6bbc0448865f808755f6bc218b6f614ac9e26fa88f2e2c1fc1d4fd4bad3a"
    )
    assert other != e
    costs = [[Decimal("0"), Decimal("0.50")], [Decimal("1.000"), Decimal("0E+2")]]
    assert costs_digest(costs) == (
        "53eb43040b0482793cf61331fdb0fab801ffd886cac32dcdf45d24ff86f9a441"
    )


@pytest.mark.parametrize("seed", range(5))
def test_against_a_second_implementation(seed: int) -> None:
    generator = np.random.default_rng(seed)
    inputs = generator.integers(0, 2, (30, 2, 1)).astype(np.float32)  # with many copies
    labels = generator.integers(0, 3, 30)
    digests = by_the_specification(inputs.reshape(30, 2).tolist(), "2x1", labels.tolist())
    data = Dataset("made", inputs, labels, None, None, 3)
    assert [row.tobytes() for row in data.digests] == digests
    assert data.sha256 == sha(b"pacbound-data/2 3\n" + b"".join(sorted(digests))).hex()
    assert data.duplicates == 30 - len(set(digests))
    expected = [digests[: i + 1].count(digests[i]) for i in range(30)]
    assert numbered(data.digests).tolist() == expected


@pytest.mark.parametrize("order", [[2, 0, 1], [1, 2, 0], [2, 1, 0]])
def test_the_order_of_rows_has_no_effect(order: list[int]) -> None:
    digests, groups = example_digests(PIXELS, LABELS), np.array(["a", "b", "a"])
    moved = digests[order]
    assert data_digest(moved, 2) == data_digest(digests, 2)
    assert count_duplicates(moved) == 1
    assert sorted(numbered(moved)) == [1, 1, 2]
    assert groups_digest(moved, list(groups[order])) == groups_digest(digests, list(groups))
    costs = np.array([Decimal("0.1"), Decimal("1"), Decimal("0")])
    assert example_costs_digest(moved, list(costs[order])) == (
        example_costs_digest(digests, list(costs))
    )


def test_every_byte_counts_in_digests_that_begin_or_end_alike() -> None:
    digests = np.zeros((4, 32), np.uint8)
    digests[1, 31] = digests[2, 0] = 1
    assert count_duplicates(digests) == 1
    expected = sha(b"pacbound-data/2 2\n" + b"".join(sorted(row.tobytes() for row in digests)))
    assert data_digest(digests, 2) == expected.hex()


def test_costs_of_examples_and_rows_without_ids() -> None:
    digests = unnamed_digests(np.array([0, 1]))
    rows = [sha(b"pacbound-example/2 none - 0\n"), sha(b"pacbound-example/2 none - 1\n")]
    assert [row.tobytes() for row in digests] == rows
    lines = sorted([rows[0].hex().encode() + b" 0.25\n", rows[1].hex().encode() + b" 10\n"])
    expected = sha(b"pacbound-example-costs/2\n" + b"".join(lines)).hex()
    assert example_costs_digest(digests, [Decimal("0.250"), Decimal("1E+1")]) == expected


def test_ids_are_bytes_of_utf_8() -> None:
    [digest] = id_digests(["ü"], np.array([3]))
    assert digest.tobytes() == sha(b"pacbound-example/2 id 2 3\n\xc3\xbc")


def test_a_large_data_set_takes_a_second_once() -> None:
    generator = np.random.default_rng(0)
    inputs = generator.integers(0, 256, (60_000, 28, 28), np.uint8)
    data = Dataset("large", inputs, generator.integers(0, 10, 60_000), None, None, 10)
    start = time.process_time()
    _ = data.sha256, data.duplicates
    assert time.process_time() - start < 1
    assert data.digests is data.digests
