"""A trained checkpoint, disks that are full or cannot be written, a stand-in for MNIST."""

from __future__ import annotations

import dataclasses
import hashlib
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
import pytest
from fault_commands import TRAIN, run
from stand_in_source import FolderSource

from pacbound.data import catalogue
from pacbound.data.entry import CanonicalFile, Entry
from pacbound.data.idx import IMAGES_LABELS, encode_idx
from pacbound.data.sets import mnist


@pytest.fixture(scope="session")
def trained_once(tiny_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("faults") / "run.pt"
    result = run(*TRAIN, "--data", tiny_file, "--posterior", "diag", "--epochs", "2", "-o", path)
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture
def trained(trained_once: Path, tmp_path: Path) -> Path:
    """A checkpoint and its log, in a folder of the test's own."""
    for name in ("run.pt", "run.log.jsonl"):
        (tmp_path / name).write_bytes(trained_once.with_name(name).read_bytes())
    return tmp_path / "run.pt"


@pytest.fixture
def largest_file() -> Callable[[int], AbstractContextManager[None]]:
    """No file can grow beyond so many bytes: what a full disk looks like to who writes."""

    @contextmanager
    def limited(size: int) -> Iterator[None]:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        without_bytecode = sys.dont_write_bytecode
        sys.dont_write_bytecode = True  # Python would cut it off and read it ever after
        try:
            yield
        finally:
            sys.dont_write_bytecode = without_bytecode
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    return limited


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A small file system in memory; the test is skipped where it cannot be mounted."""
    folder.mkdir()
    try:
        words = ["mount", "-t", "tmpfs", "-o", options, "pacbound-test", str(folder)]
        done = subprocess.run(words, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip("only root can mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four pages, of which files can take three."""
    with mounted(tmp_path / "disk", "size=16k") as folder:
        yield folder


@pytest.fixture(params=["size=16k", "size=1m,nr_inodes=6"])
def tight_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A disk without room for files, or without a place for their names."""
    with mounted(tmp_path / "disk", request.param) as folder:
        yield folder


@pytest.fixture(params=["read-only", "below a file"])
def unwritable(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder that nothing can be written to, not even by root."""
    if request.param == "read-only":
        with mounted(tmp_path / "disk", "ro") as folder:
            yield folder
    else:
        (tmp_path / "file").touch()
        yield tmp_path / "file" / "folder"


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Entry]:
    """`mnist` is twelve made images that a folder brings to an empty cache."""
    generator, source = np.random.default_rng(0), tmp_path / "source"
    source.mkdir()
    files = []
    for name in IMAGES_LABELS:
        shape = (12, 6, 6) if "images" in name else (12,)
        content = encode_idx(generator.integers(0, 10, shape).astype(np.uint8))
        (source / name).write_bytes(content)
        files.append(CanonicalFile(name, len(content), hashlib.sha256(content).hexdigest()))
    entry = dataclasses.replace(
        mnist.ENTRY, m=12, test_m=12, files=tuple(files), sources=(FolderSource(str(source)),)
    )
    monkeypatch.setenv("PACBOUND_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(mnist, "ENTRY", entry)
    catalogue.cache_clear()
    yield entry
    catalogue.cache_clear()
