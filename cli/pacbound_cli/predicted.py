"""The display of predictions: rows, errors beside claims, and metrics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from pacbound.certificate.format import Certificate
    from pacbound.predict import Evaluation
    from pacbound.predict.evaluation import OutOfDistribution
    from pacbound.predict.examples import Examples
    from pacbound.predictors.applied import Applied, Observed

__all__ = ["show_applied", "show_evaluation", "show_files", "show_lines"]

SHOWN = 20  # rows in the terminal


def show_lines(lines: list[dict[str, Any]], until: str = "") -> None:
    """The first predictions as a table.

    Arguments:
        until: The column at which a wide table ends: the classes' probabilities are in the file.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from pacbound.printable import printable

    names = [name for name in lines[0] if name in ("prediction", "share", "label")]
    table = Table("row", *names, *(["probability"] if until in lines[0] else []))
    for line in lines[:SHOWN]:
        cells = [
            Text(printable(str(line[name]))) if line[name] is not None else "–" for name in names
        ]
        if until in line:
            cells.append(f"{max(p for name, p in line.items() if name.startswith('p_')):.4f}")
        table.add_row(str(line["row"]), *cells)
    console = Console()
    console.print(table)
    if len(lines) > SHOWN:
        console.print(f"… and {len(lines) - SHOWN} more; -o FILE writes all")


def show_files(*paths: Path | None) -> None:
    from rich.console import Console

    for path in paths:
        if path is not None:
            Console().print(f"written to {path}", soft_wrap=True)


def show_applied(
    certificate: Certificate,
    certificate_path: Path,
    applied: Applied,
    examples: Examples,
    seen: list[Observed],
    output: Path | None,
) -> None:
    from rich.console import Console
    from rich.text import Text

    from pacbound.printable import printable

    console = Console()
    console.print(Text(printable(applied.words())))
    named = f"The certificate {certificate_path} covers it: {certificate.sentence}"
    console.print(Text(printable(named)), style="bold")
    if examples.labelled:
        console.print(_errors_table(certificate, applied, examples, seen))
    if examples.split == "train":
        console.print("These examples may have been used for training or for the certificate.")
    show_files(output)


def _errors_table(
    certificate: Certificate, applied: Applied, examples: Examples, seen: list[Observed]
) -> Table:
    """The observed errors beside the claims."""
    from rich.table import Table
    from rich.text import Text

    from pacbound.printable import printable
    from pacbound.report.amounts import percent_up

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
    return table


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
