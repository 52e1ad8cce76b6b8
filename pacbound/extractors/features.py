"""The features of a data set, computed once by a frozen extractor and kept in a file."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from pacbound.data.dataset import Dataset, as_floats, origin_flaw
from pacbound.data.npz import EXTRACTOR, EXTRACTOR_INPUTS, UNREADABLE
from pacbound.errors import DataError, FileError, ModuleError, SettingError
from pacbound.files import write_whole
from pacbound.memory import keeping_memory
from pacbound.networks.digests import module_digest

__all__ = ["Extracted", "Report", "extract", "remove_chunks", "save_features"]

BATCHES = 20  # in a chunk: at most so many are computed again after a kill
MATES = 8  # examples that are computed alone and together
TOLERANCE = 0.02  # of the spread of a feature: rounding in bfloat16 is below it
ROUNDING = 1e-4  # of the largest value of a feature

Report = Callable[[int, int], None]  # examples done, and all


@dataclass(frozen=True)
class Extracted:
    """The features as a data set, and the number of examples whose features were kept before."""

    data: Dataset
    kept: int


def extract(
    extractor: nn.Module,
    data: Dataset,
    origin: str,
    chunks: str | os.PathLike[str],
    batch: int = 50,
    report: Report = lambda done, total: None,
) -> Extracted:
    """The data set with the extractor's features as inputs, training and test.

    Finished chunks are kept in a folder, and a later call continues from there. Delete the folder
    once the features are saved.

    Valid when: the extractor saw neither the inputs nor the labels of the examples that a
    certificate counts. Nobody can check that; `origin` declares it.

    Arguments:
        extractor: It receives inputs as networks do: pixels in [0, 1], other numbers unchanged.
        origin: The data that the extractor was trained on.
        chunks: The folder of the finished chunks.
        batch: Examples that are computed together.
    """
    if not origin.strip():
        raise SettingError("an extractor needs an origin: the data that it was trained on")
    if flaw := origin_flaw(origin):
        raise SettingError(f"the origin {flaw}")
    if data.extractor_sha256:
        raise DataError(
            f"the inputs of '{data.name}' are features already; give an extractor that "
            "contains both networks, and the original data"
        )
    work = _Work(extractor.eval(), batch, Path(chunks))
    try:
        digest = module_digest(extractor)
    except ValueError as error:  # names or types that digests do not cover
        raise ModuleError(f"the extractor cannot be identified: {error}") from error
    _refuse_mates(work, data.train_inputs[:MATES])
    work.open(digest, data)
    total, done, kept = sum(map(len, _inputs(data))), 0, 0
    report(0, total)
    parts = []
    with keeping_memory():
        for name, inputs in zip(("train", "test"), _inputs(data), strict=True):
            found = []
            for first in range(0, len(inputs), work.chunk):
                rows = inputs[first : first + work.chunk]
                features, was_kept = work.features(f"{name}-{first:08d}.npy", rows)
                found.append(features)
                done += len(rows)
                kept += was_kept * len(rows)
                report(done, total)
            parts.append(np.concatenate(found) if found else None)
    train, test = parts
    assert train is not None  # a data set has examples
    made = replace(
        data,
        train_inputs=train,
        test_inputs=test,
        extractor_sha256=digest,
        extractor_origin=origin,
        extractor_inputs=data.input_shape,
    )
    return Extracted(made, kept)


def save_features(data: Dataset, path: str | os.PathLike[str]) -> None:
    """Write features as an `.npz` file that `pacbound train` and `certify` take."""
    arrays: dict[str, NDArray[Any]] = {"x": data.train_inputs, "y": data.train_labels}
    if data.test_inputs is not None and data.test_labels is not None:
        arrays |= {"x_test": data.test_inputs, "y_test": data.test_labels}
    texts = {name: np.array(getattr(data, name)) for name in EXTRACTOR}
    arrays[EXTRACTOR_INPUTS] = np.array(data.extractor_inputs, np.int64)
    if data.groups:
        texts["groups"] = np.array(data.groups)  # for certify --groups FILE.npz:groups
    write_whole(Path(path), lambda stream: np.savez(stream, **arrays, **texts))  # type: ignore[arg-type]


def _inputs(data: Dataset) -> tuple[NDArray[Any], NDArray[Any]]:
    """The training and the test inputs."""
    nothing = data.train_inputs[:0]
    return data.train_inputs, nothing if data.test_inputs is None else data.test_inputs


@dataclass
class _Work:
    """An extractor, and the folder of its finished chunks."""

    extractor: nn.Module
    batch: int
    folder: Path

    @property
    def chunk(self) -> int:
        return self.batch * BATCHES

    def open(self, digest: str, data: Dataset) -> None:
        """Begin, or continue if the folder has chunks of the same extractor, data and batches."""
        ours = {"extractor": digest, "data": _ordered_digest(data), "batch": self.batch}
        path = self.folder / "identity.json"
        try:
            if not path.exists():
                if self.folder.exists() and any(self.folder.iterdir()):
                    raise FileError(f"{self.folder} has other files; delete it")
                text = json.dumps(ours)
                write_whole(path, lambda stream: stream.write(text.encode()))
                return
            theirs = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FileError(f"cannot read {path}: {error}; delete {self.folder}") from error
        for what in ours:
            if not isinstance(theirs, dict) or theirs.get(what) != ours[what]:
                words = {"extractor": "another extractor", "data": "other data"}
                other = words.get(what, f"another {what} size")
                raise FileError(
                    f"{self.folder} has chunks of {other}; delete it, or choose another output"
                )
        self._refuse_other_code(_inputs(data)[0])

    def _refuse_other_code(self, inputs: NDArray[Any]) -> None:
        """The digest does not cover the code of `forward`: compare a batch with what was kept."""
        rows = inputs[: self.batch]
        first = self._read(self.folder / f"train-{0:08d}.npy", len(inputs[: self.chunk]))
        if first is not None and not np.array_equal(first[: len(rows)], self.batch_of(rows)):
            raise FileError(
                f"{self.folder} has other features than the extractor computes now (its code, "
                "torch or the machine is another one); delete it"
            )

    def features(self, name: str, inputs: NDArray[Any]) -> tuple[NDArray[np.float32], bool]:
        """The features of a chunk, and whether they were kept before."""
        path = self.folder / name
        kept = self._read(path, len(inputs))
        if kept is not None:
            return kept, True
        batches = range(0, len(inputs), self.batch)
        made = np.concatenate([self.batch_of(inputs[i : i + self.batch]) for i in batches])
        write_whole(path, lambda stream: np.save(stream, made, allow_pickle=False))
        return made, False

    @staticmethod
    def _read(path: Path, rows: int) -> NDArray[np.float32] | None:
        try:
            kept = np.load(path, allow_pickle=False)
        except FileNotFoundError:
            return None
        except UNREADABLE as error:
            raise FileError(f"cannot read {path}: {error}; delete it") from error
        if kept.dtype != np.float32 or kept.ndim < 2 or len(kept) != rows:
            raise FileError(f"{path} is not a chunk of features; delete it")
        found: NDArray[np.float32] = kept
        return found

    @torch.inference_mode()
    def batch_of(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """The features of one batch, as float32."""
        given = torch.from_numpy(np.ascontiguousarray(as_floats(inputs)))
        try:
            outputs = self.extractor(given)
        except Exception as error:  # user code may raise anything
            words = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            raise ModuleError(
                f"the extractor fails on inputs of shape {inputs.shape}: {words}"
            ) from error
        if not isinstance(outputs, torch.Tensor) or not outputs.is_floating_point():
            raise ModuleError("the extractor returns no tensor of real numbers")
        if outputs.dim() < 2 or len(outputs) != len(inputs) or not outputs.numel():
            raise ModuleError(
                f"the extractor returns shape {tuple(outputs.shape)} for {len(inputs)} inputs; "
                "give one row of features for each"
            )
        if not torch.isfinite(outputs).all():
            raise ModuleError("the extractor returns NaN or infinite features")
        features: NDArray[np.float32] = outputs.float().cpu().numpy()
        return features


def _refuse_mates(work: _Work, inputs: NDArray[Any]) -> None:
    """Refuse an extractor whose features of an input depend on the rest of its batch.

    The features of a new input would not be those of the counted examples.
    """
    together = work.batch_of(inputs)
    alone = np.concatenate([work.batch_of(inputs[i : i + 1]) for i in range(len(inputs))])
    spread = np.abs(alone - alone.mean(0)).max(0)
    allowed = TOLERANCE * spread + ROUNDING * np.abs(alone).max(0)
    if alone.shape != together.shape or (np.abs(alone - together) > allowed).any():
        raise ModuleError(
            "the extractor's features of an input depend on the other inputs of its batch (batch "
            "normalisation without running statistics?)"
        )


def _ordered_digest(data: Dataset) -> str:
    """The digest of all inputs and labels in their order."""
    digest = hashlib.sha256(f"{data.sha256}\n{data.digests.shape}\n".encode())
    digest.update(data.digests.tobytes())
    if data.test_inputs is not None and data.test_labels is not None:
        digest.update(f"{data.test_inputs.dtype} {data.test_inputs.shape}\n".encode())
        digest.update(np.ascontiguousarray(data.test_inputs).tobytes())
        digest.update(data.test_labels.tobytes())
    return digest.hexdigest()


def remove_chunks(folder: Path) -> None:
    """Delete the chunks of finished work."""
    with suppress(OSError):
        shutil.rmtree(folder)
