"""A row of the overview as a bar: risk, bound, test error and the paper's bound."""

from __future__ import annotations

from markupsafe import Markup

__all__ = ["interval_bar"]


def interval_bar(
    risk: float, bound: float, most: float, test: float | None, paper: float | None
) -> Markup:
    """A bar from the empirical risk to the bound, on an axis from 0 to `most`."""

    def place(part: float) -> str:
        return f"{100 * min(part / most, 1.0):.2f}"

    figures = [f"empirical risk {100 * risk:.2f} %", f"bound {100 * bound:.2f} %"]
    marks = Markup()
    if test is not None:
        figures.append(f"test error {100 * test:.2f} %")
        marks += Markup('<circle class="test" cx="{}%" cy="9" r="3.5"/>').format(place(test))
    if paper is not None:
        figures.append(f"the paper's bound {100 * paper:.2f} %")
        marks += Markup('<line class="paper" x1="{0}%" x2="{0}%" y1="1" y2="17"/>').format(
            place(paper)
        )
    return Markup(
        '<svg class="interval" width="100%" height="18" role="img" aria-label="{0}">'
        '<title>{0}</title><line class="track" x1="0" x2="100%" y1="9" y2="9"/>'
        '<rect class="bar" x="{1}%" width="{2:.2f}%" y="5" height="8" rx="2"/>{3}</svg>'
    ).format(", ".join(figures), place(risk), 100 * max(bound - risk, 0.0) / most, marks)
