"""Blocks of a layer's units: each has a prior variance of its own.

A wide layer need not cost its width: a block that the posterior does not use stays at its prior,
with a tiny variance, and adds only the price of that variance.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from pacbound.errors import SettingError
from pacbound.networks.parts import COMPOSITES, Part, parts_of

__all__ = ["Blocks", "Sizes", "later_units", "sizes_of"]

Blocks = Sequence[Sequence[int]]  # the position of a layer, then the sizes of its blocks
Sizes = tuple[tuple[int, ...], tuple[int, ...]]  # of blocks of units, and of blocks of inputs


def sizes_of(module: nn.Module, blocks: Blocks) -> dict[str, Sizes]:
    """The sizes of the blocks by layer, along units and along inputs.

    The units of a layer are cut as `blocks` says. The inputs of the next layer with a matrix are
    cut alike if their number is a multiple of the number of units; such as the values of every
    channel after flattening.
    """
    parts = {name: part for name, part in parts_of(module).items() if part.own}
    names = list(parts)
    found: dict[str, Sizes] = {}
    for position, *sizes in blocks:
        if not 1 <= position <= len(names):
            raise SettingError(f"blocks: there is no layer {position} of {len(names)}")
        name = names[position - 1]
        weight = _matrix(parts[name])
        if weight is None or weight.shape[0] != sum(sizes):
            units = "no units" if weight is None else f"{weight.shape[0]} units"
            raise SettingError(
                f"blocks: layer {position} ({name}) has {units}; the sizes {list(sizes)} "
                f"add up to {sum(sizes)}"
            )
        found[name] = tuple(sizes), found.get(name, ((), ()))[1]
        following = next(
            (other for other in names[position:] if _matrix(parts[other]) is not None), None
        )
        if following is None:
            continue
        matrix = _matrix(parts[following])
        assert matrix is not None
        times, rest = divmod(matrix.shape[1], sum(sizes))
        if not rest:
            found[following] = (), tuple(times * size for size in sizes)
    return found


def later_units(module: nn.Module, blocks: Blocks) -> dict[str, int]:
    """By layer with blocks of units: the first unit of its second block."""
    return {name: units[0] for name, (units, _) in sizes_of(module, blocks).items() if units}


def _matrix(part: Part) -> Tensor | None:
    """The weight whose rows are units and whose columns are inputs."""
    weight = getattr(part.layer, "weight", None)
    whole = not isinstance(part.layer, (*COMPOSITES, nn.Embedding))
    grouped = getattr(part.layer, "groups", 1) != 1
    if "weight" not in part.own or not whole or grouped or not isinstance(weight, Tensor):
        return None
    return weight if weight.dim() > 1 else None
