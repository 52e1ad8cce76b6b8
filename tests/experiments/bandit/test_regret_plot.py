"""The figure of regret curves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from pacbound.experiments.bandit import plot
from pacbound.experiments.bandit.plot import Curve, draw_regret


def test_every_agent_has_a_line_that_no_other_looks_like(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(plot, "save_figure", lambda figure, path: drawn.append(figure))
    names = [f"agent {i}" for i in range(23)]
    curves = {name: [Curve([10, 20], [i, 2 * i])] for i, name in enumerate(names)}
    draw_regret("problem", curves, 90.0, tmp_path / "regret.svg")
    (axes,) = drawn[0].axes
    lines = [line for line in axes.lines if str(line.get_label()).startswith("agent")]
    assert [str(line.get_label()).split("  ")[0] for line in lines] == names
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == len(names)
    np.testing.assert_array_equal(lines[22].get_ydata(), [0, 22, 44])
