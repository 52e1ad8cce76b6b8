"""A first policy, written from the certificates that are there, for a person to edit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal

from pacbound.errors import PolicyError
from pacbound.policy.rules import Record

__all__ = ["first_policy"]

HEAD = """\
# What certificates must show before a build passes:
#
#   pacbound verify {certificates} --policy {policy}
#
# Each of them is checked first, and a rejected certificate never passes. Bounds are those of the
# certificates, rounded up to two digits: lower them as your models improve.

# Rules for every certificate ------------------------------------------------------------------

# The probability that a claim is false, at most.
max_delta: {max_delta}

# Kinds of predictors: gibbs, draw, vote-gibbs, vote-tandem, fixed.
predictors: [{predictors}]

# Kinds of priors: none, initialised, learned, elsewhere. What a prior from elsewhere was trained on
# is declared by its maker, and no check can see it.
priors: [{priors}]

# Adaptive looks at the counted examples, at most.
max_looks: {max_looks}

# The largest bounds of all, for certificates that are not named below.
{bounds}

# Rules for some certificates, by the name of their file ---------------------------------------
# A pattern such as "spam-*.json" works too. A rule here replaces the rule of the same name above. A
# pattern that no certificate matches is a violation: take it out with the certificate.
files:
"""

TAIL = """
# Other rules: max_group_risk, max_cost, min_coverage, max_answered_risk, max_candidates. Rates are
# from 0 to 1. By class or group: max_class_risk: {3: 0.2, 7: 0.25}. A claim that a rule limits and
# a certificate does not make is a violation, and so is a certificate that no rule sets a limit for.
"""


def first_policy(certificates: Mapping[str, Record], output: str) -> str:
    """The text of a policy that these certificates, which were accepted, keep.

    Arguments:
        certificates: Certificates by path.
        output: Where the policy will be, for its comments.
    """
    names = [os.path.basename(path) for path in certificates]
    for name in names:
        if names.count(name) > 1:
            raise PolicyError(f"two certificates are named {name}; write a policy for one folder")
    found = list(certificates.values())
    folders = {os.path.dirname(path) for path in certificates}
    shown = f"{next(iter(folders)) or '.'}/*.json" if len(folders) == 1 else "CERTIFICATES"
    head = HEAD.format(
        certificates=_plain(shown),
        policy=_plain(output),
        max_delta=max((c.delta for c in found), key=Decimal),
        predictors=", ".join(sorted({c.predictor for c in found})),
        priors=", ".join(sorted({c.prior.kind for c in found})),
        max_looks=max(c.ledger.recipe.looks + c.ledger.user.looks for c in found),
        bounds=_common(found),
    )
    sections = ["\n".join(_section(name, c)) for name, c in zip(names, found, strict=True)]
    return head + "\n\n".join(sections) + "\n" + TAIL


def _section(name: str, c: Record) -> list[str]:
    """The rules of one certificate; those that pin it are comments."""
    if '"' in name or "\\" in name or not name.isprintable():
        raise PolicyError(f"{name} cannot be named in a policy: rename the file")
    limits = _limits(c).items()
    rules = [f"    {rule}: {_rounded(bound):f}  # now {bound:f}" for rule, bound in limits]
    covered = [x for x in c.claims if x.loss == "abstention"]
    if covered:
        least = 1 - _rounded(Decimal(covered[0].bound))
        rules.append(f"    min_coverage: {least:f}  # now {1 - Decimal(covered[0].bound):f}")
    rules = rules or ["    max_delta: " + c.delta]
    return [
        f'  "{_pattern(name)}":',
        *rules,
        "    # To pin the model or the data; to forbid what is worse than a copy of this one:",
        f'    # model: "{c.model.sha256}"',
        f'    # data: "{c.data.sha256}"',
        f'    # baseline: {{certificate: "released/{name}", margin: 0.005}}',
    ]


def _common(certificates: list[Record]) -> str:
    """The rules for bounds that all certificates can keep, one on each line."""
    limits = [_limits(c) for c in certificates]
    shared = [rule for rule in limits[0] if all(rule in each for each in limits)]
    rules = [f"{rule}: {_rounded(max(each[rule] for each in limits)):f}" for rule in shared]
    return "\n".join(rules) or "# (None: they claim different things. Others need a pattern below.)"


def _limits(c: Record) -> dict[str, Decimal]:
    """The largest bound for each rule of one number that the certificate can keep."""
    bounds = {rule: [Decimal(x.bound) for x in claims] for rule, claims in _bounds(c).items()}
    return {rule: max(each) for rule, each in bounds.items() if each}


def _bounds(c: Record) -> dict[str, list[Record]]:
    """The claims that each rule of one number limits."""

    def claims(subject: str, loss: str = "zero-one") -> list[Record]:
        return [x for x in c.claims if (x.subject, x.loss) == (subject, loss)]

    classes = claims("true-class")
    return {
        "max_risk": claims("all"),
        "max_class_risk": classes if len(classes) == c.data.classes else [],
        "max_group_risk": claims("group"),
        "max_answered_risk": claims("answered"),
        "max_cost": claims("all", "cost"),
    }


def _rounded(bound: Decimal) -> Decimal:
    """Rounded up to two digits, at most 1."""
    places = bound.adjusted() - 1
    up = bound.quantize(Decimal(1).scaleb(places), ROUND_CEILING)
    return min(Decimal(f"{up.normalize():f}"), Decimal(1))


def _pattern(name: str) -> str:
    """The pattern that matches a name alone."""
    return "".join(f"[{x}]" if x in "*?[" else x for x in name)


def _plain(text: str) -> str:
    return "".join(x if x.isprintable() and x not in '"\\' else "?" for x in text)
