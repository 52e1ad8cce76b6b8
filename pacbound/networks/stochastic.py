"""Convert a plain network to a stochastic one: a posterior for every parameter tensor."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from pacbound.errors import ModuleError
from pacbound.networks.share import Share
from pacbound.posteriors import Diag, Family, Point, Posterior
from pacbound.products import operands, product
from pacbound.seeds import Noise

__all__ = ["StochasticLayer", "StochasticLinear", "StochasticNetwork"]

TOGETHER = 1 << 17  # entries: smaller tensors are drawn several at once; larger ones fill a cache


class StochasticLayer(nn.Module):
    """A layer whose parameters are drawn in every call, once for each part of the batch.

    Matrices and kernels have a posterior of the given family. Vectors (biases) have a Diag
    posterior, or a Point if that is the family.

    Arguments:
        layer: The plain layer; its own parameter values are not used.
        center: The prior's centre, by the layer's parameter names.
        family: Makes a posterior from a centre and a scale.
        scale: The standard deviation of every weight at the start.
    """

    def __init__(
        self, layer: nn.Module, center: Mapping[str, Tensor], family: Family, scale: float
    ) -> None:
        super().__init__()
        self._bare = (layer,)  # in a tuple, so that its parameters are not registered
        self.source: Noise | None = None  # None: use the mean of every parameter
        self.draws = 1  # the number of parts that the batch is split into
        self.share = Share.whole(0)  # the rows of the batch in this pass
        self.drawn: list[dict[str, Tensor]] | None = None  # the weights of each part in this pass
        self.posteriors = nn.ModuleDict(
            {
                name: (family if value.dim() > 1 or family is Point else Diag)(value, scale)
                for name, value in self.pack(center).items()
            }
        )

    def pack(self, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The layer's parameters in the layout of its posteriors."""
        return dict(parameters)

    def unpack(self, packed: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The inverse of `pack`."""
        return dict(packed)

    def posterior_of(self, name: str) -> Posterior:
        posterior = self.posteriors[name]
        assert isinstance(posterior, Posterior)
        return posterior

    def draw(self, source: Noise | None) -> dict[str, Tensor]:
        """One value for every parameter; the means if there is no source of noise."""
        if source is None:
            return self.unpack({name: self.posterior_of(name).mean for name in self.posteriors})
        return self.draw_several(source, [True])[0]

    def draw_several(self, source: Noise, wanted: Sequence[bool]) -> list[dict[str, Tensor]]:
        """Several values for every parameter; nothing for those that are not wanted.

        The noise of unwanted values is still consumed, because other processes draw those values.
        """
        noises: dict[str, list[Tensor]] = {name: [] for name in self.posteriors}
        for here in wanted:
            for name in self.posteriors:
                posterior = self.posterior_of(name)
                noise = source.normal(*posterior.shape, dtype=posterior.mean.dtype)
                if here:
                    noises[name].append(noise)
        samples = {name: iter(self._samples(name, of)) for name, of in noises.items()}
        return [
            self.unpack({name: next(of) for name, of in samples.items()}) if here else {}
            for here in wanted
        ]

    def _samples(self, name: str, noises: list[Tensor]) -> Sequence[Tensor]:
        posterior = self.posterior_of(name)
        if len(noises) < 2 or posterior.mean.numel() > TOGETHER:
            return [posterior.sample(noise) for noise in noises]
        return posterior.sample(torch.stack(noises)).unbind()

    def begin(self, source: Noise | None, draws: int, share: Share) -> None:
        """Prepare for a pass over a share of a batch."""
        self.source, self.draws, self.share, self.drawn = source, draws, share, None

    def forward(self, inputs: Tensor) -> Tensor:
        parts: Sequence[Tensor] = [inputs]
        if self.source is not None and self.draws > 1:
            parts = torch.split(inputs, self.share.sizes(self.draws))
        if self.drawn is None:  # a layer used twice in one pass keeps its weights
            self.drawn = self._draw_each([len(part) > 0 for part in parts])
        drawn = zip(parts, self.drawn, strict=True)
        outputs = [self.apply_drawn(part, weights) for part, weights in drawn if len(part)]
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs)

    def _draw_each(self, wanted: list[bool]) -> list[dict[str, Tensor]]:
        """The weights of each part; none for a part with no row here."""
        if self.source is None:
            return [self.draw(None)]
        if not all(self.posterior_of(name).is_gaussian for name in self.posteriors):
            wanted[-1] = True  # every process estimates second moments from the last draw
        return self.draw_several(self.source, wanted)

    def apply_drawn(self, inputs: Tensor, parameters: dict[str, Tensor]) -> Tensor:
        """The plain layer with these parameters."""
        outputs: Tensor = functional_call(self._bare[0], parameters, (inputs,))
        return outputs


class StochasticConvolution(StochasticLayer):
    """A convolution with channels last, which is faster on a CPU.

    The kernel is cloned. A kernel with one channel already counts as contiguous with channels last;
    without the clone, the outputs and all later layers would have the other layout.
    """

    def apply_drawn(self, inputs: Tensor, parameters: dict[str, Tensor]) -> Tensor:
        weight = parameters["weight"]
        (operand,) = operands(weight[:0])
        weight = weight.to(operand.dtype, copy=True, memory_format=torch.channels_last)
        return super().apply_drawn(inputs, {**parameters, "weight": weight})


class StochasticLinear(StochasticLayer):
    """A dense layer with independent weights for every example, if its posterior is Gaussian.

    A sum of normal weights is normal, so the noise of the outputs is drawn instead of the noise of
    the weights. This is exact: the outputs of different examples have the same joint law as when
    each example draws its own weights. The bias is one more column of the weight, with input 1.

    Valid when: each example is one row of the inputs, once in a pass. Positions of a sequence, or
    two uses of the layer, share the weights of their example. There `local` is false, and the
    weights are drawn.
    """

    local = True
    recalling = False  # whether to keep the law of the outputs for the same inputs
    _recalled: tuple[Tensor, Tensor, Tensor] | None = None  # inputs, means, deviations
    _used = False

    def begin(self, source: Noise | None, draws: int, share: Share) -> None:
        super().begin(source, draws, share)
        self._used = False

    def pack(self, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
        if "bias" not in parameters:
            return {"weight": parameters["weight"]}
        affine = torch.cat([parameters["weight"], parameters["bias"][:, None]], 1)
        return {"affine": affine}  # (out, in + 1)

    def unpack(self, packed: Mapping[str, Tensor]) -> dict[str, Tensor]:
        if "affine" not in packed:
            return dict(packed)
        return {"weight": packed["affine"][:, :-1], "bias": packed["affine"][:, -1]}

    def forward(self, inputs: Tensor) -> Tensor:
        (name,) = self.posteriors
        posterior = self.posterior_of(name)
        if self.source is not None and not (self.local and posterior.is_gaussian):
            return super().forward(inputs)
        if self.source is not None:
            if self._used or inputs.dim() != 2 or len(inputs) != self.share.rows:
                raise ModuleError(
                    f"a dense layer got inputs of shape {tuple(inputs.shape)} in a pass over "
                    f"{self.share.rows} examples: not one row for each, once, as in the probe"
                )
            self._used = True
        inputs = inputs.to(posterior.mean.dtype)
        if name == "affine":
            inputs = functional.pad(inputs, (0, 1), value=1.0)
        if self.source is None:
            return product(*operands(inputs, posterior.mean.T))
        outputs, deviation = self._law_of(inputs, posterior)
        noise = self.source.normal(self.share.batch, posterior.shape[0], dtype=inputs.dtype)
        return outputs + posterior.mix_local(deviation * noise[self.share.place])

    def _law_of(self, inputs: Tensor, posterior: Posterior) -> tuple[Tensor, Tensor]:
        """The outputs' means, and the factors of their noise."""
        known = self._recalled
        if known is not None and torch.equal(known[0], inputs):
            return known[1], known[2]
        outputs = product(*operands(inputs, posterior.mean.T))
        deviation = posterior.local_deviation(inputs)
        if self.recalling:
            self._recalled = inputs, outputs, deviation
        return outputs, deviation


_KINDS = {nn.Linear: StochasticLinear, nn.Conv2d: StochasticConvolution}


class StochasticNetwork(nn.Module):
    """A network in which every parameter tensor has a posterior around the prior's centre.

    Arguments:
        module: The plain network; its own parameter values are not used.
        center: The prior's centre, by parameter name.
        family: Makes a posterior from a centre and a scale.
        scales: The initial standard deviation of the weights: one for all layers, or one for each.
    """

    def __init__(
        self,
        module: nn.Module,
        center: Mapping[str, Tensor],
        family: Family,
        scales: Sequence[float],
    ) -> None:
        super().__init__()
        self.layers: dict[str, StochasticLayer] = {}
        self.regular = True  # every layer is used once in a pass, on one block per example
        self.module = copy.deepcopy(module)
        found = {
            name: (layer, [leaf for leaf, _ in layer.named_parameters(recurse=False)])
            for name, layer in self.module.named_modules()
        }
        found = {name: (layer, leaves) for name, (layer, leaves) in found.items() if leaves}
        if len(scales) not in (1, len(found)):
            raise ModuleError(f"initial scales: give one, or one for each of {len(found)} layers")
        each = list(scales) if len(scales) > 1 else [*scales] * len(found)
        for (name, (layer, leaves)), scale in zip(found.items(), each, strict=True):
            kind = _KINDS.get(type(layer), StochasticLayer)
            part = {leaf: center[f"{name}.{leaf}"] for leaf in leaves}
            self.layers[name] = kind(layer, part, family, scale)
            self.module.set_submodule(name, self.layers[name])

    def forward(
        self, inputs: Tensor, source: Noise | None, draws: int = 1, share: Share | None = None
    ) -> Tensor:
        """The outputs with noise from the source, or of the mean network without a source.

        Layers without local noise draw their weights `draws` times, each time for another part of
        the batch.

        Arguments:
            share: The rows of the batch that the inputs are; all by default. The noise of a row is
                the same as in the whole batch. Valid when: `regular`, or one draw.
        """
        share = share or Share.whole(len(inputs))
        if draws > 1 and source is not None and not self.regular:
            return torch.cat([self(part, source) for part in inputs.chunk(draws)])
        for layer in self.layers.values():
            layer.begin(source, draws, share)
        outputs = self.module(inputs)
        for layer in self.layers.values():
            layer.drawn = None  # frees the weights and their graph
        assert isinstance(outputs, Tensor)
        return outputs

    def observe(self, inputs: Tensor) -> None:
        """Observe how the mean network uses its layers, and so which layers may have local noise.

        Valid when: all inputs are treated like these. Otherwise a local layer raises an error.
        """
        # With two batch sizes: an equal length could be a coincidence at one size.
        passes = [(len(batch), self._shapes(batch)) for batch in (inputs, inputs[:1])]
        self.regular = True
        for name, layer in self.layers.items():
            uses = [[(s[0] == n, len(s)) for s in shapes[name]] for n, shapes in passes]
            if isinstance(layer, StochasticLinear):
                layer.local = uses == [[(True, 2)], [(True, 2)]]
            once = all(len(use) < 2 and all(follows for follows, _ in use) for use in uses)
            self.regular = self.regular and once

    @torch.no_grad()
    def _shapes(self, inputs: Tensor) -> dict[str, list[torch.Size]]:
        """The input shapes of each layer in one pass."""
        shapes: dict[str, list[torch.Size]] = {name: [] for name in self.layers}
        hooks = [
            layer.register_forward_pre_hook(lambda _, args, to=to: to.append(args[0].shape))
            for layer, to in zip(self.layers.values(), shapes.values(), strict=True)
        ]
        try:
            self(inputs, None)
        finally:
            for hook in hooks:
                hook.remove()
        return shapes

    def posteriors(self, center: Mapping[str, Tensor]) -> Iterator[tuple[str, Posterior, Tensor]]:
        """Every posterior, with its layer's name and its part of the prior's centre."""
        for name, layer in self.layers.items():
            prefix = f"{name}."
            part = {k.removeprefix(prefix): v for k, v in center.items() if k.startswith(prefix)}
            for leaf, value in layer.pack(part).items():
                yield name, layer.posterior_of(leaf), value

    def draw_weights(self, source: Noise) -> dict[str, Tensor]:
        """One whole network drawn from the posterior, as a state dict of the plain module."""
        return {
            f"{name}.{leaf}": value
            for name, layer in self.layers.items()
            for leaf, value in layer.draw(source).items()
        }

    def weights_from(self, values: Sequence[Tensor]) -> dict[str, Tensor]:
        """A state dict of the plain module, from values in the order of `posteriors`."""
        rest = iter(values)
        return {
            f"{name}.{leaf}": value
            for name, layer in self.layers.items()
            for leaf, value in layer.unpack({of: next(rest) for of in layer.posteriors}).items()
        }

    def variance_groups(self, grouping: str) -> list[list[str]]:
        """The groups of layers that share a prior variance: one group, or one per layer."""
        names = list(self.layers)
        return [names] if grouping == "network" else [[name] for name in names]

    def draws_per_example(self) -> bool:
        """Whether every layer draws independent weights for every example."""
        return all(
            isinstance(layer, StochasticLinear)
            and layer.local
            and all(layer.posterior_of(leaf).is_gaussian for leaf in layer.posteriors)
            for layer in self.layers.values()
        )

    def recall(self) -> None:
        """From now on, keep the law of each dense layer's outputs for repeated inputs.

        In every pass over the same examples, the first layer sees the same inputs, whatever is
        drawn. Valid when: the posteriors no longer change, and no gradient is taken.
        """
        for layer in self.layers.values():
            if isinstance(layer, StochasticLinear):
                layer.recalling = True

    def activate(self, nonlinear: bool) -> None:
        """Use the posteriors' nonlinear parts, or treat them as linear while these are zero."""
        for layer in self.layers.values():
            for leaf in layer.posteriors:
                layer.posterior_of(leaf).activate(nonlinear)

    def flaw(self) -> str | None:
        """Why the current parameters are unusable, or None."""
        for name, layer in self.layers.items():
            for leaf in layer.posteriors:
                if flaw := layer.posterior_of(leaf).flaw():
                    return f"the posterior of layer {name} is unusable: {flaw}"
        return None

    def parameter_count(self) -> int:
        """d: the number of weights of the plain network."""
        return sum(
            layer.posterior_of(leaf).mean.numel()
            for layer in self.layers.values()
            for leaf in layer.posteriors
        )
