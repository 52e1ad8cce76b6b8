"""Policies: what a build demands of certificates. The standard library is enough to run them."""

from pacbound.policy.first import first_policy
from pacbound.policy.judging import Judged, Violation, judge, summary, unmatched
from pacbound.policy.reading import Policy, read_policy
from pacbound.policy.rules import RULES

__all__ = [
    "RULES",
    "Judged",
    "Policy",
    "Violation",
    "first_policy",
    "judge",
    "read_policy",
    "summary",
    "unmatched",
]
