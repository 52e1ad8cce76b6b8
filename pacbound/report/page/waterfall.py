"""From the empirical risk to the bound, as a waterfall of bars.

Positions along the axis are in per cent of the width and text is in pixels, so the drawing fits any
width without distortion.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from pacbound.report.amounts import percent_up
from pacbound.report.page.axis import Axis, axis
from pacbound.report.terms import Term

__all__ = ["waterfall"]

ROW, BAR, ABOVE = 50, 16, 24  # pixels: a step, its bar, and the space above the bar
SHARE = 80.0  # per cent of the width, for the bars
SLIVER = 0.4  # per cent of the width: the smallest visible bar

# The colour of each step, defined in page.css.
KINDS = {
    "empirical risk": "risk",
    "observed mean cost": "risk",
    "observed abstention": "risk",
    "Monte Carlo allowance": "sampling",
    "confidence of the inequality": "confidence",
    "confidence of the limit": "confidence",
    "one draw from a posterior": "confidence",
    "Catoni's trade-off, fixed beforehand": "confidence",
    "KL(q‖p)": "kl",
    "KL, of pairs": "kl",
    "ln dq/dp of the draw": "kl",
    "ln dq/dp of the draw, and code": "kl",
    "Monte Carlo tail of the KL": "tail",
    "prior variance grid": "union",
    "prior's other choices": "union",
    "ledger": "ledger",
    "from networks to their vote": "vote",
}


def waterfall(steps: Sequence[Term]) -> Markup:
    """One bar per step and one for the bound. The titles of the bars hold the exact figures."""
    bound = steps[-1].total
    scale = axis(0.0, 100 * max(step.total for step in steps), 6)
    rows = [_step(place, step, scale) for place, step in enumerate(steps)]
    rows.append(_bound(len(steps), bound, scale))
    height = ROW * len(rows) + 20
    return Markup(
        '<svg class="waterfall" width="100%" height="{}" role="img" '
        'aria-label="From an empirical risk of {} % to a bound of {} %">{}{}</svg>'
    ).format(
        height,
        f"{100 * steps[0].total:.2f}",
        percent_up(bound),
        Markup().join(_tick(scale, value, height) for value in scale.ticks),
        Markup().join(rows),
    )


def _place(scale: Axis, value: float) -> float:
    """The position in per cent of the width, with space for figures on the right."""
    return SHARE * scale.part(value)


def _tick(scale: Axis, value: float, height: int) -> Markup:
    return Markup(
        '<line class="grid" x1="{0:.3f}%" x2="{0:.3f}%" y1="0" y2="{1}"/>'
        '<text class="tick" x="{0:.3f}%" y="{2}" text-anchor="{3}">{4} %</text>'
    ).format(
        _place(scale, value),
        height - 18,
        height - 4,
        "middle" if value else "start",
        scale.label(value),
    )


def _step(place: int, step: Term, scale: Axis) -> Markup:
    before, end = (_place(scale, 100 * x) for x in (step.total - step.adds, step.total))
    low, high = min(before, end), max(before, end)  # a log-density ratio may be negative
    low = max(min(low, high - SLIVER), 0.0)
    link = Markup('<line class="link" x1="{0:.3f}%" x2="{0:.3f}%" y1="{1}" y2="{2}"/>').format(
        end, ROW * place + ABOVE + BAR, ROW * (place + 1) + ABOVE
    )
    return link + _row(
        place,
        kind=KINDS.get(step.name, "other"),
        title=f"{step.name}: {step.amount}; adds {step.adds!r}, so far {step.total!r}",
        name=step.name,
        amount=step.amount if place else "",
        figure=_added(step.adds) if place else f"{100 * step.adds:.2f} %",
        start=low,
        end=high,
    )


def _added(part: float) -> str:
    return f"{100 * part:+.3f} %".replace("-", "−")


def _bound(place: int, bound: float, scale: Axis) -> Markup:
    return _row(
        place,
        kind="bound",
        title=f"certified bound: {bound!r}",
        name="certified bound",
        amount="",
        figure=f"≤ {percent_up(bound)} %",
        start=0.0,
        end=_place(scale, 100 * bound),
    )


def _row(place: int, **parts: str | float) -> Markup:
    top = ROW * place
    return Markup(
        '<g class="step {kind}"><title>{title}</title>'
        '<rect class="band" y="{top}" width="100%" height="{row}"/>'
        '<text x="0" y="{text}"><tspan class="name">{name}</tspan>'
        '<tspan class="amount" dx="8">{amount}</tspan></text>'
        '<rect class="bar" x="{start:.3f}%" width="{width:.3f}%" y="{bar}" height="{thick}" '
        'rx="2"/><text class="figure" x="{end:.3f}%" dx="7" y="{beside}">{figure}</text></g>'
    ).format(
        top=top,
        row=ROW,
        text=top + ABOVE - 7,
        bar=top + ABOVE,
        thick=BAR,
        beside=top + ABOVE + BAR - 3,
        width=float(parts["end"]) - float(parts["start"]),
        **parts,
    )
