"""A claim as a bar: the observed risk, the Monte Carlo allowance, and the rest of the bound."""

from __future__ import annotations

from markupsafe import Markup

from pacbound.report.explanation import ClaimLine

__all__ = ["claim_bar"]


def claim_bar(claim: ClaimLine, most: float) -> Markup:
    """A bar from 0 to the bound in two or three pieces, on an axis from 0 to `most`."""
    ends = [("risk", "observed", claim.empirical)]
    if claim.limit is not None:
        ends.append(("sampling", "with Monte Carlo allowance", claim.limit))
    ends.append(("rest", "bound", claim.bound))
    pieces, start = Markup(), 0.0
    for kind, _, end in ends:
        end = min(max(end, start), claim.bound)
        pieces += Markup('<rect class="{}" x="{:.2f}%" width="{:.2f}%" y="3" height="12"/>').format(
            kind, 100 * start / most, 100 * (end - start) / most
        )
        start = end
    figures = ", ".join(f"{name} {100 * end:.4g} %" for _, name, end in ends)
    return Markup(
        '<svg class="claimed" width="100%" height="18" role="img" aria-label="{0}">'
        "<title>{0}</title>"
        '<line class="track" x1="0" x2="100%" y1="15" y2="15"/>{1}</svg>'
    ).format(figures, pieces)
