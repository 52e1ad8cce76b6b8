"""The interface of every closed-form layer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pacbound.experiments.bandit.closed_form.parameters import FlatParameters
from pacbound.experiments.bandit.stream import Stream
from pacbound.posteriors import Posterior

__all__ = ["Array", "Layer"]

Array: TypeAlias = NDArray[np.float32]


class Layer(ABC):
    """A dense layer x ↦ xWᵀ with a posterior over W, and its gradients.

    A hidden layer is `sample`d, with its own weights for every example. The output layer gives the
    `means` of its outputs instead: the squared error of a normal output needs no draw, because
    E(r − y)² = (r − E y)² + Var y. The variance enters linearly, so its gradient does not need its
    value.

    A step calls `refresh`; the forward method; its backward counterpart, which overwrites the
    parameters' gradients with the gradient of the loss; and `complete`.

    Arguments:
        posterior: The posterior, whose parameters are in `parameters`.
        parameters: Values and gradients.
        batch: The number of rows in a minibatch.
        prior_variance: λ of the prior N(0, λI).
        draws: The number of parts of a batch, if the weights themselves are drawn.
    """

    def __init__(
        self,
        posterior: Posterior,
        parameters: FlatParameters,
        batch: int,
        prior_variance: float,
        draws: int,
    ) -> None:
        self.mean, self.by_mean = parameters.of(posterior.mean)  # (out, in)
        self.prior_variance = prior_variance
        self.draws = draws
        outputs, inputs = self.mean.shape
        self.inputs = np.empty((batch, inputs), np.float32)  # of the last forward call
        self.noise = np.empty((batch, outputs), np.float32)  # standard normal
        self.outputs = np.empty((batch, outputs), np.float32)
        self.prepare(posterior, parameters)

    def prepare(self, posterior: Posterior, parameters: FlatParameters) -> None:  # noqa: B027
        """Set up the other parameters of this kind of posterior, and working memory."""

    def refresh(self) -> None:  # noqa: B027 - a layer without scales has nothing to prepare
        """Compute what depends only on the parameters."""

    def draw_noise(self, stream: Stream) -> None:
        """Draw the noise for `sample`."""
        stream.fill_antithetic(self.noise)

    def draw_for_means(self, stream: Stream) -> None:  # noqa: B027 - normal outputs need none
        """Draw the noise for `means`."""

    @abstractmethod
    def sample(self, inputs: Array) -> Array:
        """Outputs with the last drawn noise."""

    @abstractmethod
    def back_sample(self, by_outputs: Array) -> None:
        """The gradient of the parameters from that of the sampled outputs."""

    def means(self, inputs: Array) -> Array:
        """The mean of every output; outputs that are not normal are sampled."""
        self.inputs = inputs
        return np.matmul(inputs, self.mean.T, out=self.outputs)

    @abstractmethod
    def back_means(self, by_mean: Array, by_variance: Array) -> Array:
        """The gradients of parameters and inputs from those of the outputs' means and variances."""

    @abstractmethod
    def complete(self, weight: float) -> None:
        """Add the gradient of weight·KL(q‖p)."""
