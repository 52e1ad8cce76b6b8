"""The tables of published certificates, made from the certificates."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

from pacbound.certificate.format import FORMAT, Certificate
from pacbound.predictors import predictor_of
from pacbound.priors import prior_of
from pacbound.report.amounts import percent_up
from pacbound.report.paper import closest
from pacbound.report.situation import sampled_kl
from pacbound.report.terms import observed, principal

__all__ = ["commands_table", "published", "results_table", "seconds", "table", "test_percent"]


NONE_YET = "No certificate of format 2 of this kind is published yet."


def published(folder: Path) -> list[tuple[str, Certificate]]:
    """The certificates of a folder, by recipe and then by bound; other formats are skipped."""
    found = []
    for path in folder.glob("*.json"):
        content = path.read_bytes()
        if f'"{FORMAT}"'.encode() in content:
            found.append((path.name, Certificate.from_json(content)))
    return sorted(found, key=lambda item: (item[1].model.recipe or "", -item[1].risk_bound))


def seconds(certificate: Certificate, step: str) -> float | None:
    """The duration of a step, if the certificate records it."""
    try:
        return float(certificate.made.times[step])
    except (KeyError, ValueError):
        return None


def test_percent(certificate: Certificate) -> str:
    """The error on held-out examples, in per cent."""
    held_out = certificate.held_out
    if held_out is None or held_out.errors is None or not held_out.examples:
        return "–"
    return f"{100 * held_out.errors / held_out.examples:.2f}"


def table(head: str, rows: list[str]) -> str:
    """A Markdown table, or a sentence if it would be empty."""
    if not rows:
        return NONE_YET
    line = "|" + "---|" * (head.count("|") - 1)
    return "\n".join([head, line, *rows])


def results_table(folder: Path) -> str:
    """Every training around a prior without data, with the certificates of its predictors.

    Risk and KL are those of the first certificate of a row. The paper's bound is its nearest one.
    """
    trainings: dict[tuple[str, str, str], list[tuple[str, Certificate]]] = {}
    for name, certificate in published(folder):
        if prior_of(certificate).is_free_of_data and certificate.evidence is not None:
            trainings.setdefault(_training(certificate), []).append((name, certificate))
    rows = []
    for training, certificates in sorted(trainings.items()):
        draws = [named for named in certificates if predictor_of(named[1]).exports_network]
        others = [named for named in certificates if not predictor_of(named[1]).exports_network]
        rows += [_row(training, *pair) for pair in zip_longest(others, draws)]
    return table("| training | Gibbs | draw | risk | KL | paper |", rows)


def _training(certificate: Certificate) -> tuple[str, str, str]:
    """The recipe, the posterior and the objective."""
    model = certificate.model
    return model.recipe or "", model.posterior or "", certificate.made.settings.get("objective", "")


def _row(
    training: tuple[str, str, str],
    gibbs: tuple[str, Certificate] | None,
    draw: tuple[str, Certificate] | None,
) -> str:
    first = gibbs or draw
    assert first is not None
    certificate = first[1]
    evidence = certificate.evidence
    assert evidence is not None
    beside = closest(*training)
    paper = f"{beside.bound:.2f}" if beside else "–"
    tail = ""
    if evidence.kind == "monte-carlo":
        tail = f", tail {float(evidence.nats) - sampled_kl(certificate, None):.0f}"
    recipe, posterior, objective = training
    which = (
        "" if predictor_of(certificate).is_default or not gibbs else f", {certificate.predictor}"
    )
    return (
        f"| {recipe}, {posterior}, {objective or '–'}{which} | {_bound(gibbs)} | {_bound(draw)} "
        f"| {100 * observed(principal(certificate)):.2f} | {evidence.nats:.0f}{tail} "
        f"| {paper} |"
    )


def _bound(named: tuple[str, Certificate] | None) -> str:
    """The bound in per cent, with a link to its certificate."""
    if named is None:
        return "–"
    name, certificate = named
    return f"[**{percent_up(certificate.risk_bound)}**](../certificates/{name})"


def commands_table(folder: Path) -> str:
    """The commands that made every certificate, and their duration; training includes a prior."""
    rows = []
    for name, certificate in published(folder):
        made = certificate.made
        times = [seconds(certificate, step) for step in ("train", "certify")]
        if times[0] is not None:
            times[0] += seconds(certificate, "prior") or 0.0
        took = ["–" if time is None else f"{time:.0f}" for time in times]
        rows.append(
            f"| `{name}` | `{made.training_command}` <br> `{made.command}` "
            f"| {' <br> '.join(took)} |"
        )
    return table("| certificate | command | seconds |", rows)
