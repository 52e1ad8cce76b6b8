"""The idx format: there and back, and damaged files."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from pacbound.data.idx import decode_idx, encode_idx
from pacbound.errors import PacboundError


@given(arrays(np.uint8, array_shapes(max_dims=4)))
def test_decoding_undoes_encoding(array):
    assert np.array_equal(decode_idx(encode_idx(array), "made"), array)


def test_the_header_is_that_of_the_published_files():
    images = encode_idx(np.zeros((60_000, 1, 1), np.uint8))
    assert images[:8] == bytes([0, 0, 8, 3, 0, 0, 0xEA, 0x60])


@given(st.data())
def test_every_truncation_is_noticed(data):
    whole = encode_idx(np.ones((3, 2), np.uint8))
    length = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(PacboundError, match="made"):
        decode_idx(whole[:length], "made")


@given(st.binary(max_size=64))
def test_noise_is_refused_or_decoded_but_never_crashes(noise):
    with contextlib.suppress(PacboundError):
        decode_idx(noise, "made")


def test_a_header_that_claims_a_huge_array_costs_nothing():
    with pytest.raises(PacboundError, match="header says"):
        decode_idx(bytes([0, 0, 8, 4]) + b"\xff" * 16, "made")
