"""`pacbound verify`: check certificates with nothing but their own figures."""

from __future__ import annotations

import json

import click

from pacbound.printable import printable_json
from pacbound.verification import verify as verdict_on

__all__ = ["verify"]


def _risk(ctx: click.Context, param: click.Parameter, value: float) -> float:
    if not 0 <= value <= 1:
        raise click.BadParameter(f"{value:g} is not in [0, 1]; 25 % is 0.25")
    return value


@click.command()
@click.argument("certificates", metavar="CERT...", nargs=-1, required=True)
@click.option(
    "--max-risk",
    metavar="X",
    type=float,
    callback=_risk,
    default=1.0,
    help="Reject a larger bound on the error over all inputs, or none.",
)
@click.option(
    "--max-class-risk",
    metavar="X",
    type=float,
    callback=_risk,
    default=1.0,
    help="Reject a larger bound for a true class, or a class without one.",
)
@click.option(
    "--checkpoint",
    metavar="CKPT",
    default="",
    help="Reject a certificate that is not for this checkpoint (or, of a fixed predictor, file).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
def verify(
    certificates: tuple[str, ...],
    max_risk: float,
    max_class_risk: float,
    checkpoint: str,
    as_json: bool,
) -> None:
    """Check that certificates prove what they claim.

    Every step is recomputed from the figures in the file; neither the data nor the trainer is
    needed. A rejection names the number of the check in SPEC.md that fails. Exit code 0: all hold;
    1: one is rejected; 2: a file cannot be read.

    \b
    Examples, for builds that need at most 25 % error, and at most 30 % in every class:
      pacbound verify certificates/mlp-600.json --max-risk 0.25 --checkpoint mlp.pt
      pacbound verify certificates/mlp-600.json --max-class-risk 0.3
    """
    verdicts = {
        path: verdict_on(path, max_risk, checkpoint, max_class_risk) for path in certificates
    }
    if as_json:
        rows = []
        for path, verdict in verdicts.items():
            fields = verdict._asdict()
            del fields["certificate"]  # the file itself
            rows.append({"file": path, **fields})
        text = json.dumps(rows, indent=1, ensure_ascii=False, default=float)
        click.echo(printable_json(text))
    else:
        for path, verdict in verdicts.items():
            click.echo(verdict.line(path))
    raise SystemExit(max(verdict.exit_code for verdict in verdicts.values()))
