"""Apply the predictor of a certificate to inputs: predictions that its bounds cover.

`draw` and `fixed` are one network each. `gibbs` draws a network for every input. A certificate of a
vote covers the vote of all networks, which nobody can run. What is run is the vote of an odd number
N ≥ 3 of networks, drawn anew for every input. The same bounds hold for it. Where it errs,
K ≥ (N + 1)/2 of its N networks err. E K = N·R, where R is the risk of one network, so by Markov's
inequality its risk is at most 2N/(N + 1)·R. E K(K − 1) = N(N − 1)·T, where T is the risk that two
independent networks err together, so it is at most 4N/(N + 1)·T. Both factors are below the factors
2 and 4 of the certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pacbound.certificate import checker
from pacbound.certificate.format import Certificate, Claim
from pacbound.data import Dataset
from pacbound.errors import (
    CertificateError,
    CheckpointError,
    DataError,
    SettingError,
    by_caller,
)
from pacbound.networks.digests import tensors_digest
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.networks.values import take_values, values_of
from pacbound.predictors import PREDICTORS, predictor_of
from pacbound.predictors.chunks import Report, silent
from pacbound.predictors.drawing import draw_network
from pacbound.predictors.exported import Exported
from pacbound.predictors.issuing import posterior_of
from pacbound.recipes.commands import setting_texts
from pacbound.seeds import Noise, derive
from pacbound.training.checkpoints import Checkpoint, restored
from pacbound.training.networks import network_inputs
from pacbound.training.problem import Problem

__all__ = [
    "ABSTAINS",
    "VOTERS",
    "Applied",
    "Observed",
    "exported_predictions",
    "network_of",
    "observed",
    "predictions",
]

ABSTAINS = -1  # in place of a class
INPUT_MAP = ("input_scale", "smoothing", "alignment")  # settings of the map in front of a network
VOTERS = 25  # networks of a vote, per input
ROWS = 2000  # inputs at a time
WEIGHTS = 2**24  # drawn at a time, when every input needs its own weights


@dataclass(frozen=True, eq=False)
class Applied:
    """The class of every input, given by the predictor of a certificate."""

    classes: NDArray[np.int64]  # (n,); -1 where the predictor abstains
    predictor: str
    networks: int  # per input
    shares: NDArray[np.float64] | None  # in a vote: the share of networks for the class, (n,)

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which inputs get a class; all, unless the predictor abstains."""
        return np.not_equal(self.classes, ABSTAINS)

    def arrays(self, labels: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """`classes`, the `labels` that are known and, for a vote, `shares`."""
        found: dict[str, NDArray[Any]] = {"classes": self.classes}
        if len(labels):
            found["labels"] = labels
        if self.shares is not None:
            found["shares"] = self.shares
        return found

    def words(self) -> str:
        """Which predictor was used, and why the certificate covers it."""
        return PREDICTORS[self.predictor].applied.format(networks=self.networks)


def predictions(
    certificate: Certificate,
    checkpoint: Path | Checkpoint,
    inputs: NDArray[Any],
    *,
    voters: int | None = None,
    module: nn.Module | None = None,
    report: Report = silent,
) -> Applied:
    """Predict the classes of raw inputs with the predictor that a certificate covers.

    The certificate is verified and must match this checkpoint. The training data are not needed.
    Drawn weights follow from the digests and the inputs, so the same call gives the same classes.

    Arguments:
        inputs: Raw inputs, as in the data set; (n, …).
        voters: Networks of a vote per input, an odd number from 3; `VOTERS` by default.
        module: The user's own network, if the checkpoint is of one.
    """
    _ensure_valid(certificate)
    voters = _voters(certificate, voters)
    _refuse(certificate)
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint.load(checkpoint)
    # Labels are not used. The classes are the certificate's: another number does not fit.
    labels = np.zeros(len(inputs), np.int64)
    examples = Dataset("what is given here", inputs, labels, None, None, certificate.data.classes)
    problem = posterior_of(checkpoint, examples, allow_other_data=True, module=module)
    _ensure_of(certificate, checkpoint, problem)
    seen, predictor = network_inputs(checkpoint.settings, inputs), predictor_of(certificate)
    with torch.inference_mode():
        if not predictor.sampled:
            network = _one(certificate, checkpoint, problem)
            classes = _in_parts(network, seen, certificate.model.answer_above, report)
            return Applied(classes, certificate.predictor, 1, None)
        seed = derive("applied", *_digests(certificate), tensors_digest({"inputs": seen}))
        counts = _votes(problem.network, seen, certificate.data.classes, voters, seed, report)
    winners = counts.argmax(1)
    shares = counts.max(1) / voters if predictor.factor > 1 else None
    return Applied(winners, certificate.predictor, voters, shares)


def exported_predictions(
    certificate: Certificate,
    exported: Exported,
    inputs: NDArray[Any],
    report: Report = silent,
) -> Applied:
    """Predict the classes of raw inputs with the exported network that a certificate covers.

    The certificate is verified, and the weights must have its digest.
    """
    _ensure_valid(certificate)
    if predictor_of(certificate).sampled:
        raise SettingError(f"a {certificate.predictor} predictor is not one network")
    evidence = certificate.evidence
    digest = certificate.model.sha256 if evidence is None else evidence.weights_sha256
    if exported.weights_sha256 != digest:
        raise CheckpointError(
            "the certificate is of another network than the exported one: their digests differ"
        )
    here, there = setting_texts(exported.settings), certificate.made.settings
    for name in INPUT_MAP:
        if here[name] != there.get(name):
            raise CheckpointError(
                f"the description of the exported network has {name}={here[name]}, but the "
                f"certificate was made with {there.get(name)}: export the network again"
            )
    raw = exported.raw(inputs)
    classes = _in_parts(exported, raw, certificate.model.answer_above, report)
    return Applied(classes, certificate.predictor, 1, None)


def _ensure_valid(certificate: Certificate) -> None:
    verdict = checker.verify(certificate.to_json().encode())
    if not verdict.accepted:
        raise CertificateError(f"the certificate does not hold: {verdict.check} {verdict.reason}")


def network_of(
    certificate: Certificate, checkpoint: Checkpoint, module: nn.Module | None = None
) -> nn.Module:
    """The one network that a certificate of this checkpoint covers."""
    if predictor_of(certificate).sampled:
        raise SettingError(f"a {certificate.predictor} predictor is not one network")
    _refuse(certificate)
    problem = restored(checkpoint, module)
    _ensure_of(certificate, checkpoint, problem)
    return _one(certificate, checkpoint, problem).eval()


def _voters(certificate: Certificate, voters: int | None) -> int:
    if predictor_of(certificate).factor == 1:
        if voters is not None:
            raise SettingError(
                f"the certificate is of a {certificate.predictor} predictor, which has no voters"
            )
        return 1
    if voters is None:
        return VOTERS
    if voters < 3 or voters % 2 == 0:
        raise SettingError(
            f"{voters} networks cannot vote under the certificate: give an odd number from 3"
        )
    return voters


def _refuse(certificate: Certificate) -> None:
    """Refuse predictors that cannot be run from a checkpoint."""
    model = certificate.model
    if not predictor_of(certificate).has_posterior and model.source != "centre":
        raise SettingError(
            f"the certificate is of a fixed predictor (source: {model.source}) that no "
            "checkpoint contains: run that predictor itself"
        )


def _digests(certificate: Certificate) -> tuple[str, str, str]:
    return certificate.model.sha256, certificate.prior.sha256 or "", certificate.data.sha256


def _ensure_of(certificate: Certificate, checkpoint: Checkpoint, problem: Problem) -> None:
    """Refuse a checkpoint whose posterior or prior differs from the certificate's."""
    if not predictor_of(certificate).has_posterior:
        agree = certificate.model.sha256 == problem.prior_sha256
    else:
        found = tensors_digest(checkpoint.posterior), problem.prior_sha256
        agree = found == _digests(certificate)[:2]
    if not agree:
        raise CheckpointError(
            "the certificate is of another network than the checkpoint's: their digests differ"
        )


def _one(certificate: Certificate, checkpoint: Checkpoint, problem: Problem) -> nn.Module:
    """The network of a certificate that covers a single network."""
    if not predictor_of(certificate).has_posterior:
        take_values(problem.plain, problem.center)
        return problem.plain
    assert certificate.seeds is not None and certificate.seeds.draw is not None
    assert certificate.evidence is not None
    grouping = checkpoint.settings.variance_groups
    drawn = draw_network(problem.network, problem.center, grouping, certificate.seeds.draw)
    take_values(problem.plain, drawn.weights)
    if tensors_digest(values_of(problem.plain)) != certificate.evidence.weights_sha256:
        raise CheckpointError(
            "the network drawn here has other weights than the certificate's, because rounding "
            "differs between machines; use the network that was exported with it"
            + by_caller(" (certify --export): give it instead of the checkpoint", "")
        )
    return problem.plain


def _in_parts(
    network: Callable[[Any], Tensor], inputs: Any, answer_above: str, report: Report
) -> NDArray[np.int64]:
    """The classes of one network; `ABSTAINS` where its confidence is not above the threshold."""
    found = []
    for first in range(0, len(inputs), ROWS):
        logits = network(inputs[first : first + ROWS])
        classes = logits.argmax(1)
        if answer_above:
            confident = logits.double().softmax(1).max(1).values > float(answer_above)
            classes = classes.where(confident, ABSTAINS)
        found.append(classes)
        report("predicting", min(first + ROWS, len(inputs)), len(inputs))
    return torch.cat(found).numpy()


def _votes(
    network: StochasticNetwork,
    inputs: Tensor,
    classes: int,
    voters: int,
    seed: str,
    report: Report,
) -> NDArray[np.int64]:
    """The number of networks that give each class to each input, (n, classes).

    No network sees two inputs.
    """
    rows = ROWS
    if network.draws_per_example():
        network.recall()
    else:
        rows = max(1, min(ROWS, WEIGHTS // network.parameter_count()))
    counts = torch.zeros(len(inputs), classes, dtype=torch.int64)
    one = torch.ones(1, 1, dtype=torch.int64)
    done, steps = 0, voters * len(inputs)
    for first in range(0, len(inputs), rows):
        part = inputs[first : first + rows]
        for voter in range(voters):
            source = Noise(derive("voters", seed, first, voter))
            # As many draws as rows: if weights are drawn, each row has its own.
            given = network(part, source, len(part)).argmax(1, keepdim=True)
            counts[first : first + rows].scatter_add_(1, given, one.expand(len(part), 1))
            done += len(part)
            report("predicting", done, steps)
    return counts.numpy()


@dataclass(frozen=True)
class Observed:
    """A claim, and its observed errors on labelled examples."""

    claim: Claim
    examples: int
    errors: int

    def to_mapping(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "claim": self.claim.scope,
            "bound": str(self.claim.bound),
            "examples": self.examples,
            "errors": self.errors,
        }


def observed(
    claims: Sequence[Claim], applied: Applied, labels: NDArray[np.int64]
) -> list[Observed]:
    """The observed errors for each claim on errors, and the abstentions.

    Groups and costs are not known here. Nor is the class of an input that is not answered: claims
    on other inputs than the answered ones are left out for a predictor that abstains.
    """
    if len(labels) != len(applied.classes):
        raise DataError(f"{len(labels)} labels are given for {len(applied.classes)} predictions")
    answered, found = applied.answered, []
    for claim in claims:
        if claim.loss == "abstention":
            found.append(Observed(claim, len(labels), int((~answered).sum())))
        members = _members(claim, applied, labels)
        if claim.loss == "zero-one" and members is not None:
            wrong = int((applied.classes != labels)[members].sum())
            found.append(Observed(claim, int(members.sum()), wrong))
    return found


def _members(claim: Claim, applied: Applied, labels: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """The inputs that a claim is about; None if that or their class is not known here."""
    answered = applied.answered
    if claim.subject == "answered":
        return answered
    if not answered.all():
        return None
    return {
        "all": answered,
        "true-class": labels == claim.class_,
        "predicted-class": applied.classes == claim.class_,
    }.get(claim.subject)
