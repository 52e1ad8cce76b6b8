"""SHA-256 digests of examples, data sets, groups and costs, as defined in SPEC.md.

They depend only on content. The order of rows and the name of a file have no effect.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ExampleDigests",
    "costs_digest",
    "count_duplicates",
    "data_digest",
    "example_costs_digest",
    "example_digests",
    "groups_digest",
    "id_digests",
    "numbered",
    "shape_text",
    "unnamed_digests",
]

ExampleDigests = NDArray[np.uint8]  # (m, 32), one digest in each row

_HEADER = "pacbound-example/2"


def example_digests(inputs: NDArray[Any], labels: NDArray[np.int64]) -> ExampleDigests:
    """The digest of each example: its type, shape, label and bytes.

    Arguments:
        inputs: The inputs as stored in the data set, (m, …).
        labels: Classes from 0, (m,).
    """
    kind = f"{inputs.dtype.name} {shape_text(inputs.shape[1:])}"
    # Row-major and little-endian, so every machine hashes the same bytes.
    little = np.ascontiguousarray(inputs, dtype=inputs.dtype.newbyteorder("<"))
    rows = little.reshape(len(little), -1).view(np.uint8)
    headers = _headers(kind, labels)
    digests = (
        hashlib.sha256(headers[label] + row.data)
        for row, label in zip(rows, labels.tolist(), strict=True)
    )
    return _table(digest.digest() for digest in digests)


def id_digests(ids: Sequence[str], labels: NDArray[np.int64]) -> ExampleDigests:
    """The digests of the rows of a predictions file that have ids."""
    encoded = [text.encode() for text in ids]
    return _table(
        hashlib.sha256(f"{_HEADER} id {len(text)} {label}\n".encode() + text).digest()
        for text, label in zip(encoded, labels.tolist(), strict=True)
    )


def unnamed_digests(labels: NDArray[np.int64]) -> ExampleDigests:
    """The digests of the rows of a predictions file without ids: of the labels alone."""
    headers = _headers("none -", labels)
    return _table(hashlib.sha256(headers[label]).digest() for label in labels.tolist())


def data_digest(digests: ExampleDigests, classes: int) -> str:
    """The digest of a data set: over the sorted digests of its examples."""
    ordered = np.sort(_sortable(digests))
    return hashlib.sha256(f"pacbound-data/2 {classes}\n".encode() + ordered.tobytes()).hexdigest()


def count_duplicates(digests: ExampleDigests) -> int:
    """The number of examples minus the number of distinct ones."""
    return len(digests) - len(np.unique(_sortable(digests)))


def numbered(digests: ExampleDigests) -> NDArray[np.int64]:
    """1, 2, … among equal examples, in their order; 1 for an example without a copy."""
    sortable = _sortable(digests)
    order = np.argsort(sortable, kind="stable")
    places = np.arange(len(order))
    begins = np.ones(len(order), bool)
    begins[1:] = sortable[order[1:]] != sortable[order[:-1]]
    first = np.maximum.accumulate(np.where(begins, places, 0))
    numbers = np.empty(len(order), np.int64)
    numbers[order] = places - first + 1
    return numbers


def groups_digest(digests: ExampleDigests, groups: Sequence[str]) -> str:
    """The digest of the assignment of the counted examples to groups."""
    return _lines_digest("pacbound-groups/2", digests, groups)


def costs_digest(costs: Sequence[Sequence[Decimal]]) -> str:
    """The digest of a cost matrix: one row for each true class."""
    lines = [" ".join(map(_plain, row)) + "\n" for row in costs]
    return hashlib.sha256("".join(["pacbound-costs/2\n", *lines]).encode()).hexdigest()


def example_costs_digest(digests: ExampleDigests, costs: Sequence[Decimal]) -> str:
    """The digest of costs given for each counted example."""
    return _lines_digest("pacbound-example-costs/2", digests, [_plain(cost) for cost in costs])


def shape_text(shape: Sequence[int]) -> str:
    """A shape as text for digests.

    Example:
        >>> shape_text((28, 28)), shape_text(())
        ('28x28', '-')
    """
    return "x".join(map(str, shape)) or "-"


def _headers(kind: str, labels: NDArray[np.int64]) -> dict[int, bytes]:
    return {label: f"{_HEADER} {kind} {label}\n".encode() for label in np.unique(labels).tolist()}


def _table(digests: Iterable[bytes]) -> ExampleDigests:
    return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 32)


def _sortable(digests: ExampleDigests) -> NDArray[np.bytes_]:
    """The rows as (m,) strings of 32 bytes, which NumPy compares as unsigned bytes."""
    return np.ascontiguousarray(digests).view("S32").reshape(-1)


def _lines_digest(title: str, digests: ExampleDigests, texts: Sequence[str]) -> str:
    digits = np.ascontiguousarray(digests).tobytes().hex()
    rows = (digits[start : start + 64] for start in range(0, len(digits), 64))
    lines = sorted(f"{row} {text}\n" for row, text in zip(rows, texts, strict=True))
    return hashlib.sha256("".join([f"{title}\n", *lines]).encode()).hexdigest()


def _plain(number: Decimal) -> str:
    """A decimal without redundant zeros, sign or exponent."""
    text = format(abs(number), "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"
