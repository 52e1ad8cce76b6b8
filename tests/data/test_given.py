"""Data as it is given in Python: all forms of the same examples are the same data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset as MapStyle
from torch.utils.data import IterableDataset, TensorDataset

from pacbound.data.given import dataset_given
from pacbound.errors import PacboundError

X = np.linspace(0, 1, 24, dtype=np.float32).reshape(6, 4)
Y = np.array([0, 1, 2, 1, 0, 2])


class Pairs(MapStyle[Any]):
    def __init__(self, pairs: list[Any]) -> None:
        self.pairs = pairs

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, place: int) -> Any:
        return self.pairs[place]


def test_every_form_has_the_same_digest(tmp_path: Path) -> None:
    np.savez(tmp_path / "mine.npz", x=X, y=Y)
    tensors = torch.from_numpy(X), torch.from_numpy(Y)
    forms: list[Any] = [
        (X, Y),
        (X.astype(np.float64), Y.astype(np.uint8)),
        tensors,
        (X.tolist(), Y.tolist()),
        TensorDataset(*tensors),
        Pairs([(x, int(y)) for x, y in zip(X, Y, strict=True)]),
        Pairs([[x, y] for x, y in zip(X, Y, strict=True)]),
        str(tmp_path / "mine.npz"),
        tmp_path / "mine.npz",
    ]
    forms.append(dataset_given(forms[0]))
    assert len({dataset_given(form).sha256 for form in forms}) == 1


def test_tensors_that_need_gradients_and_test_examples() -> None:
    data = dataset_given((torch.from_numpy(X).requires_grad_(), Y, X[:2], Y[:2]))
    assert data.test_labels is not None
    assert data.test_labels.tolist() == [0, 1]


def test_pixels_stay_bytes() -> None:
    pixels = np.arange(24, dtype=np.uint8).reshape(6, 2, 2)
    assert dataset_given((pixels, Y)).train_inputs.dtype == np.uint8
    assert dataset_given(Pairs(list(zip(pixels, Y, strict=True)))).train_inputs.dtype == np.uint8


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter([])


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ((X,), "1 parts"),
        ((X, Y, X), "3 parts"),
        ((X, Y[:3]), "6 examples and y 3 labels"),
        ((X * np.nan, Y), "not a finite float32"),
        (([[1, 2], [3]], [0, 1]), "x is not an array of numbers"),
        (Pairs([]), "empty"),
        (Pairs([1, 2]), "example 0 is not an .input, label. pair"),
        (Pairs([(X[0], 0), (X[1, :2], 1)]), r"example 1 is float32 of shape \(2,\), the first"),
        (Pairs([(X[0], 0), (X[1].astype(np.float64), 1)]), "example 1 is float64"),
        (Pairs([("cat.png", 0)]), "example 0 is str; give a tensor"),
        (Pairs([(X[0], "cat")]), "label of example 0 is 'cat'"),
        (Pairs([(X[0], 0.5)]), "label of example 0 is 0.5"),
        (Pairs([(X[0], torch.tensor([0, 1]))]), "label of example 0"),
        (Stream(), "cannot be used"),
        (3, "int cannot be used"),
        ("nowhere.npz", "no file nowhere.npz"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(data: Any, complaint: str) -> None:
    with pytest.raises(PacboundError, match=complaint) as refusal:
        dataset_given(data)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
def test_a_list_of_arrays_is_a_tuple_of_them(kind: Any) -> None:
    x, y = np.eye(6, dtype=np.float32), np.arange(6) % 2
    found, same = dataset_given([kind(x), kind(y)]), dataset_given((x, y))
    assert found.sha256 == same.sha256
    with pytest.raises(PacboundError, match="not 3 parts"):
        dataset_given([kind(x), kind(y), kind(y)])
