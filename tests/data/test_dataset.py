"""What a data set promises, and its digest."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from pacbound.data import Dataset, as_floats
from pacbound.errors import PacboundError


def made(inputs=None, labels=None, test_inputs=None, test_labels=None, classes=3, name="made"):
    inputs = np.arange(24, dtype=np.uint8).reshape(4, 3, 2) if inputs is None else inputs
    labels = np.array([0, 1, 2, 1]) if labels is None else labels
    return Dataset(name, inputs, labels, test_inputs, test_labels, classes)


def test_it_knows_its_size_and_shape():
    assert made().m == 4
    assert made().input_shape == (3, 2)


def test_the_digest_is_the_same_on_every_machine_and_in_every_version():
    # Certificates carry this number, so its recipe, spelt out here, may never change.
    header = "pacbound-example/2 uint8 3x2 {}\n"
    examples = [
        hashlib.sha256(header.format(label).encode() + bytes(range(6 * i, 6 * i + 6))).digest()
        for i, label in enumerate([0, 1, 2, 1])
    ]
    recipe = b"pacbound-data/2 3\n" + b"".join(sorted(examples))
    assert made().sha256 == hashlib.sha256(recipe).hexdigest()


def test_the_digest_does_not_depend_on_memory_layout_order_name_or_test_examples():
    inputs = np.arange(24, dtype=np.uint8).reshape(4, 3, 2)
    same = [
        made(name="other"),
        made(inputs=np.asfortranarray(inputs)),
        made(inputs=np.repeat(inputs, 2, axis=0)[::2]),
        made(inputs=inputs[::-1], labels=np.array([1, 2, 1, 0])),
        made(test_inputs=inputs, test_labels=np.array([0, 0, 0, 0])),
    ]
    assert {d.sha256 for d in same} == {made().sha256}


def test_the_digest_changes_with_anything_that_matters():
    inputs = np.arange(24, dtype=np.uint8).reshape(4, 3, 2)
    changed = inputs.copy()
    changed[0, 0, 0] += 1
    others = [
        made(),
        made(inputs=changed),
        made(inputs=inputs.reshape(4, 2, 3)),
        made(inputs=inputs.reshape(4, 6)),
        made(inputs=inputs.astype(np.float32)),
        made(labels=np.array([0, 1, 2, 0])),
        made(classes=4),
        made(inputs=inputs[::-1].copy()),
    ]
    assert len({d.sha256 for d in others}) == len(others)


@pytest.mark.parametrize(
    "wrong",
    [
        {"inputs": np.zeros((4, 3))},
        {"inputs": np.zeros(4, np.float32)},
        {"inputs": np.zeros((5, 3), np.float32)},
        {"inputs": np.zeros((0, 3), np.float32), "labels": np.zeros(0, np.int64)},
        {"labels": np.array([0, 1, 2, 3])},
        {"labels": np.array([0, 1, -1, 2])},
        {"labels": np.array([0, 1, 2, 1], np.int32)},
        {"labels": np.array([[0, 1, 2, 1]])},
        {"test_labels": np.array([0])},
        {"test_inputs": np.zeros((1, 2, 3), np.uint8), "test_labels": np.array([0])},
        {"test_inputs": np.zeros((1, 3, 2), np.uint8), "test_labels": np.array([3])},
    ],
)
def test_examples_that_do_not_fit_are_refused(wrong):
    with pytest.raises(PacboundError, match="data set 'made'"):
        made(**wrong)


def test_floats_are_pixels_over_255_correctly_rounded():
    floats = as_floats(np.arange(256, dtype=np.uint8))
    assert floats.dtype == np.float32
    assert np.array_equal(floats, (np.arange(256) / 255.0).astype(np.float32))


def test_floats_stay_as_they_are():
    inputs = np.array([[-3.0, 7.5]], np.float32)
    assert as_floats(inputs) is inputs
    with pytest.raises(PacboundError, match="float64"):
        as_floats(np.zeros(3))


def test_groups_belong_to_examples():
    grouped = replace(made(), groups=("a", "b", "c", "d"))
    assert grouped.part(np.array([3, 0])).groups == ("d", "a")
    assert grouped.sha256 == made().sha256
    with pytest.raises(PacboundError, match="3 groups for 4 training examples"):
        replace(made(), groups=("a", "b", "c"))
