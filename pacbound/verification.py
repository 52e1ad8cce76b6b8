"""`pacbound.verify`: the checker's verdict on a file; torch is imported for a checkpoint alone."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path

from pacbound.certificate.checker import Verdict, check_file
from pacbound.errors import BadInput

__all__ = ["verify"]


def verify(
    path: str | os.PathLike[str],
    max_risk: float = 1.0,
    checkpoint: str | os.PathLike[str] = "",
    max_class_risk: float = 1.0,
) -> Verdict:
    """Whether the certificate in a file proves its claims; `accepted`, or `reason` why not.

    Arguments:
        max_risk: Reject a larger bound on the error over all inputs, or none.
        checkpoint: Reject a certificate that is not for this checkpoint, or for this file of a
            fixed predictor.
        max_class_risk: Reject a larger bound for a true class, or a class without one.
    """
    for name, value in (("max_risk", max_risk), ("max_class_risk", max_class_risk)):
        if not 0 <= value <= 1:
            raise BadInput(f"{name} {value} is not in [0, 1]")
    most, of_classes = Decimal(repr(float(max_risk))), Decimal(repr(float(max_class_risk)))
    file = os.fspath(path)
    verdict = check_file(file, most, max_class_risk=of_classes)
    if not os.fspath(checkpoint) or verdict.certificate is None:
        return verdict
    if "posterior" not in verdict.certificate.model:
        return check_file(file, most, os.fspath(checkpoint), of_classes)
    from pacbound.training.model_digest import model_digest

    try:
        digest = model_digest(Path(checkpoint))
    except BadInput as error:
        return Verdict(False, reason=str(error), exit_code=2)
    if digest != verdict.certificate.model.sha256:
        return Verdict(False, reason=f"it is not for the posterior in {checkpoint}", exit_code=1)
    return verdict
