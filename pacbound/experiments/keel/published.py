"""Certified errors of votes of trees, published elsewhere, in per cent.

V. Zantedeschi et al., "Learning Stochastic Majority Votes by Minimizing a PAC-Bayes Generalization
Bound" (2021), at δ = 0.05. Their copies of `housevotes` and `heart` have more rows.
"""

from __future__ import annotations

__all__ = ["TREE_VOTES"]

TREE_VOTES = {
    "crx": 24.8,
    "heart": 39.7,
    "housevotes": 16.8,
    "penbased": 7.5,
    "tic-tac-toe": 13.9,
    "wdbc": 15.4,
}
