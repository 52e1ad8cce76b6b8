"""The tensors of a plain network: its weights, and the constants that no posterior draws.

A constant is a parameter that needs no gradient, or a buffer. As in torch, `requires_grad` tells a
frozen parameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase

from pacbound.errors import ModuleError, SettingError

__all__ = [
    "COUNTER",
    "buffers_of",
    "constant_names",
    "counters_of",
    "freeze",
    "matching",
    "take_values",
    "values_of",
]

COUNTER = "num_batches_tracked"  # of batch normalisation; no output depends on it


def buffers_of(module: nn.Module) -> dict[str, Tensor]:
    """The buffers by name, without the counters of normalisations."""
    counters = counters_of(module)
    return {name: value for name, value in module.named_buffers() if name not in counters}


def counters_of(module: nn.Module) -> set[str]:
    """The names of the counters of normalisations."""
    norms = [name for name, layer in module.named_modules() if isinstance(layer, _NormBase)]
    return {f"{name}.{COUNTER}" if name else COUNTER for name in norms}


def values_of(module: nn.Module) -> dict[str, Tensor]:
    """The parameters and buffers by name. A shared tensor is there once, by its first name."""
    return dict(module.named_parameters()) | buffers_of(module)


def constant_names(module: nn.Module) -> set[str]:
    """The names of frozen parameters and of buffers."""
    frozen = {name for name, value in module.named_parameters() if not value.requires_grad}
    return frozen | set(buffers_of(module))


@torch.no_grad()
def take_values(module: nn.Module, values: Mapping[str, Tensor]) -> None:
    """Copy values into a module's tensors; other tensors stay as they are."""
    own = values_of(module)
    for name, value in values.items():
        if name not in own or own[name].shape != value.shape:
            raise ModuleError(f"tensor {name} of shape {tuple(value.shape)} is not of this network")
        own[name].copy_(value)


def matching(names: Sequence[str], patterns: Sequence[str], option: str) -> set[str]:
    """The names that match a pattern such as `features.*`; each pattern must match one."""
    found = {pattern: [n for n in names if fnmatchcase(n, pattern)] for pattern in patterns}
    for pattern, matches in found.items():
        if not matches:
            some = f" ({', '.join(names[:3])}, …)" if names else ": it has none that could match"
            raise SettingError(f"{option} '{pattern}' matches no tensor of the network{some}")
    return {name for matches in found.values() for name in matches}


def freeze(module: nn.Module, patterns: Sequence[str]) -> None:
    """Freeze the parameters that match a pattern, and those of batch normalisation."""
    parameters = dict(module.named_parameters())
    for name in matching(list(parameters), patterns, "frozen"):
        parameters[name].requires_grad_(False)
    for layer in module.modules():
        if isinstance(layer, _BatchNorm):
            layer.requires_grad_(False)
