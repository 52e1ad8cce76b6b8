"""What about a prior could have been chosen by looking at data, as entries of declared lists."""

from __future__ import annotations

from typing import Any

from pacbound.certificate.checker import choice, required_choices
from pacbound.errors import BadInput
from pacbound.recipes import Settings

__all__ = ["prior_choices"]


def prior_choices(settings: Settings) -> list[dict[str, Any]]:
    """The prior's knobs with their places on the declared lists; each costs 2 ln k + ln(π²/6).

    A value that is on no list cannot be paid for, so it is refused before training starts.
    """
    values: dict[str, Any] = {
        "network": settings.network,
        "seed": settings.prior_seed,
        "initializer": settings.initializer,
        "input_scale": settings.input_scale,
        "smoothing": settings.smoothing,
        "alignment": settings.alignment,
        "hidden_bias": settings.hidden_bias,
        "variance_groups": settings.variance_groups,
        "depth": len(settings.hidden),
        **{f"width.{layer}": width for layer, width in enumerate(settings.hidden, 1)},
        "split_seed": settings.split_seed,
        "prior_fraction": settings.prior_fraction,
    }
    names = required_choices(len(settings.hidden), learned=settings.prior_fraction > 0)
    try:
        return [choice(name, values[name]) for name in names]
    except ValueError as error:
        raise BadInput(f"the prior cannot be paid for: {error}") from error
