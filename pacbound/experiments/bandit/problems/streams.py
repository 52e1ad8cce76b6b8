"""The randomness of a problem: a stream for every purpose, determined by the seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pacbound.errors import SettingError
from pacbound.seeds import derive

__all__ = ["Streams", "streams_of"]

Streams: TypeAlias = Callable[[str], np.random.Generator]
"""Maps a purpose to its stream, always from the start of the stream."""


def streams_of(problem: str, seed: int) -> Streams:
    """The streams of a problem. NumPy's bit generators are the same on every platform."""
    if seed < 0:
        raise SettingError(f"the seed of a problem must be 0 or more, not {seed}")

    def stream(purpose: str) -> np.random.Generator:
        derived = derive("bandit problem", problem, seed, purpose)
        return np.random.Generator(np.random.Philox(int(derived, 16) % 2**128))

    return stream
