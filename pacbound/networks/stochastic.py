"""Convert a plain network to a stochastic one: a posterior for every parameter tensor."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from pacbound.errors import ModuleError
from pacbound.networks.blocks import Blocks, Sizes, sizes_of
from pacbound.networks.layers import (
    UNCUT,
    FixedNorm,
    StochasticLayer,
    StochasticLinear,
    kind_of,
    places_of,
)
from pacbound.networks.parts import first_names, parts_of
from pacbound.networks.share import Share
from pacbound.posteriors import Family, Piece
from pacbound.seeds import Noise

__all__ = ["StochasticNetwork"]


class StochasticNetwork(nn.Module):
    """A network with a posterior around the prior's centre for every parameter that is not frozen.

    A parameter that several layers share has one posterior, in the first of them.

    Arguments:
        module: The plain network; its own values are not used if the centre has them.
        center: The prior's centre, by parameter name, and the prior's constants: frozen parameters
            and buffers.
        family: Makes a posterior from a centre and a scale.
        scales: The initial standard deviation of the weights: one for all layers, one for each, or
            one for each block of each.
        blocks: The blocks of layers' units; see `networks/blocks.py`.
        later_scale: The scale of blocks other than the first of a layer, unless each has one.
        across: Whether the maps of a posterior run across the blocks of its layer.
    """

    def __init__(
        self,
        module: nn.Module,
        center: Mapping[str, Tensor],
        family: Family,
        scales: Sequence[float],
        blocks: Blocks = (),
        later_scale: float = 1.0,
        across: bool = False,
    ) -> None:
        super().__init__()
        self.layers: dict[str, StochasticLayer] = {}
        self.regular = True  # every layer is used once in a pass, on one block per example
        self.module = copy.deepcopy(module)
        parts = parts_of(self.module)
        first, places = first_names(self.module), _places(self.module)
        sizes = sizes_of(self.module, blocks)
        drawn = {name: sizes.get(name, UNCUT) for name, part in parts.items() if part.own}
        each = _scales(drawn, scales, later_scale)
        self.scales: dict[str, float] = {}  # at the start, by layer and block
        owners: dict[str, tuple[StochasticLayer, str]] = {}
        for name, part in parts.items():
            if not part.is_stochastic:
                continue
            own = {leaf: center[full] for leaf, full in part.own.items()}
            fixed = {leaf: center[full] for leaf, full in part.constants.items()}
            cut = sizes.get(name, UNCUT)
            made = kind_of(part)(part.layer, own, family, each.get(name, []), fixed, cut, across)
            made.borrow({leaf: owners[full] for leaf, full in part.borrowed.items()})
            owners |= {full: (made, leaf) for leaf, full in part.own.items()}
            self.layers[name] = made
            if part.own:
                names = [f"{name}{block}" for block in made.block_names()]
                self.scales |= dict(zip(names, each[name], strict=True))
            for place in places[id(part.layer)]:
                self.module.set_submodule(place, made)
        _fix_norms(self.module, center, places)
        _fix_constants(self.module, center, first)

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
                alone = not layer.lends and not layer.borrowed
                layer.local = alone and uses == [[(True, 2)], [(True, 2)]]
            once = all(len(use) < 2 and all(follows for follows, _ in use) for use in uses)
            self.regular = self.regular and once and layer.regular

    @torch.no_grad()
    def _shapes(self, inputs: Tensor) -> dict[str, list[torch.Size]]:
        """The shapes of each layer's first input in one pass; none if that is no tensor."""
        shapes: dict[str, list[torch.Size]] = {name: [] for name in self.layers}
        hooks = [
            layer.register_forward_pre_hook(lambda _, args, to=to: to.append(_shape(args)))
            for layer, to in zip(self.layers.values(), shapes.values(), strict=True)
        ]
        try:
            self(inputs, None)
        finally:
            for hook in hooks:
                hook.remove()
        return shapes

    def posteriors(self, center: Mapping[str, Tensor]) -> Iterator[tuple[str, Piece, Tensor]]:
        """Every posterior or block of one, with its name and its part of the centre."""
        for name, layer in self.layers.items():
            part = {leaf: center[f"{name}.{leaf}"] for leaf in layer.leaves}
            for block, q, value in layer.blocks(layer.pack(part)):
                yield f"{name}{block}", q, value

    def draw_weights(self, source: Noise) -> dict[str, Tensor]:
        """One whole network drawn from the posterior, as a state dict of the plain module."""
        return {
            f"{name}.{leaf}": value
            for name, layer in self.layers.items()
            for leaf, value in layer.draw(source).items()
        }

    def sample_blocks(self, standard_normals: Sequence[Tensor]) -> list[Tensor]:
        """One draw of all weights from noise; both are in the order of `posteriors`."""
        rest = iter(standard_normals)
        return [value for layer in self.layers.values() for value in layer.sample_blocks(rest)]

    def weights_from(self, values: Sequence[Tensor]) -> dict[str, Tensor]:
        """A state dict of the plain module, from values in the order of `posteriors`."""
        rest = iter(values)
        return {
            f"{name}.{leaf}": value
            for name, layer in self.layers.items()
            for leaf, value in layer.joined(rest).items()
        }

    def variance_groups(self, grouping: str) -> list[list[str]]:
        """The groups of weights that share a prior variance: one group, or one per block."""
        names = list(self.scales)
        return [names] if grouping == "network" else [[name] for name in names]

    def is_gaussian(self) -> bool:
        """Whether every posterior is a Gaussian at present, so that the KL is exact."""
        return all(
            layer.posterior_of(leaf).is_gaussian
            for layer in self.layers.values()
            for leaf in layer.posteriors
        )

    def draws_per_example(self) -> bool:
        """Whether every layer draws independent weights for every example."""
        local = (isinstance(x, StochasticLinear) and x.local for x in self.layers.values())
        return self.is_gaussian() and all(local)

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

    def scale_parameters(self) -> list[nn.Parameter]:
        """The logarithms of all posteriors' scales."""
        return [
            parameter
            for layer in self.layers.values()
            for leaf in layer.posteriors
            for parameter in layer.posterior_of(leaf).scale_parameters()
        ]

    def parameter_count(self) -> int:
        """d: the number of weights of the plain network."""
        return sum(
            layer.posterior_of(leaf).mean.numel()
            for layer in self.layers.values()
            for leaf in layer.posteriors
        )


def _scales(
    layers: Mapping[str, Sizes], scales: Sequence[float], later: float
) -> dict[str, list[float]]:
    """The initial scales of the blocks of each layer."""
    counts = {name: len(places_of(sizes)) for name, sizes in layers.items()}
    if len(scales) == sum(counts.values()):
        rest = iter(scales)
        return {name: [next(rest) for _ in range(count)] for name, count in counts.items()}
    if len(scales) not in (1, len(layers)):
        raise ModuleError(f"initial scales: give one, or one for each of {len(layers)} layers")
    first = [*scales] * (len(layers) if len(scales) == 1 else 1)
    pairs = zip(counts.items(), first, strict=True)
    return {name: [scale] + [later] * (count - 1) for (name, count), scale in pairs}


def _shape(arguments: tuple[object, ...]) -> torch.Size:
    first = arguments[0] if arguments else None
    return first.shape if isinstance(first, Tensor) and first.dim() else torch.Size([0])


def _places(module: nn.Module) -> dict[int, list[str]]:
    """All names of each module, by its id: a layer may be registered in several places."""
    places: dict[int, list[str]] = {}
    for name, layer in module.named_modules(remove_duplicate=False):
        places.setdefault(id(layer), []).append(name)
    return places


def _fix_norms(
    module: nn.Module, center: Mapping[str, Tensor], places: Mapping[int, list[str]]
) -> None:
    """Replace batch normalisation by an affine map, if the centre has its statistics."""
    for name, layer in list(module.named_modules()):
        if isinstance(layer, _BatchNorm) and f"{name}.running_mean" in center:
            leaves = ("running_mean", "running_var", "weight", "bias")
            values = {
                leaf: center[f"{name}.{leaf}"] for leaf in leaves if f"{name}.{leaf}" in center
            }
            for place in places[id(layer)]:
                module.set_submodule(place, FixedNorm(layer.eps, values))


def _fix_constants(
    module: nn.Module, center: Mapping[str, Tensor], first: Mapping[str, str]
) -> None:
    """Turn frozen parameters and buffers with a value in the centre into constants.

    They are neither trained nor saved with the posterior: they belong to the prior.
    """
    names = [name for name, _ in module.named_parameters(remove_duplicate=False)]
    names += [name for name, _ in module.named_buffers(remove_duplicate=False)]
    for name in names:
        if first.get(name) not in center:  # a posterior's own tensor has no name there
            continue
        path, _, leaf = name.rpartition(".")
        layer = module.get_submodule(path)
        delattr(layer, leaf)
        layer.register_buffer(leaf, center[first[name]].clone(), persistent=False)
        if isinstance(layer, nn.RNNBase):
            layer._init_flat_weights()
