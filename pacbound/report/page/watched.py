"""The part of a page about a certificate after deployment: what a monitor found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from pacbound.errors import MonitorError
from pacbound.monitoring import (
    Monitored,
    WatchedClaim,
    certificate_digest,
    load_monitored,
    watched_certificate,
)
from pacbound.report.evidence import claim_name, evidence, paths
from pacbound.report.page.axis import axis
from pacbound.report.page.curves import (
    FOOT,
    HEIGHT,
    MARGIN,
    TOP,
    WIDTH,
    Line,
    grid_of,
    path_of,
    scale_of,
)
from pacbound.report.page.entry import Entry
from pacbound.report.page.numbers import grouped

__all__ = ["evidence_plot", "with_monitors"]

KINDS = ("risk", "kl", "confidence", "union", "tail", "sampling")  # colours of lines


def with_monitors(entries: Sequence[Entry], states: Sequence[Path]) -> list[Entry]:
    """The entries, each with the state of its monitor; MonitorError for a state of none of them."""
    found = list(entries)
    for state in states:
        digest = watched_certificate(state)
        for place, entry in enumerate(found):
            if entry.verified is None:
                continue
            if certificate_digest(entry.verified.certificate) == digest:
                result = load_monitored(entry.verified.certificate, state)
                found[place] = replace(entry, verified=replace(entry.verified, monitored=result))
                break
        else:
            raise MonitorError(f"{state} is the state of a certificate that is not on the page")
    return found


def _urgency(each: WatchedClaim) -> tuple[bool, float]:
    return each.refuted_at is not None, each.log_evidence


def evidence_plot(result: Monitored) -> Markup:
    """Log10 of the evidence over the stream, of the claims nearest to an alarm."""
    alarm = math.log10(1 / result.claims[0].share)
    shown = sorted(result.claims, key=_urgency, reverse=True)[: len(KINDS)]
    drawn = {each.claim.key: paths(result, each) for each in shown}
    values = [value for path in drawn.values() for _, value in path]
    # Long after an alarm, or long below the bound, a line says nothing more.
    low, high = max(min(values), -2 * alarm), min(max(*values, alarm), 4 * alarm)
    across, up = axis(0.0, float(max(result.rows, 1))), axis(low, high, 4)
    lines, legend = Markup(), Markup()
    for each, kind in zip(shown, KINDS, strict=False):
        path = drawn[each.claim.key]
        places = [WIDTH * across.part(row) for row, _ in path]
        kept = [value if up.low <= value <= up.high else math.nan for _, value in path]
        lines += path_of(Line("", kind, kept, ""), places, up)
        legend += Markup('<span class="key {}">{} <b>{}</b></span> ').format(
            kind, claim_name(each), evidence(each.log_evidence)
        )
    level = HEIGHT * (1 - up.part(alarm))
    lines += Markup('<path class="line bound alarm" d="M0 {0:.1f}L{1} {0:.1f}"/>').format(
        level, WIDTH
    )
    legend += Markup('<span class="key bound">alarm at <b>{}</b></span>').format(
        grouped(round(1 / result.claims[0].share))
    )
    return Markup(
        '<figure class="curve"><figcaption>{legend}</figcaption>'
        '<div class="plot"><svg class="scale" width="{margin}" height="{height}" '
        'aria-hidden="true">{scale}</svg>'
        '<svg width="100%" height="{height}" role="img" aria-label="{label}">{grid}'
        '<svg y="{top}" width="100%" height="{plot}" viewBox="0 0 {wide} {plot}" '
        'preserveAspectRatio="none">{lines}</svg></svg></div></figure>'
    ).format(
        legend=legend,
        margin=MARGIN,
        height=TOP + HEIGHT + FOOT,
        scale=scale_of(up, "", "10^"),
        label=f"evidence against the claims over {result.rows} outcomes",
        grid=grid_of(across, up, ""),
        top=TOP,
        plot=HEIGHT,
        wide=WIDTH,
        lines=lines,
    )
