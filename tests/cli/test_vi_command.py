"""`vi` and `table vi` as a user meets them, on small made images."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from refusals import refused

from pacbound_cli import cli


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes: a bright upper or a bright lower half."""
    path = tmp_path_factory.mktemp("data") / "halves.npz"
    generator = np.random.default_rng(0)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        labels = generator.integers(0, 2, n)
        inputs = generator.random((n, 16, 16)) * 0.7
        inputs[labels == 0, :8] += 0.3
        inputs[labels == 1, 8:] += 0.3
        return inputs.astype(np.float32), labels

    (x, y), (x_test, y_test) = draw(400), draw(100)
    np.savez(path, x=x, y=y, x_test=x_test, y_test=y_test)
    return path


def small(images: Path, **more: object) -> list[str]:
    given = {
        "hidden": "[3,4,8]",
        "batch": 50,
        "epochs": 6,
        "warm_start_epochs": 1,
        "beta": 0.1,
        "learning_rate": 0.005,
        "flow_learning_rate": 0.005,
        "flow_hidden": "[4]",
        "data": images,
        **more,
    }
    return [word for key, value in given.items() for word in ("--set", f"{key}={value}")]


@pytest.mark.parametrize("posterior", ["point", "diag", "k-diag", "k-linear", "k-nonlinear"])
def test_vi_trains_and_tests(images: Path, tmp_path: Path, posterior: str) -> None:
    path = tmp_path / "vi.pt"
    words = ["vi", "lenet-5", "--posterior", posterior, *small(images), "--samples", "5"]
    result = run(*words, "-o", path, "--json")
    assert result.exit_code == 0, result.output
    assert "−ELBO" in result.stderr
    record = json.loads(result.stdout)
    assert record["checkpoint"] == str(path)
    assert record["evaluation"]["samples"] == 5
    assert record["evaluation"]["examples"] == 100
    assert record["evaluation"]["error"] < 0.2
    # The same figures as `predict` gives for the checkpoint.
    again = json.loads(run("predict", path, "--samples", "5", "--json").stdout)
    assert again["error"] == record["evaluation"]["error"]
    if posterior == "point":
        assert abs(record["evaluation"]["entropy"]["epistemic"]) < 1e-6


def test_vi_prints_a_table_and_what_is_next(images: Path, tmp_path: Path) -> None:
    path = tmp_path / "vi.pt"
    result = run("vi", "lenet-5", *small(images, epochs=1), "--samples", "2", "-o", path)
    assert result.exit_code == 0, result.output
    assert "error" in result.stdout
    assert f"next: pacbound predict {path}" in result.stdout
    refused(run("vi", "lenet-5", *small(images), "-o", path), "exists", "--resume")


def test_vi_resumes(images: Path, tmp_path: Path) -> None:
    path = tmp_path / "vi.pt"
    words = ["vi", "lenet-5", *small(images, epochs=1), "--samples", "2", "-o", path]
    assert run(*words).exit_code == 0
    before = path.read_bytes()
    assert run(*words, "--resume").exit_code == 0  # there is nothing left to do
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["lenet5"], ["unknown network 'lenet5'", "lenet-5"]),
        (["lenet-5", "--posterior", "diagonal"], ["unknown posterior 'diagonal'"]),
        (["lenet-5", "--protocol", "papper"], ["unknown protocol 'papper'", "paper"]),
        (["lenet-5", "--beta", "-1"], ["beta must be"]),
        (["lenet-5", "--set", "augmentation=blur"], ["augmentation must be"]),
        (["lenet-5", "--set", "fixed_variance=0"], ["fixed_variance must be"]),
        (["lenet-5", "--set", "batch_norm=true"], ["batch_norm is for vgg"]),
        (["lenet-5", "--set", "start=nowhere"], ["unknown initializer 'nowhere'"]),
    ],
)
def test_what_makes_no_sense_is_refused(
    images: Path, tmp_path: Path, words: list[str], says: list[str]
) -> None:
    path = tmp_path / "vi.pt"
    refused(run("vi", *words, "--data", images, "-o", path), *says)
    assert not path.exists()


def test_images_of_another_kind_are_refused(images: Path, tmp_path: Path) -> None:
    refused(run("vi", "vgg-16", "--data", images, "-o", tmp_path / "a.pt"), "vgg needs colour")


def test_a_certificate_of_vi_says_when_it_says_nothing(images: Path, tmp_path: Path) -> None:
    path, certificate = tmp_path / "vi.pt", tmp_path / "vi.json"
    assert run("vi", "lenet-5", *small(images), "--samples", "1", "-o", path).exit_code == 0
    result = run("certify", path, "--weights", "50", "-o", certificate)
    assert result.exit_code == 0, result.output
    assert "it is no better than guessing" in result.stdout
    assert run("verify", certificate, "--checkpoint", path).exit_code == 0


# The table ----------------------------------------------------------------------------------


def table(folder: Path, images: Path, *words: str | Path) -> Result:
    chosen = ["--network", "lenet-5", "--posterior", "point", "--posterior", "diag"]
    options = [*chosen, *small(images, epochs=1), "--samples", "3", "--folder", str(folder)]
    return run("table", "vi", *options, *words)


def test_the_table_runs_once_and_stands_beside_the_paper(
    images: Path, tmp_path: Path, warm_workers: None
) -> None:
    folder = tmp_path / "cells"
    first = table(folder, images, "--workers", "2", "--publish", tmp_path / "out")
    assert first.exit_code == 0, first.output
    assert "2 cells to do, 0 done already; about " in first.stderr
    assert "lenet-5-diag: done in" in first.stderr
    again = table(folder, images, "--json")
    assert "2 done already" in again.stderr or "done" in again.stdout
    rows = {row["posterior"]: row for row in json.loads(again.stdout)}
    assert rows["diag"]["paper_error"] == pytest.approx(0.0092)
    assert rows["diag"]["state"] == rows["point"]["state"] == "done"
    assert rows["diag"]["epochs"] == 2
    published = json.loads((tmp_path / "out" / "lenet-5-diag.json").read_text())
    assert published["evaluation"]["error"] == rows["diag"]["error"]
    assert published["evaluation"]["samples"] == 3
    assert [0 <= point["test_error"] <= 1 for point in published["curve"]] == [True, True]
    assert rows["diag"]["extrapolated_error"] is None  # two epochs have no last third
    # The evaluation is what `predict` says of the checkpoint.
    (checkpoint,) = folder.glob("lenet-5-diag-*/checkpoint.pt")
    predicted = json.loads(run("predict", checkpoint, "--samples", "3", "--json").stdout)
    assert predicted["error"] == published["evaluation"]["error"]
    # A result that was edited, or that is of another checkpoint, does not count.
    (result,) = folder.glob("lenet-5-diag-*/evaluation.json")
    result.write_text(result.read_text()[:-20])
    shown = table(folder, images, "--show", "--json")
    assert {r["posterior"]: r["state"] for r in json.loads(shown.stdout)}["diag"] == "invalid"
    published["checkpoint_sha256"] = "0" * 64
    result.write_text(json.dumps(published))
    shown = table(folder, images, "--show")
    assert "another checkpoint" in shown.stdout.replace("\n", " ")


def test_flows_in_the_table_begin_with_the_linear_training(
    tmp_path: Path, warm_workers: None
) -> None:
    """VGG-16, K-Linear and then K-Nonlinear: one curve, through both trainings."""
    generator = np.random.default_rng(1)
    labels = generator.integers(0, 2, 130)
    inputs = generator.integers(0, 100, (130, 3, 32, 32)) + 100 * labels[:, None, None, None]
    parts = np.split(inputs.astype(np.uint8), [100]), np.split(labels, [100])
    names = ("x", "x_test", "y", "y_test")
    path = tmp_path / "colours.npz"
    np.savez(path, **dict(zip(names, [*parts[0], *parts[1]], strict=True)))
    curves = {}
    for posterior, more in {"k-linear": {}, "k-nonlinear": {"linear_epochs": 2}}.items():
        settings = {"hidden": "[2,2,2,2,2]", "epochs": 2, "flow_hidden": "[2]", **more}
        words = [w for k, v in settings.items() for w in ("--set", f"{k}={v}")]
        words += ["--set", f"data={path}", "--network", "vgg-16", "--posterior", posterior]
        words += ["--samples", "2", "--folder", str(tmp_path / "cells")]
        result = run("table", "vi", *words, "--publish", tmp_path / "out")
        assert result.exit_code == 0, result.output
        record = json.loads((tmp_path / "out" / f"vgg-16-{posterior}.json").read_text())
        assert (
            record["training"]["peak_memory"] is None or record["training"]["peak_memory"] > 2**26
        )
        curves[posterior] = record["curve"]
    first, then = curves["k-linear"], curves["k-nonlinear"]
    assert [point["epoch"] for point in then] == [1, 2, 3, 4]
    assert [point["test_error"] for point in then[:2]] == [point["test_error"] for point in first]
    assert all(0 <= point["test_error"] <= 1 for point in then)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--network", "mlp-600"], "unknown network 'mlp-600'"),
        (["--posterior", "k-cubic"], "unknown posterior 'k-cubic'"),
        (["--objective", "catoni"], "only --samples applies"),
        (["--weights", "10"], "only --samples applies"),
        (["--set", "posterior=diag"], "choose with --posterior"),
    ],
)
def test_the_table_refuses(tmp_path: Path, words: list[str], says: str) -> None:
    refused(run("table", "vi", "--show", "--folder", tmp_path, *words), says)
