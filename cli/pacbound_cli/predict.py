"""`pacbound predict`: the averaged prediction of networks drawn from a checkpoint's posterior."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pacbound_cli.options import device_option, json_option, threads_option

if TYPE_CHECKING:
    from pacbound.predict import Evaluation
    from pacbound.predict.evaluation import OutOfDistribution

__all__ = ["predict", "show_evaluation"]


@click.command()
@click.argument("checkpoint", type=click.Path(path_type=Path))
@click.option(
    "--model",
    metavar="PACKAGE.MODULE:FACTORY",
    help="The network of your own that was trained; a checkpoint is no reason to run code.",
)
@click.option("--data", "data_name", help="A named data set or an .npz file [the checkpoint's].")
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Networks to draw and average.",
)
@click.option("--split", type=click.Choice(["test", "train"]), help="[test, if there is one]")
@click.option("--ood", "other_name", help="Other data, to be told from these by the entropy.")
@click.option("--limit", type=click.IntRange(min=1), help="Only so many examples, the first.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Probabilities and entropies, as .npz."
)
@click.option("--plot", type=click.Path(path_type=Path), help="The reliability diagram, as .svg.")
@device_option
@threads_option
@json_option
def predict(
    checkpoint: Path,
    model: str | None,
    data_name: str | None,
    samples: int,
    split: str | None,
    other_name: str | None,
    limit: int | None,
    output: Path | None,
    plot: Path | None,
    device: str,
    threads: int | None,
    as_json: bool,
) -> None:
    """Predict with networks drawn from the posterior of CHECKPOINT, and say how good that is.

    The networks are determined by checkpoint and data: running it again gives the same figures.

    \b
    Examples:
      pacbound predict mlp.pt
      pacbound predict mlp.pt --samples 100 --ood fashion-mnist -o predictions.npz
      pacbound predict mlp.pt --data mine.npz --plot reliability.svg
    """
    from pacbound.files import ensure_writable
    from pacbound.report.figures import ensure_drawable

    if output is not None:
        ensure_writable(output)
    if plot is not None:
        ensure_drawable(plot)

    import torch

    from pacbound.data import load
    from pacbound.devices import device_named
    from pacbound.errors import DataError
    from pacbound.networks.factory import module_from
    from pacbound.predict import Predictor, detection, evaluate, examples_of
    from pacbound.predict.archive import save_predictions
    from pacbound.predict.predictor import load_finished
    from pacbound.printable import printable_json
    from pacbound_cli.certify import sampling_progress
    from pacbound_cli.data import fetching_bar

    place = device_named(device)
    if threads is not None:
        torch.set_num_threads(threads)
    settings = load_finished(checkpoint).settings
    with fetching_bar() as progress:
        data = load(data_name or settings.data, progress, settings.label)
        other_data = load(other_name, progress, settings.label) if other_name else None
    module = module_from(model, data.input_shape, data.classes) if model else None
    predictor = Predictor.of(checkpoint, data, module, place)
    examples = examples_of(data, split, limit)
    other = examples_of(other_data, None, limit) if other_data else None
    if other is not None and other.inputs.shape[1:] != data.input_shape:
        raise DataError(
            f"{other.data} has inputs of shape {other.inputs.shape[1:]}, the checkpoint is for "
            f"{data.input_shape}"
        )
    with sampling_progress() as report:
        prediction = predictor.predict(examples.inputs, samples, report)
        evaluation = evaluate(prediction, examples)
        parts = [("", prediction, examples)]
        if other is not None:
            outside = predictor.predict(other.inputs, samples, report)
            found = detection(prediction, outside, other)
            evaluation = dataclasses.replace(evaluation, out_of_distribution=found)
            parts.append(("ood_", outside, other))
    if output is not None:
        save_predictions(output, *parts)
    if plot is not None:
        from pacbound.report.reliability_plot import draw_reliability

        draw_reliability(evaluation, f"{checkpoint.stem} on {examples.data}", plot)
    if as_json:
        result = {"checkpoint": str(checkpoint), "seed": predictor.seed, **evaluation.to_mapping()}
        click.echo(printable_json(json.dumps(result, indent=1, ensure_ascii=False)))
    else:
        show_evaluation(evaluation, [path for path in (output, plot) if path is not None])


def show_evaluation(evaluation: Evaluation, written: list[Path]) -> None:
    """The figures of merit as a table, and the files that were written."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from pacbound.printable import printable

    def described(part: Evaluation | OutOfDistribution) -> Text:
        return Text(printable(f"{part.examples} {part.split} examples of {part.data}"))

    console = Console()
    table = Table()
    table.add_column(described(evaluation))
    networks = "1 network" if evaluation.samples == 1 else f"{evaluation.samples} networks"
    table.add_column(networks, justify="right")
    table.add_row("accuracy", f"{evaluation.accuracy:.2%}")
    table.add_row("error", f"{evaluation.error:.2%}")
    table.add_row("negative log-likelihood", f"{evaluation.negative_log_likelihood:.4f} nats")
    table.add_row("Brier score, 0 to 2", f"{evaluation.brier_score:.4f}")
    calibration = evaluation.expected_calibration_error
    table.add_row(f"calibration error, {len(evaluation.bins)} bins", f"{calibration:.2%}")
    table.add_section()
    _entropies(table, evaluation.entropy)
    other = evaluation.out_of_distribution
    if other is not None:
        table.add_section()
        table.add_row(described(other), "")
        _entropies(table, other.entropy)
        table.add_row("AUROC of the total entropy", f"{other.auroc_total:.4f}")
        table.add_row("AUROC of the epistemic entropy", f"{other.auroc_epistemic:.4f}")
    console.print(table)
    for path in written:
        console.print(f"written to {path}", soft_wrap=True)


def _entropies(table: object, means: dict[str, float]) -> None:
    from rich.table import Table

    assert isinstance(table, Table)
    table.add_row("entropy", f"{means['total']:.4f} nats")
    table.add_row("  aleatoric: within networks", f"{means['aleatoric']:.4f} nats")
    table.add_row("  epistemic: between networks", f"{means['epistemic']:.4f} nats")
