"""Rows to predict: matched by name, labelled or not, and one clear line for everything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pacbound.data.rows import Kind, has_rows, read_rows
from pacbound.errors import PacboundError

KIND = Kind((2,), 3, ("length", "width"), "species", ("a", "b", "c"), "float32")
IMAGES = Kind((2, 2), 3, dtype="uint8")


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """The rows in the format of the ending."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".csv":
        lines = [list(rows[0]), *[row.values() for row in rows]]
        path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
    else:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_columns_are_matched_by_name(tmp_path: Path, ending: str) -> None:
    rows = [{"width": 2.5, "length": 1.0}, {"width": 4.0, "length": 3.0}]
    found = read_rows(written(tmp_path / f"new.{ending}", rows), KIND)
    assert found.inputs.tolist() == [[1.0, 2.5], [3.0, 4.0]]
    assert found.inputs.dtype == np.float32 and found.labels is None
    labelled = [{"species": "b", **row} for row in rows]  # all of one class
    found = read_rows(written(tmp_path / f"known.{ending}", labelled), KIND)
    assert found.inputs.tolist() == [[1.0, 2.5], [3.0, 4.0]]
    assert found.labels is not None and found.labels.tolist() == [1, 1]
    one = read_rows(written(tmp_path / f"one.{ending}", rows[:1]), KIND)
    assert one.inputs.shape == (1, 2)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_an_empty_column_of_classes_is_no_label(tmp_path: Path, ending: str) -> None:
    nothing = "" if ending == "csv" else None
    rows = [{"length": 1.0, "width": 2.0, "species": nothing} for _ in range(2)]
    assert read_rows(written(tmp_path / f"new.{ending}", rows), KIND).labels is None
    rows[0]["species"] = "b"
    path = written(tmp_path / f"part.{ending}", rows)
    row = 3 if ending == "csv" else 2
    with pytest.raises(PacboundError, match=rf"row {row}: .*no label.*remove the column 'species'"):
        read_rows(path, KIND)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"length": 1.0}, "has no column 'width', which the network needs"),
        ({"length": 1.0, "wdith": 2.0}, "no column 'width', .*; is it the column 'wdith'"),
        ({"length": 1.0, "width": 2.0, "colour": 1.0}, "unknown column 'colour'"),
        ({"length": 1.0, "with": 2.0, "width": 1.0}, "did you mean 'width'"),
        ({"length": 1.0, "width": 2.0, "species": "d"}, "unknown class 'd'"),
        ({"length": 1.0, "width": "wide"}, "column 'width' holds text"),
    ],
)
def test_other_columns_are_refused(
    tmp_path: Path, ending: str, row: dict[str, Any], words: str
) -> None:
    path = written(tmp_path / f"bad.{ending}", [row])
    with pytest.raises(PacboundError, match=words) as refusal:
        read_rows(path, KIND)
    assert path.name in str(refusal.value) and "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no column 'length'"),
        ('{"length": 1, "width": 2}\n{"length": 1}\n', "row 2: 'width' is not in every row"),
        ("[1, 2]\n", "row 1 is not an object"),
        ('{"length": 1, "width": ', "row 1 is not JSON"),
        ('{"length": [1], "width": 2}', "neither a number nor a text"),
    ],
)
def test_lines_that_are_not_rows(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    with pytest.raises(PacboundError, match=words):
        read_rows(path, KIND)


def saved(tmp_path: Path, **arrays: Any) -> Path:
    np.savez(tmp_path / "rows.npz", **arrays)
    return tmp_path / "rows.npz"


def test_arrays(tmp_path: Path) -> None:
    pixels = np.arange(8, dtype=np.uint8).reshape(2, 2, 2)
    found = read_rows(saved(tmp_path, x=pixels), IMAGES)
    assert found.labels is None and np.array_equal(found.inputs, pixels)
    one = read_rows(saved(tmp_path, x=pixels[0]), IMAGES)
    assert np.array_equal(one.inputs, pixels[:1])
    known = read_rows(saved(tmp_path, x=pixels, y=np.array([2, 2])), IMAGES)
    assert known.labels is not None and known.labels.tolist() == [2, 2]
    numbers = np.ones((2, 2), np.float32)
    named = read_rows(saved(tmp_path, x=numbers, y=np.array(["c", "a"])), KIND)
    assert named.labels is not None and named.labels.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"y": np.zeros(2, int)}, "no array 'x'"),
        ({"x": np.zeros((2, 3, 2), np.uint8)}, r"shape \(3, 2\), the network is for \(2, 2\)"),
        ({"x": np.zeros((0, 2, 2), np.uint8)}, "shape"),
        ({"x": np.zeros((2, 2, 2), np.float32)}, "x is float32, but .* trained on uint8"),
        ({"x": np.zeros((2, 2, 2), np.uint8), "y": np.array([0, 3])}, "3 classes, .* has 4"),
        ({"x": np.zeros((2, 2, 2), np.uint8), "y": np.array([0])}, r"y has shape \(1,\)"),
        ({"x": np.zeros((2, 2, 2), np.uint8), "y": np.array([-1, 0])}, "labels 0, 1"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path: Path, arrays: dict[str, Any], words: str) -> None:
    with pytest.raises(PacboundError, match=words):
        read_rows(saved(tmp_path, **arrays), IMAGES)


def test_a_network_without_names_takes_no_table(tmp_path: Path) -> None:
    path = written(tmp_path / "new.csv", [{"length": 1.0, "width": 2.0}])
    with pytest.raises(PacboundError, match="inputs without names"):
        read_rows(path, IMAGES)


def test_a_file_with_test_examples_is_a_data_set(tmp_path: Path) -> None:
    x, y = np.zeros((2, 2), np.float32), np.array([0, 1])
    assert has_rows(saved(tmp_path, x=x, y=y))
    assert not has_rows(saved(tmp_path, x=x, y=y, x_test=x, y_test=y))
    assert not has_rows(tmp_path / "none.csv")
    assert not has_rows(tmp_path)
