"""The page as one file with its text, style and scripts. It loads nothing from elsewhere."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pacbound import __version__
from pacbound.printable import printable
from pacbound.report.amounts import duration, percent, percent_up
from pacbound.report.evidence import claim_name, conclusion, evidence, percent_down, progress
from pacbound.report.ledger import ledger_lines
from pacbound.report.page import comparison
from pacbound.report.page.claim_bar import claim_bar
from pacbound.report.page.columns import COLUMNS, FILTERS
from pacbound.report.page.curves import curves
from pacbound.report.page.entry import Entry
from pacbound.report.page.interval_bar import interval_bar
from pacbound.report.page.numbers import compact, grouped
from pacbound.report.page.policy import content_policy, read_part
from pacbound.report.page.provenance import check_command, delta_shares, provenance
from pacbound.report.page.summary import Summary, summarise
from pacbound.report.page.watched import evidence_plot
from pacbound.report.page.waterfall import waterfall

__all__ = ["document"]

# Scripts that check the certificates again in the reader's browser.
RECHECKING = ("verifier.js", "recheck.js")

STATUSES = ("rejected", "unreadable", "vacuous", "verified")  # problems come first


def document(
    entries: Sequence[Entry], others: Sequence[Path] = (), checked: datetime | None = None
) -> str:
    """The page about some files, as HTML."""
    summaries = [summarise(entry) for entry in entries]
    style = read_part("page.css")
    again = any(entry.verified for entry in entries)
    scripts = [read_part(name) for name in ("page.js", *(RECHECKING if again else ()))]
    counts = Counter(entry.status for entry in entries)
    return (
        _environment()
        .get_template("page.html")
        .render(
            policy=content_policy(style, scripts),
            style=style,
            scripts=scripts,
            version=__version__,
            checked=(checked or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC"),
            pairs=sorted(
                zip(entries, summaries, strict=True),
                key=lambda pair: (STATUSES.index(pair[0].status) // 2, pair[1].risk_bound or 0),
            ),
            counts={status: counts[status] for status in STATUSES},
            others=others,
            columns=[c for c in COLUMNS if any(getattr(r, c.field) is not None for r in summaries)],
            papers=any(row.paper_bound is not None for row in summaries),
            tests=any(row.test_error is not None for row in summaries),
            filters={name: _options(summaries, name) for name in FILTERS},
            most=max((_widest(row) for row in summaries), default=1.0) or 1.0,
            embedded=_embedded(summaries),
        )
    )


@cache  # compiling the templates takes longer than a page
def _environment() -> Environment:
    """Make every value printable, then escape it."""
    environment = Environment(
        loader=PackageLoader("pacbound.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    filters = (compact, duration, grouped, percent, printable)
    parts = (
        check_command,
        claim_bar,
        claim_name,
        conclusion,
        curves,
        delta_shares,
        evidence,
        evidence_plot,
        interval_bar,
        ledger_lines,
        percent_down,
        percent_up,
        progress,
        provenance,
        rechecked,
        waterfall,
    )
    environment.filters |= {function.__name__: function for function in filters}
    environment.globals |= {function.__name__: function for function in parts}
    environment.globals["comparison"] = comparison
    return environment


def _shown(value: Any) -> Any:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def rechecked(entry: Entry) -> Markup:
    """The bytes of an accepted certificate in base64, for the page to check again.

    The checker in the browser sees exactly the bytes that were checked here. Base64 contains
    nothing that could end the HTML block. As markup, it is not truncated.
    """
    content = b"" if entry.verified is None else entry.verified.content
    return Markup(base64.b64encode(content).decode("ascii"))


def _embedded(summaries: Sequence[Summary]) -> Markup:
    """JSON in which no HTML parser can find an end tag or a comment."""
    rows = [
        {
            name: printable(value) if isinstance(value, str) else value
            for name, value in dataclasses.asdict(row).items()
        }
        for row in summaries
    ]
    text = json.dumps(rows, allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _options(summaries: Sequence[Summary], name: str) -> list[str]:
    return sorted({value for row in summaries if (value := getattr(row, name)) is not None})


def _widest(row: Summary) -> float:
    return max(row.risk_bound or 0.0, row.paper_bound or 0.0, row.test_error or 0.0)
