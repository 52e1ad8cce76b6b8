"""Stochastic neural networks with Kronecker-flow posteriors, and certificates of their risk."""

__version__ = "0.1.0"
