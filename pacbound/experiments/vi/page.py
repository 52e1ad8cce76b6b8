"""The table of published evaluations of variational inference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pacbound.experiments.vi.paper import VI_ERRORS

__all__ = ["evaluations_table"]

POSTERIORS = ("point", "diag", "k-diag", "k-linear", "k-nonlinear")


def evaluations_table(folder: Path) -> str:
    """Test error, likelihood and calibration of every evaluation, beside the paper's errors."""
    rows = [
        "| network, posterior | error | paper | NLL | ECE | min |",
        "|---|---|---|---|---|---|",
    ]
    for path, record in _published(folder):
        network, posterior = _names(record)
        evaluation, training = record["evaluation"], record["training"]
        paper = VI_ERRORS[network].get(posterior)
        place = f"../{folder.parent.name}/{folder.name}/{path.name}"
        rows.append(
            f"| [{network}, {posterior}]({place}) "
            f"| **{100 * evaluation['error']:.2f}** | {'–' if paper is None else f'{paper:.2f}'} "
            f"| {evaluation['negative_log_likelihood']:.4f} "
            f"| {100 * evaluation['expected_calibration_error']:.2f} "
            f"| {training['seconds'] / 60:.0f} |"
        )
    return "\n".join(rows)


def _published(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    found = [(path, json.loads(path.read_text(encoding="utf-8"))) for path in folder.glob("*.json")]

    def place(item: tuple[Path, dict[str, Any]]) -> tuple[int, int]:
        network, posterior = _names(item[1])
        return list(VI_ERRORS).index(network), POSTERIORS.index(posterior)

    return sorted(found, key=place)


def _names(record: dict[str, Any]) -> tuple[str, str]:
    settings = record["settings"]
    return settings["recipe"].removeprefix("vi-"), settings["posterior"]
