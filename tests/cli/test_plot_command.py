"""`plot` as a user meets it: figures of one run and of several, their numbers, and bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from refusals import refused

from pacbound.data import Dataset
from pacbound.recipes import Settings
from pacbound.training.log import log_path
from pacbound.training.loop import train
from pacbound_cli import cli


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["plot", *map(str, arguments)])


LINE = {
    "epoch": 1,
    "phase": "bound",
    "risk": 0.2,
    "kl": 4000.0,
    "bound": 0.5,
    "objective": 0.7,
    "prior_variances": [0.01],
    "lipschitz": [],
    "seconds": 12.5,
}


def write(path: Path, *bounds: float, tail: str = "") -> Path:
    lines = [
        json.dumps({**LINE, "epoch": k, "bound": bound, "seconds": 10.0 * k})
        for k, bound in enumerate(bounds, 1)
    ]
    path.write_text("\n".join([*lines, tail]))
    return path


def test_a_real_run_by_its_log_and_by_its_checkpoint(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "tiny.pt"
    train(tiny_settings, tiny_data, path)
    for given, figure in ((log_path(path), "a.svg"), (path, "b.svg")):
        result = run(given, "-o", tmp_path / figure)
        assert result.exit_code == 0, result.output
        assert "tiny" in result.stdout
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    (row,) = json.loads(run(path, "--json").stdout)
    assert row["final_bound"] == row["series"]["bound"][-1]
    assert row["series"]["epoch"] == [1, 2, 3]
    assert len(row["series"]["prior_variances"]) == 2


@pytest.mark.parametrize("name", ["a.png", "a.svg", "a.pdf"])
def test_several_runs(tmp_path: Path, name: str) -> None:
    one = write(tmp_path / "one.log.jsonl", 0.5, 0.2, 0.21)
    two = write(tmp_path / "two.log.jsonl", 0.6, 0.3, tail='{"epoch": 3, "ph')
    result = run(one, two, "-o", tmp_path / name, "--against", "epoch")
    assert result.exit_code == 0, result.output
    assert (tmp_path / name).stat().st_size > 5000
    rows = json.loads(run(one, two, "--json").stdout)
    assert [(row["name"], row["epochs"]) for row in rows] == [("one", 3), ("two", 2)]
    assert [row["best_bound"] for row in rows] == [0.2, 0.3]
    assert [row["seconds_to_within_1_percent"] for row in rows] == [20.0, 20.0]


def test_the_figure_is_plot_png_by_default_and_none_with_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = write(tmp_path / "one.log.jsonl", 0.5)
    assert run(log, "--json").exit_code == 0
    assert not Path("plot.png").exists()
    assert "written to plot.png" in run(log).stdout
    assert Path("plot.png").exists()


def test_json_has_no_nan(tmp_path: Path) -> None:
    log = write(tmp_path / "a.log.jsonl", float("nan"), float("inf"), 0.5)

    def fail(constant: str) -> None:
        raise AssertionError(constant)

    (row,) = json.loads(run(log, "--json").stdout, parse_constant=fail)
    assert row["series"]["bound"] == [None, None, 0.5]
    assert row["series"]["beta"] == [None] * 3


def test_bad_input(tmp_path: Path) -> None:
    good = write(tmp_path / "a.log.jsonl", 0.5)
    bad = tmp_path / "b.log.jsonl"
    bad.write_text(json.dumps(LINE) + "\nno JSON\n")
    refused(run(bad, "-o", tmp_path / "a.png"), "b.log.jsonl, line 2: not JSON")
    refused(run(tmp_path / "absent.pt"), "cannot read", "absent.log.jsonl")
    refused(run(good, "-o", tmp_path / "a.gif"), "a figure must end in .svg, .png or .pdf")
    refused(run(write(tmp_path / "c.log.jsonl"), "-o", tmp_path / "a.png"), "no finished epoch")
    assert not list(tmp_path.glob("a.png"))


def test_it_draws_without_torch(tmp_path: Path) -> None:
    log = write(tmp_path / "a.log.jsonl", 0.5, 0.4)
    arguments = ["plot", str(log), "-o", str(tmp_path / "a.png")]
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom pacbound_cli import cli\n"
        f"result = CliRunner().invoke(cli, {arguments!r})\n"
        "assert result.exit_code == 0, result.output\nassert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
