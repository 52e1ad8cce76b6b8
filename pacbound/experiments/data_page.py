"""The sources of the named data sets and the digests of their files, for the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pacbound.data import catalogue
from pacbound.data.entry import Published
from pacbound.experiments.bandit.problems import problem_files

__all__ = ["sources_list"]

MANY = 8  # files: a family of more is described once, and its digests are in its own file


def sources_list(folder: Path) -> str:
    """For every set of files: where it is looked for, in order, and the sha256 of each file.

    Arguments:
        folder: The folder of the catalogue, with the digests of large families.
    """
    sets: dict[str, list[Published]] = {}
    named: list[Published] = [*catalogue().values(), *problem_files().values()]
    for entry in named:
        sets.setdefault(entry.folder, []).append(entry)
    return "\n\n".join(_section(folder, entries) for _, entries in sorted(sets.items()))


def _section(folder: Path, entries: Sequence[Published]) -> str:
    first = entries[0]
    names = ", ".join(f"`{entry.name}`" for entry in entries[:2])
    more = f" and {len(entries) - 2} more" if len(entries) > 2 else ""
    sources = "; ".join(_source(source.label) for source in first.sources)
    size = sum(file.size for file in first.files) / 1e6
    lines = [f"### {first.folder}", "", f"{names}{more}: {size:.1f} MB. From: {sources}.", ""]
    if len(first.files) > MANY:
        file = f"{folder.parent.name}/{folder.name}/{first.folder}.yaml"
        lines.append(f"The digests of its {len(first.files)} files are in [{file}](../{file}).")
    else:
        lines += [f"- `{file.name}` `{file.sha256}`" for file in first.files]
    return "\n".join(lines)


def _source(label: str) -> str:
    """A public address, or a package by its ecosystem, name and version."""
    kind, _, package = label.partition(" package ")
    return f"{kind} package `{package}`" if package else label
