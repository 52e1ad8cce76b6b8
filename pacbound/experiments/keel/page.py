"""The table of published results, and a summary of it."""

from __future__ import annotations

from pathlib import Path

from pacbound.experiments.keel.cell import read_result
from pacbound.experiments.keel.published import TREE_VOTES
from pacbound.experiments.keel.rows import figures
from pacbound.experiments.tables.cell import Row
from pacbound.report.amounts import percent_up

__all__ = ["keel_summary", "keel_table", "votes_table"]

MANY = 50  # errors: from here on the draw is compared with the plain limit


def keel_table(folder: Path) -> str:
    """Every table with its counted examples, the plain limit and three bounds, in per cent."""
    lines = ["| table | m | plain | fixed | draw | Gibbs |", "|---|---|---|---|---|---|"]
    for name, found in _published(folder):
        bounds = " | ".join(percent_up(found[kind]) for kind in ("plain", "fixed", "draw", "gibbs"))
        mark = " °" if found["copies"] == "independent" else ""
        mark += " *" if found["place"] > 1 else ""
        place = f"../{folder.parent.name}/{folder.name}/{name}.json"
        lines.append(f"| [{name}]({place}){mark} | {found['m']} | {bounds} |")
    return "\n".join(lines)


def votes_table(folder: Path) -> str:
    """The tables for which others published certified votes of trees."""
    lines = ["| table | trees | fixed | draw |", "|---|---|---|---|"]
    for name, found in _published(folder):
        if name in TREE_VOTES:
            bounds = " | ".join(percent_up(found[kind]) for kind in ("fixed", "draw"))
            lines.append(f"| {name} | {TREE_VOTES[name]} | {bounds} |")
    return "\n".join(lines)


def keel_summary(folder: Path) -> str:
    """The largest ratios to the plain limit, and where the tree votes are lower."""
    published = _published(folder)
    if not published:
        return "Nothing is published yet."
    many = [(name, x) for name, x in published if x["errors"] >= MANY]
    lines = [
        f"- {len(published)} tables, {sum(x['m'] for _, x in published):,} counted examples.",
        f"- Fixed: {_largest(published, 'fixed')}.",
    ]
    if many:
        lines.append(
            f"- Draw, on the {len(many)} tables with at least {MANY} counted errors: "
            f"{_largest(many, 'draw')}."
        )
        first = [(name, x) for name, x in many if x["place"] == 1]
        if 0 < len(first) < len(many):
            lines.append(
                f"- Draw, on the {len(first)} of them that were certified once: "
                f"{_largest(first, 'draw')}."
            )
    votes = [(name, x) for name, x in published if name in TREE_VOTES]
    if votes:
        lower = [n for n, x in votes if max(x["fixed"], x["draw"]) < TREE_VOTES[n] / 100]
        lines.append(f"- Fixed and draw are below the tree votes on {len(lower)} of {len(votes)}.")
    return "\n".join(lines)


def _largest(rows: list[tuple[str, Row]], kind: str) -> str:
    name, found = max(rows, key=lambda item: item[1][f"{kind}_ratio"])
    return f"at most {found[f'{kind}_ratio']:.3f} times the plain limit ({name})"


def _published(folder: Path) -> list[tuple[str, Row]]:
    """The results by table, from the smallest to the largest."""
    found = [(path.stem, figures(read_result(path))) for path in folder.glob("*.json")]
    return sorted(found, key=lambda item: (item[1]["examples"], item[0]))
