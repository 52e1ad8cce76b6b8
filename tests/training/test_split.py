"""Which examples a prior learns from: two parts that share none, by seed and sizes alone."""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import pytest

from pacbound.certificate import checker
from pacbound.data import Dataset
from pacbound.errors import BadInput
from pacbound.recipes import Settings
from pacbound.training.split import Split, split_of

change = dataclasses.replace
FRACTIONS = checker.CHOICES["prior_fraction"]


def places(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


@pytest.mark.parametrize("fraction", FRACTIONS)
@pytest.mark.parametrize("examples", [7, 60, 1001])
def test_every_example_is_on_one_side(
    tiny_settings: Settings, fraction: float, examples: int
) -> None:
    split = split_of(change(tiny_settings, prior_fraction=fraction), examples)
    assert not set(split.learned) & set(split.counted)
    assert sorted([*split.learned, *split.counted]) == list(range(examples))
    assert abs(len(split.learned) - fraction * examples) <= 0.5
    assert list(split.learned) == sorted(split.learned)
    assert list(split.counted) == sorted(split.counted)


def test_it_is_that_of_the_smallest_digests(tiny_settings: Settings) -> None:
    """Against the definition, written another way: an example is in if few others are before it."""
    split = split_of(change(tiny_settings, prior_fraction=0.3, split_seed=5), 50)
    digests = [hashlib.sha256(b"split 5 %d" % i).hexdigest() for i in range(50)]
    before = [sum(other < own for other in digests) for own in digests]
    assert [i for i in range(50) if before[i] < 15] == split.learned.tolist()


def test_it_is_a_function_of_seed_and_sizes(tiny_settings: Settings) -> None:
    settings = change(tiny_settings, prior_fraction=0.5)
    first = split_of(settings, 100)
    same = split_of(change(settings, seed=9, prior_seed=9, posterior="diag", hidden=(3,)), 100)
    assert np.array_equal(first.learned, same.learned)
    assert first.sha256 == same.sha256
    others = [
        split_of(change(settings, split_seed=1), 100),
        split_of(change(settings, prior_fraction=0.6), 100),
        split_of(settings, 101),
    ]
    assert len({first.sha256, *(other.sha256 for other in others)}) == 4


def test_a_larger_part_has_all_of_a_smaller_one(tiny_settings: Settings) -> None:
    small, large = (split_of(change(tiny_settings, prior_fraction=f), 200) for f in (0.2, 0.9))
    assert set(small.learned) < set(large.learned)


def test_the_digest_is_of_every_place(tiny_settings: Settings) -> None:
    split = split_of(change(tiny_settings, prior_fraction=0.5), 12)
    texts = [str(place) for place in split.learned]
    assert split.sha256 == hashlib.sha256(" ".join(texts).encode()).hexdigest()
    for position in range(len(texts)):
        moved = [*texts[:position], str(split.counted[0]), *texts[position + 1 :]]
        assert hashlib.sha256(" ".join(moved).encode()).hexdigest() != split.sha256


@pytest.mark.parametrize("seed", [0, 3, 10**15 - 1])
def test_the_checker_finds_the_same_part(tiny_settings: Settings, seed: int) -> None:
    split = split_of(change(tiny_settings, prior_fraction=0.7, split_seed=seed), 600)
    part, digest = checker.prior_part(600, 420, seed)
    assert part == split.learned.tolist()
    assert digest == split.sha256


@pytest.mark.parametrize(
    ("learned", "counted", "words"),
    [
        (places(0, 1), places(1, 2, 3), "must not be counted"),
        (places(0, 1, 2, 3), places(0, 1, 2, 3), "must not be counted"),
        (places(0, 1), places(2), "every example once"),
        (places(0, 0), places(1, 2, 3), "every example once"),
        (places(0, 1), places(2, 2, 3), "every example once"),
        (places(0, 1), places(2, 3, 4), "every example once"),
        (places(), places(1, 2, 3), "every example once"),
    ],
)
def test_sides_that_overlap_or_leave_out_are_refused(
    learned: np.ndarray, counted: np.ndarray, words: str
) -> None:
    with pytest.raises(BadInput, match=words):
        Split(4, learned, counted)


@pytest.mark.parametrize(("fraction", "examples"), [(0.2, 2), (0.9, 4), (0.001, 100), (0.999, 100)])
def test_a_part_without_examples_is_refused(
    tiny_settings: Settings, fraction: float, examples: int
) -> None:
    with pytest.raises(BadInput, match="leaves one part empty"):
        split_of(change(tiny_settings, prior_fraction=fraction), examples)


def test_too_many_examples_to_split_are_refused(tiny_settings: Settings) -> None:
    with pytest.raises(BadInput, match="at most 1000000 examples"):
        split_of(change(tiny_settings, prior_fraction=0.5), 10**6 + 1)


def test_without_a_learned_prior_everything_is_counted(
    tiny_settings: Settings, tiny_data: Dataset
) -> None:
    split = split_of(tiny_settings, tiny_data.m)
    assert len(split.learned) == 0
    assert split.counted_data(tiny_data) is tiny_data


def test_the_parts_are_of_the_data_and_the_prior_sees_no_test(
    tiny_settings: Settings, tiny_data: Dataset
) -> None:
    split = split_of(change(tiny_settings, prior_fraction=0.5), tiny_data.m)
    learned, counted = split.learned_data(tiny_data), split.counted_data(tiny_data)
    assert (learned.m, counted.m) == (300, 300)
    assert np.array_equal(learned.train_inputs, tiny_data.train_inputs[split.learned])
    assert np.array_equal(counted.train_labels, tiny_data.train_labels[split.counted])
    assert learned.test_inputs is None
    assert learned.test_labels is None
    assert counted.test_inputs is tiny_data.test_inputs
