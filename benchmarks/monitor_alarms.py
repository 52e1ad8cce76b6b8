"""How often a monitor raises a false alarm, and how soon it finds a risk over the bound.

    python benchmarks/monitor_alarms.py [--streams 2000] [--looks 87600] [--only false] [--quick]

False alarms: streams of ten years with an outcome every hour (87 600), whose risk is exactly the
bound, and a look after every outcome. Alpha is 0.01 and 0.05. The same for costs in [0, 1], and for
ten classes that are watched together with the overall error, where alpha is divided among eleven
claims. All of them take about 7 minutes of a core.

True alarms: after how many outcomes a risk of 1.5 and of 1.2 times the bound is found, at the start
and after a year's 8760 and ten years' 87 600 outcomes with 0.7 times the bound.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from measuring import options_of
from numpy.typing import NDArray
from scipy.stats import binom

from pacbound.monitoring.process import Path
from pacbound.monitoring.sequential import SCALE

BOUNDS = (0.014, 0.05, 0.12)
CLASSES = 10
Losses = NDArray[np.int64]
Draw = Callable[[np.random.Generator, int, float], Losses]


def errors(generator: np.random.Generator, n: int, risk: float) -> Losses:
    """Losses of 0 and 1."""
    return (generator.random(n) < risk).astype(np.int64) * SCALE


def costs(generator: np.random.Generator, n: int, risk: float) -> Losses:
    """Losses from 0 to 1 with the mean `risk`: a third of the errors cost 1, the others less."""
    found = errors(generator, n, 2 * risk)
    values = np.array([1.0, 0.4, 0.1]) * SCALE  # of mean 0.5
    return np.where(found > 0, generator.choice(values, n), 0).astype(np.int64)


def false_alarms(streams: int, n: int, bound: float, share: float, draw: Draw) -> int:
    """Streams with a risk of exactly the bound in which an alarm rings."""
    generator = np.random.default_rng(int(1e6 * bound) + int(1e3 * share))
    alarms = (Path(draw(generator, n, bound), bound).first_crossing(share) for _ in range(streams))
    return sum(alarm is not None for alarm in alarms)


def false_alarms_of_classes(streams: int, n: int, bound: float, alpha: float) -> int:
    """Streams in which one of eleven claims, all exactly true, is refuted."""
    generator, share, found = np.random.default_rng(7), alpha / (CLASSES + 1), 0
    for _ in range(streams):
        losses, label = errors(generator, n, bound), generator.integers(0, CLASSES, n)
        parts = [losses, *(losses[label == each] for each in range(CLASSES))]
        found += any(Path(part, bound).first_crossing(share) is not None for part in parts)
    return found


def delays(
    streams: int, good: int, bound: float, times: float, share: float
) -> NDArray[np.float64]:
    """Outcomes from a change of the risk to the alarm; infinite if there is none, or too early."""
    generator, found = np.random.default_rng(good), []
    for _ in range(streams):
        before = errors(generator, good, 0.7 * bound)
        after = errors(generator, int(1000 / bound), times * bound)
        alarm = Path(np.concatenate([before, after]), bound).first_crossing(share)
        found.append(np.inf if alarm is None or alarm <= good else alarm - good)
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--looks", type=int, default=87_600)
    parser.add_argument("--only", choices=("false", "true"), help="alarms of one of the two kinds")
    options = options_of(parser, quick={"streams": 20, "looks": 500})
    if options.only != "true":
        print_false_alarms(options.streams, options.looks)
    if options.only != "false":
        print_delays(options.streams, options.looks)


def print_false_alarms(streams: int, looks: int) -> None:
    """How many streams have an alarm although every claim is exactly true."""

    def report(what: str, bound: float, alpha: float, alarms: int) -> None:
        likely = binom.sf(alarms - 1, streams, alpha)
        print(
            f"bound {bound:.1%}, alpha {alpha}, {what}: {alarms} false alarms in {streams} streams "
            f"({alarms / streams:.2%}; as many or more with probability {likely:.2g} at alpha)",
            flush=True,
        )

    for bound in BOUNDS:
        for alpha in (0.01, 0.05):
            for what, draw in (("errors", errors), ("costs", costs)):
                report(what, bound, alpha, false_alarms(streams, looks, bound, alpha, draw))
            alarms = false_alarms_of_classes(streams, looks, bound, alpha)
            report("errors, all and ten classes", bound, alpha, alarms)


def print_delays(streams: int, looks: int) -> None:
    """After how many outcomes a risk over the bound is found."""
    for bound in BOUNDS:
        for times, good in ((1.5, 0), (1.2, 0), (1.5, looks // 10), (1.5, looks)):
            for share, words in ((0.01, "0.01"), (0.01 / 11, "0.01, one of 11 claims")):
                few = streams if not good else streams // 10
                rows = delays(few, good, bound, times, share)
                median, most = np.quantile(rows, [0.5, 0.9], method="higher")
                print(
                    f"bound {bound:.1%}, alpha {words}, {times} times the bound after {good}: "
                    f"found after {median:.0f} outcomes (median), {most:.0f} (90 %)",
                    flush=True,
                )


if __name__ == "__main__":
    main()
