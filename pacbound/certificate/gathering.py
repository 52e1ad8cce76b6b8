"""The certificates in folders, for commands that take folders."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pacbound.certificate.checker import MAX_BYTES
from pacbound.errors import CertificateError

__all__ = ["Gathered", "gather", "in_folders", "others_in_folders"]

MARK = b"pacbound-certificate/"


@dataclass(frozen=True)
class Gathered:
    """Certificates by their names on the page, and the other files in their folders."""

    certificates: dict[str, Path]
    others: tuple[Path, ...]


def gather(paths: Sequence[Path]) -> Gathered:
    """The named files, and all JSON files in the named folders.

    Folders may also contain other JSON files: those that are valid JSON and do not mention the
    format. A damaged file counts as a certificate, so that it is seen.
    """
    chosen: dict[Path, tuple[Path, str]] = {}
    others = []
    for path in paths:
        if path.is_dir():
            certificates, rest = _told_apart(sorted(_json_files(path)))
            others += rest
            if not certificates:
                raise CertificateError(
                    f"no certificates in {path}; `pacbound certify CKPT -o {path}/NAME.json` "
                    "writes one"
                )
            for file in certificates:
                name = file.relative_to(path).with_suffix("").as_posix()
                chosen.setdefault(file.resolve(), (file, name))
        elif path.exists():
            chosen.setdefault(path.resolve(), (path, path.stem))
        else:
            raise CertificateError(f"no such file or folder: {path}")
    named = Counter(name for _, name in chosen.values())
    return Gathered(
        {name if named[name] == 1 else file.as_posix(): file for file, name in chosen.values()},
        tuple(others),
    )


def in_folders(paths: Sequence[str]) -> list[str]:
    """The paths as they are, with the certificates of a folder in its place; each path once.

    A folder without certificates beside other paths stays, so that every path has an answer.
    """
    found: list[str] = []
    for path in paths:
        folder = Path(path)
        certificates: Iterable[object] = [path]
        if folder.is_dir() and (len(paths) == 1 or _told_apart(_json_files(folder))[0]):
            certificates = gather([folder]).certificates.values()
        found += map(str, certificates)
    return list(dict.fromkeys(found))


def others_in_folders(paths: Sequence[str]) -> list[str]:
    """The JSON files in folders that are not certificates, which `in_folders` leaves out."""
    folders = [folder for folder in map(Path, paths) if folder.is_dir()]
    return [str(path) for folder in folders for path in _told_apart(_json_files(folder))[1]]


def _json_files(folder: Path) -> Iterator[Path]:
    """At any depth, except in hidden folders."""
    for path in folder.rglob("*.json"):
        inside = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith(".") for part in inside):
            yield path


def _told_apart(files: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    certificates: list[Path] = []
    others: list[Path] = []
    for file in files:
        (others if _is_other(file) else certificates).append(file)
    return certificates, others


def _is_other(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
        if MARK in content:
            return False
        if len(content) <= MAX_BYTES:
            json.loads(content)
    except (OSError, ValueError, RecursionError):
        return False
    return True
