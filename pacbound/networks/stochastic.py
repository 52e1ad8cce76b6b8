"""How a plain network becomes a stochastic one: a posterior for every parameter tensor."""

from __future__ import annotations

import copy
from collections.abc import Iterator

from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from pacbound.posteriors import Diag, Posterior, posterior_named
from pacbound.seeds import Noise

__all__ = ["StochasticLayer", "StochasticNetwork"]


class StochasticLayer(nn.Module):
    """A layer whose parameters are drawn anew in every call, once for the whole batch."""

    def __init__(self, layer: nn.Module, posteriors: dict[str, Posterior]) -> None:
        super().__init__()
        # In a tuple, so that the bare layer's parameters are not ours.
        self._bare = (layer,)
        self.posteriors = nn.ModuleDict(posteriors)
        self.source: Noise | None = None  # None: the mean of every parameter

    def posterior_of(self, name: str) -> Posterior:
        posterior = self.posteriors[name]
        assert isinstance(posterior, Posterior)
        return posterior

    def draw(self, source: Noise | None) -> dict[str, Tensor]:
        """One value for every parameter; the means when there is no source of noise."""
        values: dict[str, Tensor] = {}
        for name in self.posteriors:
            posterior = self.posterior_of(name)
            if source is None:
                values[name] = posterior.mean
            else:
                noise = source.normal(*posterior.shape, dtype=posterior.mean.dtype)
                values[name] = posterior.sample(noise)
        return values

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = functional_call(self._bare[0], self.draw(self.source), (inputs,))
        return outputs


class StochasticLinear(StochasticLayer):
    """A dense layer with independent weights for every example, by local reparameterisation.

    The sum of normal weights is normal, so the noise of the outputs is drawn instead of the
    noise of the weights. This is exact: the outputs of different examples have the joint law
    that they have when each example draws its own weights.
    """

    def forward(self, inputs: Tensor) -> Tensor:
        weight = self.posterior_of("weight")
        has_bias = "bias" in self.posteriors
        bias_mean = self.posterior_of("bias").mean if has_bias else None
        outputs = functional.linear(inputs, weight.mean, bias_mean)
        if self.source is None:
            return outputs
        shape = (len(inputs), weight.shape[0])
        noise = self.source.normal(*shape, dtype=inputs.dtype)
        outputs = outputs + weight.local_noise(inputs, noise)
        if has_bias:
            noise = self.source.normal(*shape, dtype=inputs.dtype)
            outputs = outputs + self.posterior_of("bias").noise(noise)
        return outputs


class StochasticNetwork(nn.Module):
    """A network whose every parameter tensor has a posterior around the prior's centre.

    Matrices and kernels have the named posterior, vectors (biases) a Diag one.

    Arguments:
        module: The plain network; its own parameter values are not used.
        center: The prior's centre, by parameter name.
        posterior: The name of the posterior family.
        scale: The standard deviation of every weight at the start.
    """

    def __init__(
        self, module: nn.Module, center: dict[str, Tensor], posterior: str, scale: float
    ) -> None:
        super().__init__()
        family = posterior_named(posterior)
        self.layers: dict[str, StochasticLayer] = {}
        self.module = copy.deepcopy(module)
        for name, layer in list(self.module.named_modules()):
            own = [leaf for leaf, _ in layer.named_parameters(recurse=False)]
            if not own:
                continue
            posteriors: dict[str, Posterior] = {}
            for leaf in own:
                value = center[f"{name}.{leaf}"]
                chosen = family if value.dim() > 1 else Diag
                posteriors[leaf] = chosen(value, scale)
            kind = StochasticLinear if isinstance(layer, nn.Linear) else StochasticLayer
            self.layers[name] = kind(layer, posteriors)
            self.module.set_submodule(name, self.layers[name])

    def forward(self, inputs: Tensor, source: Noise | None) -> Tensor:
        """The outputs, with noise from the source; of the mean network without one."""
        for layer in self.layers.values():
            layer.source = source
        outputs = self.module(inputs)
        assert isinstance(outputs, Tensor)
        return outputs

    def posteriors(self) -> Iterator[tuple[str, Posterior]]:
        """Every posterior with the name of its parameter tensor."""
        for name, layer in self.layers.items():
            for leaf in layer.posteriors:
                yield f"{name}.{leaf}", layer.posterior_of(leaf)

    def draw_weights(self, source: Noise) -> dict[str, Tensor]:
        """One whole network drawn from the posterior, as a state dict of the plain module."""
        return {
            f"{name}.{leaf}": value
            for name, layer in self.layers.items()
            for leaf, value in layer.draw(source).items()
        }

    def variance_groups(self, grouping: str) -> list[list[str]]:
        """The layers that share one prior variance: all of them, or each by itself."""
        names = list(self.layers)
        return [names] if grouping == "network" else [[name] for name in names]

    def parameter_count(self) -> int:
        """d: the number of weights of the plain network."""
        return sum(posterior.mean.numel() for _, posterior in self.posteriors())
