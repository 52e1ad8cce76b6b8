"""Predictions of an evaluation, each kept in a file until the evaluation is complete."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pacbound.data.npz import UNREADABLE, read_all_arrays
from pacbound.errors import PacboundError
from pacbound.files import write_whole
from pacbound.predict.metrics import Entropies
from pacbound.predict.predictor import Prediction

__all__ = ["Kept"]


class Kept:
    """The predictions of one checkpoint: what was predicted before a kill is not predicted again.

    Arguments:
        folder: The place of the files.
        identity: The checkpoint and the number of networks. Files of another one are ignored.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        self.folder, self.identity = folder, identity

    def __call__(self, name: str, predict: Callable[[], Prediction]) -> Prediction:
        """The prediction of this name, from its file or made now."""
        path = self.folder / f"{name}.npz"
        found = self._read(path)
        if found is not None:
            return found
        made = predict()
        arrays = {
            "identity": np.array(self.identity),
            "probabilities": made.probabilities,
            "aleatoric": made.entropies.aleatoric,
            "samples": np.array(made.samples),
        }
        self.folder.mkdir(exist_ok=True)
        write_whole(path, lambda stream: np.savez(stream, **arrays))  # type: ignore[arg-type]
        return made

    def _read(self, path: Path) -> Prediction | None:
        try:
            arrays = read_all_arrays(path)
            if str(arrays["identity"]) != self.identity:
                return None
            mean = arrays["probabilities"]
            entropies = Entropies.of(mean, arrays["aleatoric"])
            return Prediction(mean, entropies, int(arrays["samples"]))
        except (*UNREADABLE, PacboundError):  # predicted again
            return None

    def discard(self) -> None:
        """Remove the files."""
        shutil.rmtree(self.folder, ignore_errors=True)
