"""`pacbound predict`: run a certified predictor, or average networks drawn from a posterior."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pacbound_cli.options import device_option, json_option, threads_option

if TYPE_CHECKING:
    from torch import nn

    from pacbound.certificate.format import Certificate
    from pacbound.predict import Evaluation
    from pacbound.predict.evaluation import OutOfDistribution
    from pacbound.predict.examples import Examples
    from pacbound.predictors.applied import Applied, Observed

__all__ = ["predict", "show_evaluation"]

UNCOVERED = "No certificate covers this average; --certificate FILE runs a certified predictor."
OF_THE_AVERAGE = ("samples", "other_name", "plot", "device")  # no effect with a certificate


@click.command()
@click.argument("checkpoint", type=click.Path(path_type=Path))
@click.option(
    "--model",
    metavar="PACKAGE.MODULE:FACTORY",
    help="Your own network that was trained. A checkpoint never imports code by itself.",
)
@click.option(
    "--certificate",
    "certificate_path",
    type=click.Path(path_type=Path),
    help="Run exactly the predictor that this certificate of the checkpoint covers.",
)
@click.option(
    "--voters",
    type=click.IntRange(min=3),
    help="For the certificate of a vote: the odd number of networks per input.  [default: 25]",
)
@click.option("--data", "data_name", help="A named data set or an .npz file [the checkpoint's].")
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="The number of networks to draw and average.",
)
@click.option("--split", type=click.Choice(["test", "train"]), help="[test, if available]")
@click.option("--ood", "other_name", help="Out-of-distribution data, to detect by the entropy.")
@click.option("--limit", type=click.IntRange(min=1), help="Use only this many examples.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write probabilities and entropies, or the certified classes, as .npz.",
)
@click.option("--plot", type=click.Path(path_type=Path), help="A reliability diagram, as .svg.")
@device_option
@threads_option
@json_option
@click.pass_context
def predict(
    ctx: click.Context,
    checkpoint: Path,
    model: str | None,
    certificate_path: Path | None,
    voters: int | None,
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
    """Predict with networks drawn from the posterior of CHECKPOINT, and evaluate the predictions.

    Without a certificate, the probabilities of several networks are averaged. No certificate
    covers that average.

    With --certificate, the predictor that the certificate covers is run: the one drawn network,
    the fixed centre, a fresh network for each input (gibbs), or for each input the vote of an odd
    number of networks. The certificate is verified first and must match this checkpoint. Where the
    predictor abstains there is no class: -1 in the file that -o writes.

    Checkpoint and data determine the networks: running it again gives the same figures.

    \b
    Examples:
      pacbound predict mlp.pt
      pacbound predict mlp.pt --certificate certificates/mlp.json -o classes.npz
      pacbound predict mlp.pt --certificate vote.json --voters 101
      pacbound predict mlp.pt --samples 100 --ood fashion-mnist -o predictions.npz
      pacbound predict mlp.pt --data mine.npz --plot reliability.svg
    """
    from pacbound.files import ensure_writable
    from pacbound.report.figures import ensure_drawable

    if output is not None:
        ensure_writable(output)
    if plot is not None:
        ensure_drawable(plot)
    if certificate_path is None and voters is not None:
        raise click.UsageError("--voters needs --certificate with the certificate of a vote")
    if certificate_path is not None:
        _refuse_options(ctx)

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
    certificate = _accepted(certificate_path) if certificate_path is not None else None
    with fetching_bar() as progress:
        data = load(data_name or settings.data, progress, settings.label)
        other_data = load(other_name, progress, settings.label) if other_name else None
    module = module_from(model, data.input_shape, data.classes) if model else None
    examples = examples_of(data, split, limit)
    if certificate is not None:
        applied = _apply(certificate, checkpoint, examples, voters, module)
        _conclude(certificate, applied, examples, output, as_json)
        return
    predictor = Predictor.of(checkpoint, data, module, place)
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
        result = {
            "checkpoint": str(checkpoint),
            "seed": predictor.seed,
            "certificate": None,
            **evaluation.to_mapping(),
        }
        click.echo(printable_json(json.dumps(result, indent=1, ensure_ascii=False)))
    else:
        show_evaluation(evaluation, [path for path in (output, plot) if path is not None])
        click.echo(UNCOVERED)


def _refuse_options(ctx: click.Context) -> None:
    for name in OF_THE_AVERAGE:
        if ctx.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE:
            option = {"other_name": "ood"}.get(name, name)
            raise click.UsageError(
                f"--{option} is for an average of networks; it has no effect with --certificate"
            )


def _accepted(path: Path) -> Certificate:
    """The certificate in a file, if it is valid; otherwise exit with code 1."""
    from pacbound.certificate.format import Certificate
    from pacbound.verification import verify

    verdict = verify(path)
    if not verdict.accepted:
        click.echo(verdict.line(str(path)), err=True)
        raise click.exceptions.Exit(verdict.exit_code)
    return Certificate.load(path)


def _apply(
    certificate: Certificate,
    checkpoint: Path,
    examples: Examples,
    voters: int | None,
    module: nn.Module | None,
) -> Applied:
    from pacbound.predictors.applied import predictions
    from pacbound_cli.certify import sampling_progress

    with sampling_progress() as report:
        return predictions(
            certificate, checkpoint, examples.inputs, voters=voters, module=module, report=report
        )


def _conclude(
    certificate: Certificate,
    applied: Applied,
    examples: Examples,
    output: Path | None,
    as_json: bool,
) -> None:
    """Write the classes, and show the observed errors beside the claims."""
    from pacbound.predictors.applied import observed, save_classes
    from pacbound.printable import printable_json

    if output is not None:
        save_classes(output, applied, examples.labels)
    seen = observed(certificate.claims, applied, examples.labels)
    answered = applied.answered
    if as_json:
        result = {
            "data": examples.data,
            "split": examples.split,
            "examples": len(examples.labels),
            "answered": int(answered.sum()),
            "errors": int((applied.classes != examples.labels)[answered].sum()),
            "predictor": applied.predictor,
            "networks": applied.networks,
            "covered": applied.words(),
            "certificate": certificate.sentence,
            "claims": [each.to_mapping() for each in seen],
        }
        click.echo(printable_json(json.dumps(result, indent=1, ensure_ascii=False)))
    else:
        _show_applied(certificate, applied, examples, seen, output)


def _show_applied(
    certificate: Certificate,
    applied: Applied,
    examples: Examples,
    seen: list[Observed],
    output: Path | None,
) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from pacbound.printable import printable
    from pacbound.report.amounts import percent_up

    console = Console()
    console.print(Text(printable(applied.words())))
    console.print(Text(f"The certificate: {printable(certificate.sentence)}"), style="bold")
    which = f"{len(examples.labels)} {examples.split} examples of {examples.data}"
    table = Table()
    table.add_column(Text(printable(which)))
    for column in ("errors", "observed", "certified"):
        table.add_column(column, justify="right")
    errors = int((applied.classes != examples.labels).sum())
    if certificate.overall is None and applied.answered.all():
        rate = f"{errors / len(examples.labels):.2%}"
        table.add_row("all", f"{errors} of {len(examples.labels)}", rate, "no claim")
    for each in seen:
        rate = f"{each.errors / each.examples:.2%}" if each.examples else "–"
        counts = f"{each.errors} of {each.examples}"
        what = "not answered" if each.claim.loss == "abstention" else each.claim.scope
        table.add_row(what, counts, rate, f"at most {percent_up(float(each.claim.bound))} %")
    console.print(table)
    if examples.split == "train":
        console.print("These examples may have been used for training or for the certificate.")
    if output is not None:
        console.print(f"written to {output}", soft_wrap=True)


def show_evaluation(evaluation: Evaluation, written: list[Path]) -> None:
    """The metrics as a table, and the files that were written."""
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
