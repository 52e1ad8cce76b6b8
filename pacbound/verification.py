"""`pacbound.verify`: the checker's verdict on a file, without torch."""

from __future__ import annotations

import os
from decimal import Decimal

from pacbound.certificate.checker import Verdict, check_file
from pacbound.errors import BadInput

__all__ = ["verify"]


def verify(
    path: str | os.PathLike[str],
    max_risk: float = 1.0,
    checkpoint: str | os.PathLike[str] = "",
    max_class_risk: float = 1.0,
) -> Verdict:
    """Whether the certificate in a file proves its claims.

    The verdict is `accepted` and has the `certificate`, or it has the number of the `check` that
    failed and the `reason`.

    Arguments:
        max_risk: Reject a larger bound on the error, or a certificate without one.
        checkpoint: Reject a certificate that is not for this file.
        max_class_risk: Reject a larger bound on the error given a true class, or a class without.
    """
    for name, most in (("max_risk", max_risk), ("max_class_risk", max_class_risk)):
        if not 0 <= most <= 1:
            raise BadInput(f"{name} {most} is not in [0, 1]")
    return check_file(
        os.fspath(path),
        Decimal(repr(float(max_risk))),
        os.fspath(checkpoint),
        Decimal(repr(float(max_class_risk))),
    )
