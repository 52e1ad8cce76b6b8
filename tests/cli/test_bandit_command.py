"""`bandit` and `table bandit` as a user meets them, on a small made problem."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner, Result
from refusals import refused
from warm_python import WarmPython, forked_workers

from pacbound.experiments.bandit import cell as cells
from pacbound.experiments.bandit.cell import BanditCell
from pacbound.experiments.bandit.play import play
from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.problems import load_problem
from pacbound.experiments.bandit.recipes import agent_settings
from pacbound.experiments.tables import table_named
from pacbound.experiments.tables.place import Place
from pacbound.experiments.tables.selection import Selection
from pacbound_cli import cli

pytestmark = pytest.mark.usefixtures("warm_workers")

QUICK = {"hidden": 8, "minibatches": 5, "batch": 16, "learning_rate": 0.01}
SET = [word for key, value in QUICK.items() for word in ("--set", f"{key}={value}")]


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


# bandit -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def played(
    bandit_file: Path, tmp_path_factory: pytest.TempPathFactory, warm_python: WarmPython
) -> list[str]:
    """The words of a command that has run, in child processes."""
    folder = tmp_path_factory.mktemp("played")
    words = ["bandit", str(bandit_file), "--agent", "diag", "--agent", "linear", "--seeds", "2"]
    words += [*SET, "--workers", "2", "--folder", str(folder / "runs")]
    with forked_workers(warm_python):
        result = run(*words)
    assert result.exit_code == 0, result.output
    assert "4 cells to do, 0 done already; about " in result.stderr
    assert "2 side by side with 1 thread each" in result.stderr
    assert "small-diag-1: done in" in result.stderr
    return words


def test_the_figures_are_those_of_play(played: list[str], bandit_file: Path) -> None:
    result = run(*played, "--json")
    assert "nothing to do: all of 4 are done" in result.stderr
    record = json.loads(result.stdout)
    assert record["problem"] == "small"
    assert record["steps"] == 320
    assert record["seeds"] == [0, 1]
    problems = [load_problem(str(bandit_file), seed) for seed in (0, 1)]
    for row in record["agents"]:
        settings = agent_settings(row["agent"], str(bandit_file), "tuned", QUICK)
        runs = [play(p, row["agent"], settings, seed) for seed, p in enumerate(problems)]
        regrets = np.array([one.normalized[-1] for one in runs])
        assert [one["normalized_regret"] for one in row["runs"]] == list(regrets)
        assert row["mean"] == pytest.approx(regrets.mean())
        assert row["standard_error"] == pytest.approx(regrets.std(ddof=1) / np.sqrt(2))
    fixed = [play(p, "fixed", settings, seed).normalized[-1] for seed, p in enumerate(problems)]
    assert record["best_fixed_arm"]["mean"] == pytest.approx(np.mean(fixed))
    means = {row["agent"]: row["mean"] for row in record["agents"]}
    assert [row["agent"] for row in record["agents"] if row["best"]] == [min(means, key=means.get)]


def test_the_table_of_agents(played: list[str]) -> None:
    shown = run(*played).stdout
    lines = {line.split("  ")[0]: line for line in shown.splitlines()}
    assert "small, 320 contexts" in shown
    for agent in ("diag", "linear", "best fixed arm", "uniform"):
        assert agent in lines
    assert "100.00" in lines["uniform"]
    assert sum("*" in lines[agent] for agent in ("diag", "linear")) == 1
    assert "±" in lines["diag"]
    assert "0: " in lines["diag"]
    assert "1: " in lines["diag"]
    assert max(len(line) for line in shown.splitlines()) <= 80


def test_one_seed_has_no_error(played: list[str]) -> None:
    words = [*played, "--seeds", "1"]
    (line,) = (line for line in run(*words).stdout.splitlines() if line.startswith("diag"))
    assert "±" not in line
    assert json.loads(run(*words, "--json").stdout)["agents"][0]["standard_error"] is None


def test_regret_curves(played: list[str], tmp_path: Path) -> None:
    path = tmp_path / "regret.svg"
    result = run(*played, "--plot", path)
    assert f"drawn: {path}" in result.stdout.replace("\n", "")
    assert ElementTree.parse(path).getroot().tag.endswith("svg")
    before = path.read_bytes()
    run(*played, "--plot", path)
    assert path.read_bytes() == before  # the same figure each time


def test_a_failing_run(bandit_file: Path, tmp_path: Path) -> None:
    words = ["bandit", bandit_file, "--agent", "greedy", "--seeds", "1", *SET]
    words += ["--set", "learning_rate=1e30", "--folder", tmp_path]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pacbound.experiments.tables.pool.Pool.probe", lambda pool, watcher: None)
        result = run(*words, "--plot", tmp_path / "a.svg")
    assert result.exit_code == 1, result.output
    assert "small-greedy-0: failed: training diverged" in result.stderr
    assert "1 cell failed; the same command tries again" in result.stderr
    assert "failed" in result.stdout
    assert "Traceback" not in result.output
    assert not (tmp_path / "a.svg").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["mushrom"], ["unknown bandit problem 'mushrom'", "did you mean 'mushroom'"]),
        (["none.npz"], ["no file none.npz"]),
        (["FILE", "--agent", "k-liner"], ["unknown agent 'k-liner'", "did you mean 'k-linear'"]),
        (["FILE", "--protocol", "tund"], ["unknown protocol 'tund'"]),
        (["FILE", "--set", "nois=3"], ["unknown setting 'nois'", "did you mean 'noise'"]),
        (["FILE", "--set", "noise"], ["key=value"]),
        (["FILE", "--set", "noise=-1"], ["noise must be a positive number"]),
        (["FILE", "--set", "agent=diag"], ["choose it with --agent"]),
        (["FILE", "--set", "seed=4"], ["choose it with --seeds"]),
        (["FILE", "--steps", "5000"], ["has 1 to 320 steps, not 5000"]),
        (["FILE", "--seeds", "0"], ["--seeds"]),
        (["FILE", "--first-seed", "-1"], ["--first-seed"]),
        (["FILE", "--workers", "0"], ["--workers"]),
        (["FILE", "--plot", "regret.gif"], [".svg, .png or .pdf"]),
        (["FILE", "--folder", "/proc/nowhere"], ["cannot write"]),
    ],
)
def test_what_is_refused(
    words: list[str], says: list[str], bandit_file: Path, tmp_path: Path
) -> None:
    given = [str(bandit_file) if word == "FILE" else word for word in words]
    refused(run("bandit", "--folder", tmp_path, *given), *says)


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"contexts": np.ones((5, 2))}, "rewards"),
        ({"contexts": np.ones((5, 2)), "rewards": np.ones((4, 2))}, "one of each"),
        ({"contexts": np.full((5, 2), np.nan), "rewards": np.eye(5)}, "not a finite"),
        ({"contexts": np.ones((5, 2)), "rewards": np.ones((5, 3))}, "nothing to learn"),
        (None, "bad.npz"),
    ],
)
def test_a_bad_file_is_refused(
    arrays: dict[str, np.ndarray] | None, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.npz"
    if arrays is None:
        path.write_bytes(b"not an archive")
    else:
        np.savez(path, **arrays)
    refused(run("bandit", path, "--folder", tmp_path / "runs"), says)


# The tables ---------------------------------------------------------------------------------


def small_stream(name: str, seed: int, *, steps: int | None = None) -> Problem:
    """In the place of a real problem."""
    generator = np.random.default_rng(seed)
    rewards = generator.random((60, 4)).astype(np.float32)
    contexts = generator.standard_normal((60, 3)).astype(np.float32)
    return Problem(name, contexts, rewards, rewards.max(1).astype(np.float64))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A table of which some is done: two of three seeds of k-diag, one that failed of diag."""
    folder = tmp_path_factory.mktemp("table")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "load_problem", small_stream)
        for cell in chosen_cells():
            place = Place.of(cell, folder)
            place.make()
            if cell.agent == "diag" and cell.seed == 1:
                place.fail("training diverged")
            elif not (cell.agent == "k-diag" and cell.seed == 2):
                cell.run(place.path, 1, lambda progress: None)
        yield folder


def chosen_cells() -> list[BanditCell]:
    agents = ("linear", "diag", "k-diag")
    selection = Selection(
        overrides=QUICK, problems=("statlog",), agents=agents, playing={"seeds": 3}
    )
    return table_named("bandit").cells(selection)


def table(root: Path, *words: str | Path) -> Result:
    agents = ["--agent", "linear", "--agent", "diag", "--agent", "k-diag"]
    words = (*agents, "--problem", "statlog", "--seeds", "3", *SET, "--folder", root, *words)
    return run("table", "bandit", "--show", *words)


def test_the_table_as_it_is(root: Path) -> None:
    result = table(root)
    assert result.exit_code == 0, result.output
    text = result.stdout
    ours, papers, differences = (
        next(line for line in text.splitlines() if line.startswith(start))
        for start in ("statlog", "  paper", "  less baseline")
    )
    assert ours.count("(2)") == 2
    assert papers.split() == ["paper", "1.01", "±0.01", "0.84", "±0.06", "–"]
    assert differences.split()[-1] == "–"  # of linear, which is the baseline
    assert "statlog-diag-1: failed: training diverged" in text
    legend = " ".join(text.split())
    assert "In brackets: the number of finished seeds" in legend
    assert "Less baseline: the regret minus that of the problem's best baseline" in legend


def test_the_table_in_json(root: Path) -> None:
    rows = {row["agent"]: row for row in json.loads(table(root, "--json").stdout)}
    assert list(rows) == ["diag", "k-diag", "linear"]  # the table's own order
    for agent, count in (("linear", 3), ("k-diag", 2), ("diag", 2)):
        runs = [run["normalized_regret"] for run in rows[agent]["runs"] if run["state"] == "done"]
        assert rows[agent]["count"] == len(runs) == count
        assert rows[agent]["mean"] == pytest.approx(np.mean(runs))
        error = np.std(runs, ddof=1) / np.sqrt(count)
        assert rows[agent]["standard_error"] == pytest.approx(error)
    assert rows["linear"]["best"]  # the only one that has all seeds
    states = [run["state"] for run in rows["k-diag"]["runs"]]
    assert states == ["done", "done", "not run"]
    assert rows["diag"]["paper"] == {"mean": 1.01, "standard_error": 0.01}
    assert rows["linear"]["difference"] is None
    assert {row["baseline"] for row in rows.values()} == {"linear"}
    ours, theirs = (
        {run["seed"]: run["normalized_regret"] for run in rows[agent]["runs"]}
        for agent in ("k-diag", "linear")
    )
    differences = [ours[seed] - theirs[seed] for seed in (0, 1)]
    found = rows["k-diag"]["difference"]
    assert found["mean"] == pytest.approx(np.mean(differences))
    # Student's quantile with one degree of freedom is 12.706.
    reach = 12.7062 * np.std(differences, ddof=1) / np.sqrt(2)
    assert found["upper"] == pytest.approx(found["mean"] + reach, rel=1e-4)
    assert found["lower"] == pytest.approx(found["mean"] - reach, rel=1e-4)


def test_published_runs_have_no_steps(root: Path, tmp_path: Path) -> None:
    result = table(root, "--publish", tmp_path / "out")
    assert "published 7 of 9" in result.stderr
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names[0] == "statlog-diag-0.json"
    assert len(names) == 7
    for path in (tmp_path / "out").iterdir():
        record = json.loads(path.read_text())
        assert path.stem == f"statlog-{record['agent']}-{record['seed']}"
        assert path.stat().st_size < 5000


def test_a_table_that_never_ran(tmp_path: Path) -> None:
    for name, columns, seeds in (("bandit", 9, 10), ("bandit-untuned", 9, 5)):
        result = run("table", name, "--show", "--folder", tmp_path / "none")
        assert result.exit_code == 0, result.output
        words = " ".join(result.stdout.split())
        assert words.count("not") >= 6 * columns
        for header in ("greedy", "diag", "k-diag", "nonlinear", "linear"):
            assert f"{header} " in words
        assert max(len(line) for line in result.stdout.splitlines()) <= 80
        assert not (tmp_path / "none").exists()
        rows = json.loads(run("table", name, "--show", "--json", "--folder", tmp_path).stdout)
        assert {row["count"] for row in rows} == {0}
        assert {len(row["runs"]) for row in rows} == {seeds}
    # It was not in the untuned comparison.
    assert all(row["paper"] is None for row in rows if row["agent"] == "fbnn")


def test_a_stream_cut_short_is_not_compared_with_the_paper(root: Path) -> None:
    rows = json.loads(table(root, "--steps", "50", "--json").stdout)
    assert {row["paper"] is None for row in rows} == {True}


def test_other_seeds_are_other_cells(root: Path) -> None:
    rows = json.loads(table(root, "--seeds", "2", "--first-seed", "1", "--json").stdout)
    assert [run["seed"] for run in rows[0]["runs"]] == [1, 2]
    assert rows[1]["count"] == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["bandit", "--problem", "mushrom"], "did you mean 'mushroom'"),
        (["bandit", "--agent", "k-liner"], "did you mean 'k-linear'"),
        (["bandit", "--set", "nois=1"], "did you mean 'noise'"),
        (["bandit", "--set", "agent=diag"], "choose it with --agent"),
        (["bandit", "--network", "lenet-5"], "this table has no --network"),
        (["bandit", "--objective", "ours"], "this table has no --objective"),
        (["bandit", "--draws", "5"], "this table has no --draws"),
        (["bandit", "--seeds", "0"], "--seeds"),
        (["vi", "--problem", "statlog"], "this table has no --problem"),
        (["vi", "--agent", "diag"], "this table has no --agent"),
        (["pac-bayes", "--seeds", "2"], "this table has no --seeds"),
        (["learned", "--place", "2"], "this table has no --place"),
        (["pac-bayes", "--first-seed", "0"], "this table has no --first-seed"),
        (["pac-bayes", "--steps", "5"], "this table has no --steps"),
    ],
)
def test_what_tables_refuse(words: list[str], says: str, tmp_path: Path) -> None:
    refused(run("table", *words, "--show", "--folder", tmp_path), says)
