"""The source paper's test errors, for comparison.

Huang et al., "Stochastic Neural Network with Kronecker Flow" (AISTATS 2020).
"""

from __future__ import annotations

__all__ = ["VI_ERRORS"]

# Test errors in per cent, by network and posterior. The deterministic columns are not the paper's
# own: L2 for LeNet is from "Multiplicative Normalizing Flows for Variational Bayesian Neural
# Networks", SGD for VGG-16 from "Noisy Natural Gradient as Variational Inference".
VI_ERRORS: dict[str, dict[str, float]] = {
    "lenet-5": {"point": 0.6, "diag": 0.92, "k-diag": 0.67, "k-linear": 0.70, "k-nonlinear": 0.60},
    "lenet-5-cifar5": {"point": 24, "diag": 19.0, "k-linear": 16.8, "k-nonlinear": 17.4},
    "vgg-16": {
        "point": 18.21,
        "diag": 17.71,
        "k-diag": 16.71,
        "k-linear": 14.65,
        "k-nonlinear": 14.74,
    },
    "vgg-16-augmented": {
        "point": 11.65,
        "diag": 10.69,
        "k-diag": 13.65,
        "k-linear": 11.35,
        "k-nonlinear": 9.88,
    },
}
