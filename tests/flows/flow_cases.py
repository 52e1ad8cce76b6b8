"""Every flow once, with weights that are not those of the start, in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pacbound.flows import Autoregressive, Chain, Coupling, Flow, Triangular, build
from pacbound.seeds import Noise, derive

__all__ = ["CASES", "Case", "jacobians", "points"]


@dataclass(frozen=True)
class Case:
    """One flow: how it is made, and the size that its weights are then given."""

    name: str
    make: Callable[[], Flow]
    weights: float = 1.0

    def new(self) -> Flow:
        """As it is made."""
        return self.make().double()

    def moved(self) -> Flow:
        """With other weights, everywhere: also where a mask must hide them.

        A triangle has no mask: it is never anything but one.
        """
        flow = self.new()
        noise = Noise(derive("flow test", self.name))
        with torch.no_grad():
            for parameter in flow.parameters():
                drawn = noise.normal(*parameter.shape, dtype=torch.float64)
                parameter.copy_(self.weights * drawn / parameter.shape[-1] ** 0.5)
            for module in flow.modules():
                if isinstance(module, Triangular):
                    module.below.tril_(-1)
        return flow


def _made(kind: str, size: int, hidden: list[int], steps: int, linear: bool) -> Callable[[], Flow]:
    return lambda: build(kind, size, hidden, steps, linear, seed="tests")


CASES = [
    Case("triangular 2", lambda: Triangular(2)),
    Case("triangular 7, large", lambda: Triangular(7), weights=10),
    Case("coupling 2", lambda: Coupling(2, [5], "0")),
    Case("coupling 7", lambda: Coupling(7, [5], "0")),
    Case("coupling 7 reversed", lambda: Coupling(7, [5], "0", reverse=True)),
    Case("coupling 6, two layers, large", lambda: Coupling(6, [9, 4], "0"), weights=20),
    Case("coupling 5, linear", lambda: Coupling(5, [], "0"), weights=3),
    Case("autoregressive 2", lambda: Autoregressive(2, [5], "0")),
    Case("autoregressive 7", lambda: Autoregressive(7, [5], "0")),
    Case("autoregressive 7 reversed", lambda: Autoregressive(7, [30], "0", reverse=True)),
    Case("autoregressive 7, two layers", lambda: Autoregressive(7, [3, 20], "0"), weights=3),
    Case("autoregressive 4, large", lambda: Autoregressive(4, [8], "0"), weights=20),
    Case("autoregressive 5, linear", lambda: Autoregressive(5, [], "0"), weights=3),
    Case("autoregressive 3, one unit", lambda: Autoregressive(3, [1], "0")),
    Case("iaf 1", _made("iaf", 1, [8], 2, True)),
    Case("iaf 2, 3 steps", _made("iaf", 2, [8], 3, True)),
    Case("iaf 9, 2 steps", _made("iaf", 9, [12], 2, False)),
    Case("iaf 7, only linear", _made("iaf", 7, [12], 0, True)),
    Case("realnvp 1", _made("realnvp", 1, [8], 2, True)),
    Case("realnvp 2, 3 steps", _made("realnvp", 2, [8], 3, True)),
    Case("realnvp 9, 4 steps", _made("realnvp", 9, [12], 4, True)),
    Case(
        "chain of chains",
        lambda: Chain(
            3, [build("iaf", 3, [6], 1, True, "a"), build("realnvp", 3, [6], 2, False, "b")]
        ),
    ),
]


def points(size: int, count: int, scale: float = 1.0) -> Tensor:
    """Random points of Rⁿ at several distances from zero; (count, n)."""
    noise = Noise(derive("flow test points", size))
    drawn = noise.normal(count, size, dtype=torch.float64)
    return scale * drawn * torch.logspace(-3, 1, count, dtype=torch.float64)[:, None]


def jacobians(flow: Flow, x: Tensor) -> Tensor:
    """∂g/∂x at every row of x, by automatic differentiation of the plain map; (count, n, n)."""
    flow.eval()
    jacobian: Tensor = torch.func.vmap(torch.func.jacrev(flow))(x)
    flow.train()
    return jacobian
