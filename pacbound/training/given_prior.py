"""A prior from elsewhere (`priors/from_elsewhere.py`) for given data, with its variances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pacbound.data import Dataset, load
from pacbound.data.dataset import as_floats
from pacbound.data.digests import example_digests
from pacbound.errors import CheckpointError, DataError, FileError, SettingError, by_caller
from pacbound.priors.from_elsewhere import elsewhere_prior
from pacbound.priors.stored import StoredPrior
from pacbound.recipes import Settings
from pacbound.training.networks import network_inputs, plain_network
from pacbound.training.spread import fitted_variances
from pacbound.training.tensor_file import read_tensors

__all__ = ["ensure_unseen", "given_prior", "read_weights", "refuse_other_weights"]


def given_prior(
    settings: Settings,
    data: Dataset,
    module: nn.Module | None = None,
    weights: Mapping[str, Tensor] | None = None,
) -> StoredPrior:
    """The prior with these weights, or with those of the module.

    If the settings name other examples, the variances are fitted on them. They must not be among
    the counted examples.
    """
    plain, prior = _center(settings, data, module, weights)
    if not settings.prior_data:
        return prior
    other = load(settings.prior_data, label=settings.label)
    if (other.classes, other.input_shape) != (data.classes, data.input_shape):
        raise DataError(
            f"{other.name} has {other.classes} classes and inputs of shape {other.input_shape}; "
            f"{data.name} has {data.classes} and {data.input_shape}"
        )
    prior = replace(prior, fitted=torch.from_numpy(_digests(other)))
    ensure_unseen(prior, data)
    labels = torch.from_numpy(np.ascontiguousarray(other.train_labels))
    examples = network_inputs(settings, other.train_inputs), labels
    variances = fitted_variances(settings, plain, prior.center, examples)
    return replace(prior, variances=variances)


def _center(
    settings: Settings,
    data: Dataset,
    module: nn.Module | None,
    weights: Mapping[str, Tensor] | None,
) -> tuple[nn.Module, StoredPrior]:
    """The plain network, and the prior before its variances are fitted."""
    plain = plain_network(settings, data.input_shape, data.classes, module)
    if weights is None and module is None:
        way = by_caller(": --prior-weights FILE", ", or a module that has them")
        raise SettingError(f"give the weights of the prior from elsewhere{way}")
    state = plain.state_dict() if weights is None else weights
    return plain, elsewhere_prior(settings, plain, state)


def refuse_other_weights(
    prior: StoredPrior,
    settings: Settings,
    data: Dataset,
    module: nn.Module | None,
    weights: Mapping[str, Tensor],
) -> None:
    """Refuse to go on with other weights than those that training began with."""
    _, now = _center(settings, data, module, weights)
    if prior.sha256 != now.sha256:
        raise CheckpointError(
            "the prior's weights are others than when training began: their digest begins "
            f"{now.sha256[:12]}, not {prior.sha256[:12]}"
        )


def _digests(data: Dataset) -> NDArray[np.uint8]:
    """The digests of the examples with inputs as floats: bytes and their floats are the same."""
    return example_digests(as_floats(data.train_inputs), data.train_labels)


def ensure_unseen(prior: StoredPrior | None, data: Dataset) -> None:
    """Refuse to count examples that the variances of a prior were fitted on."""
    if prior is None or prior.fitted is None:
        return
    seen = {row.tobytes() for row in prior.fitted.numpy()}
    if common := len(seen & {row.tobytes() for row in _digests(data)}):
        raise DataError(
            f"{common} examples of {data.name} are among those that the prior's variances were "
            "fitted on: these must be others than the counted ones"
        )


def read_weights(path: Path) -> dict[str, Tensor]:
    """The state dict in a file of `torch.save`, also under the key `state_dict` or `model`."""
    content = read_tensors(path, "file of weights")
    for key in ("state_dict", "model"):
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
    if not isinstance(content, dict) or not content:
        raise FileError(f"{path} holds no state dict of named tensors")
    for name, value in content.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise FileError(f"{path} holds {type(value).__name__} where a tensor should be")
    return dict(content)
