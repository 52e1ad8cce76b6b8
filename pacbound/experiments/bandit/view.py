"""The layout of bandit results: problems by agents, or the agents of one problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pacbound.experiments.tables.cell import Row

__all__ = ["render", "render_problem"]

BEST, CLOSE = "*", "~"


def render(title: str, rows: Sequence[Row]) -> Any:
    """Problems by agents; if there is no room, ± goes to a separate line."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column("problem", no_wrap=True)
    agents = [*dict.fromkeys(row["agent"] for row in rows)]
    problems = [*dict.fromkeys(row["problem"] for row in rows)]
    for agent in agents:
        table.add_column(_header(agent), justify="right")
    for problem in problems:
        line = {row["agent"]: row for row in rows if row["problem"] == problem}
        table.add_row(problem, *(_ours(line.get(agent)) for agent in agents))
        if any(row["paper"] for row in line.values()):
            papers = (line[agent]["paper"] if agent in line else None for agent in agents)
            table.add_row("  paper", *(_figure(one) for one in papers), style="dim")
        table.add_section()
    legend = _legend(rows)
    if any(row["paper"] and row["count"] for row in rows):
        legend += " Green: at or below the paper's figure."
    if any(0 < row["count"] < len(row["runs"]) for row in rows):
        legend += " In brackets: the number of finished seeds, if not all are finished."
    if "fbnn" in agents:
        legend += " fBNN is not implemented here: its figures are the paper's."
    return Group(Text(title, style="italic"), table, Text(legend, style="dim"), *_notes(rows))


def render_problem(title: str, rows: Sequence[Row]) -> Any:
    """The agents of one problem, with the regret of every seed, and the reference policies."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    published = any(row["paper"] for row in rows)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    table.add_column("agent", no_wrap=True)
    table.add_column("regret", justify="right", no_wrap=True)
    if published:
        table.add_column("paper", justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    table.add_column("by seed", justify="left")
    for row in rows:
        if not row["runs"]:
            continue  # an agent that only the paper has
        seconds = [run["seconds"] for run in row["runs"] if run["seconds"] is not None]
        table.add_row(
            row["agent"],
            _ours(row),
            *([_figure(row["paper"])] if published else []),
            f"{sum(seconds) / len(seconds):.0f}" if seconds else "–",
            "  ".join(_by_seed(run) for run in row["runs"]),
        )
    table.add_section()
    spare = ["–", "–"] if published else ["–"]
    table.add_row("best fixed arm", _figure(rows[0]["best_fixed_arm"]), *spare, "", style="dim")
    table.add_row("uniform", "100.00", *spare, "", style="dim")
    return Group(
        Text(title, style="italic"), table, Text(_legend(rows), style="dim"), *_notes(rows)
    )


def _legend(rows: Sequence[Row]) -> str:
    text = (
        "Cumulative regret in per cent of the uniform policy's, mean ± standard error over seeds."
    )
    if any(row["best"] for row in rows):
        text += f" {BEST} the smallest mean"
        if any(row["close"] for row in rows):
            text += (
                f"; {CLOSE} no more than one standard error from it, by the differences on the "
                "same seeds"
            )
        text += "."
    return text


def _header(agent: str) -> Any:
    """An agent's name; a long one is broken at its hyphen."""
    from rich.text import Text

    if agent == "fbnn":
        return "fBNN"
    return Text(agent.replace("-", "-\n") if len(agent) > 7 else agent, overflow="fold")


def _ours(row: Row | None) -> Any:
    from rich.text import Text

    if row is None or not row["runs"]:
        return Text("–", style="dim")
    if not row["count"]:
        states = [run["state"] for run in row["runs"]]
        state = next((s for s in ("failed", "invalid", "running", "stopped") if s in states), "")
        return Text(state or "not run", style="red" if state in ("failed", "invalid") else "dim")
    mark = BEST if row["best"] else CLOSE if row["close"] else ""
    text = f"{mark}{_figure(row)}"
    if row["count"] < len(row["runs"]):
        text += f" ({row['count']})"
    published = row["paper"]
    reached = published is not None and round(row["mean"], 2) <= published["mean"]
    style = " ".join((["bold"] if row["best"] else []) + (["green"] if reached else []))
    return Text(text, style=style)


def _figure(figure: Row | None) -> str:
    """A mean and, if known, its standard error, which may wrap to the next line."""
    if figure is None or figure["mean"] is None:
        return "–"
    error = figure["standard_error"]
    return f"{figure['mean']:.2f}" + ("" if error is None else f" ±{error:.2f}")


def _by_seed(run: Row) -> str:
    regret = run["normalized_regret"]
    return f"{run['seed']}: " + (run["state"] if regret is None else f"{regret:.2f}")


def _notes(rows: Sequence[Row]) -> list[Any]:
    from rich.text import Text

    runs = [run for row in rows for run in row["runs"] if run["detail"]]
    return [Text(f"{run['name']}: {run['state']}: {run['detail']}") for run in runs]
