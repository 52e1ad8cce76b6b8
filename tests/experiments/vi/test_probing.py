"""Images that a network was not trained for."""

from __future__ import annotations

import numpy as np
import pytest

from pacbound.data import Dataset
from pacbound.experiments.vi import probing
from pacbound.experiments.vi.probing import OTHER, other_examples


def made(name: str, shape: tuple[int, ...], classes: int) -> Dataset:
    generator = np.random.default_rng(len(name))
    labels = generator.integers(0, 10, 60)
    inputs = generator.integers(1, 256, (60, *shape)).astype(np.uint8)
    kept = labels < classes
    return Dataset(name, inputs[kept], labels[kept], inputs[kept], labels[kept], classes)


DATA = {
    "mnist": made("mnist", (28, 28), 10),
    "fashion-mnist": made("fashion-mnist", (28, 28), 10),
    "cifar-5": made("cifar-5", (3, 32, 32), 5),
    "cifar-10": made("cifar-10", (3, 32, 32), 10),
}


@pytest.fixture(autouse=True)
def loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "load", lambda name: DATA[name])


@pytest.mark.parametrize("name", OTHER)
def test_other_images_have_the_same_shape(name: str) -> None:
    other = other_examples(DATA[name])
    assert other is not None
    assert other.inputs.shape[1:] == DATA[name].train_inputs.shape[1:]
    assert (other.data, other.split) == (OTHER[name], "test")


def test_the_other_five_classes_for_cifar_5() -> None:
    other, whole = other_examples(DATA["cifar-5"]), DATA["cifar-10"]
    assert other is not None and whole.test_inputs is not None and whole.test_labels is not None
    assert set(other.labels) == {5, 6, 7, 8, 9}
    np.testing.assert_array_equal(other.inputs, whole.test_inputs[whole.test_labels > 4])


def test_grey_images_get_a_black_frame_and_three_equal_colours() -> None:
    other, clothes = other_examples(DATA["cifar-10"]), DATA["fashion-mnist"].test_inputs
    assert other is not None and clothes is not None
    for channel in range(3):
        np.testing.assert_array_equal(other.inputs[:, channel, 2:-2, 2:-2], clothes)
        assert other.inputs[:, channel].sum() == clothes.sum()


def test_a_users_own_data_have_no_others() -> None:
    assert other_examples(made("mine", (28, 28), 10)) is None
