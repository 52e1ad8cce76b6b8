"""`pacbound explain`: a certificate in words, and what would make it tighter."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pacbound_cli.options import json_option

if TYPE_CHECKING:
    from rich.table import Table

    from pacbound.certificate.checker import Verdict
    from pacbound.report.explanation import ClaimLine, Explanation, Remedy

__all__ = ["explain"]


@click.command()
@click.argument("certificate", metavar="CERT", type=click.Path(path_type=Path))
@json_option
def explain(certificate: Path, as_json: bool) -> None:
    """Say what the certificate CERT claims, what it does not claim, and what would tighten it.

    Each suggested change is computed alone, from the certificate's own figures. Its row states the
    assumptions and what the ledger of the next certificate must declare: certifying again after
    seeing this certificate is a choice between the two. Exit code 1: the checker rejects the
    certificate, so it claims nothing.

    \b
    Example:
      pacbound explain certificates/mlp-600-k-linear-gibbs.json
    """
    from pacbound.errors import CertificateError
    from pacbound.printable import printable_json
    from pacbound.verification import verify

    if certificate.is_dir():
        raise CertificateError(f"{certificate} is a folder: give one of its certificates")
    verdict = verify(certificate)
    if verdict.exit_code == 2:
        raise CertificateError(
            f"{certificate} is not a certificate: {verdict.reason}"
            if certificate.exists()
            else f"no such file: {certificate}; pacbound certify makes certificates"
        )
    explanation = _explained(certificate, verdict)
    if as_json:
        result = {
            "file": str(certificate),
            "accepted": verdict.accepted,
            "check": verdict.check,
            "reason": verdict.reason,
            **(asdict(explanation) if explanation else {}),
        }
        click.echo(printable_json(json.dumps(result, indent=1, ensure_ascii=False)))
    else:
        _show(certificate, verdict, explanation)
    raise SystemExit(verdict.exit_code)


def _explained(path: Path, verdict: Verdict) -> Explanation | None:
    """The explanation; None if a rejected certificate has figures that make no sense."""
    from pacbound.certificate.format import Certificate
    from pacbound.errors import PacboundError
    from pacbound.report.explanation import explain as explanation_of

    try:
        return explanation_of(Certificate.from_json(path.read_bytes()))
    except PacboundError:
        if verdict.accepted:
            raise
        return None


def _show(path: Path, verdict: Verdict, explanation: Explanation | None) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.padding import Padding
    from rich.table import Table

    from pacbound.printable import printable
    from pacbound_cli.certify import terms_table

    console = Console(highlight=False)
    if not verdict.accepted:
        console.print(
            printable(
                f"REJECTED: {path} claims nothing; check {verdict.check} fails: {verdict.reason}"
            ),
            style="bold red",
            markup=False,
        )
    if explanation is None:
        return
    if not verdict.accepted:
        console.print("\nThe text below takes the figures as they are.", style="red")
    console.print("\nThe claim", style="bold")
    console.print(Padding(explanation.claim, (0, 0, 0, 2)), markup=False)
    if verdict.accepted:
        console.print("  The checker recomputed the claim from the figures in the file. It holds.")
    console.print(Padding(explanation.ledger, (0, 0, 0, 2)), markup=False)
    for warning in explanation.warnings:
        console.print(Padding(warning, (0, 0, 0, 2)), style="yellow", markup=False)
    console.print("\nWhat it does not say", style="bold")
    points = Table.grid(padding=(0, 1))
    for point in explanation.not_claimed:
        subject, _, rest = point.partition(":")
        points.add_row(" –", f"[italic]{escape(subject)}[/]:{escape(rest)}")
    console.print(points)
    console.print()
    if len(explanation.claims) > 1:
        console.print(_claims_table(explanation.claims))
    console.print(terms_table(explanation.terms))
    if explanation.remedies:
        console.print(_remedies_table(explanation.remedies))
        console.print(
            "Each row is one change alone. Its bound includes the price of the ledger entries."
        )
    else:
        console.print("No command would tighten this bound with the same examples.")


MOST = 40  # claims shown in the table


def _claims_table(claims: tuple[ClaimLine, ...]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    from pacbound.report.amounts import percent_up

    table = Table("claim")
    for column in ("m", "observed", "limit", "bound"):
        table.add_column(column, justify="right", no_wrap=True)
    for claim in claims[:MOST]:
        limit = "–" if claim.limit is None else f"{percent_up(claim.limit)} %"
        table.add_row(
            escape(f"{claim.loss}, {claim.subject}"),
            str(claim.m),
            f"{percent_up(claim.empirical)} %",
            limit,
            f"{percent_up(claim.bound)} %",
        )
    if len(claims) > MOST:
        table.add_row(f"and {len(claims) - MOST} more (--json lists them)", "", "", "", "")
    return table


def _remedies_table(remedies: tuple[Remedy, ...]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table("what would tighten it")
    for column in ("bound", "gain"):
        table.add_column(column, justify="right", no_wrap=True)
    for remedy in remedies:
        lines = [escape(remedy.change), f"  [dim]assumes {escape(remedy.assumes)}[/]"]
        lines += [f"  [cyan]{escape(command)}[/]" for command in remedy.how]
        lines += [f"  [dim]ledger: {escape(remedy.ledger)}[/]"]
        table.add_row("\n".join(lines), f"{remedy.bound:.3%}", f"−{remedy.gain:.3%}")
    return table
