"""`pacbound features`: compute the features of a frozen extractor once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pacbound_cli.options import json_option, threads_option

if TYPE_CHECKING:
    from pacbound.extractors.features import Report

__all__ = ["features"]


@click.command()
@click.option(
    "--extractor",
    required=True,
    metavar="PACKAGE.MODULE:FACTORY",
    help="The factory to import and call; it returns an nn.Module with its weights.",
)
@click.option("--data", required=True, help="The name of a data set, or an .npz, .csv or .parquet.")
@click.option("--label", default="", help="The column of a table that holds the classes.")
@click.option(
    "--origin",
    required=True,
    help="The data that the extractor was trained on, such as 'ImageNet, release …'. The "
    "certificate shows it.",
)
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Examples that are computed together.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="The .npz file for the features.",
)
@threads_option
@json_option
def features(
    extractor: str,
    data: str,
    label: str,
    origin: str,
    batch: int,
    output: Path,
    threads: int | None,
    as_json: bool,
) -> None:
    """Compute the features of an extractor for every example, and write them to a file.

    `pacbound train --data FILE` and `certify` take the file. The certificate then records the
    extractor's digest and its declared origin. A certificate is FALSE if the extractor saw the
    inputs or the labels of the counted examples, for example if it was fine-tuned on them.

    Finished chunks are kept in a folder beside the file. The same command continues what was
    stopped, by Ctrl-C or a crash, and deletes the folder at the end.

    \b
    Example:
      pacbound features --extractor pacbound.extractors.efficientnet_lite:lite0 \\
        --data cifar-10 --origin "ImageNet (ILSVRC 2012)" -o cifar-10-lite0.npz
      pacbound train module --data cifar-10-lite0.npz --model mine:head
    """
    import torch

    from pacbound.data import load
    from pacbound.errors import FileError
    from pacbound.extractors import extract, remove_chunks, save_features
    from pacbound.files import ensure_writable
    from pacbound.networks.factory import module_from
    from pacbound_cli.data import fetching_bar

    if output.suffix != ".npz":
        raise FileError(f"features are an .npz file; write to {output}.npz")
    if output.is_file():
        raise FileError(f"{output} exists; delete it, or choose another output")
    ensure_writable(output)
    if threads is not None:
        torch.set_num_threads(threads)
    with fetching_bar() as progress:
        examples = load(data, progress, label)
    module = module_from(extractor, examples.input_shape, examples.classes)
    chunks = output.with_name(f"{output.name}.chunks")
    start = time.monotonic()
    done = [0, 0]
    try:
        with _bar(done) as report:
            extracted = extract(module, examples, origin, chunks, batch, report)
    except KeyboardInterrupt:
        click.echo(
            f"stopped, {done[0]:,} of {done[1]:,} examples done; the same command continues",
            err=True,
        )
        raise click.exceptions.Exit(130) from None
    save_features(extracted.data, output)
    remove_chunks(chunks)
    made = extracted.data
    test = 0 if made.test_labels is None else len(made.test_labels)
    if as_json:
        result = {
            "features": str(output),
            "m": made.m,
            "test_m": test,
            "shape": list(made.input_shape),
            "classes": made.classes,
            "sha256": made.sha256,
            "extractor_sha256": made.extractor_sha256,
            "extractor_origin": made.extractor_origin,
            "kept": extracted.kept,
            "seconds": round(time.monotonic() - start, 1),
        }
        click.echo(json.dumps(result, indent=1, ensure_ascii=False))
    else:
        shape = "×".join(map(str, made.input_shape))
        click.echo(f"{output}: {shape} features of {made.m:,} training and {test:,} test examples")
        click.echo(f"extractor {made.extractor_sha256}, trained on: {made.extractor_origin}")
        click.echo(f"next: pacbound train … --data {output}")


@contextmanager
def _bar(done: list[int]) -> Iterator[Report]:
    """A progress bar on stderr with the time left; `done` always holds the last report."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    columns = (TextColumn("features"), BarColumn(), MofNCompleteColumn(), TimeLeft())
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("features", total=None)

        def report(finished: int, total: int) -> None:
            done[:] = [finished, total]
            bar.update(task, completed=finished, total=total)

        yield report
