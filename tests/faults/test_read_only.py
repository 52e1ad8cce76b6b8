"""A folder that cannot be written is refused with one line, before any long work."""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_commands import TRAIN, run, said

from pacbound.data.entry import Entry


def test_by_training(unwritable: Path, tiny_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacbound.api.fitting.train", None)  # it does not come to that
    path = unwritable / "run.pt"
    said(run(*TRAIN, "--data", tiny_file, "-o", path), f"cannot write {path}:")


def test_by_certification(unwritable: Path, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacbound.api.stochastic_module.issue", None)
    path = unwritable / "certificate.json"
    said(run("certify", trained, "-o", path), f"cannot write {path}:")


def test_by_a_report(unwritable: Path, trained: Path) -> None:
    certificate = trained.with_name("c.json")
    words = ["certify", trained, "--draws", "600", "--workers", "1", "-o", certificate]
    assert run(*words).exit_code == 0
    path = unwritable / "report.html"
    said(run("report", certificate, "-o", path), f"cannot write {path}:")


def test_by_a_plot(unwritable: Path, trained: Path) -> None:
    path = unwritable / "plot.svg"
    said(run("plot", trained, "-o", path), f"cannot write {path}:")


def test_by_a_table_and_a_bandit(unwritable: Path, bandit_file: Path) -> None:
    said(run("table", "pac-bayes", "--folder", unwritable), "cannot write", unwritable)
    said(run("bandit", bandit_file, "--folder", unwritable), "cannot write", unwritable)


def test_by_the_cache(unwritable: Path, stand_in: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACBOUND_DATA", str(unwritable))
    said(run("data", "get", "mnist"), "cannot write", unwritable, "set PACBOUND_DATA")
