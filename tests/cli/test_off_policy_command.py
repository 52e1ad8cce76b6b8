"""`pacbound off-policy`: the record, the table, the figure, and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from refusals import refused

from pacbound_cli import cli

QUICK = ("--agent", "linear", "--agent", "diag", "--set", "minibatches=2", "--set", "batch=16")


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    generator = np.random.default_rng(0)
    contexts = generator.standard_normal((600, 2))
    shown = generator.integers(2, size=600)
    clicks = generator.random(600) < np.where(shown == (contexts[:, 0] > 0), 0.9, 0.1)
    rows = [
        f"{a:.4f},{b:.4f},{'new' if new else 'old'},{int(click)},0.5"
        for (a, b), new, click in zip(contexts, shown, clicks, strict=True)
    ]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["age,visits,action,reward,propensity", *rows]) + "\n")
    return path


def test_the_record_has_limits_for_every_agent_and_estimator(log: Path, tmp_path: Path) -> None:
    figure = tmp_path / "value.svg"
    result = run("off-policy", log, *QUICK, "--json", "--plot", figure)
    record = json.loads(result.stdout)
    assert record["arms"] == ["new", "old"]
    assert record["min_propensity"] == 0.5
    assert [agent["agent"] for agent in record["agents"]] == ["linear", "diag"]
    for agent in record["agents"]:
        assert set(agent["estimates"]) == {"dr", "ips", "replay"}
        for found in agent["estimates"].values():
            assert 0 <= found["value"]["lower"] <= found["value"]["upper"] <= 1
    linear = record["agents"][0]["estimates"]["dr"]
    assert linear["improvement"]["lower"] > 0.1  # the log chooses at random
    assert "<svg" in figure.read_text()


def test_the_table_is_printed(log: Path) -> None:
    result = run("off-policy", log, "--agent", "linear", "--estimator", "ips")
    assert "linear" in result.output and "ips" in result.output
    assert "hold together with probability 0.95" in " ".join(result.output.split())


def test_bad_input_is_refused(log: Path, tmp_path: Path) -> None:
    refused(run("off-policy", tmp_path / "none.csv"), "none.csv")
    refused(run("off-policy", tmp_path / "log.txt"), ".csv")
    refused(run("off-policy", log, "--agent", "k-liner"), "k-linear")
    refused(run("off-policy", log, "--estimator", "dm"), "estimator")
    refused(run("off-policy", log, "--rewards", "0", "0.5"), "--rewards")
    refused(run("off-policy", log, "--delta", "2"), "delta")
    refused(run("off-policy", log, "--min-propensity", "0.7"), "--min-propensity")
    refused(run("off-policy", log, "--plot", tmp_path / "value.doc"), ".svg")
    (tmp_path / "bad.csv").write_text("age,action,reward\n1,a,1\n")
    refused(run("off-policy", tmp_path / "bad.csv"), "propensity")
