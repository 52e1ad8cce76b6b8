"""The digest by which certificates name the posterior in a checkpoint."""

from __future__ import annotations

from pathlib import Path

from pacbound.networks.digests import tensors_digest
from pacbound.training.checkpoints import Checkpoint

__all__ = ["model_digest"]


def model_digest(path: Path) -> str:
    """`model.sha256` of the certificates of a checkpoint: of its posterior's tensors alone."""
    return tensors_digest(Checkpoint.load(path).posterior)
