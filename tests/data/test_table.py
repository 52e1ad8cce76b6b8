"""Tables of a user: numbers as they are, classes in their order, and one line for the rest."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from pacbound.data import load
from pacbound.errors import PacboundError

GOOD = """length,width,wet,species
1.5,2,true,setosa
-3e2,0.25,FALSE,virginica
0,1,True,setosa
"""


def write(folder: Path, text: str, name: str = "plants.csv") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_numbers_and_truth_values_as_they_are(tmp_path: Path) -> None:
    data = load(write(tmp_path, GOOD), label="species")
    expected = np.array([[1.5, 2, 1], [-300, 0.25, 0], [0, 1, 1]], np.float32)
    assert data.train_inputs.dtype == np.float32
    assert np.array_equal(data.train_inputs, expected)
    assert data.train_labels.tolist() == [0, 1, 0]
    assert (data.m, data.classes) == (3, 2)
    assert data.name == "plants (species: setosa, virginica)"
    assert data.test_inputs is None


def test_any_column_can_be_the_label_and_its_place_does_not_matter(tmp_path: Path) -> None:
    moved = "species,length\nb,1\na,2\nb,3\n"
    data = load(write(tmp_path, moved), label="species")
    assert data.train_labels.tolist() == [1, 0, 1]
    other = load(write(tmp_path, "x,y\n0,1\n1,2\n0,3\n"), label="x")
    assert np.array_equal(other.train_inputs, [[1], [2], [3]])


def test_an_input_does_not_depend_on_the_other_examples(tmp_path: Path) -> None:
    """Nothing is standardised or coded by what occurs: a certificate could not speak of it."""
    few = load(write(tmp_path, GOOD), label="species")
    more = load(write(tmp_path, GOOD + "1e6,-5,false,virginica\n", "b.csv"), label="species")
    assert np.array_equal(more.train_inputs[:3], few.train_inputs)


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["10", "9", "2"], ["2", "9", "10"]),
        (["b", "a", "c"], ["a", "b", "c"]),
        (["10", "9", "x"], ["10", "9", "x"]),
        (["1", "0", "1"], ["0", "1"]),
    ],
)
def test_classes_are_in_the_order_of_numbers_or_of_texts(
    tmp_path: Path, labels: list[str], order: list[str]
) -> None:
    text = "x,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels))
    data = load(write(tmp_path, text), label="y")
    assert [order[k] for k in data.train_labels] == labels
    assert data.name == f"plants (y: {', '.join(order)})"


def test_many_classes_are_not_all_in_the_name(tmp_path: Path) -> None:
    text = "x,y\n" + "".join(f"{i},{i % 200}\n" for i in range(400))
    data = load(write(tmp_path, text), label="y")
    assert data.classes == 200
    assert len(data.name) < 60


@pytest.mark.parametrize(
    ("text", "label", "complaint"),
    [
        (GOOD, "", "label="),
        (GOOD, "specie", "unknown column 'specie'; did you mean 'species'"),
        ("", "y", "is empty"),
        ("x,y\n", "y", "no rows"),
        ("y\n1\n2\n", "y", "has only the column"),
        ("x y\n1 2\n", "y", "unknown column 'y'"),
        ("1,2\n3,4\n", "y", "unknown column 'y'.*first row must hold the columns' names"),
        ("x;y\n1,5;a\n2,5;b\n", "y", r"decimal comma \('1,5'\)"),
        ("x,y\n1,a\n\n2,b\n", "y", "row 3: the line is blank"),
        ("x,y\n" + "".join(f"{i},{i}.5\n" for i in range(30)), "y", "30 different values in 30"),
        ("x,y\n1,a\n2\n", "y", "row 3: 1 cells under a header of 2"),
        ("x,y\n1,a\n2,b,3\n", "y", "row 3: 3 cells"),
        ("x,x,y\n1,2,a\n", "y", "two columns are named 'x'"),
        (",x,y\n0,1,a\n1,2,b\n", "y", "column 1 has no name"),
        ("x,y\n1,a\n,b\n", "y", "row 3: column 'x' has no value"),
        ("x,y\n1,a\nNA,b\n", "y", "row 3: column 'x' has no value"),
        ("x,y\n1,a\nnan,b\n", "y", "row 3: column 'x' has no value"),
        ("x,y\n1,a\n2,\n", "y", "row 3: the row has no label"),
        ("x,y\n1,a\n2,None\n", "y", "row 3: the label 'None' means a missing value"),
        ("x,y\n1,a\ninf,b\n", "y", "column 'x' is inf"),
        ("x,y\n1,a\n1e300,b\n", "y", r"column 'x' is 1e\+300"),
        ("x,y\n1,a\n1_000,b\n", "y", "text"),
        (
            "x,city,y\n1,Oslo,a\n2,Rome,b\n",
            "y",
            "column 'city' holds text .*not be computed from",
        ),
        ("x,y\n1,a\n2,a\n", "y", "single class a"),
        ('x,y\n1,"a\n', "y", "cannot read"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    tmp_path: Path, text: str, label: str, complaint: str
) -> None:
    with pytest.raises(PacboundError, match=complaint) as refusal:
        load(write(tmp_path, text), label=label)
    assert "\n" not in str(refusal.value)
    assert "plants.csv" in str(refusal.value)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_spreadsheets_separate_columns_in_three_ways(
    tmp_path: Path, separator: str, start: str
) -> None:
    """Also with a byte order mark, quotes around a comma, and blank lines at the end."""
    named = GOOD.replace("width", '"width, cm"').split("\n")
    whole = load(write(tmp_path, "\n".join(named), "a.csv"), label="species")
    other = [line.replace(",", separator) for line in named]
    other[0] = other[0].replace(f"width{separator} cm", "width, cm")
    data = load(write(tmp_path, start + "\n".join(other) + "\n\n", "b.csv"), label="species")
    assert data.columns == whole.columns == ("length", "width, cm", "wet")
    assert np.array_equal(data.train_inputs, whole.train_inputs)
    assert data.train_labels.tolist() == whole.train_labels.tolist()


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes(b"x,y\n\xff\xfe,1\n")
    with pytest.raises(PacboundError, match=r"cannot read .*odd\.csv as \.csv: it is not UTF-8"):
        load(str(path), label="y")


def test_a_label_column_is_for_tables(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, x=np.zeros((2, 2)), y=np.arange(2))
    with pytest.raises(PacboundError, match="is not a table"):
        load(str(path), label="y")
    with pytest.raises(PacboundError, match=r"no file none\.csv"):
        load("none.csv", label="y")


# Parquet ------------------------------------------------------------------------------------


def write_parquet(folder: Path, **columns: list[object]) -> str:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = folder / "plants.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    return str(path)


def test_parquet_gives_the_data_of_the_same_csv(tmp_path: Path) -> None:
    columns: dict[str, list[object]] = {
        "length": [1.5, -300.0, 0.0],
        "width": [2.0, 0.25, 1.0],
        "wet": [True, False, True],
        "species": ["setosa", "virginica", "setosa"],
    }
    mine = load(write_parquet(tmp_path, **columns), label="species")
    same = load(write(tmp_path, GOOD), label="species")
    assert (mine.sha256, mine.name) == (same.sha256, same.name)
    numbered = load(write_parquet(tmp_path, x=[1, 2, 3], y=[1.0, 0.0, 2.0]), label="y")
    assert numbered.train_labels.tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"x": [1.0, None], "y": [0, 1]}, "row 2: column 'x' has no value"),
        ({"x": [1.0, float("nan")], "y": [0, 1]}, "row 2: column 'x' has no value"),
        ({"x": ["a", "b"], "y": [0, 1]}, "column 'x' holds text"),
        ({"x": [1, 2], "y": [0, None]}, "row 2: the row has no label"),
        ({"x": [[1], [2]], "y": [0, 1]}, "column 'x' holds list"),
    ],
)
def test_parquet_that_cannot_be_used(
    tmp_path: Path, columns: dict[str, list[object]], complaint: str
) -> None:
    with pytest.raises(PacboundError, match=complaint):
        load(write_parquet(tmp_path, **columns), label="y")


def test_parquet_that_is_none_or_has_no_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "hello", "odd.parquet")
    with pytest.raises(PacboundError, match=r"cannot read .*odd\.parquet") as refusal:
        load(path, label="y")
    assert "\n" not in str(refusal.value)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PacboundError, match=r"pip install 'pacbound\[parquet\]'"):
        load(path, label="y")
