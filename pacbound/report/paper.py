"""Figures of the source paper, to print beside ours.

Huang et al., "Stochastic Neural Network with Kronecker Flow" (AISTATS 2020), Tables 1 to 4, and the
table of bandits without tuning in its appendix.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BANDIT_REGRETS", "PAC_BAYES", "VI_ERRORS", "Cell", "Regret", "closest"]


@dataclass(frozen=True)
class Cell:
    """One column of the table: per cent, and nats."""

    objective: str
    risk: float
    test: float
    bound: float
    kl: int


# By recipe and posterior.
PAC_BAYES: dict[tuple[str, str], list[Cell]] = {
    ("mlp-600", "diag"): [
        Cell("Pinsker", 6.62, 6.66, 23.77, 5968),
        Cell("Catoni", 8.04, 7.78, 24.11, 5001),
    ],
    ("mlp-600", "k-linear"): [
        Cell("Pinsker", 6.09, 5.98, 21.69, 5292),
        Cell("Catoni", 8.10, 7.98, 22.88, 4334),
    ],
    ("mlp-600", "k-nonlinear"): [Cell("Catoni", 5.96, 5.83, 20.41, 4725)],
    ("mlp-600x2", "diag"): [
        Cell("Pinsker", 6.00, 6.12, 25.94, 7829),
        Cell("Catoni", 7.66, 7.70, 26.41, 6555),
    ],
    ("mlp-600x2", "k-linear"): [
        Cell("Pinsker", 5.90, 5.96, 25.33, 7554),
        Cell("Catoni", 8.33, 8.26, 26.43, 5996),
    ],
    ("mlp-600x2", "k-nonlinear"): [Cell("Catoni", 5.90, 5.76, 22.53, 5921)],
    ("lenet-5", "diag"): [Cell("Catoni", 2.12, 2.31, 10.83, 3177)],
    ("lenet-5", "k-diag"): [Cell("Catoni", 2.95, 2.87, 12.96, 3477)],
    ("lenet-5", "k-linear"): [Cell("Catoni", 2.00, 1.91, 10.09, 2913)],
    ("lenet-5", "k-nonlinear"): [Cell("Catoni", 2.01, 2.14, 10.03, 2873)],
}


# Test errors in per cent, by network and posterior. The deterministic columns are not the paper's
# own: L2 for LeNet is of "Multiplicative Normalizing Flows for Variational Bayesian Neural
# Networks", SGD for VGG-16 of "Noisy Natural Gradient as Variational Inference".
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


@dataclass(frozen=True)
class Regret:
    """Of a bandit's agent: per cent of the uniform policy's, and the standard error."""

    mean: float
    standard_error: float


def _regrets(agents: str, figures: dict[str, str]) -> dict[str, dict[str, Regret]]:
    """By problem and agent, from lines of means and standard errors as the paper prints them."""
    table = {}
    for problem, line in figures.items():
        numbers = [float(word) for word in line.split()]
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        table[problem] = dict(zip(agents.split(), (Regret(*pair) for pair in pairs), strict=True))
    return table


# By protocol, problem and agent: means over 3 seeds where tuned and over 5 where not. The paper
# calls greedy SGD.
BANDIT_REGRETS: dict[str, dict[str, dict[str, Regret]]] = {
    "tuned": _regrets(
        "greedy fbnn diag k-diag k-linear k-nonlinear",
        {
            "mushroom": "4.06 0.71  3.91 0.89  2.16 0.29  2.41 0.73  1.85 0.15  3.47 0.47",
            "statlog": "1.29 0.20  0.73 0.01  1.01 0.01  0.84 0.06  0.81 0.01  0.79 0.04",
            "covertype": "30.01 0.21  32.03 0.40  28.42 0.30  29.19 0.16  28.13 0.12  28.06 0.15",
            "financial": "6.08 0.47  7.27 1.09  7.43 0.57  5.88 0.25  5.88 0.35  5.78 0.28",
            "jester": "56.24 1.93  59.70 2.48  59.34 2.26  57.17 1.81  57.66 2.11  57.96 2.58",
            "adult": "79.31 0.47  84.45 0.82  76.32 0.09  77.28 0.01  75.94 0.12  77.30 0.26",
        },
    ),
    "untuned": _regrets(
        "greedy diag k-diag k-linear k-nonlinear",
        {
            "mushroom": "1.82 0.53  2.12 0.13  2.12 0.47  2.20 0.18  3.55 0.74",
            "statlog": "3.31 1.27  4.12 0.16  1.23 0.06  3.49 0.16  1.33 0.02",
            "covertype": "31.70 0.17  34.64 0.16  30.82 0.21  32.84 0.16  29.24 0.10",
            "financial": "20.31 2.24  27.60 1.37  11.83 0.67  25.10 1.10  13.10 0.36",
            "jester": "56.90 1.20  59.26 1.38  57.22 1.35  58.16 1.20  56.88 1.91",
            "adult": "78.70 0.46  79.16 0.19  77.30 0.18  76.98 0.04  77.83 0.19",
        },
    ),
}


def closest(recipe: str, posterior: str, objective: str) -> Cell | None:
    """The column with the same objective; the best one for an objective the paper has not."""
    columns = PAC_BAYES.get((recipe, posterior), [])
    if objective in ("pinsker", "catoni"):
        columns = [column for column in columns if column.objective.lower() == objective]
    return min(columns, key=lambda column: column.bound, default=None)
