"""`pacbound vi`: variational inference, then the averaged prediction on the test examples."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from pacbound_cli.train import run_training, training_options

__all__ = ["vi"]


@click.command()
@click.argument("network")
@click.option("--posterior", help="point, diag, k-diag, k-linear or k-nonlinear.")
@click.option("--protocol", help="paper: its own schedule, all 10 + 200 epochs.")
@click.option("--beta", type=float, help="The weight of the KL in the ELBO.")
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="The number of networks to draw and average for the test error.",
)
@training_options
def vi(network: str, samples: int, as_json: bool, threads: int | None, **options: Any) -> None:
    """Train NETWORK (lenet-5, lenet-5-cifar5, vgg-16, vgg-16-augmented) by the ELBO and test it.

    The recipe vi-NETWORK sets the prior, the learning rates and the weight of the KL. The posterior
    `point` is the ordinary network with an L2 penalty, for comparison. The commands predict and
    rotate work on the checkpoint; so does certify if the prior does not depend on data.

    \b
    Examples:
      pacbound vi lenet-5
      pacbound vi lenet-5 --posterior k-nonlinear --protocol paper --resume
      pacbound vi vgg-16-augmented --posterior diag --epochs 50 --set weight_draws=4
      torchrun --nproc-per-node 4 -m pacbound_cli vi vgg-16-augmented --device cuda
    """
    from pacbound.errors import unknown_name
    from pacbound.recipes import recipe_names

    names = [name.removeprefix("vi-") for name in recipe_names() if name.startswith("vi-")]
    if network not in names:
        raise unknown_name("network", network, names)
    path, last = run_training(f"vi-{network}", threads=threads, **options)
    try:
        evaluation = _evaluate(path, samples, options["device"])
    except KeyboardInterrupt:
        message = f"stopped; {path} is trained, and the same command with --resume evaluates it"
        click.echo(message, err=True)
        raise click.exceptions.Exit(130) from None
    if as_json:
        training = {"checkpoint": str(path), **asdict(last)}
        click.echo(json.dumps({**training, "evaluation": evaluation.to_mapping()}))
        return
    from pacbound_cli.predicted import show_evaluation

    show_evaluation(evaluation, [path])
    click.echo(f"next: pacbound predict {path} --plot reliability.svg")


def _evaluate(path: Path, samples: int, device: str) -> Any:
    from pacbound.data import load
    from pacbound.devices import device_named
    from pacbound.predict import Predictor, evaluate, examples_of
    from pacbound.predict.predictor import load_finished
    from pacbound_cli.certify import sampling_progress

    settings = load_finished(path).settings
    data = load(settings.data, label=settings.label)
    examples = examples_of(data)
    with sampling_progress() as report:
        predictor = Predictor.of(
            path, data, device=device_named(device), products=settings.products
        )
        prediction = predictor.predict(examples.inputs, samples, report)
    return evaluate(prediction, examples)
