"""The tables and figures of published evaluations of variational inference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pacbound.experiments.vi.learning import PAPER_EPOCHS, extrapolated
from pacbound.experiments.vi.paper import VI_ERRORS

__all__ = ["evaluations_table", "training_table", "uncertainty_figures", "uncertainty_table"]

POSTERIORS = ("point", "diag", "k-diag", "k-linear", "k-nonlinear")
MIDDLE = 3  # the strength of the corruptions in the table


def evaluations_table(folder: Path) -> str:
    """Test error, likelihood and calibration of every evaluation, beside the paper's errors."""
    rows = [
        "| network, posterior | error | paper | NLL | ECE |",
        "|---|---|---|---|---|",
    ]
    for path, record in _published(folder):
        network, posterior = _names(record)
        evaluation = record["evaluation"]
        paper = VI_ERRORS[network].get(posterior)
        place = f"../{folder.parent.name}/{folder.name}/{path.name}"
        rows.append(
            f"| [{network}, {posterior}]({place}) "
            f"| **{100 * evaluation['error']:.2f}** | {'–' if paper is None else f'{paper:.2f}'} "
            f"| {evaluation['negative_log_likelihood']:.4f} "
            f"| {100 * evaluation['expected_calibration_error']:.2f} |"
        )
    return "\n".join(rows)


def training_table(folder: Path) -> str:
    """What each training cost, and the error that its learning curve is heading for."""
    rows = [
        f"| network, posterior | epochs | minutes | GiB | at {PAPER_EPOCHS} |",
        "|---|---|---|---|---|",
    ]
    for _, record in _published(folder):
        network, posterior = _names(record)
        training, later = record["training"], extrapolated(record)
        memory = training.get("peak_memory")  # older results have none
        rows.append(
            f"| {network}, {posterior} | {training['epochs']} | {training['seconds'] / 60:.0f} "
            f"| {'–' if memory is None else f'{memory / 2**30:.1f}'} "
            f"| {'–' if later is None else f'{100 * later:.2f}'} |"
        )
    return "\n".join(rows)


def uncertainty_table(folder: Path) -> str:
    """Abstention, detection of other data and corrupted images, where a cell has measured them."""
    rows = [
        "| network, posterior | half | AUROC | corrupted | ECE |",
        "|---|---|---|---|---|",
    ]
    for _, record in _published(folder):
        if "uncertainty" not in record:
            continue
        network, posterior = _names(record)
        found = record["uncertainty"]
        half = next(part["error"] for part in found["abstention"] if part["coverage"] == 0.5)
        worse = [part for part in found["corrupted"] if part["strength"] == MIDDLE]
        error, gap = (
            100 * sum(part[name] for part in worse) / len(worse)
            for name in ("error", "expected_calibration_error")
        )
        rows.append(
            f"| {network}, {posterior} | {100 * half:.2f} "
            f"| {_auroc(found)} | {error:.2f} | {gap:.2f} |"
        )
    return "\n".join(rows)


def _auroc(found: dict[str, Any]) -> str:
    """For a user's own data there are no other ones to tell apart."""
    return f"{found['other']['auroc_total']:.4f}" if "other" in found else "–"


def uncertainty_figures(folder: Path, target: Path) -> list[Path]:
    """Draw one figure for each network whose cells have measured their uncertainty."""
    from pacbound.experiments.vi.plot import draw_uncertainty

    found: dict[str, dict[str, dict[str, Any]]] = {}
    for _, record in _published(folder):
        if "uncertainty" in record:
            network, posterior = _names(record)
            found.setdefault(network, {})[posterior] = record
    paths = []
    for network, records in found.items():
        paths.append(target / f"uncertainty-{network}.svg")
        draw_uncertainty(network, records, paths[-1])
    return paths


def _published(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    found = [(path, json.loads(path.read_text(encoding="utf-8"))) for path in folder.glob("*.json")]

    def place(item: tuple[Path, dict[str, Any]]) -> tuple[int, int]:
        network, posterior = _names(item[1])
        return list(VI_ERRORS).index(network), POSTERIORS.index(posterior)

    return sorted(found, key=place)


def _names(record: dict[str, Any]) -> tuple[str, str]:
    settings = record["settings"]
    return settings["recipe"].removeprefix("vi-"), settings["posterior"]
