"""`pacbound certify-fixed`: the certificate of a predictor that exists already."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pacbound_cli.certify import ensure_risk, names_in, show_certificate
from pacbound_cli.options import claim_options, json_option, ledger_options

if TYPE_CHECKING:
    from pacbound.data import Dataset

__all__ = ["certify_fixed"]

RUN = ("data_name", "part", "label", "calibration_part")  # for predictors that are run


@click.command(name="certify-fixed")
@click.option(
    "--predictions",
    type=click.Path(path_type=Path),
    help="A file with a row for each held-out example (.csv, .jsonl or .npz): label, prediction or "
    "probabilities p_0, p_1, …; if wanted group, id, cost, confidence.",
)
@click.option(
    "--model",
    metavar="PACKAGE.MODULE:FACTORY",
    help="Your network: the factory to import and call. Needs --weights and --data.",
)
@click.option(
    "--weights", type=click.Path(path_type=Path), help="The state dict of the network (.pt)."
)
@click.option(
    "--classes",
    type=click.IntRange(min=2, max=65536),
    help="The number of classes that the factory gets.  [default: those of the data]",
)
@click.option("--onnx", type=click.Path(path_type=Path), help="Your network as an ONNX graph.")
@click.option(
    "--data",
    "data_name",
    help="The held-out examples: the name of a data set, or an .npz, .csv or .parquet file.",
)
@click.option(
    "--part",
    type=click.Choice(["train", "test"]),
    help="The part of the data that the predictor has not seen, if there are two.",
)
@click.option("--label", help="The column of a table that holds the classes.")
@click.option("--delta", default="0.05", show_default=True, help="The probability of being wrong.")
@claim_options
@click.option(
    "--answer-above",
    metavar="X|auto:ERROR",
    default="",
    help="Abstain where the largest probability is not above X, a threshold fixed without these "
    "examples. auto:0.01 chooses the lowest one whose error among the answered calibration "
    "examples is at most 1 %.",
)
@click.option(
    "--calibration",
    metavar="FILE|DATA",
    help="Other examples, on which auto:ERROR chooses: predictions, or data for a network.",
)
@click.option(
    "--calibration-part",
    type=click.Choice(["train", "test"]),
    help="The part of the calibration data, if there are two.",
)
@ledger_options
@click.option("--max-risk", type=float, help="Exit with code 1 if the bound is larger.")
@click.option("--force", is_flag=True, help="Replace an existing certificate.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="[certificates/PREDICTOR.json]"
)
@json_option
def certify_fixed(
    predictions: Path | None,
    model: str | None,
    weights: Path | None,
    classes: int | None,
    onnx: Path | None,
    data_name: str | None,
    part: str | None,
    label: str | None,
    delta: str,
    claims: str | None,
    groups: str,
    cost: Path | None,
    answer_above: str,
    calibration: str | None,
    calibration_part: str | None,
    candidates: int,
    looks: int,
    certificates: int,
    place: int | None,
    copies: str,
    max_risk: float | None,
    force: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Certify the error of a predictor that exists already, from examples that it has not seen.

    The predictor is a network (--model and --weights, or --onnx) or a file of its predictions.
    The examples must be held out: not used to train it, to choose it or to stop its training.
    A predictor chosen among 5 on these examples needs --candidates 5.

    \b
    Examples:
      pacbound certify-fixed --predictions predictions.csv
      pacbound certify-fixed --predictions predictions.csv --candidates 5 --claims overall,per-class
      pacbound certify-fixed --predictions predictions.csv --answer-above 0.9
      pacbound certify-fixed --model mine:network --weights net.pt --data mnist --part test
      pacbound certify-fixed --onnx net.onnx --data held-out.npz
      pacbound certify-fixed --onnx net.onnx --data held-out.npz --answer-above auto:0.01
        --calibration other.npz

    A group column of the predictions gives a claim for each group, a cost column one on the mean
    cost. Without an id column copies of examples cannot be seen, and the certificate says so.

    A network gets float32 inputs; bytes are divided by 255. Its outputs are logits or
    probabilities, one for each class. A near tie counts as an error.

    With several claims, the first gets half of delta and the others share the other half evenly.
    """
    given = {"--predictions": predictions, "--model": model, "--onnx": onnx}
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) != 1:
        raise click.UsageError("give exactly one of --predictions, --model and --onnx")
    if (model is None) != (weights is None):
        raise click.UsageError("--model and --weights need each other")
    if classes is not None and model is None:
        raise click.UsageError("--classes is for the factory of --model")
    if max_risk is not None and not 0 <= max_risk <= 1:
        raise click.BadParameter(f"{max_risk} is not between 0 and 1", param_hint="--max-risk")

    from pacbound.errors import FileError
    from pacbound.files import ensure_writable
    from pacbound.fixed.certifying import certify_fixed as certify
    from pacbound.predictors.budget import parse_delta
    from pacbound.predictors.claims import read_costs

    parse_delta(delta)
    kept = predictions or weights or onnx
    assert kept is not None
    path = output or Path("certificates") / f"{kept.stem}.json"
    if path.exists() and not force:
        raise FileError(f"{path} exists: replace it with --force, or name another with -o")
    ensure_writable(path)
    options: dict[str, Any] = {"groups": groups, "calibration": calibration}
    predictor: object = predictions
    if predictions is None:
        if data_name is None:
            raise click.UsageError(f"{chosen[0]} needs the held-out examples: give --data")
        options, predictor = _run_on(
            model,
            weights,
            classes,
            onnx,
            data_name,
            part,
            label,
            groups,
            calibration,
            calibration_part,
        )
    else:
        _refuse_data(data_name, part, label, calibration_part)
        if groups.endswith(".npy") or ".csv:" in groups or ".npz:" in groups:
            from pacbound.predictors.claims import read_groups

            options["groups"] = read_groups(groups, "")
    certificate = certify(
        predictor,
        delta=delta,
        claims=names_in(claims),
        costs=read_costs(cost) if cost is not None else None,
        answer_above=answer_above,
        candidates=candidates,
        looks=looks,
        certificates=certificates,
        place=place,
        copies=copies,
        command=shlex.join(["pacbound", *sys.argv[1:]]),
        **options,
    )
    certificate.save(path)
    if as_json:
        click.echo(certificate.to_json(), nl=False)
    else:
        show_certificate(certificate, path)
    if max_risk is not None:
        ensure_risk(certificate, max_risk)


def _refuse_data(*options: str | None) -> None:
    """Refuse options that have no effect: the labels are in the file of predictions."""
    for name, value in zip(RUN, options, strict=True):
        if value is not None:
            option = name.removesuffix("_name").replace("_", "-")
            raise click.UsageError(f"--{option} is for a network: a file of predictions has labels")


def _run_on(
    model: str | None,
    weights: Path | None,
    classes: int | None,
    onnx: Path | None,
    data_name: str,
    part: str | None,
    label: str | None,
    groups: str,
    calibration: str | None,
    calibration_part: str | None,
) -> tuple[dict[str, Any], object]:
    """The examples as arguments of `certify_fixed`, and the network."""
    from pacbound.data import load
    from pacbound.fixed.examples import part_of
    from pacbound.predictors.claims import read_groups
    from pacbound_cli.data import fetching_bar

    with fetching_bar() as progress:
        data = load(data_name, progress, label or "")
        other = load(calibration, progress, label or "") if calibration else None
    part_of(data, part or "")  # fails early if no part is named
    predictor: object = onnx
    if model is not None and weights is not None:
        predictor = _network(model, weights, data, classes)
    return {
        "data": data,
        "part": part or "",
        "groups": read_groups(groups, data_name) if groups else (),
        "calibration": other,
        "calibration_part": calibration_part or "",
    }, predictor


def _network(model: str, weights: Path, data: Dataset, classes: int | None) -> object:
    from pacbound.errors import CheckpointError
    from pacbound.fixed.weights import load_weights
    from pacbound.networks.factory import module_from

    module = module_from(model, data.input_shape, classes or data.classes)
    try:
        load_weights(module, weights)
    except CheckpointError as error:
        if classes is not None:
            raise
        raise CheckpointError(
            f"{error}. The factory was told {data.classes} classes, those of the data; --classes "
            "gives another number"
        ) from error
    return module
