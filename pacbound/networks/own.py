"""A user's own module: the supported layers, and the reasons for refusing others.

A certificate covers a posterior over everything in a network but the constants of its prior. So
every other parameter must belong to a layer whose centre can be drawn from a seed, and nothing else
in the module may hold information learned from data.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.utils.parametrize import is_parametrized

from pacbound.errors import ModuleError, by_caller
from pacbound.networks.leaks import hidden_state
from pacbound.networks.parts import COMPOSITES
from pacbound.networks.values import COUNTER, buffers_of, freeze, matching
from pacbound.posteriors import posterior_kind

__all__ = ["SUPPORTED", "Constancy", "prepared", "refuse_wide", "structure_digest"]

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
    nn.MultiheadAttention,
    nn.TransformerEncoderLayer,
    nn.TransformerDecoderLayer,
    nn.LSTM,
    nn.GRU,
    nn.RNN,
    nn.LSTMCell,
    nn.GRUCell,
    nn.RNNCell,
)
STATISTICS = ("running_mean", "running_var", COUNTER)
BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
WIDEST = 10_000  # rows of a triangular factor; k-linear needs the square of this in entries


@dataclass(frozen=True)
class Constancy:
    """Which tensors of a module may be constants of its prior.

    Arguments:
        keeps_values: Whether the prior has the module's values: one from elsewhere. Parameters may
            then be frozen, and buffers are constants.
        learns: Whether the prior is trained, so that it fixes the statistics of normalisation.
        frozen: Patterns of the names of frozen parameters.
        constants: Patterns of the names of buffers that are declared to be free of the data.
    """

    keeps_values: bool = False
    learns: bool = False
    frozen: Sequence[str] = ()
    constants: Sequence[str] = ()

    @property
    def fixes_statistics(self) -> bool:
        return self.keeps_values or self.learns


NONE = Constancy()


def prepared(module: nn.Module, constancy: Constancy = NONE) -> nn.Module:
    """A copy of the module, ready to use, or PacboundError if it cannot be certified.

    The copy is in evaluation mode, in which dropout does nothing: the network is trained and
    certified as it predicts. Its constants do not require gradients.
    """
    if not isinstance(module, nn.Module):
        raise ModuleError(f"the network must be an nn.Module, not {type(module).__name__}")
    _refuse_at_sight(module)
    if type(module) in SUPPORTED:  # a single layer: its parameters need a layer name
        module = nn.Sequential(module)
    try:
        copied = copy.deepcopy(module)
    except Exception as error:  # copying an attribute may raise anything
        raise ModuleError(f"the module cannot be copied: {error}") from error
    _own_buffers(copied)
    freeze(copied, constancy.frozen)
    _refuse_unsupported(copied, constancy)
    for layer in copied.modules():
        if isinstance(layer, nn.Embedding) and not layer._forward_pre_hooks:
            layer.register_forward_pre_hook(_refuse_other_rows)
    return copied.to("cpu", torch.float32).eval()


def _own_buffers(module: nn.Module) -> None:
    """Give every buffer memory of its own: an expanded one cannot be written to."""
    for layer in module.modules():
        for leaf, value in list(layer.named_buffers(recurse=False)):
            setattr(layer, leaf, value.clone(memory_format=torch.contiguous_format))


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


def _named(name: str, layer: nn.Module) -> str:
    kind = type(layer).__name__
    return f"layer '{name}' ({kind})" if name else f"the module ({kind})"


def _refuse_at_sight(module: nn.Module) -> None:
    """Refuse what no prior makes sound, before the module is copied."""
    registered = {id(part) for part in module.modules()}
    for name, layer in module.named_modules():
        if any(character.isspace() for character in name):
            raise ModuleError(f"the name of layer '{name}' has a space; digests need names without")
        if reason := _unsupported(layer):
            raise ModuleError(f"{_named(name, layer)} is not supported: {reason}")
        if hidden := hidden_state(layer, registered):
            raise ModuleError(
                f"{_named(name, layer)}: its attribute {hidden}, which is not in the posterior and "
                "could be computed from data; compute constants in forward, and register layers as "
                "attributes or in an nn.ModuleList"
            )


def _refuse_unsupported(module: nn.Module, constancy: Constancy) -> None:
    declared = matching(list(buffers_of(module)), constancy.constants, "constants")
    drawn = False
    within: tuple[str, ...] = ()  # composite layers so far; their parts are theirs
    for name, layer in module.named_modules():
        if reason := _fitted(layer, constancy):
            raise ModuleError(f"{_named(name, layer)} is not supported: {reason}")
        is_inside = any(name.startswith(f"{outer}.") for outer in within)
        if isinstance(layer, COMPOSITES):
            within += (name,)
        for leaf, parameter in layer.named_parameters(recurse=False):
            full = f"{name}.{leaf}" if name else leaf
            if not parameter.is_floating_point():
                raise ModuleError(
                    f"parameter {full} is {parameter.dtype}; only real parameters are supported"
                )
            if parameter.requires_grad:
                drawn = True
                if not is_inside and type(layer) not in SUPPORTED:
                    names = ", ".join(kind.__name__ for kind in SUPPORTED)
                    raise ModuleError(
                        f"{_named(name, layer)} is not supported: its parameter '{leaf}' does not "
                        f"belong to a supported layer ({names}); or freeze it in a prior from "
                        "elsewhere"
                    )
            elif not constancy.keeps_values and not isinstance(layer, _BatchNorm):
                raise ModuleError(
                    f"parameter {full} is frozen, but its value would not be kept; {_elsewhere()}"
                )
        for leaf in _other_buffers(layer):
            full = f"{name}.{leaf}" if name else leaf
            if not constancy.keeps_values and full not in declared:
                raise ModuleError(
                    f"{_named(name, layer)} is not supported: its buffer '{leaf}' is not in the "
                    "posterior and could be computed from data; compute constants in forward, "
                    f"declare it free of the data with constants={full}, or {_elsewhere()}"
                )
    if not drawn:
        raise ModuleError(
            "the module has no parameters in a posterior: there is nothing to train or certify; "
            "certify-fixed certifies a network as it is"
        )


def _other_buffers(layer: nn.Module) -> list[str]:
    """The buffers of a layer, except for the statistics of a normalisation."""
    statistics = STATISTICS if isinstance(layer, _BatchNorm | _InstanceNorm) else ()
    return [leaf for leaf, _ in layer.named_buffers(recurse=False) if leaf not in statistics]


def _elsewhere() -> str:
    way = by_caller("--prior-weights", "priors.elsewhere")
    return f"take the weights from a prior from elsewhere ({way})"


def _fitted(layer: nn.Module, constancy: Constancy) -> str | None:
    """Why the statistics of a normalisation are refused, or None."""
    if constancy.fixes_statistics:
        return None
    if isinstance(layer, _BatchNorm):
        return (
            "batch normalisation learns statistics of the data outside the posterior; learn the "
            f"prior from a part of the examples ({by_caller('--prior learned', 'priors.Learned')}"
            f"), {_elsewhere()}, or use GroupNorm or LayerNorm"
        )
    if isinstance(layer, _InstanceNorm) and layer.track_running_stats:
        return "its running statistics depend on the data; use track_running_stats=False"
    return None


def _unsupported(layer: nn.Module) -> str | None:
    """Why a layer cannot be part of any certified network, or None if it can."""
    if isinstance(layer, LazyModuleMixin):
        return "its shapes are not known yet; apply it once to an example, or give the shapes"
    if is_parametrized(layer):
        return (
            "its parameters are computed from others (torch.nn.utils.parametrize); call "
            "remove_parametrizations first"
        )
    if isinstance(layer, _BatchNorm) and type(layer) not in BATCH_NORMS:
        return (
            "it is a batch normalisation with code of its own; use an nn.BatchNorm and the rest "
            "after it"
        )
    if type(layer).get_extra_state is not nn.Module.get_extra_state:
        return "its extra state (get_extra_state) is not in the posterior"
    for name, value in [
        *layer.named_parameters(recurse=False),
        *layer.named_buffers(recurse=False),
    ]:
        if value.is_complex():
            return f"its tensor '{name}' is complex; only real tensors are supported"
    if isinstance(layer, _BatchNorm) and not layer.track_running_stats:
        return "without running statistics, its outputs depend on the other examples of the batch"
    hooks = [*layer._forward_hooks.values(), *layer._forward_pre_hooks.values()]
    if any(hook is not _refuse_other_rows for hook in hooks):
        return "it has forward hooks (of weight_norm or spectral_norm?)"
    if isinstance(layer, nn.Embedding) and (layer.max_norm is not None or layer.sparse):
        return "max_norm and sparse gradients change an embedding's weights outside the posterior"
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
    shapes = [
        f"{name} {list(value.shape)}"
        for name, value in [*module.named_parameters(), *buffers_of(module).items()]
    ]
    text = "\n".join(["pacbound-structure/1", repr(module), *shapes])
    return hashlib.sha256(text.encode()).hexdigest()
