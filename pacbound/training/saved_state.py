"""Restore the state of a training run, after checking that it fits: a file can hold anything.

torch does not check what it restores. It casts tensors and broadcasts averages to the target
shapes. An optimiser accepts moments of any shape and fails at its next step, and it takes its rates
and switches from the file.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["fitting", "restore_module", "restore_moments"]

MOMENTS = {"step", "exp_avg", "exp_avg_sq"}  # Adam's state of a parameter


def fitting(name: str, saved: Any, like: Tensor) -> Tensor:
    """A copy of a saved tensor that is to replace another; ValueError if it does not fit."""
    if not isinstance(saved, Tensor) or saved.shape != like.shape:
        raise ValueError(f"{name} is not a tensor of shape {tuple(like.shape)}")
    if saved.dtype != like.dtype and not (saved.is_floating_point() and like.is_floating_point()):
        raise ValueError(f"{name} is not of {like.dtype}")
    if not torch.isfinite(saved).all():
        raise ValueError(f"{name} has NaN or infinite entries")
    return saved.detach().to(like.device, like.dtype, copy=True)


def restore_module(module: nn.Module, saved: Any) -> None:
    """Restore a result of `module.state_dict()`; ValueError if it does not fit."""
    expected: dict[str, Any] = module.state_dict()
    if not isinstance(saved, dict) or set(saved) != set(expected):
        raise ValueError("its tensors are not those of the network")
    for name, like in expected.items():
        extra = not isinstance(like, Tensor)  # its own module checks it
        expected[name] = saved[name] if extra else fitting(name, saved[name], like)
    module.load_state_dict(expected)


def restore_moments(optimizer: torch.optim.Optimizer, saved: Any) -> None:
    """Restore an optimiser's state of its parameters; ValueError if it does not fit.

    Its rates and switches stay unchanged, because the settings determine them. The moments of Adam
    are checked for valid values. For another optimiser, tensors must be finite and either have
    the shape of their parameter or be scalars.
    """
    state = saved.get("state") if isinstance(saved, dict) else None
    if not isinstance(state, dict):
        raise ValueError("its optimiser has no state")
    parameters = [value for group in optimizer.param_groups for value in group["params"]]
    is_adam = isinstance(optimizer, torch.optim.Adam)
    restored = {}
    for place, moments in state.items():
        known = type(place) is int and 0 <= place < len(parameters)
        if not known or not isinstance(moments, dict) or (is_adam and not _of_adam(moments)):
            raise ValueError("its optimiser is of another kind or of other parameters")
        if is_adam:
            likes = dict.fromkeys(moments, parameters[place]) | {"step": torch.zeros(())}
            restored[place] = {name: fitting(name, moments[name], likes[name]) for name in moments}
        else:
            restored[place] = {
                name: _moment(name, value, parameters[place]) for name, value in moments.items()
            }
        if is_adam and any((restored[place][name] < 0).any() for name in ("step", "exp_avg_sq")):
            raise ValueError("its optimiser has a negative step or mean square")
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": restored, "param_groups": groups})


def _of_adam(moments: dict[str, Any]) -> bool:
    return set(moments) - {"max_exp_avg_sq"} == MOMENTS  # amsgrad adds max_exp_avg_sq


def _moment(name: str, saved: Any, parameter: Tensor) -> Any:
    if name == "step" or (isinstance(saved, Tensor) and not saved.dim()):
        return fitting(name, saved, torch.zeros(()))
    if isinstance(saved, Tensor):
        return fitting(name, saved, parameter)
    if saved is None or type(saved) in (bool, int, float):
        return saved
    raise ValueError(f"{name} of its optimiser is {type(saved).__name__}")
