"""Check a user's network on a few examples: the conditions that its code must meet."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from pacbound.errors import ModuleError, PacboundError
from pacbound.networks.initializers import prior_center
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.networks.values import constant_names, values_of
from pacbound.posteriors import Diag

__all__ = ["probe_places", "refuse_misbehaviour", "refuse_scaled_tokens"]

EXAMPLES = 8
SEED = 31_415  # of the weights
TOLERANCE = 1e-3  # of the spread of an output; another order of float32 sums differs far less
ROUNDING = 1e-5  # of the largest value of an output


def probe_places(m: int) -> list[int]:
    """The indices of a few examples, spread over all m."""
    return sorted({int(place) for place in np.linspace(0, m - 1, EXAMPLES)})


def refuse_misbehaviour(module: nn.Module, inputs: Tensor, classes: int) -> None:
    """PacboundError unless each row of outputs depends on its example alone and is deterministic.

    A risk is the error rate of a function of one example. If the examples of a batch influence each
    other, errors counted in training batches say nothing about a new example alone.

    Arguments:
        module: The plain network.
        inputs: A few examples, as the network sees them.
        classes: The required number of outputs.
    """
    # With other weights than the prior's centre: what reads the centre is noticed.
    values = {name: value.detach().clone() for name, value in values_of(module).items()}
    fixed = constant_names(module)
    drawn = prior_center(module, "fan-in-uniform", SEED)
    weights = values | {name: value for name, value in drawn.items() if name not in fixed}

    def plain(batch: Tensor) -> Tensor:
        outputs: Tensor = functional_call(module, weights, (batch,))
        return outputs

    outputs = _applied(plain, inputs, module)
    expected = (len(inputs), classes)
    if not isinstance(outputs, Tensor) or outputs.shape != expected:
        got = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise ModuleError(
            f"the module gives {got} for {len(inputs)} examples of {classes} classes; "
            f"forward must return one tensor of shape {expected}"
        )
    if not outputs.is_floating_point():
        raise ModuleError(f"the module's outputs are {outputs.dtype}; give logits of float32")
    if not _alike(outputs, _applied(plain, inputs, module)):
        raise ModuleError(
            "the module gives different outputs in every pass: forward must not be random"
        )
    alone = torch.cat([_applied(plain, one[None], module) for one in inputs])
    if not _alike(outputs, alone):
        raise ModuleError(
            "the module's outputs for an example depend on the others in its batch, so it has no "
            "error on one example to certify"
        )
    stochastic = StochasticNetwork(module, weights, Diag, [0.1])
    same = _applied(lambda batch: stochastic(batch, None), inputs, module)
    if not _alike(outputs, same):
        raise ModuleError(
            "forward depends on the types of its layers; it must work with stochastic layers too"
        )


def refuse_scaled_tokens(module: nn.Module, inputs: Tensor) -> None:
    """Refuse an embedding of pixels, which were divided by 255: every token would be 0 or 1.

    Arguments:
        inputs: A few examples of uint8, as the network sees them.
    """

    def compare(layer: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        tokens = arguments[0]
        if tokens.numel() == inputs.numel() and torch.equal(
            tokens.flatten().long(), inputs.flatten().long()
        ):
            raise ModuleError(
                "the inputs are uint8, which are pixels and divided by 255, but the module looks "
                "them up in an embedding: save tokens as int16 or int64, which are never scaled"
            )

    embeddings = [layer for layer in module.modules() if isinstance(layer, nn.Embedding)]
    handles = [layer.register_forward_pre_hook(compare) for layer in embeddings]
    try:
        if handles:
            _applied(module, inputs, module)
    finally:
        for handle in handles:
            handle.remove()


def _applied(function: Callable[[Tensor], Tensor], inputs: Tensor, module: nn.Module) -> Tensor:
    try:
        with torch.no_grad():
            return function(inputs)
    except PacboundError:
        raise
    except Exception as error:  # user code may raise anything
        words = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        hint = ""
        has_embedding = any(isinstance(layer, nn.Embedding) for layer in module.modules())
        if has_embedding and "indices" in words:
            hint = "; inputs are float32: call .long() on them before an Embedding"
        elif "StochasticL" in words:
            hint = "; forward must use its layers by calling them with one tensor"
        shape = tuple(inputs.shape[1:])
        raise ModuleError(f"the module fails on inputs of shape {shape}: {words}{hint}") from error


def _alike(first: Tensor, second: Tensor) -> bool:
    """Whether two tables of outputs agree, each column by its own spread."""
    if first.shape != second.shape:
        return False
    finite = torch.isfinite(first) & torch.isfinite(second)
    if not torch.equal(first.isfinite(), second.isfinite()):
        return False
    a, b = (x.double().where(finite, torch.zeros(())) for x in (first, second))
    spread = (a - a.mean(0)).abs().amax(0)
    allowed = TOLERANCE * spread + ROUNDING * a.abs().amax(0)
    return bool(((a - b).abs() <= allowed + 1e-12).all())
