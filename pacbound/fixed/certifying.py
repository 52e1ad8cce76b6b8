"""`pacbound.certify_fixed`: the certificate of a predictor that exists already."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from pacbound.certificate.format import Certificate
from pacbound.errors import SettingError
from pacbound.fixed.assembly import case_of
from pacbound.fixed.calibration import calibrated_threshold
from pacbound.fixed.case import Case
from pacbound.predictors.budget import parse_delta
from pacbound.predictors.claims import Costs, ExampleCosts, Wanted, claims_named
from pacbound.predictors.concluding import new_ledger, new_made
from pacbound.predictors.fixed import fixed_certificate
from pacbound.predictors.threshold import parse_threshold
from pacbound.printable import recordable

__all__ = ["certify_fixed"]


def certify_fixed(
    predictor: object,
    data: object = None,
    delta: float | str | Decimal = 0.05,
    *,
    claims: Sequence[str] | None = None,
    groups: Sequence[object] | str | None = None,
    costs: Costs | Sequence[Sequence[float]] | None = None,
    example_costs: Sequence[object] | None = None,
    ids: Sequence[object] | None = None,
    answer_above: float | str | None = None,
    calibration: object = None,
    candidates: int = 1,
    looks: int = 0,
    certificates: int = 1,
    place: int | None = None,
    copies: str = "counted",
    part: str = "",
    calibration_part: str = "",
    label: str = "",
    file: str | os.PathLike[str] | None = None,
    name: str = "",
    command: str = "pacbound.certify_fixed",
) -> Certificate:
    """The risk certificate of a predictor that was fixed before the examples were seen.

    The examples must be held out: not used to train, select or stop the predictor. The bound on
    the error is the binomial limit of Clopper and Pearson.

    Arguments:
        predictor: One of

            - a path: a file of predictions (.csv, .jsonl or .npz), or an .onnx graph;
            - an `nn.Module`: run in evaluation mode; its logits, or probabilities, decide;
            - a scikit-learn classifier;
            - an array: predicted classes (n,), or probabilities (n, classes);
            - a function from a batch of inputs to such an array.
        data: The held-out examples: (inputs, labels), or anything that `fit` takes as data. For an
            array of predictions, the labels alone will do; copies cannot be detected then. For a
            file of predictions, None: the labels are in the file.
        delta: The probability of being wrong.
        claims: Any of overall, answered, per-class and predicted-class; by default overall, or
            answered if the predictor abstains.
        groups: The group of every example, to claim the error in each group; or the name of the
            column of a file of predictions.
        costs: A matrix of costs in [0, 1] by true and predicted class, to claim the mean cost.
        example_costs: The cost in [0, 1] of what the predictor did on each example.
        ids: An id of each example, if its input cannot tell copies apart.
        answer_above: Abstain where the confidence, the largest probability, is not above this
            threshold; or "auto:0.01" for the lowest threshold whose error among the answered
            calibration examples is at most 1 %.
        calibration: The examples on which "auto:…" chooses, given as `data` is: another file of
            predictions, or (predictions, labels) for an array of predictions. They must not be
            among the counted ones.
        candidates: The number of predictors listed before the first look at these examples.
        looks: Results on these examples that led to another predictor.
        certificates: The number of certificates to choose from, declared before the first one.
        place: The position of this certificate in order of making, if no number was declared.
        copies: `independent` declares that equal examples are independent draws.
        part: train or test: the part of a data set that is counted, if it has both.
        calibration_part: The same for the calibration examples.
        label: The column of a table that holds the classes.
        file: The file in which an estimator or the parts of a function are kept. Its bytes give
            the digest, instead of the pickle or the predictions.
        name: The name of the data in the certificate.
        command: The command to record.

    Example:
        >>> labels = [0, 1] * 50
        >>> certificate = certify_fixed(labels, labels)
        >>> certificate.risk_bound
        0.0295130497
    """
    start = time.monotonic()
    wished = parse_threshold(answer_above)
    ledger = new_ledger((1, 0), candidates, looks, certificates, place)
    if copies not in ("counted", "independent"):
        raise SettingError(f"copies must be counted or independent, not '{copies!s:.40}'")
    kept = Path(file) if file is not None else None
    named = groups if isinstance(groups, str) else _listed(groups, "groups")
    case = case_of(predictor, data, part, label, named, _listed(ids, "ids"), kept)
    if example_costs is not None:
        listed = _listed(example_costs, "example_costs")
        case = replace(case, costs=ExampleCosts.of("cost", listed))
    wanted = Wanted(
        claims_named(claims, bool(wished)),
        case.groups,
        _matrix(costs),
        case.costs,
    )
    threshold, chosen = calibrated_threshold(
        wished, case, predictor, calibration, calibration_part, label
    )
    if not case.contents.are_visible and copies == "independent":
        raise SettingError("without inputs or ids copies cannot be seen, and not be declared")
    judged = case.outputs.judged(case.labels, threshold)
    made = new_made(
        command,
        settings={**case.settings, **chosen},
        times={"certify": f"{time.monotonic() - start:.1f}"},
    )
    return fixed_certificate(
        case.labels,
        judged,
        case.classes.count,
        digests=case.contents.digests(case.labels),
        model_sha256=case.sha256,
        source=case.source,
        name=name or _named(case),
        delta=parse_delta(str(delta)),
        wanted=wanted,
        ledger=ledger,
        copies=copies if case.contents.are_visible else "unknown",
        answer_above=threshold,
        made=replace(made, software={**made.software, **case.software}),
    )


def _listed(values: Iterable[object] | None, name: str) -> list[object]:
    """What is given for each example, as a list; empty for None."""
    if values is None:
        return []
    plain = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(plain, str) or not isinstance(plain, Iterable):
        raise SettingError(f"{name}: give a list with one for each example")
    return list(plain)


def _matrix(costs: Costs | Sequence[Sequence[float]] | None) -> Costs | None:
    if costs is None or isinstance(costs, Costs):
        return costs
    return Costs("cost", tuple(tuple(Decimal(repr(float(cost))) for cost in row) for row in costs))


def _named(case: Case) -> str:
    """The name of the data, with the names of a few classes."""
    if not case.classes.names:
        return case.name
    return recordable(f"{case.name} (classes: {', '.join(case.classes.names)})", 200)
