"""`predict` as a user meets it: its table, its files, and what bad input gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from refusals import refused

from pacbound.data import Dataset
from pacbound.recipes import Settings
from pacbound.training.loop import train
from pacbound_cli import cli


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(a) for a in arguments])


@pytest.fixture
def trained(tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path) -> Path:
    path = tmp_path / "tiny.pt"
    train(tiny_settings, tiny_data, path)
    return path


def saved(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def other_file(tmp_path: Path, n: int = 40, shape: tuple[int, ...] = (4, 4), k: int = 3) -> Path:
    inputs = np.random.default_rng(0).normal(size=(n, *shape)).astype(np.float32)
    return saved(tmp_path / "other.npz", x=inputs, y=np.arange(n) % k)


def test_the_table(trained: Path) -> None:
    result = run("predict", trained, "--samples", 3)
    assert result.exit_code == 0, result.output
    words = ["200 test examples of tiny", "3 networks", "accuracy", "error", "log-likelihood"]
    words += ["Brier", "calibration error, 15 bins", "aleatoric", "epistemic"]
    for word in words:
        assert word in result.stdout
    assert "AUROC" not in result.stdout


def test_json_and_npz_agree(trained: Path, tiny_data: Dataset, tmp_path: Path) -> None:
    target = tmp_path / "new" / "predictions.npz"
    other = other_file(tmp_path)
    arguments = ["predict", trained, "--samples", 4, "--ood", other, "-o", target, "--json"]
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    arrays = dict(np.load(target))
    assert (arrays["classes"] == arrays["probabilities"].argmax(1)).all()
    assert arrays["probabilities"].dtype == np.float32
    assert arrays["probabilities"].shape == (200, 3)
    assert arrays["labels"].tolist() == tiny_data.test_labels.tolist()  # type: ignore[union-attr]
    correct = (arrays["probabilities"].argmax(1) == arrays["labels"]).mean()
    assert figures["accuracy"] == pytest.approx(correct)
    assert figures["error"] == pytest.approx(1 - correct)
    assert figures["entropy"]["total"] == pytest.approx(arrays["entropy"].mean(), rel=1e-4)
    parts = arrays["aleatoric"] + arrays["epistemic"]
    np.testing.assert_allclose(parts, arrays["entropy"], atol=1e-5)
    assert sum(part["examples"] for part in figures["bins"]) == 200
    outside = figures["out_of_distribution"]
    assert outside["examples"] == len(arrays["ood_labels"]) == 40
    pairs = arrays["ood_epistemic"][:, None] > arrays["epistemic"]
    assert outside["auroc_epistemic"] == pytest.approx(pairs.mean(), abs=1e-4)
    assert run(*arguments).stdout == result.stdout  # there is nothing to be lucky with


def test_splits_and_limits(trained: Path, tmp_path: Path) -> None:
    def examples(*options: object) -> tuple[str, int]:
        figures = json.loads(run("predict", trained, "--samples", 1, "--json", *options).stdout)
        return figures["split"], figures["examples"]

    assert examples() == ("test", 200)
    assert examples("--split", "train") == ("train", 600)
    assert examples("--limit", 7) == ("test", 7)
    other = other_file(tmp_path)
    assert examples("--data", other) == ("given", 40)  # rows, not a split of a data set
    refused(run("predict", trained, "--data", other, "--split", "test"), "no test examples")


def test_the_reliability_diagram(trained: Path, tmp_path: Path) -> None:
    plot = tmp_path / "reliability.svg"
    arguments = ["predict", trained, "--samples", 2, "--plot", plot]
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert str(plot) in result.stdout.replace("\n", "")
    assert ElementTree.parse(plot).getroot().tag.endswith("svg")
    first = plot.read_bytes()
    run(*arguments)
    assert plot.read_bytes() == first


def test_data_that_does_not_fit(trained: Path, tmp_path: Path) -> None:
    base = ["predict", trained, "--samples", 1]
    wide = other_file(tmp_path, shape=(5, 4))
    refused(run(*base, "--data", wide), "(4, 4)", "(5, 4)")
    refused(run(*base, "--ood", wide), "(4, 4)", "(5, 4)")
    refused(run(*base, "--data", other_file(tmp_path, k=5)), "3 classes", "has 5")
    assert run(*base, "--ood", other_file(tmp_path, k=5)).exit_code == 0  # labels play no part
    refused(run(*base, "--data", tmp_path / "none.npz"), "none.npz")
    refused(run(*base, "--ood", "fashion-mnst"), "did you mean 'fashion-mnist'")


def test_checkpoints_that_cannot_be_used(trained: Path, tmp_path: Path) -> None:
    refused(run("predict", tmp_path / "none.pt"), "No such file")
    bad = tmp_path / "bad.pt"
    bad.write_bytes(b"hello")
    refused(run("predict", bad), "not a pacbound checkpoint")
    content = torch.load(trained, weights_only=True)
    torch.save({**content, "training": {"step": 1}}, bad)
    refused(run("predict", bad), "not finished", "--resume")
    content["posterior"]["module.1.posteriors.affine.mean"][0, 0] = torch.nan
    torch.save(content, bad)
    refused(run("predict", bad), "NaN")


def test_places_that_cannot_be_written(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    base = ["predict", trained, "--samples", 1]
    refused(run(*base, "-o", file / "a.npz"), "cannot write")
    refused(run(*base, "-o", tmp_path), "it is a folder")
    refused(run(*base, "--plot", file / "a.svg"), "cannot write")
    refused(run(*base, "--plot", tmp_path / "a.bmp"), ".svg, .png or .pdf")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    refused(run(*base, "--plot", tmp_path / "a.svg"), "pacbound[plots]")
    assert not list(tmp_path.glob("a.*"))


def test_bad_options(trained: Path) -> None:
    for options in (
        ["--samples", 0],
        ["--limit", 0],
        ["--split", "validation"],
        ["--samples", "x"],
    ):
        refused(run("predict", trained, *options), str(options[0]))


# Under a certificate ----------------------------------------------------------------------------


def certified(trained: Path, predictor: str, *options: object) -> Path:
    target = trained.with_name(f"{predictor}.json")
    few = [] if predictor == "draw" else ["--draws", 2000]
    result = run("certify", trained, "--predictor", predictor, *few, *options, "-o", target)
    assert result.exit_code == 0, result.output
    return target


def test_an_average_is_not_said_to_be_covered(trained: Path) -> None:
    result = run("predict", trained, "--samples", 2)
    assert "No certificate covers this average" in result.stdout
    figures = json.loads(run("predict", trained, "--samples", 2, "--json").stdout)
    assert figures["certificate"] is None


@pytest.mark.parametrize("predictor", ["gibbs", "draw", "vote"])
def test_the_predictor_of_a_certificate(trained: Path, predictor: str, tmp_path: Path) -> None:
    certificate = certified(trained, predictor, "--claims", "overall,per-class")
    target = tmp_path / "classes.npz"
    base = ["predict", trained, "--certificate", certificate]
    result = run(*base, "-o", target)
    assert result.exit_code == 0, result.output
    words = {"gibbs": "its own network", "draw": "one drawn network", "vote": "25 networks"}
    for word in (words[predictor], "200 test examples of tiny", "true class 2", "With probability"):
        assert word in " ".join(result.stdout.split())
    assert "No certificate" not in result.stdout
    arrays = dict(np.load(target))
    figures = json.loads(run(*base, "--json").stdout)
    assert figures["errors"] == int((arrays["classes"] != arrays["labels"]).sum())
    assert figures["claims"][0]["errors"] == figures["errors"]
    claims = json.loads(certificate.read_text())["claims"]
    assert figures["claims"][0]["bound"] == claims[0]["bound"]
    assert figures["networks"] == (25 if predictor == "vote" else 1)
    assert ("shares" in arrays) == (predictor == "vote")


def test_the_number_of_voters(trained: Path) -> None:
    certificate = certified(trained, "vote", "--vote-by", "tandem")
    base = ["predict", trained, "--certificate", certificate, "--json"]
    assert json.loads(run(*base, "--voters", 7).stdout)["networks"] == 7
    refused(run(*base, "--voters", 8), "odd number")
    refused(run(*base, "--voters", 1), "--voters")
    refused(run("predict", trained, "--voters", 7), "--certificate")
    draw = certified(trained, "draw")
    refused(run("predict", trained, "--certificate", draw, "--voters", 7), "has no voters")


def test_certificates_that_cover_nothing_here(trained: Path, tmp_path: Path) -> None:
    certificate = certified(trained, "draw")
    base = ["predict", trained, "--certificate"]
    for options in (["--samples", 3], ["--ood", "mnist"], ["--plot", tmp_path / "a.svg"]):
        refused(run(*base, certificate, *options), str(options[0]), "no effect")
    record = json.loads(certificate.read_text())
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps({**record, "delta": "0.01"}))
    result = run(*base, bad)
    assert result.exit_code == 1
    assert "REJECTED" in result.stderr and "6.1" in result.stderr
    bad.write_text("hello")
    assert run(*base, bad).exit_code == 2
    assert run(*base, tmp_path / "none.json").exit_code == 2
    content = torch.load(trained, weights_only=True)
    content["posterior"]["module.1.posteriors.affine.mean"][0, 0] += 1
    other = tmp_path / "other.pt"
    torch.save(content, other)
    refused(run("predict", other, "--certificate", certificate), "another network")
