"""ONNX graphs: run as the network runs, refused in one line where they are none."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import pacbound
from pacbound.errors import MissingDependency, PacboundError
from pacbound.files import file_digest
from pacbound.fixed.onnx_graph import OUTSIDE

INPUTS = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
LABELS = (INPUTS.sum(1) > 0).astype(np.int64)
INSTALLED = importlib.util.find_spec("onnx") is not None
needs_onnx = pytest.mark.skipif(not INSTALLED, reason="the extra onnx is not installed")


def write(path: Path, batch: int | str = "n", kind: str = "FLOAT", nodes: str = "logits") -> Path:
    """A graph whose logits are (−s, s), s the sum of an input."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weight = numpy_helper.from_array(np.array([[-1, 1], [-1, 1]], np.float32), "w")
    steps = [
        helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["f", "w"], ["logits"]),
        helper.make_node("ArgMax", ["logits"], ["classes"], axis=1, keepdims=0),
    ]
    outputs = {
        "logits": helper.make_tensor_value_info("logits", TensorProto.FLOAT, [batch, 2]),
        "classes": helper.make_tensor_value_info("classes", TensorProto.INT64, [batch]),
        "f": helper.make_tensor_value_info("f", TensorProto.FLOAT, None),
    }
    given = [helper.make_tensor_value_info("x", getattr(TensorProto, kind), [batch, 2])]
    graph = helper.make_graph(steps, "g", given, [outputs[nodes]], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def test_without_a_package_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match=r"pip install 'pacbound\[onnx\]'"):
        pacbound.certify_fixed(tmp_path / "net.onnx", (INPUTS, LABELS))


@needs_onnx
@pytest.mark.parametrize("package", ["onnxruntime", "onnx"])
@pytest.mark.parametrize("batch", ["n", 1, 7])
@pytest.mark.parametrize("nodes", ["logits", "classes"])
def test_a_graph_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, batch: int | str, nodes: str
) -> None:
    found = importlib.util.find_spec
    if found(package) is None:
        pytest.skip(f"{package} is not installed")
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: found(name) if name == package else None
    )
    path = write(tmp_path / "net.onnx", batch, nodes=nodes)
    certificate = pacbound.certify_fixed(path, (INPUTS, LABELS))
    assert certificate.claims[0].errors == 0
    assert (certificate.model.source, certificate.model.sha256) == ("onnx", file_digest(path))
    assert package in certificate.made.software
    wrong = pacbound.certify_fixed(path, (INPUTS, 1 - LABELS))
    assert wrong.claims[0].errors == len(LABELS)


@needs_onnx
def test_bytes_and_other_types(tmp_path: Path) -> None:
    pixels = np.arange(120, dtype=np.uint8).reshape(60, 2)
    labels = np.ones(60, int)
    labels[0] = 0
    for kind in ("FLOAT", "DOUBLE", "UINT8"):
        path = write(tmp_path / f"{kind}.onnx", kind=kind)
        assert pacbound.certify_fixed(path, (pixels, labels)).claims[0].errors == 1


@needs_onnx
def test_what_is_no_graph_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "net.onnx")
    content = path.read_bytes()
    cases = {
        "empty.onnx": b"",
        "text.onnx": b"this is no graph",
        "half.onnx": content[: len(content) // 2],
    }
    for name, bad in cases.items():
        (tmp_path / name).write_bytes(bad)
        with pytest.raises(PacboundError, match=r"is not an ONNX graph"):
            pacbound.certify_fixed(tmp_path / name, (INPUTS, LABELS))
    (tmp_path / "outside.onnx").write_bytes(content + OUTSIDE)
    with pytest.raises(PacboundError, match="keeps its weights in another file"):
        pacbound.certify_fixed(tmp_path / "outside.onnx", (INPUTS, LABELS))
    with pytest.raises(PacboundError, match="no file"):
        pacbound.certify_fixed(tmp_path / "none.onnx", (INPUTS, LABELS))
    with pytest.raises(PacboundError, match="fails on inputs of shape"):
        pacbound.certify_fixed(path, (INPUTS[:, :1], LABELS))


@needs_onnx
def test_weights_outside_are_seen_in_the_bytes(tmp_path: Path) -> None:
    import onnx

    model = onnx.load(write(tmp_path / "net.onnx"))
    target = tmp_path / "apart.onnx"
    onnx.save(model, target, save_as_external_data=True, size_threshold=0, location="apart.data")
    with pytest.raises(PacboundError, match="keeps its weights in another file"):
        pacbound.certify_fixed(target, (INPUTS, LABELS))
