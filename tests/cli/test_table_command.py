"""`table` as a user meets it, on tiny data: cached, resumed, shown, published, refused."""

from __future__ import annotations

import inspect
import json
import re
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

from pacbound.api import StochasticModule
from pacbound.verification import verify
from pacbound_cli import cli

pytestmark = pytest.mark.usefixtures("warm_workers")

ROOT = Path(__file__).parents[2]


def table(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["table", "pac-bayes", *map(str, arguments)])


def settings(data: Path, **more: Any) -> list[str]:
    given = {"data": data, "hidden": "[8]", "batch": 100, "epochs": 40, **more}
    words = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    words += ["--workers", "2"]  # one thread each: two would wait for each other on a busy machine
    return [*words, "--network", "mlp-600", "--draws", "3000", "--weights", "50", "--samples", "40"]


@pytest.fixture(scope="module")
def small(
    tiny_file: Path, tmp_path_factory: pytest.TempPathFactory, warm_python: WarmPython
) -> list[str]:
    """The options of a table of two cells, which is finished."""
    folder = tmp_path_factory.mktemp("table") / "cells"
    options = [*settings(tiny_file), "--posterior", "diag", "--folder", str(folder)]
    options += ["--objective", "catoni", "--objective", "ours"]
    with forked_workers(warm_python):
        result = table(*options)
    assert result.exit_code == 0, result.output
    assert "2 cells to do, 0 done already; about " in result.stderr
    assert "2 side by side" in result.stderr
    assert "mlp-600-catoni-diag: done in" in result.stderr
    assert "mlp-600-diag: done in" in result.stderr
    return options


@pytest.fixture
def no_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spares a test the child process that measures the speed."""
    monkeypatch.setattr("pacbound.experiments.tables.pool.Pool.probe", lambda pool, watcher: None)


def folders(options: list[str]) -> dict[str, Path]:
    root = Path(options[options.index("--folder") + 1])
    return {path.name[:-13]: path for path in root.iterdir()}


def without_times(certificate: Path) -> dict[str, Any]:
    record = json.loads(certificate.read_text())
    made = record["made"]
    changing = ("date", "times", "command")  # also of the training
    record["made"] = {key: value for key, value in made.items() if not key.endswith(changing)}
    return dict(record)


# What works ---------------------------------------------------------------------------------


def test_a_cell_has_a_checkpoint_a_log_and_two_certificates(small: list[str]) -> None:
    from pacbound.experiments.tables.trained import CHECKPOINT, LOG
    from pacbound.training.log import log_path

    assert sorted(folders(small)) == ["mlp-600-catoni-diag", "mlp-600-diag"]
    for folder in folders(small).values():
        checkpoint = folder / CHECKPOINT
        assert log_path(checkpoint) == folder / LOG
        assert (folder / LOG).exists()
        for name in ("gibbs.json", "draw.json"):
            assert verify(str(folder / name), checkpoint=checkpoint).accepted
            ledger = json.loads((folder / name).read_text())["ledger"]
            assert ledger["certificates"] == {"counted": "declared", "number": 2}


@pytest.mark.parametrize("predictor", ["gibbs", "draw"])
def test_the_command_in_a_certificate_makes_it(
    predictor: str, small: list[str], tmp_path: Path
) -> None:
    certificate = folders(small)["mlp-600-catoni-diag"] / f"{predictor}.json"
    made = json.loads(certificate.read_text())["made"]
    words = made["command"].split()
    assert words[0] == "pacbound"
    words[words.index("-o") + 1] = str(tmp_path / "again.json")
    assert CliRunner().invoke(cli, words[1:]).exit_code == 0
    assert without_times(tmp_path / "again.json") == without_times(certificate)


def test_the_second_run_does_nothing(small: list[str]) -> None:
    before = {
        path: path.stat().st_mtime_ns for f in folders(small).values() for path in f.iterdir()
    }
    result = table(*small)
    assert result.exit_code == 0
    assert "nothing to do: all of 2 are done" in result.stderr
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_show(small: list[str]) -> None:
    result = table(*small, "--show")
    assert result.exit_code == 0
    assert result.stderr == ""
    lines = [line for line in result.stdout.splitlines() if line.startswith("mlp-600 ")]
    catoni, ours = (line.split() for line in lines)
    assert catoni[1:3] == ["catoni", "diag"]
    assert len(catoni) == 10 and "–" not in catoni  # both bounds are there
    assert catoni[-2:] == ["24.11", "no"]
    assert ours[1:3] == ["ours", "diag"]
    assert ours[-2:] == ["23.77", "no"]  # the paper's best for Diag is Pinsker's


def test_show_runs_nothing_and_makes_no_folder(tmp_path: Path) -> None:
    result = table("--show", "--folder", tmp_path / "none")
    assert result.exit_code == 0
    assert result.stdout.count("not run") == 74
    assert not (tmp_path / "none").exists()
    assert max(len(line) for line in result.stdout.splitlines()) <= 80


def test_blocks_stand_beside_the_papers_figures_for_their_architecture(tmp_path: Path) -> None:
    options = ("--show", "--json", "--folder", tmp_path, "--network")
    plain, blocks = (
        json.loads(table(*options, network).stdout) for network in ("lenet-5", "lenet-5-blocks")
    )
    assert [row["paper"] for row in blocks] == [row["paper"] for row in plain]
    assert {row["network"] for row in blocks} == {"lenet-5-blocks"}
    assert {row["paper"] for row in json.loads(table(*options, "lenet-lean").stdout)} == {None}


def test_published_results_are_shown_where_nothing_has_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder of its own, the results come from the checkout."""
    monkeypatch.chdir(tmp_path)
    published = json.loads((ROOT / "certificates/mlp-600-k-linear-gibbs.json").read_text())
    rows = json.loads(table("--show", "--json").stdout)
    shown = {row["name"]: row for row in rows if row["state"] == "published"}
    files = {path.stem for path in (ROOT / "certificates").glob("*.json")}
    assert {f"{name}-gibbs" for name in shown} <= files
    ours = shown["mlp-600-k-linear"]
    assert str(ours["bound"]) == str(float(published["claims"][0]["bound"]))
    assert ours["certificate"] == str(ROOT / "certificates/mlp-600-k-linear-gibbs.json")
    lean = shown["lenet-lean-k-linear"]
    assert lean["draw"]["certificate"] == str(ROOT / "certificates/lenet-lean-k-linear-draw.json")
    assert lean["detail"] == "published with products=bfloat16"
    assert not list(tmp_path.iterdir())
    result = table("--show")
    assert f"{len(shown)} of 74 cells are shown as published in" in result.stderr
    # Other settings, or a folder that is named, have no published results.
    assert "published" not in table("--show", "--json", "--set", "epochs=2").stdout
    assert "published" not in table("--show", "--json", "--folder", tmp_path).stdout


def test_what_does_not_hold_is_not_shown_as_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (ROOT / "certificates/mlp-600-k-linear-gibbs.json").read_text()
    record = json.loads(content)
    record["claims"][0]["bound"] = "0.0100000000"
    (tmp_path / "certificates").mkdir()
    (tmp_path / "certificates/mlp-600-k-linear-gibbs.json").write_text(json.dumps(record))
    # Certificates of another posterior and of another network.
    (tmp_path / "certificates/mlp-600-diag-gibbs.json").write_text(content)
    (tmp_path / "certificates/mlp-600x2-k-linear-gibbs.json").write_text(content)
    monkeypatch.chdir(tmp_path)
    result = table("--show", "--json")
    assert {row["state"] for row in json.loads(result.stdout)} == {"not run"}
    assert result.stderr.startswith("3 of 74 cells are not shown: what is published in ")


def test_results_of_other_settings_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    published = Path("results/bandit-untuned")
    published.mkdir(parents=True)
    for seed in (0, 1):
        record = json.loads((ROOT / published / f"statlog-diag-{seed}.json").read_text())
        record["settings"]["noise"] += seed / 2  # those of seed 1 are not the protocol's
        (published / f"statlog-diag-{seed}.json").write_text(json.dumps(record))
    result = CliRunner().invoke(cli, ["table", "bandit-untuned", "--show"])
    assert result.exit_code == 0, result.output
    assert "1 of 270 cells are shown as published" in result.stderr
    assert "1 of 270 cells are not shown: " in result.stderr and "other settings" in result.stderr


@pytest.mark.parametrize("name", ["bandit", "bandit-untuned", "keel", "vi"])
def test_every_table_has_published_results(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["table", name, "--show"])
    assert result.exit_code == 0, result.output
    count = len(list((ROOT / "results" / name).glob("*.json")))
    assert re.search(rf"(?<!\d){count} of \d+ cells are shown", result.stderr), result.stderr


def test_looking_does_not_import_torch(tmp_path: Path) -> None:
    code = (
        "import sys; from pacbound_cli import cli\n"
        "cli(['table', 'pac-bayes', '--show', '--folder', sys.argv[1]], standalone_mode=False)\n"
        "assert 'torch' not in sys.modules"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)


def test_json(small: list[str]) -> None:
    rows = json.loads(table(*small, "--show", "--json").stdout)
    assert [row["name"] for row in rows] == ["mlp-600-catoni-diag", "mlp-600-diag"]
    for row in rows:
        certificate = json.loads(Path(row["certificate"]).read_text())
        assert row["state"] == "done"
        (claim,) = certificate["claims"]
        assert row["bound"] == float(claim["bound"])
        assert row["kl"] == float(certificate["evidence"]["nats"])
        assert row["risk"] == claim["errors"] / claim["draws"]
        drawn = json.loads(Path(row["draw"]["certificate"]).read_text())
        assert row["draw"]["bound"] == float(drawn["claims"][0]["bound"])
        assert row["draw"]["nats"] == float(drawn["evidence"]["nats"])
        assert drawn["model"]["sha256"] == certificate["model"]["sha256"]
        assert row["tail_correction"] is None
        assert row["lower"] is False
    assert rows[0]["paper"] == {
        "objective": "Catoni",
        "risk": 0.0804,
        "test_error": 0.0778,
        "bound": 0.2411,
        "kl": 5001,
    }


def test_publish(small: list[str], tmp_path: Path) -> None:
    result = table(*small, "--show", "--publish", tmp_path / "certificates")
    assert "published 2 of 2" in result.stderr
    published = {path.name: path for path in (tmp_path / "certificates").iterdir()}
    assert sorted(published) == [
        f"{cell}-{predictor}.json"
        for cell in ("mlp-600-catoni-diag", "mlp-600-diag")
        for predictor in ("draw", "gibbs")
    ]
    for name, path in published.items():
        cell, _, predictor = name.rpartition("-")
        assert path.read_bytes() == (folders(small)[cell] / predictor).read_bytes()


def test_another_setting_is_another_cell(small: list[str]) -> None:
    for more in (["--set", "seed=1"], ["--set", "products=bfloat16"], ["--draws", "4000"]):
        rows = json.loads(table(*small, *more, "--show", "--json").stdout)
        assert [row["state"] for row in rows] == ["not run", "not run"]


def test_another_certification_does_not_train_again(
    small: list[str], tiny_file: Path, tmp_path: Path, no_probe: None
) -> None:
    before = folders(small)["mlp-600-catoni-diag"]
    shutil.copytree(before, tmp_path / before.name)
    options = [*settings(tiny_file), "--posterior", "diag", "--objective", "catoni"]
    result = table(*options, "--draws", "6000", "--folder", tmp_path, "--json")
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)
    after = Path(row["certificate"]).parent
    assert after.name != before.name
    for name in ("checkpoint.pt", "checkpoint.log.jsonl"):
        assert (after / name).read_bytes() == (before / name).read_bytes()


def test_a_posterior_begins_with_the_training_of_the_one_that_it_starts_as(
    tiny_file: Path, tmp_path: Path, no_probe: None
) -> None:
    from pacbound.experiments.tables.trained import LOG

    common = {"hidden_bias": 0, "initial_scale": 0.05, "flow_hidden": "[6]"}
    where = ["--folder", str(tmp_path / "cells"), "--objective", "ours"]
    first = [*settings(tiny_file, **common, epochs=6), *where, "--posterior", "k-linear"]
    more = settings(tiny_file, **common, linear_epochs=6, epochs=1)
    second = [*more, *where, "--posterior", "k-nonlinear"]
    for options in (first, second):
        assert table(*options).exit_code == 0
    logs = []
    for name in ("mlp-600-k-linear", "mlp-600-k-nonlinear"):
        text = (folders(first)[name] / LOG).read_text(encoding="utf-8")
        logs.append([json.loads(line) for line in text.splitlines()])
    assert [record["phase"] for record in logs[1]] == ["linear"] * 6 + ["bound"]
    times = [[record["seconds"] for record in log[:6]] for log in logs]
    assert times[0] == times[1]  # copied, not trained again


def test_other_data_in_the_same_file_is_another_cell(tiny_file: Path, tmp_path: Path) -> None:
    from pacbound.experiments.tables import table_named
    from pacbound.experiments.tables.cell import Selection

    file = tmp_path / "mine.npz"
    digests = set()
    for content in (b"one", b"two"):
        file.write_bytes(content)
        chosen = Selection(("mlp-600",), ("ours",), ("diag",), {"data": str(file)})
        digests.add(table_named("pac-bayes").cells(chosen)[0].digest)
    assert len(digests) == 2


def test_an_edited_certificate_is_made_again(small: list[str]) -> None:
    path = folders(small)["mlp-600-diag"] / "gibbs.json"
    drawn = path.with_name("draw.json").stat().st_mtime_ns
    before = without_times(path)
    checkpoint = (path.parent / "checkpoint.pt").read_bytes()
    record = json.loads(path.read_text())
    record["claims"][0]["bound"] = "0.1000000000"
    path.write_text(json.dumps(record))
    shown = table(*small, "--show")
    assert "mlp-600-diag: its gibbs certificate does not verify" in shown.stdout
    result = table(*small)
    assert result.exit_code == 0, result.output
    assert "mlp-600-diag: its gibbs certificate does not verify" in result.stderr
    assert "1 cell to do, 1 done already" in result.stderr
    assert without_times(path) == before
    assert (path.parent / "checkpoint.pt").read_bytes() == checkpoint  # certified, not trained
    assert path.with_name("draw.json").stat().st_mtime_ns == drawn  # it was valid


def test_a_certificate_of_another_cell_does_not_count(small: list[str]) -> None:
    ours, catoni = folders(small)["mlp-600-diag"], folders(small)["mlp-600-catoni-diag"]
    files = {name: (ours / name).read_bytes() for name in ("draw.json", "checkpoint.pt")}
    try:
        for name in files:
            (ours / name).write_bytes((catoni / name).read_bytes())
        assert "its draw certificate is of other settings" in table(*small, "--show").stdout
    finally:
        for name, content in files.items():
            (ours / name).write_bytes(content)


def test_a_sampled_kl_has_a_tail(tiny_file: Path, tmp_path: Path, no_probe: None) -> None:
    heard = {"hidden_bias": 0, "initial_scale": 0.05}  # units that are heard at once
    options = [*settings(tiny_file, linear_epochs=1, epochs=1, **heard)]
    options += ["--posterior", "k-nonlinear"]
    result = table(*options, "--objective", "ours", "--folder", tmp_path, "--json")
    assert result.exit_code == 0, result.output
    assert "1 cell to do, 0 done already; about unknown time" in result.stderr
    (row,) = json.loads(result.stdout)
    assert 0 < row["tail_correction"] < row["kl"]
    assert row["paper"]["objective"] == "Catoni"


def test_a_failing_cell(tiny_file: Path, tmp_path: Path, no_probe: None) -> None:
    options = [*settings(tiny_file, learning_rate=1e12), "--posterior", "diag"]
    options += ["--objective", "ours", "--folder", str(tmp_path)]
    result = table(*options)
    assert result.exit_code == 1
    assert "mlp-600-diag: failed: training diverged in epoch 1" in result.stderr
    assert "1 cell failed; the same command tries again" in result.stderr
    assert "Traceback" not in result.output
    shown = table(*options, "--show")
    assert shown.exit_code == 0
    assert "mlp-600-diag: training diverged in epoch 1" in shown.stdout.replace("\n", " ")


def kill_after_three_epochs(command: list[str], root: Path) -> None:
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    epochs = 0
    while epochs < 3 and process.poll() is None:
        logs = list(root.glob("*-catoni-*/checkpoint.log.jsonl"))
        epochs = len(logs[0].read_text().splitlines()) if logs else 0
        time.sleep(0.01)
    process.kill()
    process.wait()


def test_kill_minus_nine_in_the_middle_of_training(small: list[str], tmp_path: Path) -> None:
    """Resumed, it ends with the certificate of an undisturbed run."""
    done = folders(small)["mlp-600-diag"]
    shutil.copytree(done, tmp_path / done.name)  # a finished cell tells the speed
    options = [*small, "--folder", str(tmp_path)]
    command = [sys.executable, "-m", "pacbound_cli", "table", "pac-bayes", *options]
    for _ in range(20):  # on a busy machine the cell may be done before this process sees it
        kill_after_three_epochs(command, tmp_path)
        if not list(tmp_path.glob("*-catoni-*/gibbs.json")):
            break
        for folder in tmp_path.glob("*-catoni-*"):
            shutil.rmtree(folder)
    assert not list(tmp_path.glob("*-catoni-*/gibbs.json"))
    again = table(*options)
    assert again.exit_code == 0, again.stderr
    assert "measuring" not in again.stderr
    assert "1 cell to do, 1 done already" in again.stderr
    assert "mlp-600-catoni-diag: resumed after epoch " in again.stderr
    undisturbed = folders(small)["mlp-600-catoni-diag"] / "gibbs.json"
    (certificate,) = tmp_path.glob("*-catoni-*/gibbs.json")
    assert without_times(certificate) == without_times(undisturbed)


def test_certification_defaults_are_those_of_certify() -> None:
    from pacbound.experiments.tables.certified import Certification

    mine = Certification(("gibbs", "draw"), samples=40)
    given = inspect.signature(StochasticModule.certify).parameters
    assert float(mine.delta) == given["delta"].default
    for name in ("draws", "weights", "samples"):
        assert getattr(Certification, name) == given[name].default
    options = ["--delta", "0.035", "--predictor", "draw", "--certificates", "2"]
    assert mine.options("draw") == options
    assert mine.options("gibbs") == [*options[:3], "gibbs", *options[4:], "--samples", "40"]


# What is refused ----------------------------------------------------------------------------


def test_unknown_names(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["table", "pac-bays"])
    refused(result, "unknown table 'pac-bays'", "did you mean 'pac-bayes'")
    refused(table("--network", "mlp-60"), "did you mean 'mlp-600'")
    refused(table("--objective", "katoni"), "did you mean 'catoni'")
    refused(table("--posterior", "k-liner"), "did you mean 'k-linear'")
    refused(table("--set", "epoch=3"), "did you mean 'epochs'")
    refused(table("--set", "epochs"), "key=value")
    refused(table("--set", "epochs=0"), "epochs must be")
    refused(table("--set", "input_scale=1.1"), "cannot be paid for")
    refused(table("--set", "posterior=diag"), "choose with --posterior")
    refused(table("--objective", "pinsker", "--posterior", "k-nonlinear"), "exact KL")
    refused(table("--objective", "catoni", "--network", "lenet-lean"), "only the objective ours")
    refused(table("--set", "data=mnst", "--folder", tmp_path), "did you mean 'mnist'")
    refused(table("--set", "data=none.npz", "--folder", tmp_path), "no file none.npz")
    assert table("--workers", "0").exit_code == 2
    assert table("--draws", "0").exit_code == 2


def test_places_that_cannot_be_written(tiny_file: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    refused(table("--folder", file / "a"), "cannot write")
    refused(table("--folder", "/proc/nowhere"), "cannot write")
    refused(table("--folder", tmp_path, "--publish", file), "cannot write")
