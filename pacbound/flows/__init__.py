"""Volume-preserving maps of vectors with certifiable Lipschitz constants."""

from __future__ import annotations

from collections.abc import Sequence

from pacbound.errors import SettingError, unknown_name
from pacbound.flows.autoregressive import Autoregressive
from pacbound.flows.base import Flow
from pacbound.flows.chain import Chain
from pacbound.flows.coupling import Coupling
from pacbound.flows.estimated import EstimatedNorm
from pacbound.flows.shift import Shift
from pacbound.flows.spectral import certified_norm
from pacbound.flows.triangular import Triangular
from pacbound.seeds import derive

__all__ = [
    "FLOWS",
    "Autoregressive",
    "Chain",
    "Coupling",
    "EstimatedNorm",
    "Flow",
    "Shift",
    "Triangular",
    "build",
    "certified_norm",
]

FLOWS: dict[str, type[Autoregressive] | type[Coupling]] = {
    "iaf": Autoregressive,
    "realnvp": Coupling,
}


def build(
    kind: str,
    size: int,
    hidden: Sequence[int],
    steps: int,
    linear: bool,
    seed: str,
    unit: float = 1.0,
) -> Chain:
    """A flow that starts as the identity. A flow of size 1 has no parameters and stays so.

    Arguments:
        kind: "iaf" or "realnvp".
        size: The number of coordinates.
        hidden: The sizes of the hidden layers of each step's network.
        steps: The number of nonlinear steps, of alternating direction.
        linear: Whether a triangular map comes first.
        seed: The seed of the hidden weights.
        unit: The scale of coordinates at which the nonlinear steps bend.

    Example:
        >>> flow = build("iaf", size=5, hidden=[16], steps=2, linear=True, seed="0")
        >>> [type(step).__name__ for step in flow.flows()]
        ['Triangular', 'Autoregressive', 'Autoregressive']
        >>> 1 <= flow.lipschitz(certified_norm) < 1 + 1e-9
        True
    """
    if kind not in FLOWS:
        raise unknown_name("flow", kind, FLOWS)
    if steps < 0:
        raise SettingError(f"a flow needs 0 steps or more, not {steps}")
    if size == 1:
        return Chain(size, [])
    first = [Triangular(size)] if linear else []
    rest = [
        FLOWS[kind](size, hidden, derive("flow step", seed, i), reverse=i % 2 == 1, unit=unit)
        for i in range(steps)
    ]
    return Chain(size, [*first, *rest])
