"""Tables and figures in the documentation, made from published files.

    python -m pacbound.experiments.pages

writes them between their markers, so no figure is typed by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pacbound.experiments.bandit.page import (
    against_linear_table,
    differences_table,
    jester_table,
    lost_seeds_table,
    spread_table,
    tuned_table,
    untuned_table,
)
from pacbound.experiments.data_page import sources_list
from pacbound.experiments.keel.page import keel_summary, keel_table, votes_table
from pacbound.experiments.learned.page import elsewhere_table, learned_table
from pacbound.experiments.pac_bayes.page import commands_table, results_table
from pacbound.experiments.pac_bayes.recipes_page import recipes_table, settings_table
from pacbound.experiments.simulation.page import simulation_table
from pacbound.experiments.summary_page import summary_table
from pacbound.experiments.vi.page import (
    evaluations_table,
    training_table,
    uncertainty_figures,
    uncertainty_table,
)
from pacbound.files import write_whole

__all__ = ["TABLES", "PageTable", "main", "updated"]

END = "<!-- end -->"


@dataclass(frozen=True)
class PageTable:
    """A table, the source of its figures, and its page."""

    page: str
    source: str  # a folder
    make: Callable[[Path], str]
    part: str = ""  # of the folder's content, if a page has several tables

    @property
    def begin(self) -> str:
        """The marker before the table on the page."""
        return f"<!-- made from {self.source}{self.part and ': '}{self.part} -->"


TABLES = (
    PageTable("README.md", "certificates", summary_table, "summary"),
    PageTable("docs/results.md", "certificates", results_table),
    PageTable("docs/results.md", "certificates", learned_table, "learned priors"),
    PageTable("docs/learned-priors.md", "certificates", elsewhere_table, "elsewhere"),
    PageTable("docs/data.md", "pacbound/data", sources_list, "sources"),
    PageTable("certificates/README.md", "certificates", commands_table),
    PageTable("docs/bandits.md", "results/bandit", tuned_table),
    PageTable("docs/bandits.md", "results/bandit", differences_table, "differences"),
    PageTable("docs/bandits.md", "results/bandit", against_linear_table, "against linear"),
    PageTable("docs/bandits.md", "results/bandit", spread_table, "mushroom"),
    PageTable("docs/bandits.md", "results/bandit", lost_seeds_table, "lost seeds"),
    PageTable("docs/bandits.md", "results/bandit", jester_table, "jester"),
    PageTable("docs/bandits.md", "results/bandit-untuned", untuned_table),
    PageTable("docs/bandits.md", "results/bandit-untuned", differences_table, "differences"),
    PageTable("docs/variational-inference.md", "results/vi", evaluations_table),
    PageTable("docs/variational-inference.md", "results/vi", training_table, "training"),
    PageTable("docs/variational-inference.md", "results/vi", uncertainty_table, "uncertainty"),
    PageTable("docs/recipes.md", "certificates", recipes_table, "recipes"),
    PageTable("docs/recipes.md", "pacbound/recipes", settings_table, "settings"),
    PageTable("docs/keel.md", "results/keel", keel_summary, "summary"),
    PageTable("docs/keel.md", "results/keel", votes_table, "votes"),
    PageTable("docs/keel.md", "results/keel", keel_table, "table"),
    PageTable("docs/simulation.md", "results/simulation", simulation_table),
)


def updated(text: str, begin: str, table: str) -> str:
    """A page with the text between the markers replaced."""
    before, found, rest = text.partition(begin)
    if not found or END not in rest:
        raise ValueError(f"the page has no {begin} … {END}")
    return f"{before}{begin}\n{table}\n{END}{rest.partition(END)[2]}"


def main(root: Path) -> None:
    """Update the pages and figures of a checkout."""
    uncertainty_figures(root / "results/vi", root / "docs/pictures")
    for table in TABLES:
        page = root / table.page
        text = updated(
            page.read_text(encoding="utf-8"), table.begin, table.make(root / table.source)
        )
        write_whole(page, lambda stream, text=text: stream.write(text.encode()))  # type: ignore[misc]


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
