"""Small made data and settings that train in a moment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
import torch
from warm_python import WarmPython, forked_workers

from pacbound.data import Dataset
from pacbound.recipes import Settings, recipe

torch.set_num_threads(1)
hypothesis.settings.register_profile("no deadline", deadline=None)  # a busy machine is not a fault
hypothesis.settings.load_profile("no deadline")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what tests measured: they record it as a property named "measured"."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == "measured":
                terminalreporter.write_line(str(value))


def blobs(m: int, seed: int, classes: int = 3, side: int = 4, spread: float = 0.35) -> Dataset:
    """Images whose class is a bright square; `spread` is the pixels' noise."""
    generator = np.random.default_rng(seed)
    centers = np.random.default_rng(0).random((classes, side, side))

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        labels = generator.integers(0, classes, n)
        inputs = centers[labels] + spread * generator.normal(size=(n, side, side))
        return inputs.astype(np.float32), labels

    train_inputs, train_labels = draw(m)
    test_inputs, test_labels = draw(200)
    return Dataset("blobs", train_inputs, train_labels, test_inputs, test_labels, classes)


@pytest.fixture(scope="session")
def tiny_data() -> Dataset:
    return blobs(600, seed=1)


@pytest.fixture(scope="session")
def tiny_file(tiny_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "tiny.npz"
    np.savez(
        path,
        x=tiny_data.train_inputs,
        y=tiny_data.train_labels,
        x_test=tiny_data.test_inputs,
        y_test=tiny_data.test_labels,
    )
    return path


@pytest.fixture
def tiny_settings(tiny_file: Path) -> Settings:
    overrides = {
        "data": str(tiny_file),
        "hidden": [8],
        "hidden_bias": 0,  # eight units that are silent at first would stay so
        "initial_scale": 0.05,
        "epochs": 3,
        "batch": 100,
        "learning_rate": 0.02,
    }
    return recipe("mlp-600", overrides)


@pytest.fixture(scope="session")
def bandit_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bandit of three arms, of which the one whose centre is nearest to the context pays 1."""
    path = tmp_path_factory.mktemp("bandit") / "small.npz"
    generator = np.random.default_rng(0)
    contexts = generator.standard_normal((320, 4))
    best = (contexts @ generator.standard_normal((4, 3))).argmax(1)
    np.savez(path, contexts=contexts, rewards=np.eye(3)[best])
    return path


@pytest.fixture(scope="session")
def warm_python() -> Iterator[WarmPython]:
    """A process with torch in it that forks for each command."""
    with WarmPython() as python:
        yield python


@pytest.fixture
def warm_workers(warm_python: WarmPython) -> Iterator[None]:
    """Worker processes are forked, where a test is not about how they start."""
    with forked_workers(warm_python):
        yield


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of a Dask scheduler with two worker processes."""
    from distributed import LocalCluster

    options: Any = {"dashboard_address": None, "silence_logs": 50}
    with (
        pytest.MonkeyPatch.context() as patience,
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **options) as cluster,
    ):
        # A busy machine is not a fault.
        patience.setattr("pacbound.workers.scheduler.PATIENCE", 300.0)
        yield cluster.scheduler_address
