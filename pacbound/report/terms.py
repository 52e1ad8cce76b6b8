"""The terms of a bound: how much each one adds."""

from __future__ import annotations

from dataclasses import replace

from pacbound import predictors
from pacbound.certificate.format import Certificate, Claim
from pacbound.predictors import Term

__all__ = ["Term", "observed", "principal", "terms"]


def principal(certificate: Certificate) -> Claim:
    """The claim on the overall error; without one, the first on an error or a cost."""
    errors = [claim for claim in certificate.claims if claim.loss != "abstention"]
    return certificate.overall or next(iter(errors), certificate.claims[0])


def observed(claim: Claim) -> float:
    """The mean loss on the counted examples: counted, or estimated by Monte Carlo."""
    return float(claim.mean)


def terms(certificate: Certificate, claim: Claim | None = None) -> list[Term]:
    """The steps from the observed risk to the bound of a claim, by default the principal one.

    The last step ends at the certificate's own figure, which is rounded up.
    """
    claim = claim or principal(certificate)
    *steps, last = predictors.terms(certificate, claim)
    bound = float(claim.bound)
    return [*steps, replace(last, adds=bound - (last.total - last.adds), total=bound)]
