"""Stochastic neural networks with Kronecker-flow posteriors, and their risk certificates.

Example:
    net = pacbound.stochastic(module, posterior="k-linear")
    net.fit(data, objective="kl-inverse", epochs=20)
    certificate = net.certify(data, delta=0.05)
    certificate.save("certificates/mine.json")
    pacbound.verify("certificates/mine.json")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pacbound.api import StochasticModule as StochasticModule
    from pacbound.api import certify as certify
    from pacbound.api import load as load
    from pacbound.api import stochastic as stochastic
    from pacbound.certificate.format import Certificate as Certificate
    from pacbound.fixed.certifying import certify_fixed as certify_fixed
    from pacbound.monitoring import monitor as monitor
    from pacbound.training.progress import Callback as Callback
    from pacbound.verification import verify as verify

__version__ = "0.1.0"

# The module of each name, imported on first use: the command line and the checker start without
# torch.
_PLACES = {
    "Callback": "pacbound.training.progress",
    "Certificate": "pacbound.certificate.format",
    "StochasticModule": "pacbound.api",
    "certify": "pacbound.api",
    "certify_fixed": "pacbound.fixed.certifying",
    "load": "pacbound.api",
    "monitor": "pacbound.monitoring",
    "stochastic": "pacbound.api",
    "verify": "pacbound.verification",
}
_MODULES = ("errors", "priors", "sklearn")

__all__ = [
    "Callback",
    "Certificate",
    "StochasticModule",
    "__version__",
    "certify",
    "certify_fixed",
    "load",
    "monitor",
    "stochastic",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"pacbound.{name}")
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'pacbound' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
