"""The layers of a plain network, and what each of their parameters is: drawn, shared or fixed."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import nn

__all__ = ["COMPOSITES", "Part", "first_names", "parts_of"]

# Layers that read the parameters of their own parts, so that they are one layer.
COMPOSITES: tuple[type[nn.Module], ...] = (
    nn.MultiheadAttention,
    nn.TransformerEncoderLayer,
    nn.TransformerDecoderLayer,
    nn.RNNBase,
    nn.RNNCellBase,
)


@dataclass(frozen=True)
class Part:
    """A layer with parameters. Each parameter has the first of its names in the network.

    Arguments:
        own: The parameters with a posterior here.
        borrowed: The parameters with a posterior in an earlier layer.
        constants: The frozen parameters.
    """

    layer: nn.Module
    own: dict[str, str] = field(default_factory=dict)
    borrowed: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)

    @property
    def is_stochastic(self) -> bool:
        return bool(self.own or self.borrowed)


def parts_of(module: nn.Module) -> dict[str, Part]:
    """The layers with parameters, by name."""
    parts: dict[str, Part] = {}
    whole: list[str] = []
    first = first_names(module)
    for name, layer in module.named_modules():
        if any(name.startswith(f"{outer}.") for outer in whole):
            continue
        if is_whole := isinstance(layer, COMPOSITES):
            whole.append(name)
        part = Part(layer)
        for leaf, value in layer.named_parameters(recurse=is_whole, remove_duplicate=False):
            full = f"{name}.{leaf}" if name else leaf
            place = part.own if first[full] == full else part.borrowed
            (place if value.requires_grad else part.constants)[leaf] = first[full]
        if part.is_stochastic or part.constants:
            parts[name] = part
    return parts


def first_names(module: nn.Module) -> dict[str, str]:
    """For each name of a parameter or buffer, the first name of the same tensor."""
    first: dict[int, str] = {}
    every = [
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ]
    return {name: first.setdefault(id(value), name) for name, value in every}
