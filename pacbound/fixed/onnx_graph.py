"""Run an ONNX graph by onnxruntime, or by the reference evaluator of onnx if that is missing."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data.dataset import as_floats
from pacbound.errors import FileError, MissingDependency, ModuleError

__all__ = ["onnx_function"]

Graph = Callable[[NDArray[Any]], Sequence[Any]]
OUTSIDE = b"\x0a\x08location\x12"  # the entry of a tensor that is kept in another file
FOLDER = "session.model_external_initializers_file_folder_path"  # a setting of onnxruntime
TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(uint8)": np.uint8,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}


def onnx_function(path: Path) -> tuple[Callable[[NDArray[Any]], NDArray[Any]], dict[str, str]]:
    """The graph in a file as a function of raw inputs, and the versions of what runs it."""
    loaders = {"onnxruntime": _by_runtime, "onnx": _by_reference}
    name = next((name for name in loaders if importlib.util.find_spec(name) is not None), "")
    if not name:
        raise MissingDependency("an ONNX graph needs a package: pip install 'pacbound[onnx]'")
    if not path.is_file():
        raise FileError(f"no file {path}")
    if OUTSIDE in path.read_bytes():  # the file's digest would not cover them
        raise ModuleError(
            f"{path} keeps its weights in another file: save them in one file, as "
            "torch.onnx.export(…, external_data=False) does"
        )
    package = importlib.import_module(name)
    try:
        graph, dtype, batch = loaders[name](package, path)
    except ModuleError:
        raise
    except Exception as error:  # both packages raise errors of their own for damaged files
        words = " ".join(str(error).split())[:200]
        raise FileError(f"{path} is not an ONNX graph that can be run: {words}") from error

    def run(inputs: NDArray[Any]) -> NDArray[Any]:
        scaled = inputs.dtype == np.uint8 and np.issubdtype(dtype, np.floating)
        seen = (as_floats(inputs) if scaled else inputs).astype(dtype)
        step = batch or len(seen)
        missing = -len(seen) % step  # a graph for batches of one size gets whole batches
        seen = np.concatenate([seen, seen[-1:].repeat(missing, 0)])
        parts = [_scores(path, graph(seen[k : k + step])) for k in range(0, len(seen), step)]
        return np.concatenate(parts)[: len(inputs)]

    return run, {name: str(package.__version__)}


def _by_runtime(package: Any, path: Path) -> tuple[Graph, Any, int]:
    options = package.SessionOptions()
    options.log_severity_level = 4  # errors are raised, and reported here
    options.add_session_config_entry(FOLDER, "/nonexistent")  # where weights outside would be
    session = package.InferenceSession(
        path.read_bytes(), options, providers=["CPUExecutionProvider"]
    )
    _ensure_one(path, [each.name for each in session.get_inputs()])
    (given,) = session.get_inputs()
    dtype = TYPES.get(given.type)
    _ensure_type(path, dtype, given.type)
    batch = given.shape[0] if given.shape and isinstance(given.shape[0], int) else 0
    return lambda inputs: session.run(None, {given.name: inputs}), dtype, batch


def _by_reference(package: Any, path: Path) -> tuple[Graph, Any, int]:
    model = package.load_model_from_string(path.read_bytes())
    package.checker.check_model(model)
    filled = {each.name for each in model.graph.initializer}
    given = [each for each in model.graph.input if each.name not in filled]
    _ensure_one(path, [each.name for each in given])
    kind = given[0].type.tensor_type
    dtype = package.helper.tensor_dtype_to_np_dtype(kind.elem_type).type
    _ensure_type(path, dtype if dtype in TYPES.values() else None, str(dtype))
    sizes = kind.shape.dim
    batch = sizes[0].dim_value if len(sizes) and sizes[0].HasField("dim_value") else 0
    session = importlib.import_module("onnx.reference").ReferenceEvaluator(model)
    return lambda inputs: session.run(None, {given[0].name: inputs}), dtype, batch


def _ensure_one(path: Path, names: Sequence[str]) -> None:
    if len(names) != 1:
        raise ModuleError(
            f"{path} has {len(names)} inputs ({', '.join(names):.100}); one is needed"
        )


def _ensure_type(path: Path, dtype: Any, words: str) -> None:
    if dtype is None:
        raise ModuleError(f"{path} takes {words}: give a graph of numbers")


def _scores(path: Path, outputs: Sequence[Any]) -> NDArray[Any]:
    """The scores (n, classes) among the outputs, or the classes (n,) if there are none."""
    arrays = [each for each in outputs if isinstance(each, np.ndarray)]
    for array in arrays:
        if array.ndim == 2 and array.dtype.kind == "f":
            return array
    for array in arrays:
        if array.ndim == 1 and array.dtype.kind in "iuU":
            return array
    shapes = [getattr(each, "shape", type(each).__name__) for each in outputs]
    raise ModuleError(f"{path} gives {shapes}: scores of shape (n, classes) are needed")
