"""`pacbound report`: an HTML page about certificates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pacbound_cli.options import json_option

if TYPE_CHECKING:
    from pacbound.report.page import Entry

__all__ = ["report"]

MANY = 8  # from this many files on, a progress bar is shown


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default="report.html",
    show_default=True,
    help="The page to write.",
)
@click.option(
    "--logs",
    metavar="FOLDER",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Another folder to search for training logs, by checkpoint name.",
)
@click.option(
    "--monitor",
    "monitors",
    metavar="STATE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Show what `pacbound monitor --state STATE` found, beside its certificate. Repeatable.",
)
@click.option(
    "--verifier",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write a page that verifies certificates in the browser. Needs no PATH.",
)
@json_option
def report(
    paths: tuple[Path, ...],
    output: Path,
    logs: Path | None,
    monitors: tuple[Path, ...],
    verifier: Path | None,
    as_json: bool,
) -> None:
    """Write a page about certificates, each of them verified.

    PATH is a certificate, or a folder with certificates at any depth. The page is one file that
    fetches nothing. It shows the terms of each bound beside the paper's bound, the training curves,
    what would tighten the bound, and how to reproduce it. Exit code 0: all certificates are valid;
    1: one is not, and the page says why; 2: there is nothing to report on.

    --verifier writes another page. It needs no installation: drop certificates on it, and it checks
    them in the browser. It sends nothing.

    \b
    Examples:
      pacbound report certificates -o report.html
      pacbound report certificates/mlp.json --logs runs
      pacbound report certificates/mlp.json --monitor state.json
      pacbound report --verifier verify.html
    """
    from dataclasses import asdict

    from pacbound.files import ensure_writable, write_whole
    from pacbound.report.page import document, gather, summarise, with_monitors

    if verifier is not None:
        _write_verifier(verifier)
        if not paths:
            return
    elif not paths:
        raise click.UsageError("Missing argument 'PATH...'.")
    gathered = gather(paths)
    ensure_writable(output, *gathered.certificates.values(), *monitors)
    entries = with_monitors(list(_entries(gathered.certificates, logs)), monitors)
    content = document(entries, gathered.others).encode()
    write_whole(output, lambda stream: stream.write(content))
    if as_json:
        rows = [asdict(summarise(entry)) for entry in entries]
        click.echo(json.dumps(rows, indent=1))
    else:
        _print(entries, output)
    raise SystemExit(0 if all(entry.verified for entry in entries) else 1)


def _write_verifier(path: Path) -> None:
    from pacbound.files import write_whole
    from pacbound.report.page.verifier_page import verifier_page

    content = verifier_page().encode()
    write_whole(path, lambda stream: stream.write(content))
    click.echo(f"written to {path}", err=True)


def _entries(certificates: dict[str, Path], logs: Path | None) -> Iterator[Entry]:
    from rich.console import Console
    from rich.progress import track

    from pacbound.report.page import read_entry

    named = track(
        certificates.items(),
        "checking",
        console=Console(stderr=True),
        transient=True,
        disable=len(certificates) < MANY,
    )
    for name, path in named:
        yield read_entry(name, path, logs)


def _print(entries: list[Entry], output: Path) -> None:
    """Print what is wrong, then where the page is."""
    from pacbound.printable import printable

    for entry in entries:
        if entry.status != "verified":
            reason = entry.reason or "the bound is no better than guessing"
            click.echo(printable(f"{entry.status:<10}  {entry.path}: {reason}"))
    verified = sum(entry.verified is not None for entry in entries)
    click.echo(f"{verified} of {len(entries)} verify; written to {output}")
