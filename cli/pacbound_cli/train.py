"""`pacbound train`: minimise a bound and write a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pacbound_cli.options import device_option, dtype_option, json_option, threads_option

if TYPE_CHECKING:
    from pacbound.training.log import EpochRecord

__all__ = ["run_training", "train", "training_options"]

OF_THE_POSTERIOR = (
    "This is the bound of the posterior. certify covers the prior's network, with its own bound."
)


def training_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every command that trains: the arguments of `run_training`."""
    options = [
        click.option(
            "--epochs",
            type=int,
            help="Passes over the training data. k-nonlinear first has linear_epochs more, as "
            "k-linear.",
        ),
        click.option(
            "--seed", type=int, help="The seed of batches and noise; the prior's is prior_seed."
        ),
        click.option("--data", help="The name of a data set, or an .npz, .csv or .parquet file."),
        click.option("--label", help="The column of a table that holds the classes."),
        click.option(
            "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Any other setting."
        ),
        click.option("--resume", is_flag=True, help="Continue the run that wrote the checkpoint."),
        click.option("--force", is_flag=True, help="Replace an existing checkpoint."),
        click.option(
            "-o",
            "--output",
            type=click.Path(path_type=Path),
            help="The checkpoint [RECIPE-POSTERIOR.pt].",
        ),
        click.option(
            "--rank-noise",
            type=click.Choice(["shared", "independent"]),
            default="shared",
            show_default=True,
            help="Noise of several processes: as in one process, or independent, which is cheaper.",
        ),
        device_option,
        dtype_option,
        threads_option,
        json_option,
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.argument("recipe", required=False)
@click.option(
    "--model",
    metavar="PACKAGE.MODULE:FACTORY",
    help="Your own nn.Module instead of a recipe's network: the factory to import and call.",
)
@click.option("--posterior", help="diag, k-diag, k-linear or k-nonlinear.")
@click.option("--objective", help="quadratic, kl-inverse, catoni, catoni-trained or pinsker.")
@click.option("--protocol", help="paper: the paper's own settings, where a recipe has them.")
@click.option(
    "--prior",
    type=click.Choice(["data-free", "learned"]),
    help="The prior's centre: a random initialisation, or a network trained on a part of the "
    "examples. The certificate does not count that part.",
)
@click.option("--prior-fraction", type=float, help="The part for the prior, such as 0.5.")
@click.option(
    "--prior-weights",
    metavar="FILE",
    help="A prior from elsewhere: its weights, a state dict saved by torch. All examples count.",
)
@click.option(
    "--origin",
    help="Where those weights come from. You declare that they are free of the examples.",
)
@click.option(
    "--freeze", multiple=True, metavar="PATTERN", help="Parameters that stay as they are."
)
@click.option(
    "--fresh",
    multiple=True,
    metavar="PATTERN",
    help="Parameters that the initializer makes instead, such as 'head.*'.",
)
@click.option(
    "--prior-data",
    help="Other examples, to fit the variances of a prior from elsewhere on [the grid].",
)
@click.option(
    "--constants",
    multiple=True,
    metavar="PATTERN",
    help="Buffers of your module that you declare free of the examples.",
)
@training_options
def train(
    recipe: str | None,
    prior: str | None,
    prior_fraction: float | None,
    freeze: tuple[str, ...],
    fresh: tuple[str, ...],
    constants: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Train RECIPE and write a checkpoint that can be certified.

    A run that was stopped, by Ctrl-C or a crash, loses at most one epoch. The same command with
    --resume continues it and ends with the same weights. With more --epochs it also continues a
    finished run.

    \b
    Examples:
      pacbound train mlp-600
      pacbound train mlp-600 --posterior diag --epochs 20 -o diag.pt
      pacbound train mlp-600 --posterior diag --protocol paper -o paper.pt
      pacbound train mlp-600 --data mine.npz --set hidden=[200] --set smoothing=0
      pacbound train mlp-600 --prior learned --prior-fraction 0.5
      pacbound train --model mine:network --data table.csv --label species
      pacbound train --model mine:resnet --data mine.npz --prior-weights resnet.pt \\
          --origin "ImageNet, release 1.2" --freeze 'features.*' --fresh 'head.*'
      torchrun --nproc-per-node 2 -m pacbound_cli train mlp-600 --device cuda

    A module of your own (recipe `module`) may also be in the current folder. If you try several
    modules on the same data, declare it with certify --candidates or --looks.
    """
    if recipe is None:
        if not options["model"]:
            raise click.UsageError("give a RECIPE, or your own network with --model")
        recipe = "module"
    if bool(options["prior_weights"]) != bool(options["origin"]):
        raise click.UsageError("--prior-weights and --origin go together")
    if prior and options["origin"]:
        raise click.UsageError("--prior-weights is a prior of its own: leave out --prior")
    fraction = _prior_fraction(prior, prior_fraction)
    patterns = {"frozen": freeze, "fresh": fresh, "constants": constants}
    options |= {name: list(values) for name, values in patterns.items() if values}
    path, last = run_training(recipe, prior_fraction=fraction, **options)

    from pacbound.predictors import predictor_named
    from pacbound.training.checkpoints import Checkpoint

    if as_json:
        click.echo(json.dumps({"checkpoint": str(path), **asdict(last)}))
    else:
        click.echo(f"{path}: bound {last.bound:.2%} (risk {last.risk:.2%}, KL {last.kl:z.0f})")
        if not predictor_named(Checkpoint.load(path).settings.predictor).has_posterior:
            click.echo(OF_THE_POSTERIOR)
        model = f" --model {options['model']}" if options["model"] else ""
        click.echo(f"next: pacbound certify {path}{model}")


def _prior_fraction(prior: str | None, fraction: float | None) -> float | None:
    """The setting given by --prior and --prior-fraction; None for the recipe's own."""
    if prior == "data-free":
        if fraction:
            raise click.UsageError("--prior-fraction is for --prior learned")
        return 0.0
    if prior == "learned":
        fraction = 0.5 if fraction is None else fraction
        if fraction <= 0:
            raise click.UsageError("--prior learned needs a --prior-fraction above 0")
    return fraction


def run_training(
    recipe: str,
    overrides: tuple[str, ...],
    resume: bool,
    force: bool,
    output: Path | None,
    threads: int | None,
    rank_noise: str,
    device: str,
    dtype: str | None,
    **flags: Any,
) -> tuple[Path, EpochRecord]:
    """Train a recipe. Flags and overrides replace its settings.

    Returns the checkpoint's path and the record of the last epoch. With several processes, only the
    first one returns.
    """
    from pacbound.api import StochasticModule
    from pacbound.data import load
    from pacbound.errors import CheckpointError, FileError, SettingError
    from pacbound.files import ensure_writable
    from pacbound.networks.factory import module_from
    from pacbound.networks.registry import network_named
    from pacbound.recipes import parse_override
    from pacbound.recipes import recipe as named_recipe
    from pacbound.training.given_prior import read_weights
    from pacbound.training.log import log_path
    from pacbound.training.loop import kept_prior
    from pacbound.training.ranks import is_first, world_size
    from pacbound_cli.data import fetching_bar

    given = {key: value for key, value in flags.items() if value is not None}
    if rank_noise == "independent":
        if world_size() == 1:
            raise SettingError("--rank-noise independent is for several processes: see torchrun")
        given["noise_streams"] = world_size()
    settings = named_recipe(recipe, {**given, **dict(parse_override(text) for text in overrides)})
    path = output or Path(f"{recipe}-{settings.posterior}.pt")
    if resume and not path.exists():
        raise CheckpointError(f"there is no checkpoint {path} to resume")
    if path.exists() and not resume and not force:
        raise FileError(f"{path} exists: continue it with --resume or replace it with --force")
    if network_named(settings.network).is_given and not settings.model:
        raise SettingError("give your own network with --model PACKAGE.MODULE:FACTORY")
    ensure_writable(path, settings.data)
    with fetching_bar() as progress:
        data = load(settings.data, progress, settings.label)
    module = None
    if settings.model:
        module = module_from(settings.model, data.input_shape, data.classes)
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
    weights = read_weights(Path(settings.prior_weights)) if settings.prior_weights else None
    net = StochasticModule(settings, module, weights)
    before = _version(path)
    try:
        net.fit(data, device=device, dtype=dtype, checkpoint=path, resume=resume)
    except KeyboardInterrupt:
        if is_first():
            prior = kept_prior(settings, data, path, module)
            how = _going_on(path, resume, force, _version(path) != before, prior)
            click.echo(f"stopped; the same command {how}", err=True)
        raise click.exceptions.Exit(130) from None
    if not is_first():
        raise click.exceptions.Exit(0)
    if not net.history:
        raise SettingError(
            f"{path} is fully trained and was not changed, but its log {log_path(path)} with the "
            "last epoch is missing; use the checkpoint as it is, or train again with --force"
        )
    return path, net.history[-1]


def _version(path: Path) -> tuple[int, int] | None:
    """Of a file that is replaced as a whole; None if there is none."""
    if not path.exists():
        return None
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def _going_on(path: Path, resume: bool, force: bool, written: bool, prior: Path | None) -> str:
    """What the same command does after an interrupt."""
    if resume:
        return f"continues {path}"
    if written:
        return f"with --resume{' instead of --force' if force else ''} continues {path}"
    return f"goes on with the learned prior in {prior}" if prior else "starts again"
