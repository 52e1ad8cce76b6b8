"""Certificates of small tables beside what half a split and a binomial limit give.

    python benchmarks/tables.py [--tables wine,iris] [--quick]

The first bound is that of `pacbound train table` and `pacbound certify --delta 0.05`, with their
defaults. The second is the Clopper–Pearson limit of scikit-learn's logistic regression, fitted to
the prior's half and counted on the other half: the same two halves. The recipe's ledger says which
tables its development looked at: the certificate of breast_cancer pays for 20 looks.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass

import numpy as np
from measuring import options_of
from scipy.stats import beta
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pacbound.api import StochasticModule
from pacbound.data import Dataset, load
from pacbound.data.copies import ALLOWED_PERCENT
from pacbound.priors.split import split_of

DELTA = 0.05
# Every second one of KEEL's tables of at most 1000 rows, after these two.
TABLES = (
    *("breast_cancer", "wine", "australian", "breast", "crx", "hayes-roth", "housevotes", "iris"),
    *("mammographic", "movement_libras", "saheart", "tae", "vehicle", "wisconsin"),
)


@dataclass(frozen=True)
class Row:
    """The two bounds of a table."""

    m: int
    plain_errors: int
    errors: int
    hidden: tuple[int, ...]
    looks: int
    bound: float
    code: float  # nats, for the prior's choices
    seconds: float

    @property
    def plain(self) -> float:
        """The Clopper–Pearson limit of logistic regression."""
        return limit(self.plain_errors, self.m, DELTA)

    @property
    def unlooked(self) -> float:
        """What the bound would be if the recipe had not looked at the table."""
        return limit(self.errors, self.m, DELTA * math.exp(-self.code))


def limit(errors: int, m: int, level: float) -> float:
    """The Clopper–Pearson limit."""
    return float(beta.ppf(1 - level, errors + 1, m - errors))


def table_of(name: str) -> Dataset:
    """A table by its name: one of scikit-learn's, or one of KEEL's."""
    if name == "made":
        generator = np.random.default_rng(0)
        labels = generator.integers(0, 2, 40)
        inputs = generator.normal(3.0 * labels[:, None], 1.0, (40, 3)).astype(np.float32)
        return Dataset(name, inputs, labels, None, None, 2)
    if name != "breast_cancer":
        return load(f"keel-{name}")
    x, y = load_breast_cancer(return_X_y=True)
    return Dataset(name, x.astype(np.float32), y.astype(np.int64), None, None, 2)


def measured(name: str) -> Row:
    """Train, certify, and fit a logistic regression to the same half."""
    data, clock = table_of(name), time.monotonic()
    net = StochasticModule.from_recipe("table").fit(data, progress=False)
    many = 100 * data.duplicates > ALLOWED_PERCENT * data.m
    certificate = net.certify(data, DELTA, copies="independent" if many else "counted")
    seconds = time.monotonic() - clock
    split = split_of(net.settings, data)
    half, counted = split.learned_data(data), split.counted_data(data)
    regression = make_pipeline(StandardScaler(), LogisticRegression(max_iter=10_000))
    regression.fit(half.train_inputs, half.train_labels)
    wrong = int((regression.predict(counted.train_inputs) != counted.train_labels).sum())
    errors = certificate.claims[0].errors
    assert errors is not None
    return Row(
        counted.m,
        wrong,
        errors,
        net.settings.hidden,
        certificate.ledger.recipe.looks,
        float(certificate.risk_bound),
        float(certificate.bound.code),
        seconds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", default=",".join(TABLES))
    options = options_of(parser, quick={"tables": "made"})
    print(f"δ = {DELTA}; LR: logistic regression with the binomial limit; limits in per cent")
    print("| table | m | LR errors | LR limit | errors | hidden | looks | bound | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    looked = []
    for name in options.tables.split(","):
        row = measured(name)
        if row.looks:
            looked.append(
                f"{name} without its {row.looks} looks: {100 * row.unlooked:.1f}, "
                f"ratio {row.unlooked / row.plain:.2f}"
            )
        hidden = "×".join(map(str, row.hidden)) or "–"
        print(
            f"| {name} | {row.m} | {row.plain_errors} | {100 * row.plain:.1f} | {row.errors} "
            f"| {hidden} | {row.looks} | {100 * row.bound:.1f} | {row.bound / row.plain:.2f} |",
            flush=True,
        )
        print(f"{name}: {row.seconds:.0f} s", file=sys.stderr)
    print("\n".join(looked))


if __name__ == "__main__":
    main()
