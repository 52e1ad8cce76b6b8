"""The posterior predictive: class probabilities averaged over networks drawn from q."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pacbound.data import Dataset
from pacbound.errors import CheckpointError
from pacbound.files import file_digest
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.predict.ensemble import Ensemble, ensemble
from pacbound.predict.metrics import Entropies, entropy
from pacbound.predict.own_statistics import OwnStatistics
from pacbound.predictors.chunks import Report, silent
from pacbound.predictors.issuing import posterior_of
from pacbound.products import products_in
from pacbound.recipes import Settings
from pacbound.seeds import Noise, derive
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.networks import network_inputs

__all__ = ["Prediction", "Predictor", "load_finished"]

DRAWS = 20  # the largest number of networks in memory
WEIGHTS = 2**26  # the largest number of their weights
NORMALISING = 1000  # training inputs for the batch-normalisation statistics of a drawn network


@dataclass(frozen=True, eq=False)
class Prediction:
    """The predictions of S networks for n examples."""

    probabilities: NDArray[np.float64]  # (n, classes), the mean over the networks
    entropies: Entropies
    samples: int  # S


@dataclass(frozen=True)
class Predictor:
    """A posterior to draw networks from, determined by the seed.

    Network number k depends only on the seed and k: more samples add networks and do not change the
    others. Neither the examples nor the chunk size has an influence.
    """

    settings: Settings
    network: StochasticNetwork
    module: nn.Module  # the plain network
    seed: str
    device: torch.device = torch.device("cpu")  # noqa: RUF009 - it is immutable
    statistics: OwnStatistics | None = None  # None: the buffers of the module are for all networks
    products: str = "float32"  # of the networks; probabilities are averaged in float64

    @classmethod
    def of(
        cls,
        path: Path,
        data: Dataset,
        module: nn.Module | None = None,
        device: torch.device = torch.device("cpu"),  # noqa: B008 - it is immutable
        for_rows: bool = False,
        finished: bool = True,
        products: str = "float32",
    ) -> Predictor:
        """The posterior of a checkpoint, for a data set of the right shape.

        Networks are drawn on the CPU, so they are the same for every device. With batch
        normalisation, each has its own statistics if the data are those of the training, and
        otherwise the running ones.

        Arguments:
            for_rows: Draw the networks from the checkpoint alone, so that the prediction for a row
                does not depend on the rows beside it.
            finished: Refuse a checkpoint whose training goes on.
            products: The number type of matrix products, as in training.
        """
        checkpoint = load_finished(path) if finished else Checkpoint.load(path)
        problem = posterior_of(checkpoint, data, allow_other_data=True, module=module)
        plain = problem.plain.eval()
        # These are not drawn: the statistics of batch normalisation.
        plain.load_state_dict(dict(problem.network.module.named_buffers()), strict=False)
        seed = derive("prediction", file_digest(path), "rows" if for_rows else data.sha256)
        plain.to(device)
        statistics = None
        if checkpoint.settings.batch_norm and not for_rows and _trained_on(checkpoint, data):
            places = Noise(derive("statistics", seed)).permutation(data.m)[:NORMALISING].numpy()
            inputs = network_inputs(checkpoint.settings, data.train_inputs[places])
            statistics = OwnStatistics(plain, inputs.to(device))
        network = problem.network
        return cls(checkpoint.settings, network, plain, seed, device, statistics, products)

    def predict(
        self, inputs: NDArray[np.generic], samples: int, report: Report = silent
    ) -> Prediction:
        """The mean probabilities of raw inputs, and their entropies."""
        with torch.inference_mode():
            seen = network_inputs(self.settings, inputs)
            total: Tensor | None = None
            spread = torch.zeros(len(seen), dtype=torch.float64)
            done, steps = 0, samples * len(seen)
            for networks, count in self._networks(samples):
                for first in range(0, len(seen), networks.batch):
                    part = slice(first, first + networks.batch)
                    inputs_here = seen[part].to(self.device)
                    sampled = self._probabilities(networks, inputs_here)  # (count, part, classes)
                    if total is None:
                        total = sampled.new_zeros(len(seen), sampled.shape[2])
                    total[part] += sampled.sum(0)
                    spread[part] += torch.from_numpy(entropy(sampled.numpy()).sum(0))
                    done += count * sampled.shape[1]
                    report("predicting", done, steps)
        assert total is not None
        mean = (total / samples).numpy()
        return Prediction(mean, Entropies.of(mean, (spread / samples).numpy()), samples)

    def sampled(self, inputs: NDArray[np.generic], samples: int) -> NDArray[np.float64]:
        """The probabilities given by each network, for a few raw inputs; (samples, n, classes)."""
        with torch.inference_mode():
            seen = network_inputs(self.settings, inputs).to(self.device)
            parts = [self._probabilities(networks, seen) for networks, _ in self._networks(samples)]
        return torch.cat(parts).numpy()

    def _networks(self, samples: int) -> Iterator[tuple[Ensemble, int]]:
        """Networks drawn from the posterior, a few at a time."""
        at_once = max(1, min(DRAWS, WEIGHTS // self.network.parameter_count()))
        for first in range(0, samples, at_once):
            numbers = range(first, min(first + at_once, samples))
            weights = [
                self.network.draw_weights(Noise(derive("network", self.seed, number)))
                for number in numbers
            ]
            there = [{k: v.to(self.device) for k, v in drawn.items()} for drawn in weights]
            if self.statistics is not None:
                with products_in(self.products, self.device):
                    for number, drawn in zip(numbers, there, strict=True):
                        drawn.update(self.statistics.of(number, drawn))
            yield ensemble(self.module, there), len(weights)

    def _probabilities(self, networks: Ensemble, inputs: Tensor) -> Tensor:
        with products_in(self.products, self.device):
            logits = networks(inputs)
        # In float64, so that the least likely class still has a positive probability.
        return logits.cpu().double().softmax(2)


def _trained_on(checkpoint: Checkpoint, data: Dataset) -> bool:
    return bool(checkpoint.data["sha256"] == data.sha256)


def load_finished(path: Path) -> Checkpoint:
    """A checkpoint whose training has finished."""
    checkpoint = Checkpoint.load(path)
    if checkpoint.training is not None:
        raise CheckpointError(
            f"{path} is not finished: it is at epoch {checkpoint.epoch} of its training; "
            "continue it with pacbound train … --resume"
        )
    return checkpoint
