"""The choices of a prior that could depend on data, as entries of declared lists."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pacbound.bounds.codes import LISTS, TUPLES
from pacbound.errors import SettingError
from pacbound.priors.registry import kind_of
from pacbound.recipes.settings import Settings

__all__ = ["prior_choices"]

MOST = 10**9  # the largest seed


def prior_choices(settings: Settings) -> dict[str, Any]:
    """The prior's choices by name, in the words of the lists in `bounds.codes`.

    A value on no list cannot be paid for, so it is refused before training starts.
    """
    values: dict[str, Any] = {
        "network": settings.network,
        "initializer": settings.initializer,
        "seed": settings.prior_seed,
        "input_scale": _word(settings.input_scale),
        "smoothing": _word(settings.smoothing),
        "alignment": settings.alignment,
        "hidden_bias": _word(settings.hidden_bias),
        "later_bias": _word(settings.later_bias),
        "widths": settings.hidden,
        "prior_fraction": _word(settings.prior_fraction),
        "split_seed": settings.split_seed,
        "variance_groups": settings.variance_groups,
        "blocks": tuple((layer, tuple(sizes)) for layer, *sizes in settings.blocks),
    }
    chosen = {name: values[name] for name in TUPLES[kind_of(settings).name]}
    for name, value in chosen.items():
        if name in LISTS and value not in LISTS[name]:
            raise SettingError(
                f"the prior cannot be paid for: {name} {value} is not on its list, "
                f"{', '.join(LISTS[name])}"
            )
        if name in ("seed", "split_seed") and value > MOST:
            raise SettingError(f"the prior cannot be paid for: {name} {value} is above {MOST}")
    return chosen


def _word(number: float) -> str:
    """A number as the lists write it: without redundant zeros, point or exponent."""
    return format(Decimal(repr(number)).normalize(), "f")
