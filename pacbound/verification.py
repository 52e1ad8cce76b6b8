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
) -> Verdict:
    """Whether the certificate in a file proves its claim; `accepted`, or `reason` why not.

    Arguments:
        max_risk: Reject a larger bound.
        checkpoint: Reject a certificate that is not for this file.
    """
    if not 0 <= max_risk <= 1:
        raise BadInput(f"max_risk {max_risk} is not in [0, 1]")
    return check_file(os.fspath(path), Decimal(repr(float(max_risk))), os.fspath(checkpoint))
