"""Run a predictor on examples: a callable, an estimator, a torch module or an ONNX graph.

The outputs must be a function of each example alone: the risk of anything else is not defined by
one example. A few examples are run again, one by one, and must give the same.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data.dataset import as_floats
from pacbound.errors import ModuleError, PacboundError
from pacbound.files import file_digest
from pacbound.fixed.predictions import array_digest

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Ran", "run_callable", "run_estimator", "run_module", "run_onnx"]

ROWS = 500  # examples at a time
FEW = 8  # examples that are run again, one by one
TOLERANCE = 1e-3  # relative to the largest output; another order of float32 sums differs far less


@dataclass(frozen=True, eq=False)
class Ran:
    """What a predictor gave, and what tells it from others.

    Arguments:
        values: Scores (n, classes) or classes (n,), as it gave them.
        source: estimator, module, onnx or predictions.
        names: Its classes, in the order of the scores; None if they are 0, 1, ….
        decided: Its predicted classes, if they are not those of the largest scores.
    """

    values: NDArray[Any]
    source: str
    sha256: str
    names: list[Any] | None = None
    decided: NDArray[Any] | None = None
    software: dict[str, str] = field(default_factory=dict)


def run_callable(function: Callable[[Any], Any], inputs: Any, file: Path | None) -> Ran:
    """A function of a batch of inputs. Without a file, its predictions are its identity."""
    values = _in_parts(function, inputs, "the predictor")
    if file is not None:
        return Ran(values, "estimator", file_digest(file))
    return Ran(values, "predictions", array_digest(values))


def run_estimator(estimator: Any, inputs: Any, file: Path | None) -> Ran:
    """A fitted scikit-learn classifier, by its probabilities if it has them."""
    what = type(estimator).__name__
    # First: trees of nearest neighbours count how often they are used.
    digest = _pickle_digest(estimator) if file is None else file_digest(file)
    names = getattr(estimator, "classes_", None)
    decided = _in_parts(estimator.predict, inputs, what)
    values = decided
    if hasattr(estimator, "predict_proba") and names is not None:
        values = _in_parts(estimator.predict_proba, inputs, what)
    package = type(estimator).__module__.partition(".")[0]
    version = getattr(importlib.import_module(package), "__version__", "")
    listed = None if names is None else list(names)
    return Ran(values, "estimator", digest, listed, decided, {package: str(version)})


class _Canonical(pickle.Pickler):
    """Pickles equal estimators to equal bytes.

    An ordinary pickle also depends on which equal parts are one object, on the order in which an
    array is stored, and on the padding between its fields. These differ between an estimator and
    its copy from a file.
    """

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, 4)
        self.fast = True  # write every part in full

    def reducer_override(self, part: Any) -> Any:
        if not isinstance(part, np.ndarray) or part.dtype.hasobject:
            return NotImplemented
        if part.dtype.names:
            return tuple, ([part[name] for name in part.dtype.names],)
        return tuple, ([part.dtype.str, part.shape, part.tobytes()],)


def _pickle_digest(estimator: Any) -> str:
    """The digest of the estimator's pickle, the same for its copies from files."""
    stream = io.BytesIO()
    try:
        _Canonical(stream).dump(estimator)
    except Exception as error:  # user code may raise anything
        raise ModuleError(
            f"{type(estimator).__name__} cannot be pickled ({_words(error)}): give the file in "
            "which it is kept with file="
        ) from error
    return hashlib.sha256(stream.getvalue()).hexdigest()


def run_module(module: nn.Module, inputs: NDArray[Any]) -> Ran:
    """A torch module in evaluation mode. Bytes are divided by 255, as in training."""
    import torch

    from pacbound.networks.digests import tensors_digest

    state = module.state_dict()
    where = next((value for value in state.values() if value.is_floating_point()), torch.zeros(1))

    def run(part: NDArray[Any]) -> NDArray[Any]:
        plain = as_floats(part) if part.dtype == np.uint8 else part
        seen = torch.from_numpy(np.ascontiguousarray(plain)).to(where.device)
        outputs = module(seen.to(where.dtype) if seen.is_floating_point() else seen)
        if not isinstance(outputs, torch.Tensor):
            raise ModuleError(
                f"the module gives {type(outputs).__name__}: it must return one tensor"
            )
        return outputs.float().cpu().numpy()

    before = {part: part.training for part in module.modules()}
    module.eval()
    try:
        with torch.inference_mode():
            values = _in_parts(run, inputs, "the module")
    finally:
        for part, mode in before.items():
            part.training = mode
    return Ran(values, "module", tensors_digest(state), software={"torch": torch.__version__})


def run_onnx(path: Path, inputs: NDArray[Any]) -> Ran:
    """An ONNX graph with one input, by onnxruntime or by the reference evaluator of onnx."""
    from pacbound.fixed.onnx_graph import onnx_function

    function, software = onnx_function(path)
    values = _in_parts(function, inputs, str(path))
    return Ran(values, "onnx", file_digest(path), software=software)


def _in_parts(function: Callable[[Any], Any], inputs: Any, what: str) -> NDArray[Any]:
    """The outputs of all examples, some at a time; refused unless each depends on its own alone."""
    count = _length(inputs)
    values = np.concatenate(
        [
            _applied(function, _rows(inputs, slice(first, first + ROWS)), what)
            for first in range(0, count, ROWS)
        ]
    )
    places = sorted({int(place) for place in np.linspace(0, count - 1, FEW)})
    alone = np.concatenate(
        [_applied(function, _rows(inputs, slice(place, place + 1)), what) for place in places]
    )
    if not _alike(values[places], alone):
        raise ModuleError(
            f"{what} gives an example other outputs alone than among others, or at every call: a "
            "fixed predictor is a function of one example"
        )
    return values


def _applied(function: Callable[[Any], Any], part: Any, what: str) -> NDArray[Any]:
    try:
        found = function(part)
    except PacboundError:
        raise
    except Exception as error:  # user code may raise anything
        shape = getattr(part, "shape", (len(part),))
        raise ModuleError(
            f"{what} fails on inputs of shape {tuple(shape)}: {_words(error)}"
        ) from error
    if hasattr(found, "detach"):
        found = found.detach().cpu().numpy()
    values = np.asarray(found)
    if values.ndim not in (1, 2) or len(values) != _length(part):
        raise ModuleError(
            f"{what} gives outputs of shape {values.shape} for {_length(part)} examples: give a "
            "class for each, (n,), or scores, (n, classes)"
        )
    if values.ndim == 2 and values.shape[1] < 2:
        raise ModuleError(
            f"{what} gives one score for each example: give scores of two classes, or the classes"
        )
    return values


def _alike(first: NDArray[Any], second: NDArray[Any]) -> bool:
    if first.ndim == 1 or first.dtype.kind != "f":
        return np.array_equal(first, second)
    finite = np.isfinite(first)
    largest = float(np.abs(first[finite]).max()) if finite.any() else 1.0
    return np.allclose(first, second, rtol=0, atol=TOLERANCE * largest, equal_nan=True)


def _length(inputs: Any) -> int:
    return int(inputs.shape[0]) if hasattr(inputs, "shape") else len(inputs)


def _rows(inputs: Any, rows: slice) -> Any:
    return inputs.iloc[rows] if hasattr(inputs, "iloc") else inputs[rows]


def _words(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
