"""Write a certified network to files that work without pacbound, and read them back.

`net.pt` is an ordinary state dict of float32 tensors, with the certificate's digest. `net.onnx`
is the network, preceded by the linear part of the input map. `net.inputs.json` beside either file
says what remains to be done to raw inputs: a network is certified for inputs that went through its
fixed map, and wrong for any others.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pacbound.certificate.format import Certificate
from pacbound.data import Dataset
from pacbound.data.rows import Kind
from pacbound.errors import CheckpointError, FileError, MissingDependency, SettingError
from pacbound.files import ensure_writable, write_whole
from pacbound.networks.digests import module_digest, tensors_digest
from pacbound.networks.input_map import InputMap
from pacbound.networks.values import take_values, values_of
from pacbound.predictors import Predictor, predictor_of
from pacbound.predictors.drawing import draw_network
from pacbound.predictors.exported import Exported, kind_described
from pacbound.predictors.issuing import posterior_of, seed_of
from pacbound.recipes import Settings
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.networks import plain_network
from pacbound.training.tensor_file import read_tensors

__all__ = [
    "description_path",
    "draw_certified",
    "ensure_exportable",
    "ensure_extractor",
    "export_network",
    "exported_kind",
    "load_exported",
    "network_drawn",
]

FORMAT = "pacbound-network/1"
EXTRACTOR, HEAD = "extractor.", "head."  # the prefixes of names, if both are in one file


def description_path(target: Path) -> Path:
    """The path of the description of the inputs."""
    return target.with_suffix(".inputs.json")


def ensure_exportable(target: Path, *read: str | os.PathLike[str] | None) -> None:
    """Refuse a file type or a path that cannot be written, before any work.

    Arguments:
        read: What the same command reads, which it must not replace.
    """
    if target.suffix not in (".pt", ".onnx"):
        raise SettingError(f"cannot export to {target}: give a name that ends in .pt or .onnx")
    needed = ("onnx", "onnxscript")
    if target.suffix == ".onnx" and not all(map(importlib.util.find_spec, needed)):
        raise MissingDependency("an export to .onnx needs packages: pip install 'pacbound[onnx]'")
    for path in (target, description_path(target)):
        ensure_writable(path, *read)


def network_drawn(
    checkpoint_path: Path, data: Dataset, module: nn.Module | None = None
) -> tuple[nn.Module, Settings]:
    """The network of a checkpoint and data, drawn again, and the settings of its input map."""
    checkpoint = Checkpoint.load(checkpoint_path)
    return draw_certified(checkpoint, data, module), checkpoint.settings


def draw_certified(
    checkpoint: Checkpoint, data: Dataset, module: nn.Module | None = None
) -> nn.Module:
    """The one network that a certificate of this posterior on this data covers."""
    problem = posterior_of(checkpoint, data, allow_other_data=True, module=module)
    seed = seed_of(checkpoint, problem, data)("draw")
    grouping = checkpoint.settings.variance_groups
    drawn = draw_network(problem.network, problem.center, grouping, seed)
    take_values(problem.plain, drawn.weights)
    return problem.plain


def _certified(
    predictor: Predictor, checkpoint: Checkpoint, data: Dataset, module: nn.Module | None
) -> nn.Module:
    """The drawn network, or the centre of the learned prior."""
    if predictor.has_posterior:
        return draw_certified(checkpoint, data, module)
    problem = posterior_of(checkpoint, data, allow_other_data=True, module=module)
    take_values(problem.plain, problem.center)
    return problem.plain


def export_network(
    checkpoint_path: Path,
    data: Dataset,
    certificate: Certificate,
    target: Path,
    module: nn.Module | None = None,
    extractor: nn.Module | None = None,
) -> list[str]:
    """Make the network again and write it; return the steps for raw inputs, in words.

    Only the network that the certificate covers is written: its digest must agree.

    Arguments:
        extractor: The frozen network that computed the features that the data consist of. It is
            written in front of the network; otherwise the network is for features.
    """
    ensure_exportable(target)
    if extractor is not None:
        ensure_extractor(extractor, data)
    predictor, evidence = predictor_of(certificate), certificate.evidence
    if not predictor.exports_network:
        raise SettingError("only one network can be exported: certify the predictor draw or fixed")
    checkpoint = Checkpoint.load(checkpoint_path)
    settings, network = checkpoint.settings, _certified(predictor, checkpoint, data, module)
    digest = certificate.model.sha256 if evidence is None else evidence.weights_sha256
    if tensors_digest(values_of(network)) != digest:
        raise CheckpointError(
            f"{checkpoint_path} and {data.name} do not give the certificate's network"
        )
    in_graph = target.suffix == ".onnx"
    if in_graph:
        _write_onnx(network, settings, data, extractor, target)
    else:
        content = state_of(network) if extractor is None else _joined(extractor, network)
        write_whole(target, lambda stream: torch.save(content, stream))
    steps = _steps(settings, data, extractor, in_graph)
    description = {
        "format": FORMAT,
        "weights_sha256": digest,
        "network": str(network),
        "input_shape": list(data.input_shape),
        "extractor_sha256": "" if extractor is None else data.extractor_sha256,
        "dtype": str(data.train_inputs.dtype),
        "columns": list(data.columns),
        "classes": data.classes,
        "class_names": list(data.class_names),
        "inputs": steps,
        "settings": settings.to_mapping(),
        "answer_above": certificate.model.answer_above,
        "claim": certificate.sentence,
    }
    text = (json.dumps(description, indent=1, ensure_ascii=False) + "\n").encode()
    write_whole(description_path(target), lambda stream: stream.write(text))
    return steps


def ensure_extractor(extractor: nn.Module, data: Dataset) -> None:
    """Refuse an extractor other than the one that computed the features."""
    if not data.extractor_sha256:
        raise SettingError(f"{data.name} has no features of an extractor")
    if module_digest(extractor) != data.extractor_sha256:
        raise SettingError(
            f"the extractor is another one than that of {data.name}: their digests differ"
        )


def state_of(module: nn.Module) -> dict[str, Tensor]:
    """The state dict of a module, each tensor with memory of its own."""
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def _joined(extractor: nn.Module, network: nn.Module) -> dict[str, Tensor]:
    """The tensors of an extractor and of the network behind it."""
    parts = [(EXTRACTOR, state_of(extractor)), (HEAD, state_of(network))]
    return {f"{prefix}{name}": value for prefix, of in parts for name, value in of.items()}


def _steps(
    settings: Settings, data: Dataset, extractor: nn.Module | None, in_graph: bool
) -> list[str]:
    """The steps for raw inputs, in order."""
    steps = ["as float32; bytes (uint8) divided by 255"]
    if data.extractor_sha256 and extractor is None:
        first, origin = data.extractor_sha256[:12], data.extractor_origin
        steps.append(f"features of the extractor {first}… (trained on: {origin})")
    elif extractor is not None and not in_graph:
        steps.append(f"the extractor, whose weights are {EXTRACTOR}*; the network's are {HEAD}*")
    if settings.alignment != "none":
        steps.append(f"{settings.alignment} (pacbound.networks.alignment)")
    if settings.smoothing > 0 and not in_graph:
        steps.append(f"smoothing {settings.smoothing} (pacbound.networks.input_map)")
    if settings.input_scale != 1 and not in_graph:
        steps.append(f"times {settings.input_scale}")
    return steps


def _write_onnx(
    network: nn.Module,
    settings: Settings,
    data: Dataset,
    extractor: nn.Module | None,
    target: Path,
) -> None:
    parts = [InputMap(data.input_shape, settings.input_scale, settings.smoothing), network]
    shape = data.input_shape
    if extractor is not None:
        parts, shape = [extractor, *parts], data.extractor_inputs
        if not shape:
            raise SettingError(f"{data.name} does not tell the shape of its extractor's inputs")
    with _quiet():
        program = torch.onnx.export(
            nn.Sequential(*parts).eval(),
            (torch.zeros(2, *shape),),
            input_names=["inputs"],
            output_names=["logits"],
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    for part in (model, model.graph, *model.graph.node, *model.graph.value_info):
        del part.metadata_props[:]  # the exporter's stack traces, with paths of this machine
    content = model.SerializeToString()
    write_whole(target, lambda stream: stream.write(content))


@contextmanager
def _quiet() -> Iterator[None]:
    """Run without the exporter's warnings about packages and its own code."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def _described(target: Path) -> dict[str, Any]:
    """The description beside an exported network."""
    try:
        description = json.loads(description_path(target).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"cannot read {target} and its description: {error}") from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise FileError(f"{description_path(target)} is not of the format {FORMAT}")
    return description


def exported_kind(path: str | os.PathLike[str]) -> Kind:
    """The inputs and the classes of an exported network, from the description beside it."""
    description = _described(Path(path))
    try:
        return kind_described(description)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FileError(f"{description_path(Path(path))} cannot be read: {error}") from error


def load_exported(
    path: str | os.PathLike[str],
    module: nn.Module | None = None,
    extractor: nn.Module | None = None,
) -> Exported:
    """The exported `.pt` network as a function from raw inputs to logits.

    Its `kind` has the columns of a table and the names of the classes.

    Arguments:
        module: The user's own network, if it is one; its weights are replaced in a copy.
        extractor: The extractor, if it was exported too; the same applies.
    """
    target = Path(path)
    description = _described(target)
    weights = read_tensors(target, "network of pacbound")
    other = FileError(f"{target} is not the network that {description_path(target)} describes")
    front = None
    try:
        if description.get("extractor_sha256"):
            if extractor is None:
                raise SettingError(f"{target} contains an extractor: give its module")
            front, weights = _parted(extractor, weights)
            if module_digest(front) != description["extractor_sha256"]:
                raise other
        settings, kind = Settings.from_mapping(description["settings"]), exported_kind(target)
        shape, classes = kind.input_shape, kind.classes
        if len(settings.hidden) > len(weights):  # such a network would take long to build
            raise other
        with torch.device("meta"):  # the shapes, before memory is allocated
            described = plain_network(settings, shape, classes, module).state_dict()
        if {k: v.shape for k, v in described.items()} != {k: v.shape for k, v in weights.items()}:
            raise other
        kinds = [
            v.dtype == described[k].dtype and torch.isfinite(v).all() for k, v in weights.items()
        ]
        if not all(kinds):
            raise FileError(f"{target} has entries of another type, or that are not finite")
    except (AttributeError, KeyError, TypeError, RuntimeError, OverflowError) as error:
        raise other from error
    network = plain_network(settings, shape, classes, module)
    network.load_state_dict(weights)
    if tensors_digest(values_of(network)) != description["weights_sha256"]:
        raise other
    return Exported(network, settings, kind, description["weights_sha256"], front)


def _parted(
    extractor: nn.Module, tensors: Mapping[str, Tensor]
) -> tuple[nn.Module, dict[str, Tensor]]:
    """A copy of the extractor with the exported weights, and the weights of the network."""
    front = copy.deepcopy(extractor).eval()
    parts = {
        prefix: {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
        for prefix in (EXTRACTOR, HEAD)
    }
    try:
        front.load_state_dict(parts[EXTRACTOR])
    except RuntimeError as error:
        raise FileError(f"the file's extractor is another one than the given: {error}") from error
    return front, parts[HEAD]
