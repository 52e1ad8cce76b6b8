"""Tiny stand-ins for data sets and sources, so that no test needs a network."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pacbound.data.entry import CanonicalFile, Entry
from pacbound.data.idx import IMAGES_LABELS, encode_idx, idx_dataset
from pacbound.data.sources import Progress, Source, SourceFailed


class Courier:
    """A source that brings what it is told to, and counts how often it is asked."""

    def __init__(self, contents: Mapping[str, bytes], label: str = "courier") -> None:
        self.contents = contents
        self.label = label
        self.asked: list[list[str]] = []

    def read(self, wanted: Sequence[str], progress: Progress) -> Mapping[str, bytes]:
        self.asked.append(list(wanted))
        progress(f"asking {self.label}", 0, None)
        if not self.contents:
            raise SourceFailed("nobody home")
        return self.contents


@pytest.fixture
def courier() -> type[Courier]:
    return Courier


@pytest.fixture
def tiny_files() -> dict[str, bytes]:
    """The four files of a data set of 6 + 4 images of 3 × 2 pixels in 3 classes."""
    rng = np.random.default_rng(0)
    arrays = []
    for count in (6, 4):
        arrays.append(rng.integers(0, 256, (count, 3, 2)).astype(np.uint8))
        arrays.append((np.arange(count) % 3).astype(np.uint8))
    return {name: encode_idx(array) for name, array in zip(IMAGES_LABELS, arrays, strict=True)}


@pytest.fixture
def tiny_entry(tiny_files: dict[str, bytes]) -> Callable[..., Entry]:
    """A catalogue entry for `tiny_files` with the given sources."""
    files = tuple(
        CanonicalFile(name, len(content), hashlib.sha256(content).hexdigest())
        for name, content in tiny_files.items()
    )

    def make(*sources: Source) -> Entry:
        return Entry("tiny", "toy", 6, 4, 3, files, sources, partial(idx_dataset, "tiny", 3))

    return make


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("PACBOUND_DATA", str(folder))
    return folder
