"""A user's own module: the supported layers, and the reasons for refusing others.

A certificate covers a posterior over everything in a network, around a centre free of data. So
every parameter must belong to a layer whose centre can be drawn from a seed, and nothing else in
the module may hold information learned from data.
"""

from __future__ import annotations

import copy
import hashlib
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.utils.parametrize import is_parametrized

from pacbound.errors import ModuleError
from pacbound.networks.leaks import hidden_state
from pacbound.posteriors import posterior_kind

__all__ = ["SUPPORTED", "prepared", "refuse_wide", "structure_digest"]

SUPPORTED: tuple[type[nn.Module], ...] = (
    nn.Linear,
    nn.Conv1d,
    nn.Conv2d,
    nn.Conv3d,
    nn.Embedding,
    nn.LayerNorm,
    nn.GroupNorm,
    nn.RMSNorm,
    nn.InstanceNorm1d,
    nn.InstanceNorm2d,
    nn.InstanceNorm3d,
)
WIDEST = 10_000  # rows of a triangular factor; k-linear needs the square of this in entries


def prepared(module: nn.Module) -> nn.Module:
    """A copy of the module, ready to use, or PacboundError if it cannot be certified.

    The copy is in evaluation mode, in which dropout does nothing: the network is trained and
    certified as it predicts. The values of its parameters are not used.
    """
    if not isinstance(module, nn.Module):
        raise ModuleError(f"the network must be an nn.Module, not {type(module).__name__}")
    _refuse_unsupported(module)
    if type(module) in SUPPORTED:  # a single layer: its parameters need a layer name
        module = nn.Sequential(module)
    try:
        copied = copy.deepcopy(module)
    except Exception as error:  # copying an attribute may raise anything
        raise ModuleError(f"the module cannot be copied: {error}") from error
    for layer in copied.modules():
        if isinstance(layer, nn.Embedding) and not layer._forward_pre_hooks:
            layer.register_forward_pre_hook(_refuse_other_rows)
    return copied.to("cpu", torch.float32).eval()


def _refuse_other_rows(layer: nn.Module, arguments: tuple[Any, ...]) -> None:
    """One line instead of torch's bare `index out of range`."""
    assert isinstance(layer, nn.Embedding)
    indices = arguments[0]
    if torch.compiler.is_compiling() or not indices.numel() or indices.is_floating_point():
        return
    least, most, rows = int(indices.min()), int(indices.max()), layer.num_embeddings
    if least < 0 or most >= rows:
        wrong = least if least < 0 else most
        raise ModuleError(f"an input asks for row {wrong} of an embedding with {rows} rows")


def _refuse_unsupported(module: nn.Module) -> None:
    seen: dict[int, str] = {}
    registered = {id(part) for part in module.modules()}
    for name, layer in module.named_modules(remove_duplicate=False):
        kind = type(layer).__name__
        where = f"layer '{name}' ({kind})" if name else f"the module ({kind})"
        if reason := _unsupported(layer):
            raise ModuleError(f"{where} is not supported: {reason}")
        if hidden := hidden_state(layer, registered):
            raise ModuleError(
                f"{where}: its attribute {hidden}, which is not in the posterior and could be "
                "computed from data; compute constants in forward, and register layers as "
                "attributes or in an nn.ModuleList"
            )
        for leaf, parameter in layer.named_parameters(recurse=False):
            full = f"{name}.{leaf}" if name else leaf
            if id(parameter) in seen:
                raise ModuleError(
                    f"parameter {full} is {seen[id(parameter)]}: shared parameters are not "
                    "supported; use one layer twice in forward instead"
                )
            seen[id(parameter)] = full
            if not parameter.requires_grad:
                raise ModuleError(
                    f"parameter {full} is frozen, but its value would not be kept: every weight "
                    "is drawn around a prior that is free of data"
                )
            if not parameter.is_floating_point():
                raise ModuleError(
                    f"parameter {full} is {parameter.dtype}; only real parameters are supported"
                )
    if not seen:
        raise ModuleError("the module has no parameters: there is nothing to train or certify")


def _unsupported(layer: nn.Module) -> str | None:
    """Why a layer cannot be part of a certified network, or None if it can."""
    if isinstance(layer, _BatchNorm):
        return (
            "batch normalisation learns statistics of the data outside the posterior; use "
            "GroupNorm or LayerNorm"
        )
    if isinstance(layer, _InstanceNorm) and layer.track_running_stats:
        return "its running statistics depend on the data; use track_running_stats=False"
    if isinstance(layer, LazyModuleMixin):
        return "its shapes are not known yet; apply it once to an example, or give the shapes"
    if is_parametrized(layer):
        return "its parameters are computed from others (torch.nn.utils.parametrize)"
    hooks = [*layer._forward_hooks.values(), *layer._forward_pre_hooks.values()]
    if any(hook is not _refuse_other_rows for hook in hooks):
        return "it has forward hooks (of weight_norm or spectral_norm?)"
    if isinstance(layer, nn.Embedding) and (layer.max_norm is not None or layer.sparse):
        return "max_norm and sparse gradients change an embedding's weights outside the posterior"
    buffers = [name for name, _ in layer.named_buffers(recurse=False)]
    if buffers:
        return (
            f"its buffer '{buffers[0]}' is not in the posterior and could be computed from data; "
            "compute constants in forward"
        )
    own = [name for name, _ in layer.named_parameters(recurse=False)]
    if own and type(layer) not in SUPPORTED:
        names = ", ".join(kind.__name__ for kind in SUPPORTED)
        return f"its parameter '{own[0]}' does not belong to a supported layer ({names})"
    return None


def refuse_wide(module: nn.Module, posterior: str) -> None:
    """Refuse triangular factors that would not fit into memory."""
    if not posterior_kind(posterior).dense_modes:
        return
    for name, parameter in module.named_parameters():
        if parameter.dim() > 1 and max(parameter.shape) > WIDEST:
            raise ModuleError(
                f"parameter {name} has {max(parameter.shape)} rows along one mode: {posterior} "
                "would need the square of that; use posterior diag or k-diag"
            )


def structure_digest(module: nn.Module) -> str:
    """SHA-256 of a prepared module's layers, their options and the shapes of their parameters.

    It does not cover the code of `forward`.
    """
    shapes = [f"{name} {list(value.shape)}" for name, value in module.named_parameters()]
    text = "\n".join(["pacbound-structure/1", repr(module), *shapes])
    return hashlib.sha256(text.encode()).hexdigest()
