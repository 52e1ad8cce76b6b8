"""A predictor that was fixed before the counted examples were seen.

It is a network, an estimator, a file of predictions, or the centre of a learned prior. Its risk is
at most the Clopper–Pearson limit at level δ/(candidates · 2^looks · certificates): no prior, no KL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from pacbound.bounds.inequalities import inequalities
from pacbound.bounds.inequality import FIXED as BEFOREHAND
from pacbound.certificate.format import (
    Certificate,
    Claim,
    Data,
    Ledger,
    Made,
    Model,
    Prior,
)
from pacbound.data.copies import ALLOWED_PERCENT
from pacbound.data.digests import (
    ExampleDigests,
    count_duplicates,
    data_digest,
    example_costs_digest,
    groups_digest,
)
from pacbound.errors import DataError, by_caller
from pacbound.predictors.base import Observed, Offer, Paid, Predictor, Situation, Term
from pacbound.predictors.budget import divide
from pacbound.predictors.claims import Wanted, asked
from pacbound.predictors.concluding import conclude, new_ledger
from pacbound.predictors.counting import counted_claims
from pacbound.predictors.draw import DRAW
from pacbound.predictors.judging import Judged
from pacbound.predictors.waterfall import choices_cost, code_parts, shown, steps

__all__ = ["FIXED", "bound", "fixed_certificate", "not_claimed", "observe", "offer", "terms"]


def bound(paid: Paid, claim: Claim, inequality: str) -> Decimal:
    """The bound of a claim from its counts."""
    return inequalities(BEFOREHAND)[inequality].rate(paid.given(claim))


def terms(certificate: Certificate, claim: Claim) -> list[Term]:
    """The risk on the counted examples, then the terms of confidence, code and ledger."""
    inequality = inequalities(BEFOREHAND)[certificate.bound.inequality]
    given, parts = shown(certificate, claim), code_parts(certificate)
    return steps(claim, *inequality.terms(given, parts))


def not_claimed(certificate: Certificate) -> list[str]:
    """Predictors other than this one."""
    return [
        "Any other predictor: not this one after further training, pruning, quantising or "
        "another choice of threshold. Its digest tells it from others.",
    ]


def offer(certificate: Certificate, claim: Claim, other: Predictor) -> Offer | None:
    """The prior's centre alone, if its errors on a validation part are known."""
    part, seen = certificate.prior.part, certificate.prior.validation
    if part is None or seen is None or not seen.examples:
        return None
    if (claim.loss, claim.subject) != ("zero-one", "all"):
        return None  # the validation counted the overall error
    evidence = certificate.evidence
    shares = [claim.delta, claim.delta_risk, evidence.delta_kl if evidence else None]
    return Offer(
        change="a certificate of the prior's centre",
        inequality=FIXED.rule(certificate.prior),
        risk=seen.errors / seen.examples,
        share=float(sum(share for share in shares if share is not None)),
        divergence=0.0,
        code=choices_cost(certificate),
        assumes="another claim; as many errors as on the centre's "
        f"{seen.examples} validation examples",
    )


def observe(at: Situation) -> Observed:
    """Count the errors of the centre of a learned prior."""
    from pacbound.networks.values import take_values
    from pacbound.predictors.risk import errors_of, judge

    plain = at.problem.plain
    take_values(plain, at.problem.center)
    at.sampler.report("counting errors", 0, 1)
    judged = judge(plain, at.train, at.answer_above)
    claims = counted_claims(at.claims, at.shares.claims, at.train[1].numpy(), judged)
    held_out = None if at.test is None else (errors_of(plain, at.test), len(at.test[1]))
    at.sampler.report("counting errors", 1, 1)
    return Observed(claims, held_out=held_out, network=plain)


FIXED = Predictor(
    name="fixed",
    title="fixed before the counted examples were seen",
    options="--predictor fixed",
    over="",
    who="the fixed predictor",
    not_claimed=not_claimed,
    applied="Predicted by the fixed network that the certificate covers.",
    divergence="",
    subjects=DRAW.subjects,
    about=BEFOREHAND,
    rule=lambda prior: "binomial",
    observe=observe,
    bound=bound,
    terms=terms,
    sampled=False,
    offer=offer,
    has_posterior=False,
    needs_learned_prior=True,
    exports_network=True,
)


def fixed_certificate(
    labels: NDArray[np.int64],
    predictions: NDArray[np.int64] | Judged,
    classes: int,
    *,
    digests: ExampleDigests,
    model_sha256: str,
    source: str = "predictions",
    name: str = "predictions",
    delta: Decimal = Decimal("0.05"),
    wanted: Wanted | None = None,
    ledger: Ledger | None = None,
    copies: str = "counted",
    answer_above: str = "",
    test: tuple[int, int] | None = None,
    made: Made | None = None,
) -> Certificate:
    """The certificate of a predictor that was fixed before these examples were seen.

    Arguments:
        labels: The true classes of all examples, from 0.
        predictions: The predicted classes; a negative number for no prediction, which counts as
            an error. Or what was judged, if there are near ties or a threshold.
        digests: The digests of the examples (`pacbound.data.digests`).
        model_sha256: The digest of the predictor: of its file or its tensors.
        source: estimator, module, onnx or predictions.
        wanted: The claims; the overall error by default.
        ledger: The trials; none by default.
        copies: counted, independent, or unknown if examples have neither content nor id.
        answer_above: The threshold above which it answers; empty if it always answers.
        test: Errors and number of further examples, for information.

    Example:
        >>> from pacbound.data.digests import unnamed_digests
        >>> truth = np.array([0, 1] * 50)
        >>> c = fixed_certificate(truth, truth, 2, digests=unnamed_digests(truth),
        ...                       model_sha256="0" * 64, copies="unknown")
        >>> str(c.overall.bound)
        '0.0295130497'
    """
    wanted = wanted or Wanted()
    truth = np.asarray(labels, np.int64)
    judged = _judged(truth, predictions, classes)
    duplicates = 0 if copies == "unknown" else count_duplicates(digests)
    if copies == "counted" and 100 * duplicates > ALLOWED_PERCENT * len(truth):
        raise DataError(
            f"{duplicates} of the {len(truth)} examples are exact copies of others: remove them, "
            "or declare them with " + by_caller("--copies independent", "copies='independent'")
        )
    groups: Sequence[str] = wanted.groups
    if len(groups) not in (0, len(truth)):
        raise DataError(f"{len(groups)} groups are given for {len(truth)} examples")
    if wanted.example_costs is not None:
        costs = wanted.example_costs
        if len(costs.units) != len(truth):
            raise DataError(f"{len(costs.units)} costs are given for {len(truth)} examples")
        sha256 = example_costs_digest(digests, costs.decimals)
        wanted = replace(wanted, example_costs=replace(costs, sha256=sha256))
    claims = asked(wanted, truth, classes, groups)
    shares = divide(
        delta, [each.subject for each in claims], classes, sampled=False, sampled_kl=False
    )
    return conclude(
        FIXED,
        delta,
        Observed(counted_claims(claims, shares.claims, truth, judged), held_out=test),
        Data(
            name=name,
            examples=len(truth),
            m=len(truth),
            classes=classes,
            sha256=data_digest(digests, classes),
            duplicates=duplicates,
            copies=copies,
            groups_sha256=groups_digest(digests, groups) if groups else "",
        ),
        Model(source=source, sha256=model_sha256, answer_above=answer_above),
        Prior(kind="none"),
        ledger or new_ledger(),
        made=made,
    )


def _judged(
    truth: NDArray[np.int64], predictions: NDArray[np.int64] | Judged, classes: int
) -> Judged:
    """What was predicted, if it fits the labels."""
    if isinstance(predictions, Judged):
        shape, largest = predictions.wrong.shape, predictions.count - 1
    else:
        predictions = np.asarray(predictions, np.int64)
        shape, largest = predictions.shape, int(predictions.max(initial=-1))
    if truth.ndim != 1 or truth.shape != shape or not len(truth):
        raise DataError(
            f"labels of shape {truth.shape} and predictions of shape {shape} do not match: "
            "give one of each for every example"
        )
    if truth.min() < 0 or max(int(truth.max()), largest) >= classes:
        raise DataError(f"labels and predictions must be classes from 0 to {classes - 1}")
    if not isinstance(predictions, Judged):
        predictions = Judged.of_classes(predictions, truth, classes)
    if not len(predictions.rows):
        raise DataError("no example has a prediction: there is nothing to certify")
    return predictions
