"""Stochastic layers: a plain layer with a posterior for its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from pacbound.errors import ModuleError
from pacbound.networks.blocks import Sizes
from pacbound.networks.parts import COMPOSITES, Part
from pacbound.networks.share import Share
from pacbound.posteriors import Blocked, Cut, Diag, Family, Piece, Point, Posterior
from pacbound.products import operands, product
from pacbound.seeds import Noise

__all__ = ["UNCUT", "FixedNorm", "StochasticLayer", "StochasticLinear", "kind_of", "places_of"]

AFFINE = "affine"  # the weight of a dense layer, with its bias as the last column
UNCUT: Sizes = ((), ())
OPTIONS = (bool, int, float, str, tuple, type(None))
TOGETHER = 1 << 17  # entries: smaller tensors are drawn several at once; larger ones fill a cache


class Constants(nn.Module):
    """Tensors that move with a module, but that are neither trained nor saved with it."""

    def __init__(self, values: Mapping[str, Tensor]) -> None:
        super().__init__()
        for name, value in values.items():
            self.register_buffer(name.replace(".", "/"), value.clone(), persistent=False)

    def values(self) -> dict[str, Tensor]:
        """The tensors by name."""
        return {
            name.replace("/", "."): value
            for name, value in self._buffers.items()
            if value is not None
        }


class FixedNorm(nn.Module):
    """Batch normalisation with fixed statistics, which is an affine map.

    Arguments:
        eps: Added to the variance.
        values: running_mean, running_var and, if it has them, weight and bias.
    """

    def __init__(self, eps: float, values: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.eps = eps
        self.constants = Constants(values)

    def forward(self, inputs: Tensor) -> Tensor:
        fixed = self.constants.values()
        mean, variance = fixed["running_mean"], fixed["running_var"]
        scale, shift = fixed.get("weight"), fixed.get("bias")
        return functional.batch_norm(inputs, mean, variance, scale, shift, eps=self.eps)


class StochasticLayer(nn.Module):
    """A layer whose parameters are drawn in every call, once for each part of the batch.

    Matrices and kernels have a posterior of the given family. Vectors (biases) have a Diag
    posterior, or a Point if that is the family.

    Arguments:
        layer: The plain layer; its own parameter values are not used.
        center: The prior's centre, by the names of the parameters with a posterior.
        family: Makes a posterior from a centre and a scale.
        scales: The standard deviation of the weights at the start, for every block.
        constants: The values of the other parameters.
        sizes: The sizes of the blocks of its units and of its inputs; by default one block.
        across: Whether the maps of its posteriors run across blocks, not within each.
    """

    regular = True  # a batch may be split by the rows of the one input tensor
    lends = False  # other layers share its weights

    def __init__(
        self,
        layer: nn.Module,
        center: Mapping[str, Tensor],
        family: Family,
        scales: Sequence[float],
        constants: Mapping[str, Tensor],
        sizes: Sizes = UNCUT,
        across: bool = False,
    ) -> None:
        super().__init__()
        self.sizes = sizes
        self._bare = (layer,)  # in a tuple, so that its parameters are not registered
        self.leaves = tuple(center)  # the parameters with a posterior
        self.constants = Constants(constants)
        self.borrowed: dict[str, tuple[StochasticLayer, str]] = {}  # shared with earlier layers
        self.source: Noise | None = None  # None: use the mean of every parameter
        self.draws = 1  # the number of parts that the batch is split into
        self.share = Share.whole(0)  # the rows of the batch in this pass
        self.drawn: list[dict[str, Tensor]] | None = None  # the weights of each part in this pass
        self.posteriors = nn.ModuleDict(
            {
                name: self._posterior(name, value, family, scales, across)
                for name, value in self.pack(center).items()
            }
        )

    def _posterior(
        self, name: str, center: Tensor, family: Family, scales: Sequence[float], across: bool
    ) -> Posterior:
        """The posterior of a tensor, cut into blocks if the layer has blocks."""
        kind = family if center.dim() > 1 or family is Point else Diag
        if self.sizes == UNCUT:
            return kind(center, scales[0])
        units, inputs = self.sizes
        columns = inputs if center.dim() > 1 else ()
        cut = Cut(units or (len(center),), columns, extra=name == AFFINE)
        by_place = dict(zip(places_of(self.sizes), scales, strict=True))
        if across and center.dim() > 1:  # vectors have no maps
            each = [by_place[place] for place in cut.places]
            return kind(center, 1.0).across(cut, each)
        blocks = zip(cut.parts(center), cut.places, strict=True)
        return Blocked(cut, [kind(part, by_place[place]) for part, place in blocks])

    def blocks(self, packed: Mapping[str, Tensor]) -> Iterator[tuple[str, Piece, Tensor]]:
        """Every posterior, or block of one with its number; and its values."""
        for leaf, value in packed.items():
            q = self.posterior_of(leaf)
            if q.cut is None:
                yield "", q, value
                continue
            parts = q.cut.parts(value)
            for (i, j), block, part in zip(q.cut.places, q.pieces(), parts, strict=True):
                yield f"[{i + 1},{j + 1}]", block, part

    def block_names(self) -> list[str]:
        """The names of the blocks, as in `blocks`."""
        if self.sizes == UNCUT:
            return [""]
        return [f"[{i + 1},{j + 1}]" for i, j in places_of(self.sizes)]

    def joined(self, values: Iterator[Tensor]) -> dict[str, Tensor]:
        """The layer's parameters, from values in the order of `blocks`."""
        packed = {}
        for leaf in self.posteriors:
            q = self.posterior_of(leaf)
            parts = [next(values) for _ in q.pieces()]
            packed[leaf] = parts[0] if q.cut is None else q.cut.whole(parts)
        return self.unpack(packed)

    def sample_blocks(self, standard_normals: Iterator[Tensor]) -> Iterator[Tensor]:
        """One draw of the weights from noise; both are in the order of `blocks`."""
        for leaf in self.posteriors:
            q = self.posterior_of(leaf)
            yield from q.sample_pieces([next(standard_normals) for _ in q.pieces()])

    def pack(self, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The layer's parameters in the layout of its posteriors."""
        return dict(parameters)

    def unpack(self, packed: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The inverse of `pack`."""
        return dict(packed)

    def __getattr__(self, name: str) -> Any:
        """An option of the plain layer, such as `hidden_size`; its tensors are drawn, not read."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            found = (
                getattr(self.__dict__["_bare"][0], name, self) if "_bare" in self.__dict__ else self
            )
            if isinstance(found, OPTIONS):
                return found
            raise AttributeError(
                f"forward reads '{name}' of a layer; it must use its layers by calling them"
            ) from None

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

    def borrow(self, weights: dict[str, tuple[StochasticLayer, str]]) -> None:
        """Share weights of other layers."""
        self.borrowed = weights
        for lender, _ in weights.values():
            lender.lend()

    def lend(self) -> None:
        """From now on other layers share the weights, so they are always drawn."""
        self.lends = True

    def begin(self, source: Noise | None, draws: int, share: Share) -> None:
        """Prepare for a pass over a share of a batch."""
        self.source, self.draws, self.share, self.drawn = source, draws, share, None

    def forward(self, inputs: Tensor, *others: Any, **options: Any) -> Any:
        parts: Sequence[Tensor] = [inputs]
        if self.source is not None and self.draws > 1:
            parts = torch.split(inputs, self.share.sizes(self.draws))
        drawn = self.weights_of([len(part) > 0 for part in parts])
        outputs = [
            self.apply_drawn(weights, part, *others, **options)
            for part, weights in zip(parts, drawn, strict=True)
            if len(part)
        ]
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs)

    def weights_of(self, wanted: list[bool]) -> list[dict[str, Tensor]]:
        """The weights of each part of the batch, drawn at their first use in a pass."""
        if self.drawn is None:
            self.drawn = self._draw_each(wanted)
            for leaf, (lender, original) in self.borrowed.items():
                for own, lent in zip(self.drawn, lender.weights_of(wanted), strict=True):
                    if lent:
                        own[leaf] = lent[original]
        return self.drawn

    def _draw_each(self, wanted: list[bool]) -> list[dict[str, Tensor]]:
        """The weights of each part; none for a part with no row here."""
        if self.source is None:
            return [self.draw(None)]
        if not all(self.posterior_of(name).is_gaussian for name in self.posteriors):
            wanted[-1] = True  # every process estimates second moments from the last draw
        return self.draw_several(self.source, wanted)

    def apply_drawn(
        self, parameters: dict[str, Tensor], inputs: Tensor, *others: Any, **options: Any
    ) -> Any:
        """The plain layer with these parameters."""
        weights = {**self.constants.values(), **parameters}
        return functional_call(self._bare[0], weights, (inputs, *others), options)


class StochasticConvolution(StochasticLayer):
    """A convolution with channels last, which is faster on a CPU.

    The kernel is cloned. A kernel with one channel already counts as contiguous with channels last;
    without the clone, the outputs and all later layers would have the other layout.
    """

    def apply_drawn(
        self, parameters: dict[str, Tensor], inputs: Tensor, *others: Any, **options: Any
    ) -> Any:
        weight = parameters["weight"]
        (operand,) = operands(weight[:0])
        weight = weight.to(operand.dtype, copy=True, memory_format=torch.channels_last)
        return super().apply_drawn({**parameters, "weight": weight}, inputs, *others, **options)


class StochasticComposite(StochasticLayer):
    """A layer that reads the parameters of its own parts, such as attention.

    It may have several inputs and outputs, and its batch may be in any dimension. So its batch is
    never split here: the network is applied to each part of a batch.
    """

    regular = False

    def forward(self, *arguments: Any, **options: Any) -> Any:
        (drawn,) = self.weights_of([True])
        weights = {**self.constants.values(), **drawn}
        return functional_call(self._bare[0], weights, arguments, options)

    @property
    def self_attn(self) -> SimpleNamespace:
        """What an `nn.TransformerEncoder` asks its layers for: where the batch is."""
        attention = self._bare[0].self_attn
        assert isinstance(attention, nn.MultiheadAttention)
        return SimpleNamespace(batch_first=attention.batch_first)

    def pack(self, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {leaf.replace(".", "/"): value for leaf, value in parameters.items()}

    def unpack(self, packed: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {leaf.replace("/", "."): value for leaf, value in packed.items()}


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

    def lend(self) -> None:
        super().lend()
        self.local = False

    def borrow(self, weights: dict[str, tuple[StochasticLayer, str]]) -> None:
        super().borrow(weights)
        self.local = self.local and not weights

    def begin(self, source: Noise | None, draws: int, share: Share) -> None:
        super().begin(source, draws, share)
        self._used = False

    def pack(self, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
        if "bias" not in parameters:
            return {"weight": parameters["weight"]}
        affine = torch.cat([parameters["weight"], parameters["bias"][:, None]], 1)
        return {AFFINE: affine}  # (out, in + 1)

    def unpack(self, packed: Mapping[str, Tensor]) -> dict[str, Tensor]:
        if AFFINE not in packed:
            return dict(packed)
        return {"weight": packed[AFFINE][:, :-1], "bias": packed[AFFINE][:, -1]}

    def forward(self, inputs: Tensor, *others: Any, **options: Any) -> Any:
        (name,) = self.posteriors
        posterior = self.posterior_of(name)
        is_local = self.local and posterior.is_gaussian
        if self.borrowed or (self.source is not None and not is_local):
            return super().forward(inputs, *others, **options)
        if self.source is not None:
            if self._used or inputs.dim() != 2 or len(inputs) != self.share.rows:
                raise ModuleError(
                    f"a dense layer got inputs of shape {tuple(inputs.shape)} in a pass over "
                    f"{self.share.rows} examples: not one row for each, once, as in the probe"
                )
            self._used = True
        mean = posterior.mean
        if inputs.shape[-1] != (width := mean.shape[1] - (name == AFFINE)):
            raise ModuleError(
                f"a dense layer of {width} inputs got inputs of shape {tuple(inputs.shape)}"
            )
        inputs = inputs.to(mean.dtype)
        if name == AFFINE:
            inputs = functional.pad(inputs, (0, 1), value=1.0)
        if self.source is None:
            return self._shifted(product(*operands(inputs, mean.T)))
        outputs, deviation = self._law_of(inputs, posterior)
        noise = self.source.normal(self.share.batch, posterior.local_width, dtype=inputs.dtype)
        return outputs + posterior.mix_local(deviation * noise[self.share.place])

    def _shifted(self, outputs: Tensor) -> Tensor:
        """The outputs plus the bias, if that is a constant."""
        bias = self.constants.values().get("bias")
        return outputs if bias is None else outputs + bias

    def _law_of(self, inputs: Tensor, posterior: Posterior) -> tuple[Tensor, Tensor]:
        """The outputs' means, and the factors of their noise."""
        known = self._recalled
        if known is not None and torch.equal(known[0], inputs):
            return known[1], known[2]
        outputs = self._shifted(product(*operands(inputs, posterior.mean.T)))
        deviation = posterior.local_deviation(inputs)
        if self.recalling:
            self._recalled = inputs, outputs, deviation
        return outputs, deviation


_KINDS = {nn.Linear: StochasticLinear, nn.Conv2d: StochasticConvolution}


def places_of(sizes: Sizes) -> list[tuple[int, int]]:
    """The blocks of a layer, by unit and by input."""
    units, inputs = (max(1, len(each)) for each in sizes)
    return [(i, j) for i in range(units) for j in range(inputs)]


def kind_of(part: Part) -> type[StochasticLayer]:
    """The kind of stochastic layer for a part of a network."""
    if isinstance(part.layer, COMPOSITES):
        return StochasticComposite
    kind = _KINDS.get(type(part.layer), StochasticLayer)
    return kind if "weight" in part.own else StochasticLayer
