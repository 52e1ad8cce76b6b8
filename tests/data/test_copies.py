"""Copies: few are counted and shown, many are refused unless they are declared independent."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.stats

from pacbound.data import Dataset
from pacbound.data.copies import refuse_copies
from pacbound.errors import PacboundError
from pacbound.priors.split import split_of
from pacbound.recipes import Settings


def with_copies(m: int, copies: int) -> Dataset:
    inputs = np.maximum(np.arange(m) - copies, 0).astype(np.float32)[:, None]
    return Dataset("made", inputs, np.zeros(m, np.int64), None, None, 2)


@pytest.mark.parametrize(("m", "copies"), [(100, 0), (100, 1), (1000, 10), (199, 1)])
def test_one_percent_is_allowed(m: int, copies: int) -> None:
    data = with_copies(m, copies)
    assert data.duplicates == copies
    refuse_copies(data)


@pytest.mark.parametrize(("m", "copies"), [(100, 2), (99, 1), (1000, 11), (600, 599)])
def test_more_is_refused_unless_declared(m: int, copies: int) -> None:
    data = with_copies(m, copies)
    with pytest.raises(PacboundError, match="copies='independent'") as refusal:
        refuse_copies(data)
    assert f"{copies} of the {m} examples" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    refuse_copies(data, independent=True)


def test_the_same_input_with_another_label_is_no_copy() -> None:
    data = with_copies(100, 50)
    labels = np.zeros(100, np.int64)
    labels[0] = 1
    assert dataclasses.replace(data, train_labels=labels).duplicates == 49


def test_coin_flips_that_were_copied_twenty_times(tiny_settings: Settings) -> None:
    """The audit's demonstration: 150 rows whose labels are coin flips, each copied 20 times.

    A predictor that learns the prior's part by heart makes no error on the counted examples: its
    bound would be below 1 % where the truth is 50 %.
    """
    generator = np.random.default_rng(0)
    inputs = np.repeat(generator.random((150, 4), dtype=np.float32), 20, axis=0)
    labels = np.repeat(generator.integers(0, 2, 150), 20)
    data = Dataset("coins", inputs, labels, None, None, 2)
    split = split_of(dataclasses.replace(tiny_settings, prior_fraction=0.5), data)
    learned, counted = split.learned_data(data), split.counted_data(data)
    known = {
        row.tobytes(): label
        for row, label in zip(learned.train_inputs, learned.train_labels, strict=True)
    }
    guesses = [known.get(row.tobytes(), 0) for row in counted.train_inputs]
    errors = int((np.array(guesses) != counted.train_labels).sum())
    assert scipy.stats.beta.ppf(0.95, errors + 1, counted.m - errors) < 0.01
    assert data.duplicates == 2850
    with pytest.raises(PacboundError, match=r"2850 of the 3000 .* copies='independent'"):
        refuse_copies(data)
