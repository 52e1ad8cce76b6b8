"""The labelled examples that a predictor is run on: one part of a data set, or arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pacbound.data.dataset import Dataset
from pacbound.errors import DataError, SettingError, by_caller
from pacbound.printable import printable

__all__ = ["PARTS", "Given", "examples_given", "part_of", "plain"]

PARTS = ("train", "test")


@dataclass(frozen=True, eq=False)
class Given:
    """Inputs as the predictor gets them, and their labels as the user wrote them.

    Arguments:
        inputs: None if only labels are known.
        classes: The number of classes of a data set; 0 if the labels decide.
        names: The texts of a table's classes, numbered in ascending order.
    """

    name: str
    inputs: Any
    labels: Any
    classes: int = 0
    names: tuple[str, ...] = ()


def examples_given(data: object, part: str = "", label: str = "") -> Given:
    """The examples for the data that a user gives.

    Arguments:
        data: (inputs, labels); labels alone, for predictions as arrays; or anything that `fit`
            takes as data.
        part: train or test, if a data set has both.
        label: The column of a table that holds the classes.
    """
    if isinstance(data, tuple) and len(data) == 2 and not part:
        inputs, labels = data[0], plain(data[1])
        if not all(hasattr(each, "__len__") for each in (inputs, labels)):
            raise DataError("data: give the inputs and the labels, one of each for every example")
        if _length(inputs) != _length(labels):
            raise DataError(
                f"data: {_length(inputs)} inputs and {_length(labels)} labels do not match"
            )
        if not _length(labels):
            raise DataError("data: there are no examples")
        return Given("arrays", inputs, labels)
    if _is_column(data):
        return Given("labels", None, plain(data))
    from pacbound.data.given import dataset_given

    return part_of(dataset_given(data, label), part)


def part_of(data: Dataset, part: str) -> Given:
    """The named part of a data set. It must be named if there are two.

    A predictor has usually seen the training examples. So nothing is taken for granted here.
    """
    if part and part not in PARTS:
        raise SettingError(f"the part must be train or test, not '{printable(part, 40)}'")
    if data.test_inputs is None or data.test_labels is None:
        if part == "test":
            raise DataError(f"{data.name} has no test examples")
        return _of(data, data.name, data.train_inputs, data.train_labels)
    if not part:
        raise SettingError(
            f"{data.name} has {data.m} training and {len(data.test_labels)} test examples: name "
            "the part that the predictor has not seen, usually with "
            + by_caller("--part test", 'part="test"')
        )
    name = f"{data.name}, {part} part"
    if part == "test":
        return _of(data, name, data.test_inputs, data.test_labels)
    return _of(data, name, data.train_inputs, data.train_labels)


def _of(data: Dataset, name: str, inputs: Any, labels: Any) -> Given:
    return Given(name, inputs, labels, data.classes, data.class_names)


def _is_column(data: object) -> bool:
    """Whether it is one label per example: a 1-D array or a list of plain values."""
    if isinstance(data, list):
        return not any(isinstance(each, list | tuple | dict) for each in data[:1])
    return getattr(data, "ndim", 0) == 1


def plain(values: Any) -> Any:
    """Tensors as arrays; anything else unchanged."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values


def _length(values: Any) -> int:
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)
