"""Package archives: chosen members as bytes, and nothing a hostile archive can do."""

from __future__ import annotations

import contextlib
import gzip
import io
import shutil
import subprocess
import tarfile
import zipfile

import pytest

from pacbound.data.sources import SourceFailed, archives
from pacbound.data.sources.archives import gunzip, read_members

FILES = {"data/a": b"first", "data/b": b"second" * 100}


def tar_bytes(mode, prefix=""):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:
        for name, content in FILES.items():
            info = tarfile.TarInfo(prefix + name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def ar_member(name, content):
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
    return header + content + b"\n" * (len(content) % 2)


def as_zip(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)


def as_tgz(path):
    path.write_bytes(tar_bytes("w:gz"))


def as_deb(path):
    members = [ar_member("debian-binary", b"2.0\n"), ar_member("control.tar.xz", b"odd")]
    data = ar_member("data.tar.xz", tar_bytes("w:xz", prefix="./"))
    path.write_bytes(b"!<arch>\n" + b"".join(members) + data)


ALL_KINDS = pytest.mark.parametrize("make", [as_zip, as_tgz, as_deb])


@ALL_KINDS
def test_members_are_read_by_exact_name(tmp_path, make):
    make(tmp_path / "archive")
    assert read_members(tmp_path / "archive", ["data/b"]) == {"data/b": FILES["data/b"]}
    assert read_members(tmp_path / "archive", list(FILES)) == FILES
    assert [p.name for p in tmp_path.iterdir()] == ["archive"]  # nothing is unpacked to disk


@ALL_KINDS
def test_a_missing_member_is_named(tmp_path, make):
    make(tmp_path / "archive")
    with pytest.raises(SourceFailed, match="archive has no file data/c"):
        read_members(tmp_path / "archive", ["data/a", "data/c"])


@ALL_KINDS
def test_every_truncation_fails_or_gives_the_true_content(tmp_path, make):
    make(tmp_path / "archive")
    whole = (tmp_path / "archive").read_bytes()
    for length in range(0, len(whole), 11):
        (tmp_path / "archive").write_bytes(whole[:length])
        with contextlib.suppress(SourceFailed):
            assert read_members(tmp_path / "archive", list(FILES)) == FILES


@ALL_KINDS
def test_a_member_that_never_ends_is_given_up(tmp_path, make, monkeypatch):
    make(tmp_path / "archive")
    monkeypatch.setattr(archives, "LARGEST_FILE", 64)
    with pytest.raises(SourceFailed, match="too large"):
        read_members(tmp_path / "archive", list(FILES))


def test_links_are_not_followed(tmp_path):
    (tmp_path / "secret").write_text("secret")
    with tarfile.open(tmp_path / "archive", "w:gz") as tar:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            info = tarfile.TarInfo("data/a")
            info.type = kind
            info.linkname = str(tmp_path / "secret")
            tar.addfile(info)
    with pytest.raises(SourceFailed, match="has no file data/a"):
        read_members(tmp_path / "archive", ["data/a"])


@pytest.mark.parametrize("name", ["/data/a", "../data/a", "data/../../a", "./../data/a"])
def test_paths_out_of_the_archive_lead_nowhere(tmp_path, name):
    """Only an exact name is read, whatever else an archive holds, and nothing is written."""
    inside = tmp_path / "cache"
    inside.mkdir()
    with tarfile.open(inside / "tar", "w:gz") as tar:
        info = tarfile.TarInfo(name)
        info.size = 3
        tar.addfile(info, io.BytesIO(b"odd"))
        for kind in (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            info = tarfile.TarInfo("data/a")
            info.type = kind
            tar.addfile(info)
    with zipfile.ZipFile(inside / "zip", "w") as archive:
        archive.writestr(name, b"odd")
    for archive in ("tar", "zip"):
        with pytest.raises(SourceFailed, match="has no file data/a"):
            read_members(inside / archive, ["data/a"])
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    assert sorted(path.name for path in inside.iterdir()) == ["tar", "zip"]


@pytest.mark.parametrize("size", [-60, -1, 10**9])
def test_a_member_of_an_absurd_size_neither_loops_nor_takes_memory(tmp_path, size):
    header = f"{'odd':<16}{0:<12}{0:<6}{0:<6}{100644:<8}{size:<10}`\n".encode()
    (tmp_path / "archive").write_bytes(b"!<arch>\n" + header)
    with pytest.raises(SourceFailed, match=r"no data\.tar"):
        read_members(tmp_path / "archive", ["data/a"])


def test_a_name_that_never_ends_is_given_up(tmp_path):
    with tarfile.open(tmp_path / "archive", "w:gz", format=tarfile.GNU_FORMAT) as tar:
        tar.addfile(tarfile.TarInfo("a" * 10**6))
    with pytest.raises(SourceFailed, match="impossible size"):
        read_members(tmp_path / "archive", ["data/a"])


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="needs dpkg-deb to make the package")
def test_a_package_compressed_with_zstd(tmp_path):
    tree = tmp_path / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(
        "Package: toy\nVersion: 1\nArchitecture: all\nMaintainer: me <me@here>\nDescription: toy\n"
    )
    (tree / "data").mkdir()
    for name, content in FILES.items():
        (tree / name).write_bytes(content)
    build = ["dpkg-deb", "-Zzstd", "--build", str(tree), str(tmp_path / "toy.deb")]
    if subprocess.run(build, capture_output=True).returncode != 0:
        pytest.skip("this dpkg-deb cannot write zstd")
    assert read_members(tmp_path / "toy.deb", list(FILES)) == FILES


@pytest.mark.parametrize("content", [b"", b"text", b"!<arch>\n", b"PK\3\4", b"\x1f\x8b"])
def test_what_is_no_archive_fails(tmp_path, content):
    (tmp_path / "archive").write_bytes(content)
    with pytest.raises(SourceFailed):
        read_members(tmp_path / "archive", ["data/a"])


def test_gunzip_is_exact_and_bounded(monkeypatch):
    packed = gzip.compress(b"x" * 1000)
    assert gunzip(packed, "it") == b"x" * 1000
    for damaged in (b"", b"text", packed[:-1], packed[:-8] + b"sums" + packed[-4:]):
        with pytest.raises(SourceFailed, match="it "):
            gunzip(damaged, "it")
    monkeypatch.setattr(archives, "LARGEST_FILE", 999)
    with pytest.raises(SourceFailed, match="too large"):
        gunzip(packed, "it")


@ALL_KINDS
def test_a_folder_selects_every_file_below_it(tmp_path, make):
    make(tmp_path / "archive")
    assert read_members(tmp_path / "archive", ["data/"]) == FILES
    with pytest.raises(SourceFailed, match="has no file date/"):
        read_members(tmp_path / "archive", ["date/"])


@ALL_KINDS
def test_the_files_of_a_folder_are_bounded_together(tmp_path, make, monkeypatch):
    make(tmp_path / "archive")
    monkeypatch.setattr(archives, "LARGEST_FILE", 601)  # each file fits, not both
    with pytest.raises(SourceFailed, match="too large"):
        read_members(tmp_path / "archive", ["data/"])
    assert read_members(tmp_path / "archive", ["data/b"]) == {"data/b": FILES["data/b"]}
