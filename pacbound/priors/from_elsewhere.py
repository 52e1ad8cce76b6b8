"""A prior from elsewhere. Its maker declares that it is free of the counted examples.

Valid when: its weights, frozen parameters and buffers were made without the counted examples. It is
then as good as a prior without data, and every example counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pacbound.certificate.format import Certificate
from pacbound.errors import SettingError, by_caller
from pacbound.printable import printable
from pacbound.priors.base import PriorKind
from pacbound.priors.stored import StoredPrior

if TYPE_CHECKING:
    from torch import Tensor, nn

    from pacbound.recipes.settings import Settings

__all__ = ["ELSEWHERE", "copied_state", "elsewhere_prior"]


def elsewhere_prior(
    settings: Settings, plain: nn.Module, state: Mapping[str, Tensor]
) -> StoredPrior:
    """The prior with the values of a state dict, for a network of these settings.

    Parameters that match a pattern of `fresh` are made by the initializer. Every other tensor of
    the network must be in the state, and every tensor of the state in the network.
    """
    from pacbound.networks.initializers import prior_center
    from pacbound.networks.parts import first_names
    from pacbound.networks.values import counters_of, matching, values_of

    own, first = values_of(plain), first_names(plain)
    made = prior_center(
        plain,
        settings.initializer,
        settings.prior_seed,
        settings.hidden_bias,
        settings.later_bias,
        settings.blocks,
    )
    fresh = matching(list(made), settings.fresh, "fresh")
    given = _tensors(state, first, counters_of(plain))
    if given and fresh == set(made):
        raise SettingError("fresh matches every parameter: nothing comes from elsewhere")
    in_files = {first.get(name, name) for name in plain.state_dict()} - counters_of(plain)
    wrong = [
        *(
            f"{name} has shape {tuple(value.shape)}, not {tuple(own[first[name]].shape)}"
            for name, value in given.items()
            if name in first and first[name] not in fresh and value.shape != own[first[name]].shape
        ),
        *(f"{name} is missing" for name in own if name in in_files - {*given, *fresh}),
        *(f"{printable(name)} is not of this network" for name in given if name not in first),
    ]
    if wrong:
        more = f", and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise SettingError(
            f"the prior's weights do not fit the network: {'; '.join(wrong[:3])}{more} (tensors "
            "for the initializer to make are named by "
            + by_caller("--fresh 'head.*')", "fresh='head.*')")
        )
    values = {}
    for name, value in own.items():  # a buffer that is in no state dict has the module's value
        source = made[name] if name in fresh else given.get(name, value)
        values[name] = source.detach().to("cpu", value.dtype, copy=True)
        if not values[name].isfinite().all():
            raise SettingError(f"tensor {name} of the prior has NaN or infinite entries")
    return StoredPrior(center=values, variances=None)


def copied_state(state: object) -> dict[str, Tensor]:
    """A copy of a state dict: the weights of a prior must not change with those of a module."""
    from torch import Tensor

    if not isinstance(state, Mapping):
        raise SettingError(f"the prior's weights are {type(state).__name__}: give a state dict")
    for name, value in state.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise SettingError(
                f"the prior's weights hold {type(value).__name__} for {printable(str(name))}: "
                "give a state dict of tensors"
            )
    return {name: value.detach().clone() for name, value in state.items()}


def _tensors(
    state: Mapping[str, Tensor], first: Mapping[str, str], counters: set[str]
) -> dict[str, Tensor]:
    """The tensors of a state dict, without counters. The names of a single layer get a prefix."""
    if state and all(name not in first and f"0.{name}" in first for name in state):
        state = {f"0.{name}": value for name, value in state.items()}
    return {name: value for name, value in state.items() if name not in counters}


def _origin(certificate: Certificate) -> str:
    return f"from elsewhere: {certificate.prior.origin}"


def _notes(certificate: Certificate) -> list[str]:
    origin = certificate.prior.origin
    return [f"The prior is declared to be free of the counted examples (“{origin}”)."]


def _declarations(certificate: Certificate) -> list[str]:
    return [
        "That the prior was made without the counted examples: its maker declares so, and "
        f"that it comes from “{printable(certificate.prior.origin or '')}”."
    ]


ELSEWHERE = PriorKind(
    "elsewhere",
    _origin,
    _notes,
    _declarations,
    keeps_values=True,
    is_of=lambda settings: bool(settings.origin),
)
