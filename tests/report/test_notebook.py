"""What a notebook shows: a certificate, and progress while it waits."""

from __future__ import annotations

import sys
import types
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

import pacbound
from pacbound.certificate.format import Certificate
from pacbound.report.page.notebook import certificate_html
from pacbound.training import notebook_bar
from pacbound.training.descent import Step
from pacbound.training.progress import training_progress

VECTORS = Path(pacbound.__file__).parent / "certificate/vectors"
GOOD = sorted(VECTORS.glob("accepted-*.json"))


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_certificate_has_five_lines(path: Path) -> None:
    certificate = Certificate.load(path)
    lines = repr(certificate).splitlines()
    assert len(lines) == 5
    words = [line.split()[0] for line in lines]
    assert words == ["Certificate", "predictor:", "data:", "model:", "prior:"]
    if certificate.overall is not None:  # rounded up: never below the claim
        shown = Decimal(lines[0].partition("at most ")[2].partition(" %")[0])
        assert 100 * certificate.overall.bound <= shown < 100 * certificate.overall.bound + 1
    assert f"{certificate.data.m} of {certificate.data.examples}" in lines[2]


def test_the_picture_has_the_sentence_and_every_step() -> None:
    certificate = Certificate.load(VECTORS / "accepted-spec-b-gibbs.json")
    html = certificate._repr_html_()
    assert "VERIFIED" in html and html.count('<g class="step') >= 4
    assert certificate.sentence.split(",")[0] in html
    assert "http" not in html.replace("http://www.w3.org", "")
    for selector in (":root", "body", "* {"):  # nothing of the notebook around it changes
        assert selector not in html


def test_a_claim_that_does_not_follow_is_not_shown() -> None:
    certificate = Certificate.load(VECTORS / "accepted-spec-b-gibbs.json")
    claim = certificate.claims[0]
    forged = replace(certificate, claims=(replace(claim, bound=claim.bound / 2),))
    html = certificate_html(forged)
    assert "REJECTED" in html and "svg" not in html
    assert certificate.sentence.split(",")[0] not in html
    hostile = replace(certificate, data=replace(certificate.data, name="<script>x</script>"))
    assert "<script>" not in certificate_html(hostile) + repr(hostile).replace("<script>", "")


@pytest.mark.parametrize("path", [*GOOD, VECTORS / "2.8-recipe.json", Path("none.json")], ids=str)
def test_a_verdict_is_one_line_without_the_certificate(path: Path) -> None:
    verdict = pacbound.verify(path)
    shown = repr(verdict)
    assert shown.startswith(f"Verdict({'VERIFIED' if verdict.accepted else 'REJECTED'} ")
    assert (verdict.summary or verdict.reason)[:30] in shown
    assert shown.isprintable() and "sha256" not in shown and len(shown) < 1000


class Kernel:
    """IPython with a kernel behind it, as far as a progress bar uses it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kernel: object) -> None:
        self.drawn: list[str] = []
        ipython: Any = types.ModuleType("IPython")
        ipython.get_ipython = lambda: types.SimpleNamespace(kernel=kernel)
        shown: Any = types.ModuleType("IPython.display")
        shown.display = self.display
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", shown)

    def display(self, content: dict[str, str], raw: bool, display_id: bool) -> Kernel:
        assert raw and display_id
        self.drawn.append(content["text/html"])
        return self

    def update(self, content: dict[str, str], raw: bool) -> None:
        assert raw
        self.drawn.append(content["text/html"])


def test_training_and_certifying_draw_one_bar_each(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    kernel = Kernel(monkeypatch, kernel=object())
    monkeypatch.setattr(notebook_bar, "PAUSE", 0.0)
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 200)
    x = generator.normal(y[:, None], 0.3, (200, 2)).astype(np.float32)
    net = pacbound.stochastic(nn.Linear(2, 2)).fit((x, y), epochs=2, batch=50)
    assert len(kernel.drawn) == 8 and "epoch 2/2" in kernel.drawn[-1]
    assert 'value="1.0000"' in kernel.drawn[-1]
    net.certify((x, y), draws=1000)
    assert len(kernel.drawn) > 8 and 'value="1.0000"' in kernel.drawn[-1]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        ("choosing", "epoch 1/3 of a candidate for the prior  risk"),
        ("prior", "epoch 1/3 of the prior  risk"),
        ("bound", "epoch 1/3  risk"),
    ],
)
def test_a_bar_names_what_is_trained(
    monkeypatch: pytest.MonkeyPatch, phase: str, words: str
) -> None:
    kernel = Kernel(monkeypatch, kernel=object())
    with training_progress("kl-inverse") as callback:
        callback.on_step(Step(phase, 1, 3, 1, 5, 0.25, -1e-9, 0.5, None))
    assert words in kernel.drawn[0] and "KL 0" in kernel.drawn[0]


def test_a_bar_is_not_drawn_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(monkeypatch, kernel=object())
    monkeypatch.setattr(notebook_bar, "PAUSE", 3600.0)
    bar = notebook_bar.notebook_bar()
    assert bar is not None
    for done in range(101):
        bar("<epoch>", done, 100)
    assert len(kernel.drawn) == 2  # the first and the last
    assert "&lt;epoch&gt;" in kernel.drawn[0]


def test_a_terminal_has_no_such_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert notebook_bar.notebook_bar() is None
    Kernel(monkeypatch, kernel=None)
    assert notebook_bar.notebook_bar() is None
