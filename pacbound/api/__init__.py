"""The Python object: a module with a posterior over its weights, trained, certified and saved."""

from __future__ import annotations

from pacbound.api.making import load, stochastic
from pacbound.api.plain_network import PlainNetwork
from pacbound.api.stochastic_module import StochasticModule, certify

__all__ = ["PlainNetwork", "StochasticModule", "certify", "load", "stochastic"]
