"""`rotate` as a user meets it: the figure, its numbers, and what bad input gets."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner, Result
from refusals import refused

from pacbound.data import Dataset
from pacbound.experiments.rotation.rotation import rotated
from pacbound.predict import Predictor
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


def test_the_figure_and_its_numbers(trained: Path, tiny_data: Dataset, tmp_path: Path) -> None:
    figure, numbers = tmp_path / "rotate.svg", tmp_path / "rotate.json"
    options = ["--digits", "2,0", "--samples", 3, "--to", 90, "--steps", 4, "--examples", 2]
    result = run("rotate", trained, trained, *options, "-o", figure, "--json", numbers)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("tiny") >= 8
    assert ElementTree.parse(figure).getroot().tag.endswith("svg")
    panels = json.loads(numbers.read_text())
    assert [panel["label"] for panel in panels] == [2, 2, 0, 0] * 2
    assert panels[:4] == panels[4:]  # of one checkpoint, so of the same networks
    panel = panels[1]
    assert panel["degrees"] == [0, 30, 60, 90]
    assert tiny_data.test_inputs is not None
    position = int(np.flatnonzero(tiny_data.test_labels == 2)[1])
    assert panel["position"] == position
    images = rotated(tiny_data.test_inputs[position], [0, 30, 60, 90])
    prediction = Predictor.of(trained, tiny_data).predict(images, 3)
    np.testing.assert_allclose(panel["mean"], prediction.probabilities, atol=1e-6)
    np.testing.assert_allclose(panel["epistemic"], prediction.entropies.epistemic, atol=1e-6)
    assert np.shape(panel["samples"]) == (3, 4, 3)
    np.testing.assert_allclose(np.mean(panel["samples"], 0), panel["mean"], atol=1e-12)


def test_index_names_the_example(trained: Path, tiny_data: Dataset, tmp_path: Path) -> None:
    numbers = tmp_path / "rotate.json"
    options = ["--digits", 1, "--samples", 1, "--steps", 2, "--index", 4, "--json", numbers]
    result = run("rotate", trained, *options, "-o", tmp_path / "a.png")
    assert result.exit_code == 0, result.output
    expected = int(np.flatnonzero(tiny_data.test_labels == 1)[4])
    assert json.loads(numbers.read_text())[0]["position"] == expected
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_bad_input(trained: Path, tmp_path: Path) -> None:
    output = tmp_path / "a.svg"
    base = ["rotate", trained, "--samples", 1, "-o", output]
    refused(run(*base), "0 of class 3")  # the data have three classes
    refused(run(*base, "--digits", "1", "--index", 10_000), "none with index 10000")
    for digits in ("x", "1,,2", "-1", "1,1"):
        refused(run(*base, "--digits", digits), "--digits")
    refused(run(*base, "--from", 90, "--to", 10), "90 to 10")
    refused(run(*base, "--to", "nan"), "nan")
    refused(run(*base, "--steps", 1), "--steps")
    refused(run(*base[:-1], tmp_path / "a.txt"), ".svg, .png or .pdf")
    refused(run(*base, "--json", tmp_path), "it is a folder")
    refused(run(*base, "--json", trained), "the command reads it")
    refused(run(*base, "--digits", "1", "--json", output), "is the figure")
    refused(run("rotate", trained, tmp_path / "none.pt", "-o", output), "No such file")
    vectors = tmp_path / "vectors.npz"
    np.savez(vectors, x=np.zeros((9, 16), dtype=np.float32), y=np.arange(9) % 3)
    refused(run(*base, "--digits", "1", "--data", vectors), "(16,)")
    assert not output.exists()
    assert not (tmp_path / "a.txt").exists()
