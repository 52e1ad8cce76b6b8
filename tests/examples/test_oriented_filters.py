"""The example of a network whose first layer is a formula."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from scipy.signal import correlate2d

from pacbound_cli import cli

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.delitem(sys.modules, "oriented_filters", raising=False)
    import oriented_filters

    return oriented_filters


def test_moduli_are_those_of_scipy(example) -> None:
    plane = np.random.default_rng(0).random((12, 10))
    filters = example.gabor_filters(1.6, 1.2, 9)
    images = torch.from_numpy(plane).float().view(1, 1, 12, 10)
    found = example._moduli(images, filters)[0]
    for k in range(example.ORIENTATIONS):
        cosine, sine = (
            correlate2d(plane, filters[2 * k + part, 0].numpy(), mode="same") for part in (0, 1)
        )
        expected = np.sqrt(np.abs(cosine + 1j * sine) ** 2 + 1e-4)
        np.testing.assert_allclose(found[k].numpy(), expected, atol=1e-5)


def test_an_even_surface_gives_no_response(example) -> None:
    filters = example.gabor_filters(0.8, 2.4, 5)
    assert filters.sum((1, 2, 3)).abs().max() < 1e-6


def test_an_edge_is_strongest_across_its_direction(example) -> None:
    """A wave along x answers the filter of angle 0, one along y that of a right angle."""
    wave = torch.cos(3 * torch.pi / 8 * torch.arange(32.0))
    filters = example.gabor_filters(1.6, 3 * torch.pi / 8, 9)
    images = torch.stack([wave.expand(32, 32), wave.expand(32, 32).T]).unsqueeze(1)
    inner = example._moduli(images, filters)[:, :, 8:24, 8:24].mean((2, 3))
    assert inner.argmax(1).tolist() == [0, example.ORIENTATIONS // 2]


def test_colours_do_not_depend_on_brightness_nor_maps_on_other_images(example) -> None:
    images = torch.rand(3, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    layer = example.OrientedFilters()
    maps = layer(images)
    assert maps.shape == (3, 39, 8, 8)
    torch.testing.assert_close(layer(images[1:2]), maps[1:2])
    colours = maps[:, :3].reshape(3, 3, -1)
    torch.testing.assert_close(layer(images + 0.1)[:, :3].reshape(3, 3, -1), colours)


def test_it_is_certified_from_the_command_line(example, tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    labels = np.arange(300) % 10
    images = generator.integers(0, 256, (300, 3, 32, 32), np.uint8)
    np.savez(tmp_path / "made.npz", x=images, y=labels)
    given = ["--model", "oriented_filters:network"]
    path = str(tmp_path / "oriented.pt")
    made = ["--data", str(tmp_path / "made.npz"), "--epochs", "1", "-o", path]
    constants = ["--constants", "0.*", "--set", "weight_draws=2", "--set", "batch=100"]
    assert run("train", *given, *made, *constants).exit_code == 0
    to = ["--weights", "50", "--looks", "12", "-o", str(tmp_path / "oriented.json")]
    result = run("certify", path, *given, *made[:2], *to)
    assert result.exit_code == 0, result.output
    assert "looks 12" in (tmp_path / "oriented.json").read_text()
    assert run("verify", str(tmp_path / "oriented.json")).exit_code == 0
