"""The rules of a policy: how each is written, and what a certificate must show to keep it.

A rule sees certificates that the checker has accepted, and no others. A claim that a rule limits
and the certificate does not make is a violation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from pacbound.errors import PolicyError, unknown_name
from pacbound.policy.yaml_subset import Node

__all__ = ["PREDICTORS", "PRIORS", "RULES", "Baseline", "Record", "Rule"]

# The words of the format.
PREDICTORS = ("gibbs", "draw", "vote-gibbs", "vote-tandem", "fixed")
PRIORS = ("none", "initialised", "learned", "elsewhere")

Record: TypeAlias = Any  # an accepted certificate, as the checker's verdict holds it
Read = Callable[[Node], Any]
Check = Callable[[Record, Any], str]  # what is wrong; empty if nothing is


@dataclass(frozen=True)
class Rule:
    """A rule: how its value is read, and how it is checked."""

    name: str
    meaning: str
    read: Read
    check: Check
    limits: bool = False  # whether it limits a bound on a risk or a cost


@dataclass(frozen=True)
class Baseline:
    """A certificate, which was checked, that others may not be worse than."""

    path: str
    file: str  # that path from here
    certificate: Record
    margin: Decimal


# How values are read -------------------------------------------------------------------------


def _rate(node: Node) -> Decimal:
    if not isinstance(node, Decimal) or not 0 <= node <= 1:
        raise PolicyError(f"must be a number from 0 to 1, not {_shown(node)}; 5 % is 0.05")
    return node


def _rates(node: Node) -> Decimal | dict[str, Decimal]:
    """One rate for all, or rates by name."""
    if not isinstance(node, dict):
        return _rate(node)
    if not node:
        raise PolicyError("has no entry; give one number for all, or numbers by name")
    return {name: _rate(each) for name, each in node.items()}


def _class_rates(node: Node) -> Decimal | dict[str, Decimal]:
    found = _rates(node)
    for name in found if isinstance(found, dict) else ():
        if not re.fullmatch("0|[1-9][0-9]*", name):
            raise PolicyError(f"must have the numbers of classes as names, not '{name}'")
    return found


def _count(node: Node) -> int:
    if not isinstance(node, Decimal) or node < 0 or node != node.to_integral_value():
        raise PolicyError(f"must be a whole number, not {_shown(node)}")
    return int(node)


def _digest(node: Node) -> str:
    if not isinstance(node, str) or not re.fullmatch("[0-9a-f]{64}", node):
        raise PolicyError(f"must be a SHA-256 of 64 digits 0-9a-f, not {_shown(node)}")
    return node


def _words(*valid: str) -> Read:
    def read(node: Node) -> tuple[str, ...]:
        items = node if isinstance(node, list) else [node]
        if not items:
            raise PolicyError("is an empty list, which allows nothing")
        for item in items:
            if item not in valid:
                raise PolicyError(
                    f"must be a list of words: {unknown_name('word', str(item), valid)}"
                )
        return tuple(map(str, items))

    return read


def _shown(node: Node) -> str:
    if isinstance(node, dict | list):
        return "a mapping" if isinstance(node, dict) else "a list"
    return f"'{node[:40]}'" if isinstance(node, str) else str(node)


# How certificates are checked ----------------------------------------------------------------


def _claims(c: Record, subject: str, loss: str = "zero-one") -> list[Record]:
    return [claim for claim in c.claims if (claim.subject, claim.loss) == (subject, loss)]


def _largest(found: dict[str, Decimal], most: Decimal, what: str) -> str:
    """What is wrong with bounds by name, if one of them is over the largest that is allowed."""
    over = sorted((name for name, bound in found.items() if bound > most), key=lambda n: -found[n])
    if not over:
        return ""
    more = f", and {len(over) - 1} more are over it" if len(over) > 1 else ""
    return f"the bound {found[over[0]]:f} for {what} {over[0]} is over {most:f}{more}"


def _limits(
    found: dict[str, Decimal], wanted: Decimal | dict[str, Decimal], what: str, none: str
) -> str:
    """What is wrong with bounds by name: missing ones, and the largest that is too large."""
    if isinstance(wanted, Decimal):
        return none or _largest(found, wanted, what)
    missing = [name for name in wanted if name not in found]
    if missing:
        return f"it makes no claim about {what} {missing[0]}"
    flaws = (_largest({name: found[name]}, most, what) for name, most in wanted.items())
    return "; ".join(filter(None, flaws))


def _single(c: Record, subject: str, loss: str, most: Decimal, what: str) -> str:
    claims = _claims(c, subject, loss)
    if not claims:
        return f"it makes no claim about {what}"
    bound = Decimal(claims[0].bound)
    return f"the bound {bound:f} of {what} is over {most:f}" if bound > most else ""


def _class_risk(c: Record, wanted: Any) -> str:
    found = {str(x["class"]): Decimal(x.bound) for x in _claims(c, "true-class")}
    few = len(found) < c.data.classes
    none = f"it claims the error of {len(found)} true classes of {c.data.classes}" if few else ""
    return _limits(found, wanted, "true class", none)


def _group_risk(c: Record, wanted: Any) -> str:
    found = {f"“{x.group}”": Decimal(x.bound) for x in _claims(c, "group")}
    named = {f"“{n}”": r for n, r in wanted.items()} if isinstance(wanted, dict) else wanted
    return _limits(found, named, "group", "" if found else "it makes no claim about groups")


def _cost(c: Record, wanted: Any) -> str:
    found = {f"“{x.cost}”": Decimal(x.bound) for x in _claims(c, "all", "cost")}
    named = {f"“{n}”": r for n, r in wanted.items()} if isinstance(wanted, dict) else wanted
    return _limits(found, named, "cost", "" if found else "it makes no claim about costs")


def _coverage(c: Record, least: Decimal) -> str:
    claims = _claims(c, "all", "abstention")
    if not claims:
        # A predictor that always answers covers everything.
        return "" if not c.model.answer_above else "it makes no claim about abstention"
    covered = 1 - Decimal(claims[0].bound)
    return (
        f"it answers at least {covered:f} of the inputs, under {least:f}" if covered < least else ""
    )


def _delta(c: Record, most: Decimal) -> str:
    return f"its delta {c.delta} is over {most:f}" if Decimal(c.delta) > most else ""


def _looks(c: Record, most: int) -> str:
    looks = c.ledger.recipe.looks + c.ledger.user.looks
    return f"it declares {looks} looks, over {most}" if looks > most else ""


def _candidates(c: Record, most: int) -> str:
    number = c.ledger.recipe.candidates * c.ledger.user.candidates
    return f"it declares {number} candidates, over {most}" if number > most else ""


def _predictor(c: Record, allowed: tuple[str, ...]) -> str:
    if c.predictor in allowed:
        return ""
    return f"its predictor is {c.predictor}, not one of {', '.join(allowed)}"


def _prior(c: Record, allowed: tuple[str, ...]) -> str:
    if c.prior.kind in allowed:
        return ""
    return f"its prior is {c.prior.kind}, not one of {', '.join(allowed)}"


def _model(c: Record, digest: str) -> str:
    """The certified model, or the network that was drawn from it."""
    drawn = c.get("evidence", {}).get("weights_sha256", "")
    if digest in (c.model.sha256, drawn):
        return ""
    return f"it is for another model, {c.model.sha256}"


def _data(c: Record, digest: str) -> str:
    return "" if c.data.sha256 == digest else f"it counts other data, {c.data.sha256}"


def _key(claim: Record) -> tuple[Any, ...]:
    names = ("subject", "loss", "cost", "cost_sha256", "class", "group")
    return tuple(claim.get(name) for name in names)


def _about(claim: Record) -> str:
    """A claim in a few words."""
    parts = [claim.subject.replace("-", " "), claim.get("class"), claim.get("group")]
    what = "error" if claim.loss == "zero-one" else claim.get("cost") or claim.loss
    return f"{what}, {' '.join(str(part) for part in parts if part is not None)}"


def _baseline(c: Record, baseline: Baseline) -> str:
    """Every claim of the baseline is made here too, not larger by more than the margin."""
    classes = baseline.certificate.data.classes
    if c.data.classes != classes:
        return f"{baseline.path} is for other data: {classes} classes, not {c.data.classes}"
    own = {_key(claim): Decimal(claim.bound) for claim in c.claims}
    flaws = []
    if Decimal(c.delta) > Decimal(baseline.certificate.delta):
        flaws.append(f"its delta {c.delta} is over {baseline.certificate.delta}")
    for claim in baseline.certificate.claims:
        most = Decimal(claim.bound) + baseline.margin
        bound = own.get(_key(claim))
        if bound is None:
            flaws.append(f"it does not make the claim about {_about(claim)}")
        elif bound > most:
            flaws.append(f"the bound {bound:f} of {_about(claim)} is over {most:f}")
    more = f", and {len(flaws) - 1} more" if len(flaws) > 1 else ""
    return f"worse than {baseline.path}: {flaws[0]}{more}" if flaws else ""


RULES = {
    rule.name: rule
    for rule in (
        Rule(
            "max_risk",
            "the largest bound on the error over all inputs",
            _rate,
            lambda c, most: _single(c, "all", "zero-one", most, "the error on all inputs"),
            limits=True,
        ),
        Rule(
            "max_class_risk",
            "the largest bound on the error of every true class; or by class, {3: 0.2}",
            _class_rates,
            _class_risk,
            limits=True,
        ),
        Rule(
            "max_group_risk",
            "the largest bound on the error in the worst group; or by group, {north: 0.1}",
            _rates,
            _group_risk,
            limits=True,
        ),
        Rule(
            "max_answered_risk",
            "the largest bound on the error among answered inputs",
            _rate,
            lambda c, most: _single(c, "answered", "zero-one", most, "the error on answers"),
            limits=True,
        ),
        Rule("min_coverage", "the least certified share of answered inputs", _rate, _coverage),
        Rule(
            "max_cost",
            "the largest bound on the mean cost; or by cost, {harm: 0.1}",
            _rates,
            _cost,
            limits=True,
        ),
        Rule("max_delta", "the largest probability that a claim is false", _rate, _delta),
        Rule("max_looks", "the most adaptive looks in the ledger", _count, _looks),
        Rule("max_candidates", "the most candidates in the ledger", _count, _candidates),
        Rule(
            "predictors",
            "the kinds of predictors that are allowed",
            _words(*PREDICTORS),
            _predictor,
        ),
        Rule("priors", "the kinds of priors that are allowed", _words(*PRIORS), _prior),
        Rule("model", "the SHA-256 of the model, or of the network drawn from it", _digest, _model),
        Rule("data", "the SHA-256 of the data", _digest, _data),
        # Its value is read in reading.py, which knows where the policy is.
        Rule(
            "baseline",
            "a certificate that it may not be worse than",
            lambda node: node,
            _baseline,
            limits=True,
        ),
    )
}
