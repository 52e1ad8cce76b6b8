"""Where a certificate comes from: digests, versions and commands."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from pacbound.certificate.format import Center, LearnedCenter, WholeSetRisk
from pacbound.report.page.entry import Entry, Verified
from pacbound.report.page.numbers import compact

__all__ = ["Provenance", "check_command", "provenance"]

MOST_SETTINGS = 200  # a file may have any number


@dataclass(frozen=True)
class Provenance:
    """Texts by their names: some to copy, some to read."""

    commands: dict[str, str]
    digests: dict[str, str]
    facts: dict[str, str]
    seconds: dict[str, float]  # that commands took
    settings: dict[str, str]


def _center(center: Center | LearnedCenter) -> str:
    if isinstance(center, LearnedCenter):
        return f"learned from {center.learned_from} of {center.examples} examples"
    return f"{center.initializer}, seed {center.seed}"


def check_command(entry: Entry) -> str:
    """What checks a file again, whatever its name is."""
    return f"pacbound verify {shlex.quote(entry.path.as_posix())}"


def provenance(entry: Entry, verified: Verified) -> Provenance:
    """What to compare a file with, and what would make it again."""
    certificate = verified.certificate
    made, center, risk = certificate.made, certificate.prior.center, certificate.risk
    digests = {
        "this file": entry.sha256,
        "data": certificate.data.sha256,
        "checkpoint": certificate.model.checkpoint_sha256,
        "prior": center.sha256,
    }
    if isinstance(center, LearnedCenter):
        digests["examples of the prior"] = center.examples_sha256
        digests["split"] = center.split_sha256
    if isinstance(risk, WholeSetRisk):
        digests["drawn weights"] = risk.weights_sha256
    return Provenance(
        commands={
            "train": made.training_command,
            "certify": made.command,
            "check": check_command(entry),
        },
        digests=digests,
        facts={
            "prior's centre": _center(center),
            "made": made.date,
            "pacbound": made.pacbound,
            "Python": made.python,
            "torch": made.torch,
            "random numbers": certificate.seeds.derivation,
        },
        seconds={"certify": made.seconds}
        | ({} if made.training_seconds is None else {"train": made.training_seconds}),
        settings={
            name: compact(value) for name, value in list(made.settings.items())[:MOST_SETTINGS]
        },
    )
