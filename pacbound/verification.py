"""`pacbound.verify`: the checker's verdict on a file. Only a checkpoint needs torch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from pacbound.certificate.checker import Verdict, check_file
from pacbound.errors import CertificateError, CheckpointError, FileError
from pacbound.policy import judge, read_policy

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["check_demands", "model_digest", "verify"]


def verify(
    path: str | os.PathLike[str],
    max_risk: float = 1.0,
    checkpoint: str | os.PathLike[str] = "",
    max_class_risk: float = 1.0,
    policy: str | os.PathLike[str] = "",
) -> Verdict:
    """Whether the certificate in a file proves its claims.

    An accepted verdict holds the `certificate`. A rejected one holds the number of the `check`
    that failed and the `reason`.

    Arguments:
        max_risk: Reject a certificate whose bound on the overall error is larger or missing.
        checkpoint: Reject a certificate that is not for the posterior in this file, or for the
            exported network.
        max_class_risk: Reject a certificate whose bound for a true class is larger or missing.
        policy: Reject a certificate that violates a rule of this policy; the reason names all.
    """
    for name, value in (("max_risk", max_risk), ("max_class_risk", max_class_risk)):
        if not 0 <= value <= 1:
            raise CertificateError(f"{name} {value} is not in [0, 1]")
    most, most_of_classes = (Decimal(repr(float(x))) for x in (max_risk, max_class_risk))
    verdict = check_demands(os.fspath(path), most, most_of_classes, checkpoint)
    if not policy:
        return verdict
    judged = judge(path, verdict, read_policy(policy))
    if not judged.violations:
        return verdict
    reasons = "; ".join(f"{each.rule}: {each.message}" for each in judged.violations)
    return Verdict(False, reason=reasons, exit_code=1)


def check_demands(
    path: str, max_risk: Decimal, max_class_risk: Decimal, checkpoint: str | os.PathLike[str]
) -> Verdict:
    """The verdict on a file, given the user's requirements."""
    verdict = check_file(path, max_risk, max_class_risk=max_class_risk)
    if not checkpoint or verdict.certificate is None or not verdict.accepted:
        return verdict
    certificate = verdict.certificate
    try:
        digest = model_digest(checkpoint, certificate["model"].get("source", ""))
    except CheckpointError:
        weights = certificate["evidence"].get("weights_sha256") if "evidence" in certificate else ""
        known = {certificate["model"]["sha256"], weights}
        digest = _network_digest(Path(checkpoint), known)
        if digest in known:
            return verdict
    return check_file(path, max_risk, max_class_risk=max_class_risk, model_sha256=digest)


def model_digest(path: str | os.PathLike[str], source: str = "") -> str:
    """The value of `model.sha256` for a file: of a checkpoint's posterior, or of the file's bytes.

    Arguments:
        source: The source of a fixed predictor: the centre of the checkpoint's learned prior, the
            tensors of a module's state dict, or a file of any other kind.
    """
    from pacbound.files import file_digest

    # Pipes and devices may never end, or never start.
    if os.path.exists(path) and not os.path.isfile(path):
        raise FileError(f"{path} cannot be read: it is not a regular file")
    try:
        with open(path, "rb") as stream:
            is_archive = stream.read(2) == b"PK"  # as torch saves tensors
        if not is_archive or source in ("estimator", "onnx", "predictions"):
            return file_digest(Path(path))
    except OSError as error:
        raise CertificateError(f"{path} cannot be read: {error.strerror}") from error
    from pacbound.training.checkpoints import Checkpoint

    if source == "module":
        from pacbound.fixed.weights import read_weights

        return _digest(Path(path), read_weights(Path(path)))
    checkpoint = Checkpoint.load(Path(path))
    if source == "centre" and checkpoint.learned_prior is not None:
        return checkpoint.learned_prior.sha256
    return _digest(Path(path), checkpoint.posterior)


def _network_digest(path: Path, known: set[str]) -> str:
    """The digest of an exported network; a known one, if the counters of normalisations decide.

    Valid when: the network has no shared tensors. Otherwise the digest is never a known one.
    """
    from pacbound.fixed.weights import read_weights
    from pacbound.networks.values import COUNTER
    from pacbound.predictors.export import EXTRACTOR

    tensors = read_weights(path)
    counted = {name: x for name, x in tensors.items() if name.rpartition(".")[2] != COUNTER}
    whole, digest = _digest(path, tensors), _digest(path, counted)
    if {whole, digest} & known:
        return whole if whole in known else digest
    if any(name.startswith(EXTRACTOR) for name in tensors):
        raise CheckpointError(
            f"{path} contains an extractor, which cannot be compared without its module: give the "
            "checkpoint, or export the network without the extractor"
        )
    return digest


def _digest(path: Path, tensors: Mapping[str, Tensor]) -> str:
    from pacbound.networks.digests import tensors_digest

    try:
        return tensors_digest(tensors)
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from error
