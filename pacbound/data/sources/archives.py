"""Read compressed files and selected members of package archives into memory.

Nothing is unpacked to disk, and members are selected by exact name, or by their folder: a name that
ends with "/" selects every file below it. So a hostile archive cannot write to a path or run code.
"""

from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from lzma import LZMAError
from pathlib import Path
from typing import IO, Protocol, cast

from pacbound.data.sources import SourceFailed

__all__ = ["LARGEST_FILE", "Readable", "gunzip", "read_members", "read_tarball"]

LARGEST_FILE = 1 << 29
"""Several times the largest file of any data set. A larger file is a mistake or an attack."""

MOST_MEMBERS = 200_000
LONGEST_NAME = 1 << 16

_DAMAGED = (OSError, EOFError, ValueError, RuntimeError, MemoryError, zlib.error, LZMAError)
_DAMAGED_ARCHIVE = (*_DAMAGED, zipfile.BadZipFile, tarfile.TarError)

_GZIP_MAGIC = b"\x1f\x8b"
_AR_MAGIC = b"!<arch>\n"
_AR_HEADER = 60


class _Member(tarfile.TarInfo):
    """A tar member that limits the length of names, which are stored as members of their own."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        about_the_next = self.type not in tarfile.SUPPORTED_TYPES or self.type in (
            *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
            *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
        )
        if self.size < 0 or (about_the_next and self.size > LONGEST_NAME):
            raise SourceFailed("the archive has a member with an impossible size")
        return super()._proc_member(archive)  # type: ignore[misc,no-any-return]


class Readable(Protocol):
    """A stream that can be read in order."""

    def read(self, size: int, /) -> bytes: ...


def gunzip(content: bytes, where: str) -> bytes:
    """The decompressed content; `where` names it in errors."""
    if not content.startswith(_GZIP_MAGIC):
        raise SourceFailed(f"{where} is not a gzip file")
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            return _read_bounded(stream, where)
    except _DAMAGED as error:
        raise SourceFailed(f"{where} is not a whole gzip file: {error}") from error


def read_members(archive: Path, names: Sequence[str]) -> dict[str, bytes]:
    """The named members of a wheel or zip, a tarball, or a Debian package."""
    try:
        with archive.open("rb") as stream:
            start = stream.read(8)
            stream.seek(0)
            if start == _AR_MAGIC:
                found = _from_deb(archive, stream, names)
            elif start.startswith(b"PK"):
                found = _from_zip(stream, names)
            elif start.startswith(_GZIP_MAGIC):
                found = _from_tar(stream, names)
            else:
                raise SourceFailed(f"{archive.name} is not an archive of a known kind")
    except _DAMAGED_ARCHIVE as error:
        raise SourceFailed(f"{archive.name} is damaged: {error}") from error
    for name in names:
        if name not in found and not (_is_folder(name) and _below(name, found)):
            raise SourceFailed(f"{archive.name} has no file {name}")
    return found


def read_tarball(stream: Readable, names: Sequence[str], where: str) -> dict[str, bytes]:
    """The named members of a gzipped tarball, read as a stream; `where` names it in errors.

    Reading stops after the last of them. The tarball is never held in memory.
    """
    try:
        with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|gz", tarinfo=_Member) as archive:
            found = _chosen(archive, names)
    except (*_DAMAGED, tarfile.TarError) as error:
        raise SourceFailed(f"{where} is damaged: {error}") from error
    for name in names:
        if name not in found:
            raise SourceFailed(f"{where} has no file {name}")
    return found


def _is_folder(name: str) -> bool:
    return name.endswith("/")


def _below(folder: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(folder) and not _is_folder(name)]


def _from_zip(stream: IO[bytes], names: Sequence[str]) -> dict[str, bytes]:
    with zipfile.ZipFile(stream) as archive:
        present = archive.namelist()
        wanted = {name for name in names if name in present and not _is_folder(name)}
        for folder in filter(_is_folder, names):
            wanted |= set(_below(folder, present))
        found: dict[str, bytes] = {}
        left = LARGEST_FILE  # for the files of all folders together
        for name in sorted(wanted):
            with archive.open(name) as member:
                found[name] = _read_bounded(member, name, None if name in names else left)
            left -= 0 if name in names else len(found[name])
        return found


def _from_tar(stream: IO[bytes], names: Sequence[str]) -> dict[str, bytes]:
    with tarfile.open(fileobj=stream, mode="r:*", tarinfo=_Member) as archive:
        return _chosen(archive, names)


def _chosen(archive: tarfile.TarFile, names: Sequence[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    folders, left = tuple(filter(_is_folder, names)), LARGEST_FILE
    for number, entry in enumerate(archive):
        if number >= MOST_MEMBERS:
            raise SourceFailed(f"the archive has more than {MOST_MEMBERS} members")
        name = entry.name.removeprefix("./")
        # Links are never followed: only plain files have content.
        if (name in names or name.startswith(folders)) and entry.isreg():
            member = archive.extractfile(entry)
            assert member is not None  # a regular file always has content
            found[name] = _read_bounded(member, name, None if name in names else left)
            left -= 0 if name in names else len(found[name])
            if not folders and len(found) == len(names):
                break
    return found


def _read_bounded(member: Readable, name: str, most: int | None = None) -> bytes:
    most = LARGEST_FILE if most is None else most
    content = member.read(most + 1)
    if len(content) > most:
        raise SourceFailed(f"{name} is too large to be the data")
    return content


def _from_deb(archive: Path, stream: IO[bytes], names: Sequence[str]) -> dict[str, bytes]:
    """A Debian package is an `ar` archive whose member data.tar.* holds the files."""
    whole = stream.seek(0, io.SEEK_END)
    stream.seek(len(_AR_MAGIC))
    while len(header := stream.read(_AR_HEADER)) == _AR_HEADER:
        member = header[:16].decode("ascii", "replace").strip().rstrip("/")
        try:
            size = int(header[48:58])
        except ValueError:
            break
        if not 0 <= size <= whole - stream.tell():
            break
        if member in ("data.tar", "data.tar.xz", "data.tar.gz", "data.tar.bz2"):
            return _from_tar(io.BytesIO(stream.read(size)), names)
        if member.startswith("data.tar"):
            return _from_tar(io.BytesIO(_decompressed_by_dpkg(archive)), names)
        stream.seek(size + size % 2, io.SEEK_CUR)
    raise SourceFailed("the package has no data.tar")


def _decompressed_by_dpkg(archive: Path) -> bytes:
    """The tar inside a Debian package with a compression that Python cannot read (zstd)."""
    command = ["dpkg-deb", "--fsys-tarfile", str(archive.resolve())]
    try:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None  # it is a pipe
            try:
                content = _read_bounded(process.stdout, archive.name)
            finally:
                process.stdout.close()  # this ends a process that still has output to write
        if process.returncode:
            raise SourceFailed(f"dpkg-deb cannot read {archive.name}")
    except OSError as error:
        raise SourceFailed(f"dpkg-deb cannot read {archive.name}") from error
    return content
