"""A prior that learned: its centre and its variances, trained on a part of the examples alone.

Valid when: none of those examples is counted by the certificate. The prior is then fixed before
the sample that counts was drawn, whatever it was chosen by.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from pacbound.certificate.format import Certificate
from pacbound.errors import CheckpointError
from pacbound.priors.base import PriorKind, learner

if TYPE_CHECKING:
    from torch import Tensor, nn

    from pacbound.recipes.settings import Settings

__all__ = ["LEARNED", "LearnedPrior", "prior_settings"]

OF_THE_NETWORK = {"network", "hidden", "initializer", "input_scale", "smoothing", "alignment"}
OF_THE_PRIOR = OF_THE_NETWORK | {"structure", "hidden_bias", "variance_groups", "split_seed"}


@dataclass(frozen=True)
class LearnedPrior:
    """N(center, λI), with a λ for every variance group.

    `threads` are those it was trained with: sums of another number of them round differently.
    `seconds` is how long that took. `machine` is what else rounding depends on. `validation` has
    the examples of its part that it was not fitted to, and the centre's errors on them.
    """

    center: dict[str, Tensor]
    variances: tuple[float, ...]
    threads: int
    seconds: float
    machine: dict[str, str]
    validation: tuple[int, int] = (0, 0)

    @property
    def sha256(self) -> str:
        """The digest of the centre. The variances are figures of the certificate."""
        from pacbound.networks.digests import tensors_digest

        return tensors_digest(self.center)

    def ensure_fits(self, plain: nn.Module) -> None:
        """Refuse the centre of another network."""
        shapes = {name: (value.shape, value.dtype) for name, value in plain.named_parameters()}
        if shapes != {name: (value.shape, value.dtype) for name, value in self.center.items()}:
            raise CheckpointError(
                "the learned prior's centre is not of the network of its settings"
            )


def prior_settings(settings: Settings) -> dict[str, Any]:
    """What determines a learned prior, besides the data: how it was trained."""
    names = [field.name for field in fields(settings)]
    wanted = [name for name in names if name.startswith("prior_") or name in OF_THE_PRIOR]
    wanted.remove("prior_variance")  # how the posterior's training treats a data-free one
    everything = settings.everything()
    return {name: everything[name] for name in wanted}


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
