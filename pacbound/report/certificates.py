"""The tables of published certificates, made from the certificates themselves."""

from __future__ import annotations

from pathlib import Path

from pacbound.certificate.format import Certificate, MonteCarloKL
from pacbound.report.paper import closest
from pacbound.report.percent import percent_up
from pacbound.report.terms import empirical_risk

__all__ = ["commands_table", "published", "results_table"]


def published(folder: Path) -> list[tuple[str, Certificate]]:
    """The certificates of a folder, by recipe and then by bound."""
    found = [
        (path.name, Certificate.from_json(path.read_bytes())) for path in folder.glob("*.json")
    ]
    return sorted(found, key=lambda item: (item[1].model.recipe, -item[1].claim.risk_bound))


def results_table(folder: Path) -> str:
    """Bound, risk, KL and test error around priors without data, beside the paper's bounds."""
    rows = [
        "| recipe | objective | posterior | bound | risk | KL | of it tail | test error "
        "| the paper's bound |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, certificate in published(folder):
        if certificate.prior.center.kind != "initialization":
            continue
        model, held_out = certificate.model, certificate.also.held_out
        objective = certificate.made.settings["objective"]
        which = ", one draw" if certificate.claim.predictor == "draw" else ""
        kl, beside = certificate.kl, closest(model.recipe, model.posterior, objective)
        paper = f"{beside.bound:.2f} ({beside.objective})" if beside else "–"
        tail = f"{kl.gaussian.correction:.0f}" if isinstance(kl, MonteCarloKL) else "–"
        test = f"{100 * held_out.errors / held_out.n:.2f}" if held_out else "–"
        rows.append(
            f"| `{model.recipe}` | {objective} | [{model.posterior}{which}](certificates/{name}) "
            f"| **{percent_up(certificate.claim.risk_bound)}** "
            f"| {100 * empirical_risk(certificate):.2f} | {kl.upper:.0f} | {tail} | {test} "
            f"| {paper} |"
        )
    return "\n".join(rows)


def commands_table(folder: Path) -> str:
    """The commands that made every certificate, and how long they took."""
    rows = ["| certificate | command | seconds |", "|---|---|---|"]
    for name, certificate in published(folder):
        made = certificate.made
        training = "–" if made.training_seconds is None else f"{made.training_seconds:.0f}"
        rows.append(
            f"| `{name}` | `{made.training_command}` <br> `{made.command}` "
            f"| {training} <br> {made.seconds:.0f} |"
        )
    return "\n".join(rows)
