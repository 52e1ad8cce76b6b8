"""Seeds: from content alone, and every bit of them in the stream."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from pacbound.seeds import Noise, TrainingNoise, certificate_seed, derive

MODEL = "00ff6f13379089e601cac18e06329d5376881931a6832f6f26b29f8d0253c391"
PRIOR = "e5bade0e979cb8cf6e53303dae696c6631a5c82ce60386d7a602f85fb249fcc0"
DATA = "3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7"


@pytest.mark.parametrize(
    ("purpose", "seed"),
    [
        ("risk", "5e964b0a72fe8f09317c3de3315cb568dfb910b3af8d9f9b6ef895813517d948"),
        ("draw", "550055ff393409ad0a2ddf1ef540bf856c86a545a04d2db050ded7a46ab7bad9"),
        ("kl", "532a64d6bebecf064ba406f2059bd1512d11a3b25810ef8f2f231548f8d9e885"),
    ],
)
def test_the_seeds_of_the_specification(purpose: str, seed: str) -> None:
    """Those of its second example certificate."""
    assert certificate_seed(purpose, MODEL, PRIOR, DATA) == seed
    text = f"pacbound-seed/2 {purpose} {MODEL} {PRIOR} {DATA}\n"
    assert seed == hashlib.sha256(text.encode()).hexdigest()


def state(noise: Noise) -> bytes:
    words = noise.generator.bit_generator.state["state"]["state"]
    return np.asarray(words, np.uint64).tobytes()


@pytest.mark.parametrize("kind", [Noise, TrainingNoise])
def test_each_of_256_bits_changes_the_stream(kind: type[Noise]) -> None:
    seed = int(derive("bits"), 16)
    seeds = [seed, *(seed ^ (1 << bit) for bit in range(256))]
    sources = [kind(f"{each:064x}") for each in seeds]
    assert len({state(source) for source in sources}) == 257
    assert len({source.generator.bytes(32) for source in sources}) == 257


def test_a_pool_of_128_bits_is_not_in_between() -> None:
    """The state is filled from a pool as large as the seed; 128 bits could not tell all apart."""
    pool = Noise(derive("pool")).generator.bit_generator.seed_seq  # type: ignore[attr-defined]
    assert pool.pool_size * 32 == 256
    assert pool.entropy == int(derive("pool"), 16)
    # Half of the bits of the state change with any bit of the seed, also with bits above the 128th.
    seed = int(derive("avalanche"), 16)
    base = np.frombuffer(state(Noise(f"{seed:064x}")), np.uint8)
    shares = []
    for bit in range(0, 256, 5):
        other = np.frombuffer(state(Noise(f"{seed ^ (1 << bit):064x}")), np.uint8)
        shares.append(np.unpackbits(base ^ other)[:192].mean())
    assert 0.45 < np.mean(shares) < 0.55
    assert min(shares) > 0.3


def test_short_seeds_with_leading_zeros_are_their_own() -> None:
    assert Noise("00ff").generator.bytes(8) == Noise("ff").generator.bytes(8)
    assert Noise("ff").generator.bytes(8) != Noise("ff00000000").generator.bytes(8)
