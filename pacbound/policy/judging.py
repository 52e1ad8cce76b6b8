"""Certificates under a policy: each is checked, then held against the rules."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pacbound.certificate.checker import Verdict
from pacbound.policy.reading import Policy
from pacbound.policy.rules import RULES, Baseline
from pacbound.printable import printable

__all__ = ["Judged", "Violation", "judge", "summary", "unmatched"]

UNLIMITED = "no rule for a bound"


@dataclass(frozen=True)
class Violation:
    """A rule that a certificate does not keep."""

    rule: str
    message: str


@dataclass(frozen=True)
class Judged:
    """A certificate, the checker's verdict, and the rules that it violates."""

    path: str
    verdict: Verdict
    rules: tuple[str, ...]
    violations: tuple[Violation, ...]

    @property
    def passed(self) -> bool:
        """Whether the certificate is valid and keeps every rule."""
        return self.verdict.accepted and not self.violations

    @property
    def exit_code(self) -> int:
        """0: it passes; 1: it is rejected or violates a rule; 2: it cannot be read."""
        return max(self.verdict.exit_code, 0 if self.passed else 1)

    def lines(self) -> list[str]:
        """The verdict; or one line for each violated rule."""
        if not self.violations:
            return [self.verdict.line(self.path)]
        return [
            printable(f"VIOLATED {self.path}: {each.rule}: {each.message}")
            for each in self.violations
        ]

    def fields(self) -> dict[str, Any]:
        """The result for other programs."""
        return {
            "file": self.path,
            "passed": self.passed,
            "valid": self.verdict.accepted,
            **{n: x for n, x in self.verdict.fields().items() if n not in ("accepted",)},
            "rules": list(self.rules),
            "violations": [vars(each) for each in self.violations],
        }


def judge(path: str | os.PathLike[str], verdict: Verdict, policy: Policy) -> Judged:
    """Hold an accepted certificate against the rules for its file; a rejected one never passes."""
    rules = policy.rules_for(path)
    violations = []
    if verdict.accepted and verdict.certificate is not None:
        for name, value in rules.items():
            message = RULES[name].check(verdict.certificate, value)
            if isinstance(value, Baseline) and os.path.samefile(value.file, path):
                message = "the baseline is this certificate itself; keep a copy elsewhere"
            if message:
                violations.append(Violation(name, message))
        if not any(RULES[name].limits for name in rules):
            violations.append(Violation(UNLIMITED, _unlimited()))
    return Judged(os.fspath(path), verdict, tuple(rules), tuple(violations))


def _unlimited() -> str:
    names = ", ".join(rule.name for rule in RULES.values() if rule.limits)
    return f"nothing in the policy limits the risk of this file; give it one of {names}"


def unmatched(policy: Policy, paths: Sequence[str | os.PathLike[str]]) -> dict[str, str]:
    """Patterns that none of these files match, each with a line that says so.

    A certificate that is missing, or was renamed, would otherwise pass unseen.
    """
    return {
        pattern: printable(
            f"VIOLATED {policy.path}: files: no certificate that was given matches '{pattern}'"
        )
        for pattern in policy.files
        if not any(policy.matches(path, pattern) for path in paths)
    }


def summary(
    policy: Policy, judged: Sequence[Judged], patterns: Iterable[str] = ()
) -> dict[str, Any]:
    """All results for a build: whether everything passed, and why not.

    Arguments:
        patterns: Those that should have matched a file, and match none.
    """
    missing = list(patterns)
    return {
        "policy": policy.path,
        "passed": all(each.passed for each in judged) and not missing,
        "unmatched": missing,
        "certificates": [each.fields() for each in judged],
    }
