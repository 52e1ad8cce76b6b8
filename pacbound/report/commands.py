"""The commands that change one thing of a certificate and keep the rest.

They repeat what the certificate's own commands said: the checkpoint, δ, the claims, and what its
ledger declares. Without these a suggestion would be for another claim, or would not be paid for.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import PurePath

from pacbound.certificate.format import Certificate
from pacbound.predictors import Predictor, predictor_of

__all__ = ["certify_command", "train_command"]

CHECKPOINT = "CKPT"  # where no command names it: it was certified in Python
DELTA = "0.035"  # the default of `pacbound certify`
KEPT = (
    "delta",
    "claims",
    "groups",
    "cost",
    "answer-above",
    "copies",
    "inequality",
    "model",
    "data",
)
OF_SAMPLING = ("draws", "weights", "samples", "kl-tail", "risk-limit")
CLAIMS = {"all": "overall", "true-class": "per-class"}  # by subject; others have the same name
Options = Mapping[str, str]


def certify_command(
    certificate: Certificate,
    changes: Options,
    predictor: Predictor | None = None,
    again: bool = False,
) -> str:
    """`pacbound certify …` for the same claims, with some options changed.

    Arguments:
        changes: Options by name; an empty text for a flag.
        predictor: Another predictor than the certificate's.
        again: Whether for the checkpoint that `train_command` writes.
    """
    own = predictor_of(certificate)
    checkpoint, options = _said(certificate)
    if again:
        checkpoint = _trained_again(certificate)
    wanted = predictor or own
    if wanted is not own:
        options.pop("inequality", None)
    if not wanted.sampled:
        options = {name: value for name, value in options.items() if name not in OF_SAMPLING}
    options |= _declared(certificate)
    if "place" in changes:
        options.pop("certificates", None)
    words = ["pacbound", "certify", checkpoint]
    is_default = certificate.made.settings.get("predictor", "gibbs") == wanted.name
    if again or not (wanted.is_default and is_default):
        words += wanted.options.split()
    for name, value in {**options, **changes}.items():
        words += [f"--{name}", value] if value else [f"--{name}"]
    return shlex.join(words)


def train_command(certificate: Certificate, changes: Options) -> str:
    """`pacbound train …` of another prior, to another file."""
    words = _words(certificate.made.training_command)
    if words[:2] != ["pacbound", "train"] or "-o" not in words[:-1]:
        words = ["pacbound", "train", certificate.model.recipe or "RECIPE"]
    else:
        place = words.index("-o") + 1
        path = PurePath(words[place])
        words[place] = str(path.with_name(f"{path.stem}-again{path.suffix}"))
    for name, value in changes.items():
        words += [f"--{name}", value]
    return shlex.join(words)


def _trained_again(certificate: Certificate) -> str:
    """The checkpoint that `train_command` writes."""
    words = _words(train_command(certificate, {}))
    return words[words.index("-o") + 1] if "-o" in words else CHECKPOINT


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # any text may be in a certificate
        return []


def _said(certificate: Certificate) -> tuple[str, dict[str, str]]:
    """The checkpoint and the options that the certificate's command named."""
    words = _words(certificate.made.command)
    if words[:2] != ["pacbound", "certify"] or len(words) < 3 or words[2].startswith("-"):
        return CHECKPOINT, _shown(certificate)
    options = {}
    for word, following in zip(words[3:], [*words[4:], ""], strict=True):
        name, equals, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and name in (*KEPT, *OF_SAMPLING):
            options[name] = value if equals else following
        elif word == "--allow-other-data":
            options[name] = ""
    return words[2], options


def _shown(certificate: Certificate) -> dict[str, str]:
    """The options that follow from the certificate's figures."""
    options = {}
    if str(certificate.delta) != DELTA:
        options["delta"] = str(certificate.delta)
    subjects = dict.fromkeys(claim.subject for claim in certificate.claims)
    if list(subjects) != ["all"] and not set(subjects) - {"all", "true-class", "predicted-class"}:
        options["claims"] = ",".join(CLAIMS.get(each, each) for each in subjects)
    if certificate.data.copies == "independent":
        options["copies"] = "independent"
    return options


def _declared(certificate: Certificate) -> dict[str, str]:
    """What the user declared in the ledger."""
    user, counted = certificate.ledger.user, certificate.ledger.certificates
    declared = {}
    if user.candidates > 1:
        declared["candidates"] = str(user.candidates)
    if user.looks:
        declared["looks"] = str(user.looks)
    if counted.counted == "place":
        declared["place"] = str(counted.number)
    elif counted.number > 1:
        declared["certificates"] = str(counted.number)
    return declared
