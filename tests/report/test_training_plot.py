"""Figures of training runs: what they show, of runs of every kind."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacbound.errors import PacboundError
from pacbound.report.run_summary import best_so_far, summary
from pacbound.report.training_log import Epoch, TrainingLog, read_training_log
from pacbound.report.training_plot import draw_run, draw_runs


def epoch(number: int, bound: float, **changes: Any) -> Epoch:
    figures: dict[str, Any] = {
        "phase": "bound",
        "seconds": 10.0 * number,
        "prior_seconds": 0.0,
        "surrogate_risk": 0.3,
        "risk": 0.2 / number,
        "kl": 4000.0,
        "nats": 4020.0,
        "objective": 0.5,
        "learning_rate": 0.01,
        "beta": math.nan,
        "prior_variances": (0.01, 0.02),
        "lipschitz": (),
    }
    return Epoch(epoch=number, bound=bound, **(figures | changes))


def run(name: str, *bounds: float, **changes: Any) -> TrainingLog:
    rows = tuple(epoch(number, bound, **changes) for number, bound in enumerate(bounds, 1))
    return TrainingLog(Path(f"{name}.log.jsonl"), rows)


def words(path: Path) -> str:
    """The texts of a figure: matplotlib writes each as a comment beside its glyphs."""
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    root = ElementTree.parse(path, parser).getroot()
    return "\n".join(str(node.text) for node in root.iter() if callable(node.tag))


bounds = st.lists(st.floats(0.01, 1) | st.sampled_from([math.nan, math.inf]), max_size=30)


@given(bounds)
def test_the_best_bound_so_far_never_grows(values: list[float]) -> None:
    log = run("a", *values)
    times, best = best_so_far(log)
    finite = [(10.0 * k, value) for k, value in enumerate(values, 1) if math.isfinite(value)]
    assert times == [time for time, _ in finite]
    assert best == [min(v for _, v in finite[: k + 1]) for k in range(len(finite))]


@given(bounds)
def test_the_summary_is_that_of_the_finite_bounds(values: list[float]) -> None:
    done = summary(run("a", *values))
    finite = [value for value in values if math.isfinite(value)]
    assert done.epochs == len(values)
    assert done.best_bound == (min(finite) if finite else None)
    ended = bool(values) and math.isfinite(values[-1])
    assert done.final_bound == (values[-1] if ended else None)
    if finite:
        near = done.seconds_to_within_1_percent
        assert near is not None
        reached = [10.0 * k for k, v in enumerate(values, 1) if v <= 1.01 * min(finite)]
        assert near == reached[0]
        assert done.best_epoch == values.index(min(finite)) + 1


def test_a_run_has_the_panels_that_it_has_data_for(tmp_path: Path) -> None:
    always = ("bound and training risk", "objective", "prior variance λ", "layer 2")
    draw_run(run("plain", 0.5, 0.3, 0.2), tmp_path / "a.svg")
    plain = words(tmp_path / "a.svg")
    assert all(word in plain for word in (*always, "training time, seconds", "bound 20.00%"))
    assert "β" not in plain
    assert "Lipschitz" not in plain
    draw_run(run("full", 0.5, 0.3, beta=1.5, lipschitz=(0.5,)), tmp_path / "b.svg", "epoch")
    full = words(tmp_path / "b.svg")
    assert all(word in full for word in (*always, "trade-off β", "Lipschitz constant", "epoch"))
    assert "training time" not in full


def test_the_phases_are_named(tmp_path: Path) -> None:
    rows = tuple(
        epoch(k, 0.5 / k, phase="prior" if k < 3 else "bound", kl=math.nan if k < 3 else 3.0)
        for k in range(1, 6)
    )
    draw_run(TrainingLog(Path("a.log.jsonl"), rows), tmp_path / "a.svg")
    assert "5 epochs (prior 2, then bound 3)" in words(tmp_path / "a.svg")


def test_the_time_of_a_learned_prior_is_shown(tmp_path: Path) -> None:
    rows = tuple(epoch(k, 0.1, seconds=900.0 + k, prior_seconds=900.0) for k in (1, 2))
    draw_run(TrainingLog(Path("a.log.jsonl"), rows), tmp_path / "a.svg")
    assert "shaded the 15 min of its prior" in words(tmp_path / "a.svg")


@pytest.mark.parametrize(
    ("values", "against"),
    [
        ((0.5,), "epoch"),
        ((1.0, 1.0, 1.0), "time"),
        ((math.nan, math.inf, 0.3), "epoch"),
        ((math.nan, math.nan), "time"),
        ((0.0, 1e-12, 1.0), "time"),
    ],
)
def test_any_run_can_be_drawn(tmp_path: Path, values: tuple[float, ...], against: str) -> None:
    odd = [
        run("a", *values),
        run("b", *values, kl=math.nan, risk=math.nan, objective=-3.0, prior_variances=()),
        run("c", *values, kl=1e6, risk=0.0, seconds=0.0, lipschitz=(math.inf, 5.0)),
    ]
    draw_run(odd[len(values) - 1], tmp_path / "a.png", against)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    draw_runs(odd, tmp_path / "b.pdf", against)
    assert (tmp_path / "b.pdf").read_bytes().startswith(b"%PDF")


def test_runs_are_named_best_first_and_by_path_where_names_are_equal(tmp_path: Path) -> None:
    logs = [run("slow", 0.5, 0.4), run("x/same", 0.3, 0.25), run("y/same", 0.6)]
    draw_runs([*logs, run("none", math.nan)], tmp_path / "a.svg")
    text = words(tmp_path / "a.svg")
    legend = ["x/same.log.jsonl: 25.00%", "slow: 40.00%", "y/same.log.jsonl: 60.00%"]
    places = [text.index(label) for label in [*legend, "none: no bound"]]
    assert places == sorted(places)


def test_a_figure_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        draw_runs([run("one", 0.5, 0.4), run("two", 0.3)], tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize("draw", [lambda log, path: draw_run(log, path), None])
def test_a_run_without_epochs_is_refused(
    tmp_path: Path, draw: Callable[[TrainingLog, Path], None] | None
) -> None:
    (tmp_path / "a.log.jsonl").write_text(json.dumps({"epoch": 1})[:-1])
    log = read_training_log(tmp_path / "a.log.jsonl")
    with pytest.raises(PacboundError, match="has no finished epoch"):
        if draw is None:
            draw_runs([run("b", 0.5), log], tmp_path / "a.svg")
        else:
            draw(log, tmp_path / "a.svg")
    assert not (tmp_path / "a.svg").exists()


def test_epochs_without_figures_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.log.jsonl"
    path.write_text(json.dumps({"epoch": 1, "seconds": 2.0}))
    with pytest.raises(PacboundError, match="nothing to draw"):
        draw_run(read_training_log(path), tmp_path / "a.svg")
