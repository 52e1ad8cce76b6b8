"""The state of a training run, put back only where it fits: a file can hold any.

What torch itself restores it does not compare: tensors are cast and averages spread to the shapes
they are copied into, an optimiser takes moments of any shape and fails at its next step, and its
rates and switches are those of the file.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["fitting", "restore_module", "restore_optimizer"]

MOMENTS = {"step", "exp_avg", "exp_avg_sq"}  # what Adam keeps of a parameter


def fitting(name: str, saved: Any, like: Tensor) -> Tensor:
    """A copy of the saved tensor for the place of another; ValueError if it does not fit there."""
    if not isinstance(saved, Tensor) or saved.shape != like.shape:
        raise ValueError(f"{name} is not a tensor of shape {tuple(like.shape)}")
    if saved.dtype != like.dtype and not (saved.is_floating_point() and like.is_floating_point()):
        raise ValueError(f"{name} is not of {like.dtype}")
    if not torch.isfinite(saved).all():
        raise ValueError(f"{name} has NaN or infinite entries")
    return saved.detach().to(like.device, like.dtype, copy=True)


def restore_module(module: nn.Module, saved: Any) -> None:
    """Put back what `module.state_dict()` gave; ValueError if it does not fit."""
    expected: dict[str, Any] = module.state_dict()
    if not isinstance(saved, dict) or set(saved) != set(expected):
        raise ValueError("its tensors are not those of the network")
    for name, like in expected.items():
        extra = not isinstance(like, Tensor)  # which its own module compares
        expected[name] = saved[name] if extra else fitting(name, saved[name], like)
    module.load_state_dict(expected)


def restore_optimizer(optimizer: torch.optim.Optimizer, saved: Any) -> None:
    """Put back the moments of an Adam; ValueError if they do not fit.

    Its rates and switches stay as they are: they follow from the settings.
    """
    state = saved.get("state") if isinstance(saved, dict) else None
    if not isinstance(state, dict):
        raise ValueError("its optimiser has no state")
    parameters = [value for group in optimizer.param_groups for value in group["params"]]
    restored = {}
    for place, moments in state.items():
        known = type(place) is int and 0 <= place < len(parameters)
        if not known or not isinstance(moments, dict) or set(moments) != MOMENTS:
            raise ValueError("its optimiser is of another kind or of other parameters")
        likes = dict.fromkeys(MOMENTS, parameters[place]) | {"step": torch.zeros(())}
        restored[place] = {name: fitting(name, moments[name], likes[name]) for name in MOMENTS}
        if any((restored[place][name] < 0).any() for name in ("step", "exp_avg_sq")):
            raise ValueError("its optimiser has a negative step or mean square")
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": restored, "param_groups": groups})
