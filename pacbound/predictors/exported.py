"""A network that `certify --export` wrote, read back with the map of its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pacbound.data.dataset import as_floats
from pacbound.data.rows import Kind, inputs_of_kind
from pacbound.recipes import Settings
from pacbound.training.networks import network_inputs

__all__ = ["Exported", "kind_described"]


@dataclass(frozen=True, eq=False)
class Exported:
    """A function from raw inputs to logits, with what the file beside the network says.

    Arguments:
        network: The network itself, with the certified weights.
        settings: The settings of the input map.
        kind: The inputs of the network, and the names of its classes.
        weights_sha256: The digest of the weights, which the certificate has too.
        front: The extractor in front of the network, if it was exported too.
    """

    network: nn.Module
    settings: Settings
    kind: Kind
    weights_sha256: str
    front: nn.Module | None = None

    @torch.inference_mode()
    def __call__(self, inputs: Tensor | NDArray[Any]) -> Tensor:
        """The logits of raw inputs, as they are in the data set; (n, classes)."""
        raw = self.raw(inputs)
        if self.front is not None:
            raw = self.front(torch.from_numpy(as_floats(raw))).float().numpy()
        logits: Tensor = self.network(network_inputs(self.settings, raw))
        return logits

    def raw(self, inputs: Tensor | NDArray[Any]) -> NDArray[Any]:
        """The inputs in the type that the network was trained on; others are refused."""
        array = inputs.detach().cpu().numpy() if isinstance(inputs, Tensor) else np.asarray(inputs)
        if self.front is not None:  # the description is about the features behind it
            return array
        return inputs_of_kind("the inputs", array, self.kind)


def kind_described(description: dict[str, Any]) -> Kind:
    """The inputs and classes in a description; ValueError or KeyError if it has none."""
    shape, classes, dtype = (description[name] for name in ("input_shape", "classes", "dtype"))
    columns, names = (description[name] for name in ("columns", "class_names"))
    label = description["settings"].get("label", "")
    if not isinstance(columns, list) or not isinstance(names, list):
        raise ValueError("columns and class_names are not lists")
    if not all(isinstance(text, str) for text in (label, *columns, *names)):
        raise ValueError("a name is not a text")
    if dtype not in ("uint8", "float32"):
        raise ValueError("dtype is neither uint8 nor float32")
    if len(names) not in (0, classes) or len(columns) not in (0, *shape[:1]):
        raise ValueError("other numbers of names than of inputs or classes")
    return Kind(tuple(shape), classes, tuple(columns), label, tuple(names), dtype)
