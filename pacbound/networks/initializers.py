"""The prior's centre: a random initialisation determined by a name and a seed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from pacbound.errors import SettingError, unknown_name
from pacbound.networks.blocks import Blocks, later_units
from pacbound.seeds import derive

__all__ = ["INITIALIZERS", "prior_center"]

Fans = tuple[int, int]  # inputs that reach one output, outputs that one input reaches
Draw = Callable[[np.random.Generator, tuple[int, ...], Fans, bool], np.ndarray]

_NORMALISATIONS = (_NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)


def _fan_in_uniform(
    generator: np.random.Generator, shape: tuple[int, ...], fans: Fans, bias: bool
) -> np.ndarray:
    limit = 1 / math.sqrt(fans[0])
    return generator.uniform(-limit, limit, shape)


def _he_normal(
    generator: np.random.Generator, shape: tuple[int, ...], fans: Fans, bias: bool
) -> np.ndarray:
    return np.zeros(shape) if bias else generator.normal(0, math.sqrt(2 / fans[0]), shape)


def _xavier_uniform(
    generator: np.random.Generator, shape: tuple[int, ...], fans: Fans, bias: bool
) -> np.ndarray:
    if bias:
        return np.zeros(shape)
    limit = math.sqrt(6 / sum(fans))
    return generator.uniform(-limit, limit, shape)


def _orthogonal(
    generator: np.random.Generator, shape: tuple[int, ...], fans: Fans, bias: bool
) -> np.ndarray:
    if bias:
        return np.zeros(shape)
    rows, columns = shape[0], math.prod(shape[1:])
    gaussian = generator.normal(size=(max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(gaussian)
    q = q * np.sign(np.diag(r))
    return (q if rows >= columns else q.T).reshape(shape)


def _zeros(
    generator: np.random.Generator, shape: tuple[int, ...], fans: Fans, bias: bool
) -> np.ndarray:
    return np.zeros(shape)


INITIALIZERS: dict[str, Draw] = {
    "fan-in-uniform": _fan_in_uniform,
    "he-normal": _he_normal,
    "xavier-uniform": _xavier_uniform,
    "orthogonal": _orthogonal,
    "zeros": _zeros,
}


def prior_center(
    module: nn.Module,
    initializer: str,
    seed: int,
    hidden_bias: float = 0.0,
    later_bias: float = 0.0,
    blocks: Blocks = (),
) -> dict[str, Tensor]:
    """The prior's centre for every parameter of a module, from an initializer and a seed.

    `hidden_bias` is added to the biases of hidden dense layers. If it is negative, a hidden unit is
    silent under the prior until it is trained. Units that the posterior does not use then add no
    noise to the outputs, so a wide network costs fewer nats.

    `later_bias` takes its place for the units in the second and later blocks of a layer.

    Normalisation layers have the centre of plain normalisation: scales of 1, shifts of 0.

    Each tensor has its own stream, so the centre of one layer does not depend on the others.
    NumPy's bit generators give the same stream on every platform.
    """
    if initializer not in INITIALIZERS:
        raise unknown_name("initializer", initializer, INITIALIZERS)
    if seed < 0:
        raise SettingError(f"prior seed must be 0 or more, not {seed}")
    draw = INITIALIZERS[initializer]
    layers = dict(module.named_modules())
    hidden = [name for name, layer in layers.items() if isinstance(layer, nn.Linear)][:-1]
    later = later_units(module, blocks)
    shapes = {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
    center = {}
    for name, shape in shapes.items():
        layer, _, leaf = name.rpartition(".")
        is_bias = len(shape) == 1 and "bias" in leaf
        weight_shape = _weight_shape(layers[layer], leaf, shape) if is_bias else shape
        stream = derive("prior center", initializer, seed, name, list(shape))
        generator = np.random.Generator(np.random.Philox(int(stream, 16) % 2**128))
        if isinstance(layers[layer], _NORMALISATIONS):
            values = np.zeros(shape) if is_bias else np.ones(shape)
        else:
            values = draw(generator, shape, _fans(layers[layer], weight_shape), is_bias)
        if is_bias and (layer in hidden or layer in later):
            shift = np.full(shape, hidden_bias if layer in hidden else 0.0)
            shift[later.get(layer, len(shift)) :] = later_bias
            values = values + shift
        center[name] = torch.from_numpy(values.astype(np.float32))
    return center


def _weight_shape(layer: nn.Module, bias: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the weight that a bias belongs to: that of `bias_hh` to `weight_hh`."""
    weight = getattr(layer, bias.replace("bias", "weight"), None)
    return tuple(weight.shape) if isinstance(weight, Tensor) else (*shape, *shape)


def _fans(layer: nn.Module, weight_shape: tuple[int, ...]) -> Fans:
    if isinstance(layer, nn.Embedding):
        return 1, weight_shape[1]  # each input selects a single row
    kernel = math.prod(weight_shape[2:])
    if len(weight_shape) < 2:
        return 1, 1  # a vector that is multiplied or added
    return weight_shape[1] * kernel, weight_shape[0] * kernel
