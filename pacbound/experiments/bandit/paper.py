"""The source paper's regrets, for comparison.

Huang et al., "Stochastic Neural Network with Kronecker Flow" (AISTATS 2020), Table 4, and the table
without tuning in its appendix.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BANDIT_REGRETS", "Regret"]


@dataclass(frozen=True)
class Regret:
    """The regret of an agent, in per cent of the uniform policy's, and the standard error."""

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


# By protocol, problem and agent: means over 3 seeds if tuned, over 5 if not. The paper calls
# greedy SGD.
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
