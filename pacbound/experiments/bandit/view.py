"""The layout of bandit results: problems by agents, or the agents of one problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pacbound.experiments.tables.cell import Row

__all__ = ["render", "render_problem"]

BEST, CLOSE = "*", "~"
COLUMNS = 6  # agents that fit beside each other


def render(title: str, rows: Sequence[Row]) -> Any:
    """Problems by agents, in as many tables as there must be."""
    from rich.console import Group
    from rich.text import Text

    agents = [*dict.fromkeys(row["agent"] for row in rows)]
    tables = [_table(rows, agents[i : i + COLUMNS]) for i in range(0, len(agents), COLUMNS)]
    legend = _legend(rows)
    if any(row["paper"] and row["count"] for row in rows):
        legend += " Green: at or below the paper's figure."
    if any(0 < row["count"] < len(row["runs"]) for row in rows):
        legend += " In brackets: the number of finished seeds, if not all are finished."
    if any(row["difference"] for row in rows):
        legend += (
            " Less baseline: the regret minus that of the problem's best baseline on the same "
            "seeds; the baseline itself has no figure there."
        )
    return Group(Text(title, style="italic"), *tables, Text(legend, style="dim"), *_notes(rows))


def _table(rows: Sequence[Row], agents: Sequence[str]) -> Any:
    """The columns of some agents; if there is no room, ± goes to a separate line."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column("problem", no_wrap=True)
    problems = [*dict.fromkeys(row["problem"] for row in rows)]
    for agent in agents:
        table.add_column(_header(agent), justify="right")
    for problem in problems:
        line = {row["agent"]: row for row in rows if row["problem"] == problem}
        table.add_row(problem, *(_ours(line.get(agent)) for agent in agents))
        for name, key in (("  paper", "paper"), ("  less baseline", "difference")):
            figures = [line[agent][key] if agent in line else None for agent in agents]
            if any(figures):
                table.add_row(name, *(_figure(one, key) for one in figures), style="dim")
        table.add_section()
    return table


def render_problem(title: str, rows: Sequence[Row]) -> Any:
    """The agents of one problem, with the regret of every seed, and the reference policies."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    published = any(row["paper"] for row in rows)
    compared = any(row["difference"] for row in rows)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    table.add_column("agent", no_wrap=True)
    table.add_column("regret", justify="right", no_wrap=True)
    if published:
        table.add_column("paper", justify="right", no_wrap=True)
    if compared:
        table.add_column(f"less {rows[0]['baseline']}", justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    table.add_column("by seed", justify="left")
    for row in rows:
        seconds = [run["seconds"] for run in row["runs"] if run["seconds"] is not None]
        table.add_row(
            row["agent"],
            _ours(row),
            *([_figure(row["paper"])] if published else []),
            *([_figure(row["difference"], "difference")] if compared else []),
            f"{sum(seconds) / len(seconds):.0f}" if seconds else "–",
            "  ".join(_by_seed(run) for run in row["runs"]),
        )
    table.add_section()
    spare = ["–"] * (1 + published + compared)
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

    if row is None:
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


def _figure(figure: Row | None, key: str = "") -> str:
    """A mean and, if known, its standard error, which may wrap to the next line."""
    if figure is None or figure["mean"] is None:
        return "–"
    error, sign = figure["standard_error"], "+" if key == "difference" else ""
    return f"{figure['mean']:{sign}.2f}" + ("" if error is None else f" ±{error:.2f}")


def _by_seed(run: Row) -> str:
    regret = run["normalized_regret"]
    return f"{run['seed']}: " + (run["state"] if regret is None else f"{regret:.2f}")


def _notes(rows: Sequence[Row]) -> list[Any]:
    from rich.text import Text

    runs = [run for row in rows for run in row["runs"] if run["detail"]]
    return [Text(f"{run['name']}: {run['state']}: {run['detail']}") for run in runs]
