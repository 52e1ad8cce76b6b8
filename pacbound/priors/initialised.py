"""A prior whose centre is drawn from a seed, before any data are seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacbound.certificate.format import Certificate
from pacbound.priors.base import PriorKind

if TYPE_CHECKING:
    from torch import Tensor, nn

    from pacbound.recipes.settings import Settings

__all__ = ["INITIALISED", "initialised_center"]


def initialised_center(plain: nn.Module, settings: Settings) -> dict[str, Tensor]:
    """The centre determined by the settings' initializer and seed, by parameter name.

    Buffers that are declared as constants of the prior are in it too.
    """
    from pacbound.networks.initializers import prior_center
    from pacbound.networks.values import buffers_of, matching

    made = prior_center(
        plain,
        settings.initializer,
        settings.prior_seed,
        settings.hidden_bias,
        settings.later_bias,
        settings.blocks,
    )
    buffers = buffers_of(plain)
    declared = matching(list(buffers), settings.constants, "constants")
    return made | {name: buffers[name].clone() for name in buffers if name in declared}


def _origin(certificate: Certificate) -> str:
    choices = certificate.prior.choices
    assert choices is not None
    return f"initialised: {choices.initializer}, seed {choices.seed}"


INITIALISED = PriorKind(
    "initialised",
    _origin,
    is_free_of_data=True,
    is_of=lambda settings: not settings.prior_fraction and not settings.origin,
)
