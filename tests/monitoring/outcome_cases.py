"""A certificate with every kind of claim, and outcomes for it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from pacbound.certificate.format import Certificate

VECTORS = Path(__file__).parents[2] / "pacbound/certificate/vectors"
EVERY = VECTORS / "accepted-fixed-every-claim.json"  # 3 classes, 2 groups, 2 costs, abstains
DRAW = VECTORS / "accepted-draw-learned-binomial.json"  # 10 classes, the overall error alone
CLASSES = VECTORS / "accepted-spec-b-gibbs.json"  # 2 classes, overall and for each class


def certificate(path: Path = DRAW) -> Certificate:
    return Certificate.from_mapping(json.loads(path.read_bytes()))


def stream(
    n: int, risk: float, seed: int = 0, classes: int = 10, columns: str = "label prediction"
) -> dict[str, list[Any]]:
    """Outcomes of a predictor that errs with a given probability."""
    generator = np.random.default_rng(seed)
    label = generator.integers(0, classes, n)
    wrong = generator.random(n) < risk
    answered = generator.random(n) < 0.95
    found: dict[str, list[Any]] = {
        "label": label.tolist(),
        "prediction": ((label + wrong) % classes).tolist(),
        "error": wrong.astype(int).tolist(),
        "group": generator.choice(["north", "süd 🌍", "elsewhere"], n).tolist(),
        "answered": answered.astype(int).tolist(),
    }
    costs = [name for name in columns.split() if name.startswith("cost")]
    found |= {name: (wrong * generator.random(n)).round(6).tolist() for name in costs}
    return {name: found[name] for name in columns.split()}


def write(path: Path, columns: dict[str, list[Any]]) -> Path:
    """A CSV file of columns."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
    return path


def part(columns: dict[str, list[Any]], start: int, stop: int) -> dict[str, list[Any]]:
    return {name: column[start:stop] for name, column in columns.items()}
