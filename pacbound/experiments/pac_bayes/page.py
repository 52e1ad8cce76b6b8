"""The tables of published certificates, made from the certificates."""

from __future__ import annotations

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
    """Bound, risk, KL and test error for priors without data, beside the paper's nearest bound."""
    rows = []
    for name, certificate in published(folder):
        model, evidence = certificate.model, certificate.evidence
        if not prior_of(certificate).is_free_of_data or evidence is None:
            continue
        objective = certificate.made.settings.get("objective", "–")
        which = "" if predictor_of(certificate).is_default else f", {certificate.predictor}"
        beside = closest(model.recipe or "", model.posterior or "", objective)
        paper = f"{beside.bound:.2f}" if beside else "–"
        tail = ""
        if evidence.kind == "monte-carlo":
            tail = f", tail {float(evidence.nats) - sampled_kl(certificate, None):.0f}"
        what = f"{model.recipe}, {model.posterior}{which}"
        rows.append(
            f"| [{what}](../certificates/{name}) | **{percent_up(certificate.risk_bound)}** "
            f"| {100 * observed(principal(certificate)):.2f} | {evidence.nats:.0f}{tail} "
            f"| {test_percent(certificate)} | {paper} |"
        )
    return table("| network | bound | risk | KL | test | paper |", rows)


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
