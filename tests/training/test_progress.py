"""What training prints where there is no terminal: few lines, also for a prior of many epochs."""

from __future__ import annotations

import pytest

from pacbound.training.descent import Step
from pacbound.training.progress import LINES, training_progress


def _shown(capsys: pytest.CaptureFixture[str], phase: str, epochs: int) -> list[str]:
    with training_progress("quadratic") as callback:
        for epoch in range(1, epochs + 1):
            for step in (1, 2):
                callback.on_step(Step(phase, epoch, epochs, step, 2, 0.1, 0.0, 1.0, None))
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("epochs", [1, 3, LINES, LINES + 1, 333])
def test_a_prior_has_a_line_for_each_epoch_and_never_more_than_the_limit(
    capsys: pytest.CaptureFixture[str], epochs: int
) -> None:
    lines = _shown(capsys, "prior", epochs)
    assert len(lines) == min(epochs, LINES)
    assert lines[-1].split() == ["prior,", "epoch", str(epochs), "error", "10.00%"]


def test_a_candidate_for_the_prior_has_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert _shown(capsys, "choosing", 50) == ["prior, a candidate is trained"]
