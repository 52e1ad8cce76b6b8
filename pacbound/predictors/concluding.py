"""From counts to the certificate: compute every figure from the shown figures, then check."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from numbers import Integral
from typing import Any

from pacbound import __version__
from pacbound.bounds import binomial, codes
from pacbound.bounds.figures import mean_rate, nats_up
from pacbound.bounds.inequalities import INEQUALITIES
from pacbound.bounds.rounding import exact, precise
from pacbound.certificate import checker
from pacbound.certificate.format import (
    ALSO_NAMES,
    POSTERIORS,
    PREDICTORS,
    Also,
    Bound,
    Certificate,
    Certificates,
    Claim,
    Data,
    Ledger,
    Made,
    Model,
    Prior,
    Tried,
)
from pacbound.certificate.format import (
    INEQUALITIES as KNOWN_INEQUALITIES,
)
from pacbound.errors import SettingError, by_caller, unknown_name
from pacbound.predictors.base import Observed, Paid, Predictor, factor_of
from pacbound.predictors.evidence import tail_nats
from pacbound.predictors.words import sentence
from pacbound.printable import recordable

__all__ = [
    "conclude",
    "ensure_claimable",
    "ensure_inequality",
    "ensure_seen_is_paid",
    "ensure_validated",
    "new_ledger",
    "new_made",
]


def new_ledger(
    recipe: tuple[int, int] = (1, 0),
    candidates: int = 1,
    looks: int = 0,
    certificates: int = 1,
    place: int | None = None,
) -> Ledger:
    """The ledger of the candidates and looks of a recipe and a user.

    Arguments:
        recipe: The recipe's candidates and looks.
        certificates: The number of certificates to choose from, declared before the first was made.
        place: The position of this certificate in order of making, if no number was declared.
    """
    if place is not None and certificates != 1:
        raise SettingError("give the number of certificates or the place of this one, not both")
    first = 1 if place is None else place
    for name, value, least, most in (
        ("candidates", candidates, 1, 10**9),
        ("looks", looks, 0, 10**6),
        ("certificates", certificates, 1, 10**9),
        ("place", first, 1, 10**9),
    ):
        if not isinstance(value, Integral):
            raise SettingError(f"{name} must be a whole number, not {value!r:.40}")
        if not least <= value <= most:
            raise SettingError(f"{name} must be from {least} to {most}, not {value}")
    counted = "declared" if place is None else "place"
    number = certificates if place is None else place
    return Ledger(
        recipe=Tried(candidates=recipe[0], looks=recipe[1]),
        user=Tried(candidates=int(candidates), looks=int(looks)),
        certificates=Certificates(counted=counted, number=int(number)),
    )


def new_made(command: str = "", **changes: Any) -> Made:
    """How the certificate is made, on this machine."""
    made = Made(
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        command=command[:2000],
        training_command="",
        software={"pacbound": __version__, "python": platform.python_version()},
        machine={"processor": platform.machine(), "system": platform.system()},
        prior={},
        times={},
        settings={},
    )
    return replace(made, **changes)


def ensure_claimable(predictor: Predictor, claims: Sequence[Any]) -> None:
    """Refuse subjects and losses that a predictor does not support."""
    for claim in claims:
        if claim.subject not in predictor.subjects.get(claim.loss, ()):
            what = {"cost": "costs", "abstention": "abstention"}.get(
                claim.loss, f"the error given the {claim.subject}"
            )
            raise SettingError(
                f"{what} cannot be claimed for {predictor.name}; for the predictor draw or fixed "
                "it can"
            )


def ensure_inequality(predictor: Predictor, inequality: str) -> None:
    """Refuse an inequality that is not valid for a predictor."""
    valid = [name for name, each in predictor.inequalities.items() if each.is_selectable]
    if inequality and inequality not in valid:
        if any(name == inequality for _, name in INEQUALITIES):
            raise SettingError(
                f"inequality {inequality} is not for {predictor.name}: choose from "
                f"{', '.join(valid)}"
            )
        raise unknown_name("inequality", inequality, valid)


def ensure_validated(predictor: Predictor, inequality: str, validated: bool) -> None:
    """Refuse an inequality whose λ only a validation part of the prior fixes, if there is none."""
    if predictor.inequalities[inequality].needs_validation and not validated:
        raise SettingError(
            f"inequality {inequality} needs a prior with a validation part, which fixes its λ"
        )


def ensure_seen_is_paid(seen: bool, ledger: Ledger) -> None:
    """Refuse an inequality chosen among several seen bounds without paying for the choice.

    This includes the default inequality: it was kept because of what was seen.
    """
    if seen and ledger.user.candidates < 2:
        raise SettingError(
            "an inequality chosen after both bounds were seen is a further candidate: declare "
            f"{by_caller('--candidates 2', 'candidates=2')} or more"
        )


def conclude(
    predictor: Predictor,
    delta: Decimal,
    observed: Observed,
    data: Data,
    model: Model,
    prior: Prior,
    ledger: Ledger,
    inequality: str = "",
    seen: bool = False,
    made: Made | None = None,
) -> Certificate:
    """The certificate of the observations, as the checker accepts it.

    Arguments:
        inequality: An inequality other than the default, chosen before anything was sampled.
        seen: It was chosen after both bounds were seen; the ledger then declares the candidates.
    """
    ensure_inequality(predictor, inequality)
    ruled = predictor.rule(prior)
    chosen = inequality or ruled
    validated = prior.validation is not None and prior.validation.examples > 0
    ensure_validated(predictor, chosen, validated)
    selected = "rule" if chosen == ruled else "candidate" if seen else "beforehand"
    ensure_seen_is_paid(seen, ledger)
    with precise():
        factor = factor_of(ledger)
        cost = codes.ledger_cost(ledger.candidates, ledger.looks, exact(1))
        in_ledger = nats_up(cost if predictor.sampled else cost + factor.log())
        code = nats_up(_code(model, prior))
        claims = [replace(claim, empirical=mean_rate(claim.mean)) for claim in observed.claims]
        if predictor.sampled:
            from pacbound.predictors.gibbs import limit

            claims = [replace(claim, limit=limit(claim, factor)) for claim in claims]
        nats = observed.evidence.nats if observed.evidence is not None else Decimal(0)
        paid = Paid(nats, code, in_ledger, prior.validation)
        claims = [replace(claim, bound=predictor.bound(paid, claim, chosen)) for claim in claims]
        also = _also(predictor, paid, claims[0], chosen, observed, prior, delta, factor, validated)
    certificate = Certificate(
        sentence=" ",
        predictor=predictor.name,
        delta=delta,
        claims=tuple(claims),
        data=replace(data, name=recordable(data.name, 200) or "data"),
        model=model,
        prior=prior,
        ledger=ledger,
        evidence=observed.evidence,
        bound=Bound(inequality=chosen, selected=selected, code=code, ledger=in_ledger),
        also=also,
        seeds=observed.seeds,
        made=_recordable_made(made or new_made()),
    )
    words = sentence(certificate, predictor.over, predictor.who)
    certificate = replace(certificate, sentence=words)
    verdict = checker.verify(certificate.to_json().encode())
    if not verdict.accepted and (unknown := _unknown(certificate)):
        warnings.warn(
            f"no checker accepts this certificate: its format knows no {unknown}", stacklevel=2
        )
    elif not verdict.accepted:
        raise RuntimeError(f"the issuer and the checker disagree: {verdict.check} {verdict.reason}")
    return certificate


def _unknown(certificate: Certificate) -> str:
    """Names registered by a user that are on no list of the format."""
    model, bound = certificate.model, certificate.bound
    lists: tuple[tuple[str, str | None, Sequence[str]], ...] = (
        ("predictor", certificate.predictor, PREDICTORS),
        ("posterior", model.posterior, POSTERIORS),
        ("network", model.network, codes.NETWORKS),
        ("inequality", bound.inequality, KNOWN_INEQUALITIES),
    )
    found = [f"{kind} '{name}'" for kind, name, known in lists if name and name not in known]
    return ", ".join(found)


def _recordable_made(made: Made) -> Made:
    """The same, with names of files and settings made recordable."""

    def shown(value: Any) -> Any:
        if isinstance(value, str):
            return recordable(value)
        return {name: recordable(text) for name, text in value.items()}

    return Made(**{name: shown(value) for name, value in vars(made).items()})


def _code(model: Model, prior: Prior) -> Any:
    """The cost of the prior, as an interval."""
    choices: dict[str, Any] = {"network": model.network}
    if prior.choices is not None:
        choices |= vars(prior.choices)
        choices["blocks"] = tuple((block.layer, block.sizes) for block in prior.choices.blocks)
    indices = [place.index for place in prior.variances or () if place.index is not None]
    return codes.code_cost(prior.kind, model.recipe or "", choices, indices, exact(1))


def _also(
    predictor: Predictor,
    paid: Paid,
    claim: Claim,
    chosen: str,
    observed: Observed,
    prior: Prior,
    delta: Decimal,
    factor: Any,
    validated: bool,
) -> tuple[Also, ...]:
    """The values of other inequalities for the first claim, and the test set."""
    found = [
        Also(kind="inequality", name=name, value=predictor.bound(paid, claim, name))
        for name, inequality in predictor.inequalities.items()
        if name != chosen and name in ALSO_NAMES
        if validated or not inequality.needs_validation
    ]
    if observed.held_out is not None and predictor.held_out:
        errors, examples = observed.held_out
        upper = binomial.limit(errors, examples, (1 / exact(delta)).log())
        found.append(Also(kind="held-out", examples=examples, errors=errors, upper=upper))
    evidence = observed.evidence
    if evidence is not None and evidence.kind == "monte-carlo":
        nats = tail_nats(evidence, prior.variances or (), factor, "theorem3")
        found.append(Also(kind="theorem3", nats=nats))
    return tuple(found)
