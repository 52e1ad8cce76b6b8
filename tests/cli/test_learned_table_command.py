"""`table learned` as a user meets it, on tiny data: three certificates of one training."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from refusals import refused
from warm_python import WarmPython, forked_workers

from pacbound.experiments.learned.elsewhere import ELSEWHERE, lowest
from pacbound.verification import verify
from pacbound_cli import cli

pytestmark = pytest.mark.usefixtures("warm_workers")

ROOT = Path(__file__).parents[2]
PREDICTORS = ("fixed", "draw", "gibbs")
PRIOR_EPOCHS = 40


def table(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["table", "learned", *map(str, arguments)])


def settings(data: Path, **more: Any) -> list[str]:
    given = {"data": data, "hidden": "[8]", "alignment": "none", "batch": 100, "epochs": 2}
    given |= {"prior_epochs": PRIOR_EPOCHS, "prior_augmentation": "none", **more}
    words = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    return [*words, "--network", "mlp-600-learned", "--draws", "3000"]


def only(root: Path) -> Path:
    (folder,) = root.glob("mlp-600-learned-*")
    return folder


def without_times(certificate: Path) -> dict[str, Any]:
    record = json.loads(certificate.read_text())
    made = record["made"]
    changing = ("date", "times", "command")
    record["made"] = {key: value for key, value in made.items() if not key.endswith(changing)}
    record["made"]["prior"].pop("seconds", None)
    return dict(record)


@pytest.fixture
def no_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spares a test the child process that measures the speed."""
    monkeypatch.setattr("pacbound.experiments.tables.pool.Pool.probe", lambda pool, watcher: None)


@pytest.fixture(scope="module")
def small(
    tiny_file: Path, tmp_path_factory: pytest.TempPathFactory, warm_python: WarmPython
) -> list[str]:
    """The options of a table of one cell, which is finished."""
    folder = tmp_path_factory.mktemp("learned") / "cells"
    options = [*settings(tiny_file), "--folder", str(folder)]
    with forked_workers(warm_python):
        result = table(*options, "--workers", "1")
    assert result.exit_code == 0, result.output
    assert "measuring the speed of mlp-600-learned k-linear" in result.stderr
    assert "1 cell to do, 0 done already; about " in result.stderr
    assert "unknown time" not in result.stderr
    return options


def root_of(options: list[str]) -> Path:
    return Path(options[options.index("--folder") + 1])


def test_one_training_has_three_certificates(small: list[str]) -> None:
    folder = only(root_of(small))
    for predictor in PREDICTORS:
        path = folder / f"{predictor}.json"
        assert verify(str(path), checkpoint=folder / "checkpoint.pt").accepted
        record = json.loads(path.read_text())
        assert record["predictor"] == predictor
        assert record["prior"]["kind"] == "learned"
        assert record["ledger"]["certificates"] == {"counted": "declared", "number": 3}
        assert f"--predictor {predictor} --certificates 3" in record["made"]["command"]
    assert not list(folder.glob("*.partial"))


def test_rows(small: list[str]) -> None:
    rows = json.loads(table(*small, "--show", "--json").stdout)
    assert [row["predictor"] for row in rows] == [*PREDICTORS]
    for row in rows:
        record = json.loads(Path(row["certificate"]).read_text())
        assert (row["state"], row["detail"]) == ("done", "")
        assert row["bound"] == float(record["claims"][0]["bound"])
        assert row["elsewhere"] == [] and row["lower"] is None  # nobody published this data
    assert rows[0]["nats"] is None and rows[1]["nats"] is not None
    shown = table(*small, "--show").stdout
    assert [line.split()[1] for line in shown.splitlines() if line.startswith("mlp-600")] == [
        *PREDICTORS
    ]


def test_the_second_run_does_nothing(small: list[str]) -> None:
    assert "nothing to do: all of 1 are done" in table(*small).stderr


def test_the_forecast_knows_every_stage(small: list[str], tiny_file: Path) -> None:
    from pacbound.experiments.tables import table_named
    from pacbound.experiments.tables.selection import Selection

    folder = only(root_of(small))
    chosen = Selection(("mlp-600-learned",), overrides={"data": str(tiny_file), "epochs": 2})
    (cell,) = table_named("learned").cells(chosen)
    assert list(cell.work()) == ["learning the prior", "training", "certifying"]
    assert {each.stage for each in cell.measured(folder)} == set(cell.work())


def test_publish(small: list[str], tmp_path: Path) -> None:
    result = table(*small, "--show", "--publish", tmp_path)
    assert "published 1 of 1" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"mlp-600-learned-{predictor}.json" for predictor in PREDICTORS
    )


def test_another_posterior_takes_the_prior_that_was_learned(
    small: list[str], tiny_file: Path, tmp_path: Path, no_probe: None
) -> None:
    before = only(root_of(small))
    shutil.copytree(before, tmp_path / before.name)
    options = [*settings(tiny_file, posterior="diag"), "--folder", tmp_path]
    result = table(*options, "--json")
    assert result.exit_code == 0, result.output
    after = Path(json.loads(result.stdout)[0]["certificate"]).parent
    assert after.name != before.name
    (prior,) = before.glob("prior-*.pt")
    assert (after / prior.name).read_bytes() == prior.read_bytes()
    fixed = [json.loads((folder / "fixed.json").read_text()) for folder in (before, after)]
    assert fixed[0]["claims"] == fixed[1]["claims"]


def epochs_of_the_prior(root: Path) -> int:
    logs = list(root.glob("*/prior.log.jsonl"))
    return len(logs[0].read_text().splitlines()) if logs else 0


def test_kill_minus_nine_while_the_prior_learns(small: list[str], tmp_path: Path) -> None:
    """Resumed, it ends with the certificates of an undisturbed run."""
    options = [*small, "--workers", "1", "--folder", str(tmp_path)]
    command = [sys.executable, "-m", "pacbound_cli", "table", "learned", *options]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while epochs_of_the_prior(tmp_path) < 3 and process.poll() is None:
        time.sleep(0.005)
    process.kill()
    process.wait()
    if not list(tmp_path.glob("*/checkpoint.pt")):  # on a busy machine it may be further
        shown = table(*small[:-2], "--show", "--folder", tmp_path)
        assert f"/{PRIOR_EPOCHS} of the prior" in shown.stdout
    again = table(*options)
    assert again.exit_code == 0, again.stderr
    assert "mlp-600-learned: resumed after epoch " in again.stderr
    for predictor in PREDICTORS:
        undisturbed = only(root_of(small)) / f"{predictor}.json"
        resumed = only(tmp_path) / f"{predictor}.json"
        assert without_times(resumed) == without_times(undisturbed)


def test_show_of_what_is_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = {row["name"]: row for row in json.loads(table("--show", "--json").stdout)}
    assert len(rows) == 21
    for name, row in rows.items():
        path = ROOT / f"certificates/{name}.json"
        if not path.exists():
            assert (row["state"], row["bound"]) == ("not run", None)
            continue
        record = json.loads(path.read_text())
        assert (row["state"], row["certificate"]) == ("published", str(path))
        assert row["bound"] == float(record["claims"][0]["bound"])
    draw = rows["mnist-resnet-learned-draw"]
    assert draw["lower"] is True
    assert draw["elsewhere"][0]["bound"] == 0.0110  # a fraction, as ours
    shown = table("--show").stdout
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert not list(tmp_path.iterdir())


def test_looking_does_not_import_torch(tmp_path: Path) -> None:
    code = (
        "import sys; from pacbound_cli import cli\n"
        "cli(['table', 'learned', '--show', '--folder', sys.argv[1]], standalone_mode=False)\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True)


def test_figures_from_elsewhere() -> None:
    for each in ELSEWHERE:
        assert each.predictor in PREDICTORS and 0 < each.bound < 100
        assert each.test is None or each.test < each.bound
        least = lowest(each.data, each.predictor)
        assert least is not None and least.bound <= each.bound
    assert lowest("digits", "draw") is None


def test_bad_input() -> None:
    refused(table("--network", "mlp-600"), "did you mean 'mlp-600-learned'")
    refused(table("--posterior", "diag"), "no --posterior")
    refused(table("--objective", "ours"), "no --objective")
    refused(table("--problem", "wdbc"), "no --problem")
    refused(table("--set", "recipe=mlp-600"), "choose with --network")
    mlp = ("--network", "mlp-600-learned")
    refused(table(*mlp, "--set", "prior_fraction=0"), "prior_fraction must be above 0")
    refused(table("--set", "prior_fraction=0.55"), "cannot be paid for")
