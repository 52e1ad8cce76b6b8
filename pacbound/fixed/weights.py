"""Load the weights of a file into a module, or say which tensors do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from pacbound.errors import CheckpointError
from pacbound.training.tensor_file import read_tensors

__all__ = ["load_weights", "read_weights"]

NESTED = ("state_dict", "model_state_dict", "model")  # where training scripts put the state dict
SHOWN = 3  # tensors named in an error message


def load_weights(module: nn.Module, path: Path) -> None:
    """Load a state dict of `torch.save` into the module; every tensor must fit.

    The file is read without running code.
    """
    state = read_weights(path)
    own = module.state_dict()
    wrong = [
        *_named("missing", [f"{name} {_shape(own[name])}" for name in own if name not in state]),
        *_named(
            "not in the module",
            [f"{name} {_shape(value)}" for name, value in state.items() if name not in own],
        ),
        *_named(
            "of another shape",
            [
                f"{name} {_shape(value)}, not {_shape(own[name])}"
                for name, value in state.items()
                if name in own and value.shape != own[name].shape
            ],
        ),
        *_named(
            "of another type",
            [
                f"{name} {value.dtype}, not {own[name].dtype}".replace("torch.", "")
                for name, value in state.items()
                if name in own and value.dtype != own[name].dtype
            ],
        ),
    ]
    if wrong:
        raise CheckpointError(f"{path} does not fit the module: {'; '.join(wrong)}")
    module.load_state_dict(state)


def read_weights(path: Path) -> Mapping[str, Tensor]:
    """The state dict in a file of `torch.save`, alone or among other things."""
    state = _state_dict(read_tensors(path, "state dict of torch.save(net.state_dict(), …)"))
    if state is None:
        raise CheckpointError(f"{path} holds no state dict: save one with net.state_dict()")
    return state


def _state_dict(content: Any) -> Mapping[str, Tensor] | None:
    for found in (content, *(content.get(name) for name in NESTED if isinstance(content, dict))):
        if isinstance(found, dict) and found and all(isinstance(x, Tensor) for x in found.values()):
            return found
    return None


def _shape(value: Tensor) -> str:
    return str(tuple(value.shape))


def _named(what: str, tensors: Sequence[str]) -> list[str]:
    if not tensors:
        return []
    more = f" and {len(tensors) - SHOWN} more" if len(tensors) > SHOWN else ""
    return [f"{what}: {', '.join(tensors[:SHOWN])}{more}"]
