"""The provenance of a certificate: digests, versions and commands."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from decimal import Decimal

from pacbound.certificate.format import Certificate
from pacbound.predictors import predictor_of
from pacbound.priors import prior_of
from pacbound.report.page.entry import Entry, Verified

__all__ = ["Provenance", "check_command", "delta_shares", "provenance"]

MOST = 200  # settings, and other facts, shown at most
SOURCES = {
    "centre": "the centre of a learned prior",
    "estimator": "an estimator in a file",
    "module": "a module of the user's",
    "onnx": "an ONNX file",
    "predictions": "a file of predictions",
}
COPIES = {
    "counted": "counted, nothing declared",
    "independent": "declared to be independent examples",
    "unknown": "not detectable: no content and no id",
}


@dataclass(frozen=True)
class Provenance:
    """Named texts: some to copy, some to read."""

    commands: dict[str, str]
    digests: dict[str, str]
    facts: dict[str, str]
    seconds: dict[str, float]  # the duration of commands
    choices: dict[str, str]  # of the prior
    settings: dict[str, str]


def check_command(entry: Entry) -> str:
    """The command that verifies a file again, whatever its name is."""
    return f"pacbound verify {shlex.quote(entry.path.as_posix())}"


def provenance(entry: Entry, verified: Verified) -> Provenance:
    """The digests to compare, and the commands that reproduce the certificate."""
    certificate = verified.certificate
    made, data, model = certificate.made, certificate.data, certificate.model
    commands = {"train": made.training_command, "certify": made.command}
    commands = {name: command for name, command in commands.items() if command}
    facts = {
        "predictor": predictor_of(certificate).title,
        "source": SOURCES.get(model.source or "", ""),
        "prior": prior_of(certificate).origin(certificate),
        "validation of the prior": _validation(certificate),
        "frozen parameters": str(model.frozen) if model.frozen else "",
        "exact copies": f"{data.duplicates} of {data.examples} examples, {COPIES[data.copies]}",
        "made": made.date,
    }
    for kept in (made.software, made.machine):
        facts |= {name: value for name, value in list(kept.items())[:MOST] if name not in facts}
    facts |= {f"prior: {name}": value for name, value in list(made.prior.items())[:MOST]}
    return Provenance(
        commands=commands | {"check": check_command(entry)},
        digests=_digests(entry, certificate),
        facts={name: value for name, value in facts.items() if value},
        seconds=_seconds(made.times),
        choices=_choices(certificate),
        settings=dict(list(made.settings.items())[:MOST]),
    )


def _validation(certificate: Certificate) -> str:
    validation = certificate.prior.validation
    if validation is None or not validation.examples:
        return ""
    return f"{validation.errors} errors in {validation.examples} examples"


def _digests(entry: Entry, certificate: Certificate) -> dict[str, str]:
    prior, evidence, model = certificate.prior, certificate.evidence, certificate.model
    named = {
        "this file": entry.sha256,
        "data": certificate.data.sha256,
        "groups": certificate.data.groups_sha256,
        "posterior" if model.posterior else "predictor": model.sha256,
        "structure of the module": model.structure_sha256,
        "prior": prior.sha256,
        "examples of the prior": prior.part.sha256 if prior.part else "",
        "drawn weights": evidence.weights_sha256 if evidence else "",
    }
    for claim in certificate.claims:
        if claim.cost is not None:
            named[f"cost “{claim.cost}”"] = claim.cost_sha256
    for extractor in model.extractors:
        named[f"extractor “{extractor.origin}”"] = extractor.sha256
    return {name: digest for name, digest in named.items() if digest}


def _seconds(times: dict[str, str]) -> dict[str, float]:
    """The entries that are numbers; the map may hold any text."""
    found = {}
    for name in ("train", "certify"):
        try:
            found[name] = float(times[name])
        except (KeyError, ValueError):
            continue
    return {name: value for name, value in found.items() if 0 <= value < 1e12}


def _choices(certificate: Certificate) -> dict[str, str]:
    """The prior's choices and variances, as text."""
    choices = certificate.prior.choices
    found = {}
    for name, value in vars(choices).items() if choices is not None else ():
        if name == "blocks":
            value = "; ".join(f"layer {x.layer}: {', '.join(map(str, x.sizes))}" for x in value)
        elif name == "widths" and value is not None:
            value = ", ".join(map(str, value)) or "the recipe's own"
        if value not in (None, ""):
            found[name.replace("_", " ")] = str(value)
    for place in (certificate.prior.variances or ())[:MOST]:
        at = f"index {place.index} of the grid" if place.value is None else f"{place.value}, given"
        found[f"variance of {place.name}"] = f"{at}, {place.parameters} parameters"
    return found


def delta_shares(certificate: Certificate) -> dict[str, str]:
    """The division of δ between inequalities and Monte Carlo; shares of claims are added."""
    claims, evidence = certificate.claims, certificate.evidence
    of = "" if len(claims) == 1 else f" of {len(claims)} claims"
    shares = {f"inequality{of}": sum((claim.delta for claim in claims), Decimal(0))}
    risk = sum((claim.delta_risk for claim in claims if claim.delta_risk), Decimal(0))
    if risk:
        shares[f"risk samples{of}"] = risk
    if evidence is not None and evidence.delta_kl is not None:
        shares["KL samples"] = evidence.delta_kl
    return {name: f"{share:f}" for name, share in shares.items()}
