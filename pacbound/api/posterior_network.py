"""A network with a posterior over its weights: called, sampled, and measured against its prior."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from pacbound.api.plain_network import PlainNetwork, as_raw, mapped
from pacbound.errors import DataError, SettingError
from pacbound.networks.digests import tensors_digest
from pacbound.networks.own import prepared
from pacbound.networks.registry import network_named
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.predict.predictor import Predictor
from pacbound.priors import kind_of
from pacbound.priors.from_elsewhere import copied_state, elsewhere_prior
from pacbound.priors.stored import StoredPrior
from pacbound.recipes import Settings
from pacbound.seeds import Noise, TrainingNoise, derive
from pacbound.training.checkpoints import stored
from pacbound.training.networks import constancy, plain_network, with_structure
from pacbound.training.prior_variance import PriorVariance, Tail
from pacbound.training.problem import Problem, build

__all__ = ["PosteriorNetwork"]

FEW = 8  # examples used to trace the layers of a module


class PosteriorNetwork(nn.Module):
    """A network whose weights have a posterior around a prior, as an `nn.Module`.

    `StochasticModule` adds training, certificates and files.

    Arguments:
        settings: The settings of the prior and the posterior.
        module: The user's own network, if the settings are for one.
        weights: The state dict of a prior from elsewhere; by default that of the module.
    """

    def __init__(
        self,
        settings: Settings,
        module: nn.Module | None = None,
        weights: Mapping[str, Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.settings = with_structure(settings, module)
        if module is not None and network_named(settings.network).is_given:
            module = prepared(module, constancy(self.settings))  # later changes have no effect
        if weights is not None:
            weights = copied_state(weights)
        self.network: StochasticNetwork | None = None
        self._module = (module,)  # in a tuple, so that its parameters are not registered
        self._weights = weights
        self._problem: Problem | None = None
        self._observed = False
        self._kl: list[PriorVariance] = []  # in a list, so that it is not registered
        self._start = ""  # the posterior's digest before any training
        if module is not None:
            self._assemble(build(self.settings, (), 0, module, self._given()))

    def _given(self) -> StoredPrior | None:
        """The prior from elsewhere of a user's module, before its variances are fitted."""
        if not kind_of(self.settings).keeps_values:
            return None
        plain = plain_network(self.settings, (), 0, self._module[0])
        state = plain.state_dict() if self._weights is None else self._weights
        return elsewhere_prior(self.settings, plain, state)

    def _assemble(self, problem: Problem) -> None:
        self._problem, self.network = problem, problem.network
        self._observed, self._kl = False, []
        self._start = tensors_digest(stored(problem.network))
        self.train(self.training)

    def train(self, mode: bool = True) -> Self:
        """Set the training mode of the posteriors.

        A user's module stays in evaluation mode: the network is trained as it predicts.
        """
        super().train(mode)
        if self.network is not None and self._module[0] is not None:
            ours = {id(m) for layer in self.network.layers.values() for m in layer.modules()}
            for part in self.network.module.modules():
                if id(part) not in ours:
                    part.training = False
        return self

    def forward(self, inputs: Tensor | NDArray[Any]) -> Tensor:
        """The logits of raw inputs with freshly drawn weights; differentiable in the parameters.

        The weights are drawn with torch's global generator, as set by `torch.manual_seed`.
        """
        network, seen = self._ready(inputs)
        seed = derive("call", int(torch.randint(2**62, ())))
        outputs: Tensor = network(seen, TrainingNoise(seed, seen.device))
        return outputs

    def mean(self, inputs: Tensor | NDArray[Any]) -> Tensor:
        """The logits of the network whose weights are the posterior's means."""
        network, seen = self._ready(inputs)
        outputs: Tensor = network(seen, None)
        return outputs

    def sample(self, count: int = 1, seed: int = 0) -> list[PlainNetwork]:
        """Ordinary networks drawn from the posterior, as many as `count`.

        Network number k depends only on the seed, the posterior and k.
        """
        problem = self._made()
        with torch.no_grad():
            weights = [
                problem.network.draw_weights(Noise(derive("sample", seed, self._digest(), number)))
                for number in range(count)
            ]
        return [self._plain(each) for each in weights]

    def predict_proba(self, inputs: Tensor | ArrayLike, samples: int = 20) -> Tensor:
        """The class probabilities of raw inputs, averaged over networks drawn from the posterior.

        The same posterior gives the same probabilities. No certificate covers them.
        """
        if samples < 1:
            raise SettingError(f"samples must be a whole number of 1 or more, not {samples}")
        problem = self._made()
        raw = self._raw(inputs)
        plain = self._plain({}).network
        seed = derive("prediction", self._digest())
        predictor = Predictor(self.settings, problem.network, plain, seed)
        return torch.from_numpy(predictor.predict(raw, samples).probabilities)

    def kl(self) -> Tensor:
        """The KL to the prior plus the price of the prior's variances, in nats; differentiable.

        For training without `fit`. The certificate recomputes it in float64.
        """
        problem, settings = self._made(), self.settings
        if not self._kl:
            mode = settings.prior_variance
            self._kl.append(
                PriorVariance(
                    problem.network,
                    dict(problem.center),
                    settings.variance_groups,
                    "fixed" if problem.variances else "profiled" if mode == "trained" else mode,
                    Tail(settings.kl_samples, settings.delta / 5),
                    problem.variances or (settings.fixed_variance,),
                )
            )
        (divergence,) = self._kl
        divergence.move_center(next(problem.network.parameters()))
        kl, union = divergence()
        nats: Tensor = kl + union.to(kl)
        return nats

    def _made(self) -> Problem:
        if self._problem is None:
            raise SettingError("the network of a recipe is built when it sees data: call fit first")
        return self._problem

    def _digest(self) -> str:
        return tensors_digest(stored(self._made().network))

    def _plain(self, weights: Mapping[str, Tensor]) -> PlainNetwork:
        """The plain network with these weights, and with the statistics that are not drawn."""
        problem = self._made()
        plain = copy.deepcopy(problem.plain).eval()
        buffers = dict(problem.network.module.named_buffers())
        own = {name: value for name, value in plain.state_dict().items() if name in buffers}
        plain.load_state_dict({**{name: buffers[name] for name in own}, **weights}, strict=False)
        return PlainNetwork(plain, self.settings)

    @property
    def _input_shape(self) -> tuple[int, ...] | None:
        """The shape of an input that the network was trained on, where it is known."""
        return None

    def _raw(self, inputs: Tensor | ArrayLike) -> NDArray[Any]:
        """Inputs as an array, of the shape that the network was trained on."""
        array = inputs.detach().cpu().numpy() if isinstance(inputs, Tensor) else np.asarray(inputs)
        known = self._input_shape
        if known is not None and array.shape[1:] != known:
            raise DataError(
                f"inputs of shape {array.shape[1:]} do not fit: the network was trained on inputs "
                f"of shape {known}; give an array with one row for each input"
            )
        return as_raw(array)

    def _ready(self, inputs: Tensor | NDArray[Any]) -> tuple[StochasticNetwork, Tensor]:
        """The network, and its inputs for raw inputs."""
        network = self._made().network
        where = next(network.parameters())
        seen = mapped(self.settings, inputs).to(where.device)
        if seen.is_floating_point():
            seen = seen.to(where.dtype)
        if network_named(self.settings.network).is_observed and not self._observed:
            few = seen[:FEW]
            network.observe(few if len(few) > 1 else torch.cat([few, few]))
            self._observed = True
        return network, seen
