"""A learned prior: its centre and its variances are trained on a part of the examples.

Valid when: the certificate counts none of those examples. The prior is then fixed before the
counted sample was drawn, however it was chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from pacbound.certificate.format import Certificate
from pacbound.priors.base import PriorKind, learner
from pacbound.priors.stored import StoredPrior

if TYPE_CHECKING:
    from pacbound.recipes.settings import Settings

__all__ = ["LEARNED", "LearnedPrior", "prior_settings"]

OF_THE_NETWORK = {"network", "hidden", "initializer", "input_scale", "smoothing", "alignment"}
OF_THE_VALUES = (
    "origin",
    "prior_weights",
    "prior_data",
    "frozen",
    "fresh",
    "constants",
    "blocks",
    "later_bias",
    "prior_scaling",
)
OF_THE_PRIOR = OF_THE_NETWORK | {"structure", "hidden_bias", "variance_groups", "split_seed"}


@dataclass(frozen=True, kw_only=True)
class LearnedPrior(StoredPrior):
    """A prior trained on a part of the examples.

    `threads` is the number of threads in training; another number rounds differently. `seconds` is
    the training time. `machine` holds what else rounding depends on.
    """

    variances: tuple[float, ...]
    threads: int
    seconds: float
    machine: dict[str, str]


def prior_settings(settings: Settings) -> dict[str, Any]:
    """The settings that, with the data, determine a stored prior."""
    names = [field.name for field in fields(settings)]
    wanted = [name for name in names if name.startswith("prior_") or name in OF_THE_PRIOR]
    for name in ("prior_variance", "prior_choice"):  # of data-free priors; made before training
        wanted.remove(name)
    everything, changed = settings.everything(), settings.to_mapping()
    of_values = {name: changed[name] for name in OF_THE_VALUES if name in changed}
    return {name: everything[name] for name in wanted if name not in OF_THE_VALUES} | of_values


def _examples(certificate: Certificate) -> int:
    assert certificate.prior.part is not None
    return certificate.prior.part.examples


def _origin(certificate: Certificate) -> str:
    return f"learned from {_examples(certificate)} of {certificate.data.examples} examples"


def _notes(certificate: Certificate) -> list[str]:
    return [
        f"The {learner(certificate)} was learned from the other {_examples(certificate)} examples "
        "of the data set."
    ]


def _declarations(certificate: Certificate) -> list[str]:
    is_alone = certificate.model.posterior is None
    replay = "" if is_alone else " (certify --replay-prior trains it again and compares)"
    return [
        f"That the {learner(certificate)} saw only its {_examples(certificate)} of the "
        f"{certificate.data.examples} examples: its maker declares so{replay}."
    ]


LEARNED = PriorKind(
    "learned",
    _origin,
    _notes,
    _declarations,
    learns=True,
    is_of=lambda settings: settings.prior_fraction > 0,
)
