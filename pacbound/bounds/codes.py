"""Codes of choices and trials, in nats: the frozen lists, the grid, and the ledger.

Each choice of a prior is an entry of a list fixed before any data were seen. Entry k has the weight
6/(π²k²), so by a union bound a choice costs 2 ln k + ln(π²/6), however it was searched for
(SPEC.md, section 8 and appendix A). A recipe's default tuple of choices has the weight 0.9; all
other tuples share 0.1. Choices on no list are declared in the ledger.

New entries are only appended at the end of a list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pacbound.bounds.arithmetic import Real, log, pi
from pacbound.bounds.prior_grid import index_cost

__all__ = [
    "ALIGNMENTS",
    "HIDDEN_BIASES",
    "INITIALIZERS",
    "INPUT_SCALES",
    "LISTS",
    "NETWORKS",
    "PRIOR_FRACTIONS",
    "RECIPES",
    "SMOOTHING_LENGTHS",
    "VARIANCE_GROUPS",
    "certificates_factor",
    "choices_cost",
    "code_cost",
    "default_choices",
    "ledger_cost",
]

RECIPES = (
    "table",
    "module",
    "fashion-lenet-learned",
    "lenet-5",
    "lenet-5-learned",
    "lenet-small",
    "lenet-small-deskewed",
    "mlp-30",
    "mlp-30-deskewed",
    "mlp-600",
    "mlp-600-learned",
    "mlp-600x2",
    "vi-lenet-5",
    "vi-lenet-5-cifar5",
    "lenet-5-blocks",
    "lenet-lean",
    "mlp-600-blocks",
    "mlp-600x2-blocks",
    "cifar-10-resnet-learned",
    "fashion-resnet-learned",
    "mnist-resnet-learned",
    "mnist-resnet-wide-learned",
)
NETWORKS = ("lenet", "mlp", "module", "resnet", "vgg")
INITIALIZERS = ("fan-in-uniform", "he-normal", "orthogonal", "xavier-uniform", "zeros")
INPUT_SCALES = ("0.25", "0.5", "1", "1.5", "2", "3", "4", "8")
SMOOTHING_LENGTHS = ("0", "0.5", "0.75", "1", "1.25", "1.5", "2", "3")
ALIGNMENTS = ("deskew", "none")
HIDDEN_BIASES = ("0", "-0.5", "-1", "-2", "-3", "-4", "-6", "-8")
PRIOR_FRACTIONS = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9")
VARIANCE_GROUPS = ("layer", "network")

# The list of every choice that is a word.
LISTS: Mapping[str, tuple[str, ...]] = {
    "network": NETWORKS,
    "initializer": INITIALIZERS,
    "input_scale": INPUT_SCALES,
    "smoothing": SMOOTHING_LENGTHS,
    "alignment": ALIGNMENTS,
    "hidden_bias": HIDDEN_BIASES,
    "later_bias": HIDDEN_BIASES,
    "prior_fraction": PRIOR_FRACTIONS,
    "variance_groups": VARIANCE_GROUPS,
}

# The choices that cost nats, by kind of prior.
TUPLES: Mapping[str, tuple[str, ...]] = {
    "initialised": (
        "network",
        "initializer",
        "seed",
        "input_scale",
        "smoothing",
        "alignment",
        "hidden_bias",
        "later_bias",
        "widths",
        "variance_groups",
        "blocks",
    ),
    "learned": ("seed", "prior_fraction", "split_seed", "variance_groups", "blocks"),
    "elsewhere": ("initializer", "seed", "variance_groups", "blocks"),
}

# recipe: network, initializer, input_scale, smoothing, alignment, hidden_bias, widths
_INITIALISED: Mapping[str, tuple[str, str, str, str, str, str, tuple[int, ...]]] = {
    "table": ("mlp", "zeros", "1", "0", "none", "0", ()),
    "module": ("module", "fan-in-uniform", "1", "0", "none", "0", ()),
    "lenet-5": ("lenet", "he-normal", "2", "0", "none", "-2", (20, 50, 500)),
    "lenet-small": ("lenet", "fan-in-uniform", "2", "0", "none", "0", (10, 20, 50)),
    "lenet-small-deskewed": ("lenet", "fan-in-uniform", "2", "0", "deskew", "0", (10, 20, 50)),
    "mlp-30": ("mlp", "fan-in-uniform", "1.5", "1", "none", "0", (30,)),
    "mlp-30-deskewed": ("mlp", "fan-in-uniform", "1.5", "1", "deskew", "0", (30,)),
    "mlp-600": ("mlp", "fan-in-uniform", "1.5", "1", "none", "-4", (600,)),
    "mlp-600x2": ("mlp", "he-normal", "1.5", "1", "none", "-4", (600, 600)),
    "lenet-5-blocks": ("lenet", "he-normal", "2", "1", "none", "0", (20, 50, 500)),
    "lenet-lean": ("lenet", "fan-in-uniform", "2", "1", "none", "0", (6, 12)),
    "mlp-600-blocks": ("mlp", "fan-in-uniform", "1.5", "1", "none", "0", (600,)),
    "mlp-600x2-blocks": ("mlp", "fan-in-uniform", "1.5", "1", "none", "0", (600, 600)),
}
# Of the recipes that have blocks: the bias of later ones, and the layers with their sizes.
_BLOCKS: Mapping[str, tuple[str, tuple[tuple[int, tuple[int, ...]], ...]]] = {
    "lenet-5-blocks": ("-2", ((1, (8, 12)), (2, (16, 34)), (3, (20, 480)))),
    "mlp-600-blocks": ("-4", ((1, (30, 570)),)),
    "mlp-600x2-blocks": ("-4", ((1, (30, 570)), (2, (30, 570)))),
}
_FRACTIONS = {
    "fashion-lenet-learned": "0.7",
    "cifar-10-resnet-learned": "0.8",
    "fashion-resnet-learned": "0.7",
    "mnist-resnet-wide-learned": "0.6",
}


_COMMON: Mapping[str, Any] = {"seed": 0, "variance_groups": "layer", "blocks": ()}


def _initialised(recipe: str) -> dict[str, Any] | None:
    if recipe not in _INITIALISED:
        return None
    names = ("network", "initializer", "input_scale", "smoothing", "alignment", "hidden_bias")
    *words, widths = _INITIALISED[recipe]
    named = dict(zip(names, words, strict=True))
    later_bias, blocks = _BLOCKS.get(recipe, ("0", ()))
    return {**_COMMON, **named, "later_bias": later_bias, "widths": widths, "blocks": blocks}


def _learned(recipe: str) -> dict[str, Any]:
    fraction = _FRACTIONS.get(recipe, "0.5")
    return {**_COMMON, "prior_fraction": fraction, "split_seed": 0}


def _elsewhere(recipe: str) -> dict[str, Any]:
    return {**_COMMON, "initializer": "zeros" if recipe == "table" else "fan-in-uniform"}


_DEFAULTS = {"initialised": _initialised, "learned": _learned, "elsewhere": _elsewhere}
PAYING_FOR_RECIPES = ("initialised",)


def default_choices(kind: str, recipe: str) -> dict[str, Any] | None:
    """The default tuple of a recipe for a kind of prior; None if it has none."""
    return _DEFAULTS[kind](recipe)


def _entry_cost(name: str, value: Any, one: Real) -> Real:
    """The cost of one choice; `one` is the number 1 in the arithmetic to use."""
    if name in LISTS:
        return index_cost(one * (LISTS[name].index(value) + 1))
    if name in ("seed", "split_seed"):
        return index_cost(one * (value + 1))
    if name == "widths":
        return _sum([len(value) + 1, *value], one)
    indices = [len(value) + 1]
    for layer, sizes in value:
        indices += [layer, len(sizes) - 1, *sizes[:-1]]
    return _sum(indices, one)


def _sum(indices: Sequence[int], one: Real) -> Real:
    return sum((index_cost(one * index) for index in indices), 0 * one)


def choices_cost(kind: str, recipe: str, choices: Mapping[str, Any], one: Real) -> Real:
    """The cost of a tuple: ln(10/9) for the recipe's default, else ln 10 and its entries' costs.

    Arguments:
        choices: By name, including the network; `blocks` as pairs (layer, sizes).
        one: The number 1 in the arithmetic to use.
    """
    chosen = {name: choices[name] for name in TUPLES[kind]}
    if chosen == default_choices(kind, recipe):
        return log(one * 10 / 9)
    return log(one * 10) + sum(_entry_cost(name, value, one) for name, value in chosen.items())


def code_cost(
    kind: str, recipe: str, choices: Mapping[str, Any], indices: Sequence[int], one: Real
) -> Real:
    """The cost of a prior: its variances' indices on the grid, its recipe, and its choices.

    Only an initialised prior pays for its recipe. Without a prior, nothing is paid.
    """
    total = _sum(indices, one)
    if kind in PAYING_FOR_RECIPES:
        total += index_cost(one * (RECIPES.index(recipe) + 1))
    if kind in TUPLES:
        total += choices_cost(kind, recipe, choices, one)
    return total


def certificates_factor(counted: str, number: int, one: Real) -> Real:
    """F, the factor by which the number of available certificates divides the shares of δ.

    It is the number if it was declared beforehand, otherwise π²i²/6 for the certificate at place i.
    """
    return one * number if counted == "declared" else pi(one) ** 2 * number**2 / 6


def ledger_cost(candidates: int, looks: int, one: Real) -> Real:
    """ln N + T ln 2 for N candidates, listed before the first look, and T adaptive looks.

    Valid when: what follows a look depends on only one bit of it, keep or drop.
    """
    return log(one * candidates) + looks * log(one * 2)
