"""The randomness of one agent, which can be saved and restored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pacbound.seeds import TrainingNoise

__all__ = ["State", "Stream", "prefixed", "under"]

State = dict[str, NDArray[Any]]  # named arrays that a run needs to continue exactly


class Stream(TrainingNoise):
    """Random numbers for training and for choosing, with a state of plain arrays.

    Example:
        >>> stream = Stream("0" * 64)
        >>> saved = stream.state()
        >>> first = stream.normal(3)
        >>> stream.restore(saved)
        >>> bool((stream.normal(3) == first).all())
        True
    """

    def fill_antithetic(self, block: NDArray[np.float32]) -> None:
        """Standard normal rows; the second half is the negative of the first half.

        Every row has the right law. The mean over a minibatch of independent examples needs no
        more, and this is half the cost of fresh numbers.
        """
        half = (len(block) + 1) // 2
        torch.from_numpy(block[:half]).normal_(generator=self.fast)
        np.negative(block[: len(block) - half], out=block[half:])

    def fill(self, block: NDArray[np.float32]) -> None:
        """Standard normal numbers, in place."""
        torch.from_numpy(block).normal_(generator=self.fast)

    def state(self) -> State:
        """The states of both generators."""
        inner: Any = self.generator.bit_generator.state
        return {
            "words": np.array(inner["state"]["state"], dtype=np.uint64),
            "spare": np.array([inner["has_uint32"], inner["uinteger"]], dtype=np.uint64),
            "fast": self.fast.get_state().numpy(),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a saved state."""
        has_spare, spare = (int(value) for value in state["spare"])
        self.generator.bit_generator.state = {
            "bit_generator": "SFC64",
            "state": {"state": state["words"].astype(np.uint64)},
            "has_uint32": has_spare,
            "uinteger": spare,
        }
        self.fast.set_state(torch.from_numpy(state["fast"].copy()))


def prefixed(prefix: str, state: Mapping[str, NDArray[Any]]) -> State:
    """The state of a part, with its prefix in the state of the whole."""
    return {f"{prefix}/{name}": value for name, value in state.items()}


def under(prefix: str, state: Mapping[str, NDArray[Any]]) -> State:
    """The inverse of `prefixed`: the part of a state that has this prefix."""
    start = f"{prefix}/"
    return {k.removeprefix(start): v for k, v in state.items() if k.startswith(start)}
