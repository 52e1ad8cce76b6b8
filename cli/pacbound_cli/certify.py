"""`pacbound certify`: issue the risk certificate of a checkpoint."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pacbound_cli.options import (
    claim_options,
    device_option,
    json_option,
    ledger_options,
    scheduler_option,
    workers_option,
)

if TYPE_CHECKING:
    from rich.table import Table

    from pacbound.certificate.format import Certificate
    from pacbound.networks.stochastic import StochasticNetwork
    from pacbound.predictors import Term
    from pacbound.predictors.chunks import Report

__all__ = [
    "certify",
    "ensure_risk",
    "names_in",
    "sampling_progress",
    "show_certificate",
    "terms_table",
]

BETWEEN_PREDICTORS = (
    "if some of the other certificates are of another predictor (a draw, fixed), keeping the best "
    "of them also needs --candidates: see the ledger's page"
)


@click.command()
@click.argument("checkpoint", type=click.Path(path_type=Path))
@click.option("--delta", default="0.035", show_default=True, help="The probability of being wrong.")
@click.option(
    "--predictor",
    type=click.Choice(["gibbs", "draw", "vote", "fixed"]),
    help="gibbs: fresh weights for every prediction; draw: one network drawn from the posterior "
    "with a seed derived from the digests; vote: the majority vote of all networks; fixed: the "
    "centre of a learned prior.  [default: the recipe's, fixed for table, otherwise gibbs]",
)
@click.option(
    "--vote-by",
    type=click.Choice(["gibbs", "tandem"]),
    help="The bound of a vote, chosen before anything is sampled: gibbs (twice the Gibbs risk) or "
    "tandem (four times the risk that two networks err together).  [default: gibbs]",
)
@click.option(
    "--replay-prior",
    is_flag=True,
    help="Train a learned prior again from its seed. This takes as long as it did the first time. "
    "On the same kind of machine, a different prior is refused; elsewhere, its distance is shown.",
)
@click.option(
    "--export",
    type=click.Path(path_type=Path),
    help="Write the certified network: its state dict (.pt) or its graph (.onnx). NAME.inputs.json "
    "beside it holds the fixed map for the inputs. Needs --predictor draw or fixed.",
)
@click.option(
    "--extractor",
    metavar="PACKAGE.MODULE:FACTORY",
    help="The extractor that computed the features of the data, to be exported with the network.",
)
@claim_options
@click.option(
    "--answer-above",
    metavar="X|auto:ERROR",
    default="",
    help="Abstain where the largest softmax is not above X, a threshold fixed without these "
    "examples. auto:0.01 chooses the lowest one whose error among the answered examples of the "
    "prior's part is at most 1 %. For draw and fixed.",
)
@click.option(
    "--inequality",
    default="",
    help="An inequality other than the default: mcallester, maurer, xi or catoni; for a draw "
    "binomial or density. Choose it before anything is sampled.",
)
@click.option(
    "--inequality-seen",
    is_flag=True,
    help="The inequality was chosen after both bounds were seen. Needs --candidates 2 or more.",
)
@ledger_options
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    default=5_000_000,
    show_default=True,
    help="Monte Carlo draws for the risk, in whole passes, when each example has its own weights.",
)
@click.option(
    "--weights",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Draws of whole weights for the risk, when examples must share weights.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Monte Carlo samples of the KL, when it is not exact.",
)
@click.option("--kl-tail", default="gaussian", show_default=True, help="gaussian or theorem3.")
@click.option("--risk-limit", default="betting", show_default=True, help="betting or chernoff.")
@click.option(
    "--model",
    metavar="PACKAGE.MODULE:FACTORY",
    help="Your own network that was trained. A checkpoint never imports code by itself.",
)
@click.option("--data", "data_name", help="The training data, if it has moved since training.")
@click.option("--allow-other-data", is_flag=True, help="Certify on data not used for training.")
@click.option("--max-risk", type=float, help="Exit with code 1 if the bound is larger.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="[certificates/CHECKPOINT.json]"
)
@device_option
@workers_option
@scheduler_option
@json_option
@click.pass_context
def certify(
    ctx: click.Context,
    checkpoint: Path,
    delta: str,
    predictor: str | None,
    vote_by: str | None,
    replay_prior: bool,
    export: Path | None,
    extractor: str | None,
    claims: str | None,
    groups: str,
    cost: Path | None,
    answer_above: str,
    inequality: str,
    inequality_seen: bool,
    candidates: int,
    looks: int,
    certificates: int,
    place: int | None,
    copies: str,
    draws: int,
    weights: int,
    samples: int,
    kl_tail: str,
    risk_limit: str,
    model: str | None,
    data_name: str | None,
    allow_other_data: bool,
    max_risk: float | None,
    output: Path | None,
    device: str,
    workers: int | None,
    scheduler: str,
    as_json: bool,
) -> None:
    """Issue the risk certificate of CHECKPOINT: a file that anybody can verify.

    \b
    Examples:
      pacbound certify mlp.pt
      pacbound certify mlp.pt --delta 0.01 --max-risk 0.25 -o certificates/mlp.json
      pacbound certify mlp.pt --predictor draw --export net.pt
      pacbound certify mlp.pt --predictor vote --vote-by tandem
      pacbound certify mlp.pt --claims overall,per-class --groups region.npy --cost costs.csv
      pacbound certify mlp.pt --predictor draw --answer-above auto:0.01
      pacbound certify mlp.pt --predictor fixed --export net.pt
      pacbound certify mlp.pt --candidates 3 --looks 2 --certificates 4
      pacbound certify mine.pt --model mine:network
      pacbound certify mlp.pt --scheduler tcp://10.0.0.1:8786

    Finished chunks of the sampling are kept beside the certificate until it is written. The same
    command resumes a stopped run. The certificate does not depend on how the work was divided.

    A learned prior is trained on a part of the examples. The certificate counts the others.

    A draw is one ordinary network that can be deployed. It is drawn once. To certify several
    checkpoints and keep the best, declare their number with --certificates.

    With several claims, the first gets half of delta and the others share the other half evenly.
    """
    from pacbound.predictors.budget import parse_delta

    probability = parse_delta(delta)
    if max_risk is not None and not 0 <= max_risk <= 1:
        raise click.BadParameter(f"{max_risk} is not between 0 and 1", param_hint="--max-risk")

    from pacbound.predictors import predictor_named

    if vote_by is not None and predictor != "vote":
        raise click.UsageError("--vote-by is for --predictor vote")
    name = f"vote-{vote_by or 'gibbs'}" if predictor == "vote" else predictor
    if extractor and export is None:
        raise click.UsageError("--extractor is for --export")
    from pacbound.devices import device_named
    from pacbound.training.checkpoints import Checkpoint

    if not scheduler:
        device_named(device)  # fails early if the device is missing
    if name is None:
        name = Checkpoint.load(checkpoint).settings.predictor
    if export is not None and not predictor_named(name).exports_network:
        raise click.UsageError("--export writes one network; it needs --predictor draw or fixed")
    if not predictor_named(name).sampled:
        _refuse_sampling_options(ctx)

    from pacbound.api import load as load_network
    from pacbound.data import load
    from pacbound.files import ensure_writable
    from pacbound.networks.factory import module_from
    from pacbound.predictors.chunks import Sampler
    from pacbound.predictors.claims import read_costs, read_groups
    from pacbound.predictors.export import ensure_exportable, ensure_extractor, export_network
    from pacbound.training.replay import PriorDiffers
    from pacbound.workers.choice import engine_for
    from pacbound.workers.kept import Kept
    from pacbound_cli.data import fetching_bar

    path = output or Path("certificates") / f"{checkpoint.stem}.json"
    trained = Checkpoint.load(checkpoint)
    settings = trained.settings
    read = (checkpoint, data_name or settings.data, cost)
    ensure_writable(path, *read)
    if export is not None:
        ensure_exportable(export, *read)
    if trained.training is not None:
        click.echo(
            f"note: {checkpoint} is not finished: it is at epoch {trained.epoch} of its training; "
            "the certificate is for the weights that it has now",
            err=True,
        )
    with fetching_bar() as progress:
        data = load(data_name or settings.data, progress, settings.label)
    module = module_from(model, data.input_shape, data.classes) if model else None
    front = module_from(extractor, data.extractor_inputs, data.classes) if extractor else None
    if front is not None:
        ensure_extractor(front.eval(), data)
    kept = Kept(path.with_name(f"{path.name}.partial"))
    try:
        with (
            engine_for(workers or _own_workers(device), scheduler) as engine,
            sampling_progress() as report,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", PriorDiffers)  # shown with the certificate instead
            net = load_network(checkpoint, module)
            if predictor_named(name).sampled and net.network is not None:
                _note_idle_options(ctx, net.network)
                if (certificates > 1 or place is not None) and candidates == 1:
                    click.echo(BETWEEN_PREDICTORS, err=True)
            certificate = net.certify(
                data,
                probability,
                predictor=name,
                claims=names_in(claims),
                answer_above=answer_above,
                groups=read_groups(groups, data_name or settings.data) if groups else (),
                costs=read_costs(cost) if cost is not None else None,
                candidates=candidates,
                looks=looks,
                certificates=certificates,
                place=place,
                copies=copies,
                inequality=inequality,
                inequality_seen=inequality_seen,
                tail=kl_tail,
                limit=risk_limit,
                draws=draws,
                weights=weights,
                samples=samples,
                allow_other_data=allow_other_data,
                replay_prior=replay_prior,
                device=device,
                sampler=Sampler(engine, report, kept),
                command=shlex.join(["pacbound", *sys.argv[1:]]),
            )
    except KeyboardInterrupt:
        how = "continues" if kept.path.exists() else "starts again"
        click.echo(f"stopped; the same command {how}", err=True)
        raise click.exceptions.Exit(130) from None
    _note_replaced(path, certificate)
    certificate.save(path)
    kept.remove()
    steps = []
    if export is not None:
        steps = export_network(checkpoint, data, certificate, export, module, front)
    if as_json:
        click.echo(certificate.to_json(), nl=False)
    else:
        show_certificate(certificate, path)
        if export is not None:
            click.echo(f"network written to {export}; its inputs: {'; '.join(steps)}")
    if max_risk is not None:
        ensure_risk(certificate, max_risk)


def _note_replaced(path: Path, certificate: Certificate) -> None:
    """Tell of a certificate on the same examples that is replaced by one that does not count it."""
    from pacbound.certificate.format import Certificate
    from pacbound.errors import PacboundError

    try:
        before = Certificate.load(path)
    except (OSError, PacboundError):
        return
    is_first = certificate.ledger.certificates.number == 1
    is_other = before.claims != certificate.claims
    if is_first and is_other and before.data.sha256 == certificate.data.sha256:
        place = before.ledger.certificates.number + 1
        click.echo(
            f"note: {path} was another certificate on these examples, and is replaced; if you "
            f"choose between the two, this one needs --place {place}",
            err=True,
        )


def ensure_risk(certificate: Certificate, max_risk: float) -> None:
    """Exit with code 1 unless the overall error is claimed to be at most max_risk."""
    if certificate.overall is None:
        words = (
            "there is no claim on the overall error, which --max-risk limits: add it to --claims"
        )
    elif certificate.risk_bound > max_risk:
        words = f"the bound {certificate.risk_bound:.4f} is larger than --max-risk {max_risk}"
    else:
        return
    click.echo(words, err=True)
    raise click.exceptions.Exit(1)


def names_in(claims: str | None) -> tuple[str, ...] | None:
    """The names of claims in an option; None if it is not given."""
    if claims is None:
        return None
    return tuple(each.strip() for each in claims.split(",") if each.strip())


def _own_workers(device: str) -> int:
    """One worker per core; a single one when they would share a GPU."""
    from pacbound.workers.choice import available_cores

    return available_cores() if device == "cpu" else 1


def _refuse_sampling_options(ctx: click.Context) -> None:
    """Refuse options that have no effect: a single network needs no Monte Carlo."""
    for name in ("draws", "weights", "samples", "kl_tail", "risk_limit", "device"):
        if ctx.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            raise click.UsageError(
                f"--{option} is for --predictor gibbs or vote; the others do not sample"
            )


def _note_idle_options(ctx: click.Context, network: StochasticNetwork) -> None:
    """Name the options that have no effect on the sampling of this posterior."""
    own = "every example has weights of its own"
    idle = dict.fromkeys(("weights", "risk_limit"), f"{own}: see --draws")
    if not network.draws_per_example():
        idle = {"draws": "examples share weights: see --weights"}
    if network.is_gaussian():
        idle |= dict.fromkeys(("samples", "kl_tail"), "the KL of this posterior is exact")
    for name, why in idle.items():
        if ctx.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE:
            click.echo(f"--{name.replace('_', '-')} has no effect: {why}", err=True)


@contextmanager
def sampling_progress() -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TimeRemainingColumn(),
    ]
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what)
            progress.update(tasks[what], completed=done, total=total)

        yield report


def _up(bound: float | Decimal) -> str:
    """Per cent, rounded up: a bound is never shown smaller than it is."""
    from pacbound.report.amounts import percent_up

    return f"{percent_up(bound, 3)}%"


def terms_table(steps: Sequence[Term]) -> Table:
    """Where a bound comes from, as a table for the terminal."""
    from rich.table import Table

    table = Table("where the bound comes from", title_justify="left")
    for column in ("amount", "adds", "bound"):
        table.add_column(column, justify="right")
    for term in steps:
        table.add_row(term.name, term.amount, f"{term.adds:+.3%}", _up(term.total))
    return table


def show_certificate(certificate: Certificate, path: Path) -> None:
    """The claims, every term of the first bound, and other bounds for comparison."""
    from rich.console import Console
    from rich.table import Table

    from pacbound.report.explanation import is_vacuous
    from pacbound.report.terms import terms

    console = Console(markup=False, emoji=False)  # names are the user's: brackets are no markup
    console.print(certificate.sentence, style="bold")
    console.print(terms_table(terms(certificate)))
    if len(certificate.claims) > 1:
        claims = Table("claim")
        for column in ("examples", "observed", "at most"):
            claims.add_column(column, justify="right")
        for claim in certificate.claims:
            name = f"{claim.scope}, {claim.loss}".removesuffix(", zero-one")
            if claim.cost is not None:
                name = f"{claim.scope}, cost “{claim.cost}”"
            claims.add_row(name, str(claim.m), f"{claim.empirical:.3%}", _up(claim.bound))
        console.print(claims)
    others = Table("for comparison, not part of the claim")
    others.add_column("bound", justify="right")
    for entry in certificate.also:
        if entry.kind == "inequality":
            others.add_row(f"inequality {entry.name}", _up(entry.value or 1))
        elif entry.kind == "held-out":
            errors = f"{entry.errors} errors in {entry.examples}"
            others.add_row(f"held-out binomial, {errors}", _up(entry.upper or 1))
    if others.row_count:
        console.print(others)
    if replay := certificate.made.prior.get("replay"):
        console.print(replay)
    if is_vacuous(certificate):
        console.print("This bound is vacuous: it is no better than guessing.", style="yellow")
    console.print(f"written to {path}; check it with: pacbound verify {path}", soft_wrap=True)
