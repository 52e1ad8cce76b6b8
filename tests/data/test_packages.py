"""Package clients, played by small scripts."""

from __future__ import annotations

import os
import sys
import zipfile

import numpy as np
import pytest

from pacbound.data import catalogue
from pacbound.data.idx import decode_idx
from pacbound.data.sources import SourceFailed
from pacbound.data.sources.apt import AptPackage
from pacbound.data.sources.npm import NpmPackage
from pacbound.data.sources.package import as_it_is
from pacbound.data.sources.pip import PipPackage

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the scripts are for sh")

KINDS = {PipPackage: "python", NpmPackage: "npm", AptPackage: "apt-get"}


@pytest.fixture
def client(tmp_path, monkeypatch):
    """Install a script in the place of a package client."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "executable", str(folder / "python"))

    def install(kind, script):
        path = folder / KINDS[kind]
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return install


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "archive.whl"
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("inside/file", "content")
        package.writestr("inside/__init__.py", "raise SystemExit('imported')")
    return path


def read(kind, decode=as_it_is):
    seen = []
    source = kind("toy", ("inside/file",), decode)
    contents = source.read(["file"], lambda *report: seen.append(report))
    assert any("toy" in description for description, _, _ in seen)
    return contents


@pytest.mark.parametrize("kind", KINDS)
def test_the_archive_the_client_leaves_is_read(kind, client, archive):
    client(kind, f"cp {archive} .")
    assert read(kind) == {"file": b"content"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_failing_client_gives_its_last_complaint_without_addresses(kind, client):
    client(kind, "echo first >&2; echo 'no route to https://example.org/x today' >&2; exit 3")
    with pytest.raises(SourceFailed, match=r"^no route to … today$"):
        read(kind)
    client(kind, "exit 3")
    with pytest.raises(SourceFailed, match="exit code 3"):
        read(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_that_is_not_installed(kind, client, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SourceFailed, match="is not installed"):
        read(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_that_leaves_nothing(kind, client):
    client(kind, "exit 0")
    with pytest.raises(SourceFailed, match="left 0 files"):
        read(kind)


def test_apt_updates_its_lists_only_when_they_lack_the_package(client, archive, tmp_path):
    log = tmp_path / "log"
    client(
        AptPackage,
        f"""echo "$*" >> {log}
case "$*" in
  *update) touch {tmp_path}/updated ;;
  *) [ -e {tmp_path}/updated ] && cp {archive} . && exit 0
     echo 'E: Unable to locate package toy' >&2; exit 100 ;;
esac""",
    )
    assert read(AptPackage) == {"file": b"content"}
    assert [line.split()[-1] for line in log.read_text().splitlines()] == ["toy", "update", "toy"]
    assert read(AptPackage) == {"file": b"content"}
    assert len(log.read_text().splitlines()) == 4


def test_pip_is_given_the_options_before_the_requirement(client, archive, tmp_path):
    log = tmp_path / "log"
    client(PipPackage, f'echo "$*" > {log}; cp {archive} .')
    source = PipPackage("toy==1", ("inside/file",), as_it_is, ("--abi", "cp37m"))
    assert source.read(["file"], lambda *report: None) == {"file": b"content"}
    words = log.read_text().split()
    assert words[-3:] == ["--abi", "cp37m", "toy==1"]
    assert "--only-binary=:all:" in words  # a source archive would run code


def mnist_wheel():
    return next(s for s in catalogue()["mnist"].sources if isinstance(s, PipPackage))


def test_mnist_rows_become_idx_files():
    rng = np.random.default_rng(0)
    members, expected = {}, {}
    for member, part in zip(mnist_wheel().members, ("train", "t10k"), strict=True):
        rows = rng.integers(0, 256, (3, 785))
        text = "\r\n".join(",".join(map(str, row)) for row in rows)
        members[member] = f"label,{','.join('p' * 784)}\r\n{text}\r\n".encode()
        expected[f"{part}-images-idx3-ubyte"] = rows[:, 1:].reshape(3, 28, 28)
        expected[f"{part}-labels-idx1-ubyte"] = rows[:, 0]
    files = mnist_wheel().decode(members)
    assert files.keys() == expected.keys()
    for name, array in expected.items():
        assert np.array_equal(decode_idx(files[name], name), array)


@pytest.mark.parametrize("rows", ["1,2,3\n4,5,6", "7," * 784 + "256", "a," * 784 + "b", "\xff"])
def test_rows_that_are_not_mnist_fail(rows):
    members = dict.fromkeys(mnist_wheel().members, f"header\n{rows}\n".encode("latin-1"))
    with pytest.raises(SourceFailed, match="is not label"):
        mnist_wheel().decode(members)
