"""`pacbound verify`: check certificates using only their own figures."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, NoReturn

import click

from pacbound.printable import printable, printable_json

if TYPE_CHECKING:
    from pacbound.certificate.checker import Verdict

__all__ = ["verify"]


def _risk(ctx: click.Context, param: click.Parameter, value: float) -> Decimal:
    if not 0 <= value <= 1:
        raise click.BadParameter(f"{value:g} is not in [0, 1]; 25 % is 0.25")
    return Decimal(repr(value))


@click.command()
@click.argument("certificates", metavar="CERT...", nargs=-1, required=True)
@click.option(
    "--max-risk",
    metavar="X",
    type=float,
    callback=_risk,
    default=1.0,
    help="Reject a certificate whose bound on the overall error is larger or missing.",
)
@click.option(
    "--max-class-risk",
    metavar="X",
    type=float,
    callback=_risk,
    default=1.0,
    help="Reject a certificate whose bound on the error of a true class is larger or missing.",
)
@click.option(
    "--checkpoint",
    metavar="CKPT",
    default="",
    help="Reject a certificate that does not match this checkpoint: its posterior, or the centre "
    "of its learned prior.",
)
@click.option(
    "--policy",
    metavar="FILE",
    default="",
    help="Hold the certificates against the rules in this YAML file, which `pacbound policy` can "
    "write. One line for each violated rule.",
)
@click.option(
    "--partial",
    is_flag=True,
    help="Not all certificates of the policy are given: its patterns may match none.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
def verify(
    certificates: tuple[str, ...],
    max_risk: Decimal,
    max_class_risk: Decimal,
    checkpoint: str,
    policy: str,
    partial: bool,
    as_json: bool,
) -> None:
    """Verify that certificates prove what they claim.

    CERT is a certificate, or a folder with certificates at any depth. Every step is recomputed from
    the figures in the file. Neither the data nor the training code is needed. Exit code 0: all are
    valid; 1: one is rejected, or violates a rule of the policy; 2: a file cannot be read.

    \b
    Example, for a build that requires a risk of at most 25 %:
      pacbound verify certificates/mlp-600.json --max-risk 0.25 --checkpoint mlp.pt
      pacbound verify certificates/mlp-600.json --max-class-risk 0.4
      pacbound verify certificates --policy policy.yaml
    """
    from pacbound.certificate.gathering import in_folders, others_in_folders
    from pacbound.verification import check_demands

    if partial and not policy:
        raise click.UsageError("--partial is about the patterns of a policy: give --policy FILE.")
    verdicts = {
        path: check_demands(path, max_risk, max_class_risk, checkpoint)
        for path in in_folders(certificates)
    }
    for path in sorted(others_in_folders(certificates)):
        click.echo(f"skipped {printable(path)}: not a certificate", err=True)
    if policy:
        _verify_by_policy(verdicts, policy, partial, as_json)
    if as_json:
        rows = [{"file": path, **verdict.fields()} for path, verdict in verdicts.items()]
        text = json.dumps(rows, indent=1, ensure_ascii=False, default=float)
        click.echo(printable_json(text))
    else:
        for path, verdict in verdicts.items():
            click.echo(verdict.line(path))
    raise SystemExit(max(verdict.exit_code for verdict in verdicts.values()))


def _verify_by_policy(
    verdicts: dict[str, Verdict], policy: str, partial: bool, as_json: bool
) -> NoReturn:
    """Print what the checker and the policy say, and exit."""
    from pacbound.policy import judge, read_policy, summary, unmatched

    rules = read_policy(policy)
    judged = [judge(path, verdict, rules) for path, verdict in verdicts.items()]
    missing = {} if partial else unmatched(rules, list(verdicts))
    if as_json:
        found = summary(rules, judged, missing)
        click.echo(printable_json(json.dumps(found, indent=1, ensure_ascii=False, default=float)))
    else:
        for line in (line for each in judged for line in each.lines()):
            click.echo(line)
        for line in missing.values():
            click.echo(line)
    raise SystemExit(max(1 if missing else 0, *(each.exit_code for each in judged)))
