"""Stochastic neural networks with Kronecker-flow posteriors, and certificates of their risk.

Example:
    net = pacbound.stochastic(module, posterior="k-linear", seed=0)
    pacbound.fit(net, data, objective="kl-inverse", epochs=20)
    certificate = pacbound.certify(net, data, delta=0.05)
    certificate.save("certificates/mine.json")
    pacbound.verify("certificates/mine.json")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pacbound.api import certify as certify
    from pacbound.api import draw as draw
    from pacbound.api import fit as fit
    from pacbound.api import stochastic as stochastic
    from pacbound.verification import verify as verify

__version__ = "0.1.0"

__all__ = ["__version__", "certify", "draw", "fit", "stochastic", "verify"]

# Where each name is from, imported when it is asked for: the command line and the checker start
# without torch.
_PLACES = dict.fromkeys(("certify", "draw", "fit", "stochastic"), "pacbound.api")
_PLACES |= {"verify": "pacbound.verification"}


def __getattr__(name: str) -> Any:
    if name == "sklearn":
        return import_module("pacbound.sklearn")
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'pacbound' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "sklearn"]
