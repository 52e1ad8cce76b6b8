"""The published figure is what the command makes of its seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacbound.experiments.simulation import FIGURE, simulate
from pacbound.experiments.simulation.outcome import FAMILIES, Simulation

PATH = Path(__file__).parents[3] / "results" / "simulation" / "simulation.json"


def test_it_is_complete_and_in_order() -> None:
    published = Simulation.load(PATH)
    assert [one.shape for one in published.outcomes] == list(FIGURE)
    assert published.trials == 25
    assert published.holds
    for one in published.outcomes:
        assert one.ordered == 25
        assert one.converged == dict.fromkeys(FAMILIES, 25)
        assert one.mean("k-linear") < one.mean("diag") < one.mean("k-diag")
    assert f"{published.to_json()}\n" == PATH.read_text(encoding="utf-8")


def test_small_shapes_again() -> None:
    published = Simulation.load(PATH)
    chosen = [one for one in published.outcomes if one.dimensions <= 8]
    again = simulate([one.shape for one in chosen], published.trials, published.seed, starts=4)
    for before, now in zip(chosen, again.outcomes, strict=True):
        assert now.kl["diag"] == pytest.approx(before.kl["diag"], rel=1e-6)
        assert now.kl["k-diag"] == pytest.approx(before.kl["k-diag"], rel=1e-6)
        # Rounding differs between processors and may lead to another local minimum.
        pairs = zip(now.kl["k-linear"], before.kl["k-linear"], strict=True)
        assert sum(abs(a - b) < 1e-6 for a, b in pairs) >= 22
