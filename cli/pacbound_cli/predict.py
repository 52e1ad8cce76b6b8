"""`pacbound predict`: run a certified predictor, or average networks drawn from a posterior."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pacbound_cli.errors import tell
from pacbound_cli.options import device_option, json_option, threads_option
from pacbound_cli.predicted import show_applied, show_evaluation, show_files, show_lines

if TYPE_CHECKING:
    from torch import nn

    from pacbound.certificate.format import Certificate
    from pacbound.data import Dataset
    from pacbound.data.rows import Kind
    from pacbound.data.sources import Progress
    from pacbound.predict.examples import Examples
    from pacbound.predictors.applied import Applied
    from pacbound.recipes import Settings

__all__ = ["predict"]

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
@click.option(
    "--data",
    "data_name",
    help="Rows to predict, labelled or not (.csv, .jsonl, .parquet or .npz), or a named data set "
    "[the checkpoint's].",
)
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
    help="Write the predictions: .csv or .jsonl with a line for each row, or .npz with arrays.",
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
    predictor abstains there is no class: empty in the file that -o writes, -1 in .npz.

    CHECKPOINT may also be the network that certify --export wrote as .pt, together with its
    certificate. The checkpoint is then not needed.

    The columns of a table are matched by their names, in any order. A missing or an unknown column
    is an error. The column of the classes may be missing or empty. An .npz file has x, and y if the
    classes are known.

    Checkpoint and data determine the networks: running it again gives the same figures.

    \b
    Examples:
      pacbound predict mlp.pt
      pacbound predict mlp.pt --certificate certificates/mlp.json -o classes.npz
      pacbound predict plants.pt --data new.csv --certificate plants.json -o species.csv
      pacbound predict net.pt --data new.csv --certificate net.json
      pacbound predict mlp.pt --certificate vote.json --voters 101
      pacbound predict mlp.pt --samples 100 --ood fashion-mnist -o predictions.npz
      pacbound predict mlp.pt --data mine.npz --plot reliability.svg
    """
    from pacbound.predict.output import ensure_predictable
    from pacbound.report.figures import ensure_drawable

    if output is not None:
        ensure_predictable(output, checkpoint, data_name, certificate_path)
        if other_name and output.suffix.lower() != ".npz":
            raise click.UsageError("--ood with --output needs an .npz file, which has both")
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
    from pacbound.predict.archive import prediction_arrays
    from pacbound.predict.output import averaged_lines, save_lines
    from pacbound.predict.predictor import load_finished
    from pacbound.printable import printable_json
    from pacbound.training.checkpoints import holds_network
    from pacbound_cli.certify import sampling_progress
    from pacbound_cli.data import fetching_bar

    place = device_named(device)
    if threads is not None:
        torch.set_num_threads(threads)
    if holds_network(checkpoint):
        if certificate_path is None or voters is not None:
            raise click.UsageError(
                f"{checkpoint} is one exported network: give --certificate, without --voters"
            )
        _predict_exported(
            checkpoint,
            model,
            _accepted(certificate_path, as_json),
            certificate_path,
            data_name,
            split,
            limit,
            output,
            as_json,
        )
        return
    finished = load_finished(checkpoint)
    settings, kind = finished.settings, finished.kind
    certificate = _accepted(certificate_path, as_json) if certificate_path is not None else None
    with fetching_bar() as progress:
        known = finished.data["sha256"]
        data, examples = _read(data_name, settings, kind, known, split, limit, progress)
        other_data = load(other_name, progress, settings.label) if other_name else None
    if not examples.labelled and (plot is not None or other_data is not None):
        raise click.UsageError("--plot and --ood need rows whose classes are known")
    module = module_from(model, data.input_shape, data.classes) if model else None
    if certificate is not None:
        assert certificate_path is not None
        applied = _apply(certificate, checkpoint, examples, voters, module)
        _conclude(certificate, certificate_path, applied, kind, examples, output, as_json)
        return
    are_rows = examples.split == "given"
    predictor = Predictor.of(checkpoint, data, module, place, for_rows=are_rows)
    other = examples_of(other_data, None, limit) if other_data else None
    if other is not None and other.inputs.shape[1:] != data.input_shape:
        raise DataError(
            f"{other.data} has inputs of shape {other.inputs.shape[1:]}, the checkpoint is for "
            f"{data.input_shape}"
        )
    with sampling_progress() as report:
        prediction = predictor.predict(examples.inputs, samples, report)
        evaluation = evaluate(prediction, examples) if examples.labelled else None
        parts = [("", prediction, examples)]
        if other is not None:
            outside = predictor.predict(other.inputs, samples, report)
            found = detection(prediction, outside, other)
            assert evaluation is not None
            evaluation = dataclasses.replace(evaluation, out_of_distribution=found)
            parts.append(("ood_", outside, other))
    lines = averaged_lines(prediction, kind, examples)
    if output is not None:
        save_lines(output, lines, prediction_arrays(*parts), kind)
    if plot is not None and evaluation is not None:
        from pacbound.report.reliability_plot import draw_reliability

        draw_reliability(evaluation, f"{checkpoint.stem} on {examples.data}", plot)
    if as_json:
        figures = evaluation.to_mapping() if evaluation is not None else _described(examples)
        result = {
            "checkpoint": str(checkpoint),
            "seed": predictor.seed,
            "certificate": None,
            **figures,
            **({"predictions": lines} if are_rows else {}),
        }
        click.echo(printable_json(json.dumps(result, indent=1, ensure_ascii=False)))
    else:
        if are_rows:
            show_lines(lines, f"p_{kind.name_of(0)}")
        if evaluation is not None:
            show_evaluation(evaluation, [])
        show_files(output, plot)
        click.echo(UNCOVERED)


def _predict_exported(
    path: Path,
    model: str | None,
    certificate: Certificate,
    certificate_path: Path,
    data_name: str | None,
    split: str | None,
    limit: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Predict with an exported network, without its checkpoint."""
    from pacbound.errors import DataError
    from pacbound.networks.factory import module_from
    from pacbound.predictors.applied import exported_predictions
    from pacbound.predictors.export import exported_kind, load_exported
    from pacbound_cli.certify import sampling_progress
    from pacbound_cli.data import fetching_bar

    kind = exported_kind(path)
    module = module_from(model, kind.input_shape, kind.classes) if model else None
    exported = load_exported(path, module)
    known = certificate.data.sha256
    with fetching_bar() as progress:
        data, examples = _read(data_name, exported.settings, kind, known, split, limit, progress)
    if data.classes != kind.classes:
        raise DataError(
            f"the network is for {kind.classes} classes; {data.name} has {data.classes}"
        )
    with sampling_progress() as report:
        applied = exported_predictions(certificate, exported, examples.inputs, report)
    _conclude(certificate, certificate_path, applied, kind, examples, output, as_json)


def _read(
    data_name: str | None,
    settings: Settings,
    kind: Kind,
    trained_on: str,
    split: str | None,
    limit: int | None,
    progress: Progress,
) -> tuple[Dataset, Examples]:
    """The data set and the examples of it to predict: rows of a file, or a split of a data set."""
    import numpy as np

    from pacbound.data import Dataset, load
    from pacbound.data.rows import has_rows
    from pacbound.predict import examples_of, rows_of

    if data_name is None or split is not None or not has_rows(Path(data_name).expanduser()):
        data = load(data_name or settings.data, progress, settings.label)
        return data, examples_of(data, split, limit)
    examples = rows_of(Path(data_name).expanduser(), kind, trained_on, limit)
    labels = examples.labels if examples.labelled else np.zeros(len(examples.inputs), np.int64)
    return Dataset(data_name, examples.inputs, labels, None, None, kind.classes), examples


def _described(examples: Examples) -> dict[str, object]:
    """Where unlabelled examples come from: there are no metrics."""
    return {"data": examples.data, "split": examples.split, "examples": len(examples.inputs)}


def _refuse_options(ctx: click.Context) -> None:
    for name in OF_THE_AVERAGE:
        if ctx.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE:
            option = {"other_name": "ood"}.get(name, name)
            raise click.UsageError(
                f"--{option} is for an average of networks; it has no effect with --certificate"
            )


def _accepted(path: Path, as_json: bool) -> Certificate:
    """The certificate in a file, if it is valid; otherwise exit with code 1."""
    from pacbound.certificate.format import Certificate
    from pacbound.verification import verify

    verdict = verify(path)
    if not verdict.accepted:
        line = verdict.line(str(path))
        tell(line, "CertificateError", verdict.exit_code, as_json)
        click.echo(line, err=True)
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
    certificate_path: Path,
    applied: Applied,
    kind: Kind,
    examples: Examples,
    output: Path | None,
    as_json: bool,
) -> None:
    """Write the classes, and show the observed errors beside the claims."""
    from pacbound.predict.output import applied_lines, save_lines
    from pacbound.predictors.applied import observed
    from pacbound.printable import printable_json

    lines = applied_lines(applied, kind, examples)
    if output is not None:
        save_lines(output, lines, applied.arrays(examples.labels), kind)
    known = examples.labelled
    seen = observed(certificate.claims, applied, examples.labels) if known else []
    answered, are_rows = applied.answered, examples.split == "given"
    if as_json:
        wrong = (applied.classes != examples.labels)[answered] if known else None
        result = {
            **_described(examples),
            "answered": int(answered.sum()),
            "errors": None if wrong is None else int(wrong.sum()),
            "predictor": applied.predictor,
            "networks": applied.networks,
            "covered": applied.words(),
            "certificate": certificate.sentence,
            "certificate_file": str(certificate_path),
            "claims": [each.to_mapping() for each in seen],
            **({"predictions": lines} if are_rows else {}),
        }
        click.echo(printable_json(json.dumps(result, indent=1, ensure_ascii=False)))
    else:
        if are_rows:
            show_lines(lines)
        show_applied(certificate, certificate_path, applied, examples, seen, output)
