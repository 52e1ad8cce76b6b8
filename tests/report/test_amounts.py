"""Percentages and durations in words."""

from __future__ import annotations

from pacbound.report.amounts import duration


def test_duration_in_words() -> None:
    assert [duration(s) for s in (None, 0.4, 99, 100, 3600, 50_000)] == [
        "unknown time",
        "0 s",
        "99 s",
        "2 min",
        "1 h 00 min",
        "13 h 53 min",
    ]
