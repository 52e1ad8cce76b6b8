"""Steps of training and passes of certification, here and in an earlier revision, in one run.

    python benchmarks/engine.py [--against REVISION] [--rounds 8] [--row mlp-600/k-linear …]

The earlier revision is checked out into a temporary folder. Each row has a process for it, one for
this tree in float32 and, for training, one for this tree in bfloat16. They take turns, step by
step, so that whatever else the machine does falls on all alike; times are medians of processor
time with one thread. The ratio is old ÷ new. The largest memory of each process is given too.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
BEFORE = "04ffa28"  # version 0.1
TRAINING = (
    "mlp-600/k-linear",
    "lenet-5/k-linear",
    "lenet-5/k-nonlinear",
    "vi-lenet-5-cifar5/k-linear",
    "vi-lenet-5-cifar5/k-nonlinear",
    "vi-vgg-16/diag",
    "vi-vgg-16/k-linear",
    "vi-vgg-16/k-nonlinear",
)
CERTIFICATION = "certify:mlp-600/k-linear"
AS_IT_WAS = "-"  # an earlier revision has no choice of types
EXAMPLES, PASSES = 4000, 84  # 84 passes over MNIST are 5 million draws


def turns(begin: float) -> Iterator[None]:
    """Report the processor time since the last turn; wait for the next one."""
    while True:
        print(json.dumps(time.process_time() - begin), flush=True)
        if not sys.stdin.readline():
            return
        begin = time.process_time()
        yield


def train_in_turns(name: str, posterior: str, dtype: str, quick: bool) -> None:
    """The recipe's own training on made images, one step for each turn."""
    import numpy as np
    import torch

    from pacbound.data import Dataset
    from pacbound.recipes import recipe
    from pacbound.training.loop import train

    torch.set_num_threads(1)
    changes = {"posterior": posterior, "epochs": 1, "warm_start_epochs": 0}
    if posterior == "k-nonlinear":
        changes["linear_epochs"] = 0
    if dtype != AS_IT_WAS:
        changes["products"] = dtype
    if quick:
        changes |= {"batch": 4, "hidden": {"mlp-600": [8], "lenet-5": [2, 2, 8]}.get(name, [2] * 5)}
        changes |= {"hidden": [2, 2, 8]} if name == "vi-lenet-5-cifar5" else {}
    settings = recipe(name, changes)
    shape = (28, 28) if settings.data == "mnist" else (3, 32, 32)
    classes = 5 if settings.data == "cifar-5" else 10
    generator = np.random.default_rng(0)
    count = 60 * settings.batch
    images = generator.integers(0, 256, (count, *shape), dtype=np.uint8)
    data = Dataset("made", images, generator.integers(0, classes, count), None, None, classes)
    waiting = turns(time.process_time())
    with tempfile.TemporaryDirectory() as folder:
        try:
            train(settings, data, Path(folder) / "made.pt", on_step=lambda step: next(waiting))
        except StopIteration:
            return


def certify_in_turns(name: str, posterior: str, quick: bool) -> None:
    """Sampling the risk of the recipe's network on made images, all passes for each turn."""
    import torch

    from pacbound.networks.initializers import prior_center
    from pacbound.networks.mlp import mlp
    from pacbound.networks.stochastic import StochasticNetwork
    from pacbound.posteriors import posterior_named
    from pacbound.recipes import recipe
    from pacbound.seeds import derive

    torch.set_num_threads(1)
    module = mlp((28, 28), [8] if quick else recipe(name).hidden, 10)
    center = prior_center(module, "fan-in-uniform", 0)
    network = StochasticNetwork(module, center, posterior_named(posterior), [0.05])
    count = 20 if quick else EXAMPLES
    generator = torch.Generator().manual_seed(0)
    examples = (
        torch.rand(count, 28, 28, generator=generator),
        torch.randint(10, (count,), generator=generator),
    )
    sample = _sampling(examples)
    with torch.no_grad():
        for number, _ in enumerate(turns(time.process_time())):
            sample(network, PASSES, derive("benchmark", number))


def _sampling(examples: Any) -> Callable[[Any, int, str], object]:
    """What samples the risk: version 0.1 has it in another place."""
    import pacbound

    if (Path(pacbound.__path__[0]) / "certify").is_dir():
        module = importlib.import_module("pacbound.certify.risk")
        return lambda network, passes, seed: module.errors_per_example(
            network, examples, passes, seed
        )
    import numpy as np

    from pacbound.predictors.risk import Loss, losses_per_example

    everyone = [Loss(np.arange(len(examples[1])))]
    return lambda network, passes, seed: losses_per_example(
        network, examples, everyone, passes, seed
    )


class Child:
    """A process that works in turns, with a tree's own code."""

    def __init__(self, tree: Path, row: str, dtype: str, quick: bool) -> None:
        words = [sys.executable, __file__, "--child", row, dtype] + ["--quick"] * quick
        environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(words, env=environment, stdin=pipe, stdout=pipe, text=True)
        self.times: list[float] = []
        self.memory = 0.0
        self.wait()

    def wait(self) -> float:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a process of the benchmark ended early")
        return float(line)

    def turn(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.times.append(self.wait())

    def end(self) -> None:
        status = Path(f"/proc/{self.process.pid}/status")
        if status.exists():
            peak = next(line for line in status.read_text().splitlines() if "VmHWM" in line)
            self.memory = int(peak.split()[1]) / 2**20
        self.process.kill()
        self.process.wait()

    @property
    def median(self) -> float:
        return statistics.median(self.times[1:])


@contextmanager
def earlier(revision: str) -> Iterator[Path]:
    """The tree of a revision in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", revision, "pacbound"], cwd=HERE, check=True, capture_output=True
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        yield Path(folder)


def compare(row: str, old: Path, rounds: int, quick: bool) -> str:
    dtypes = ["float32"] if row == CERTIFICATION else ["float32", "bfloat16"]
    children = [Child(old, row, AS_IT_WAS, quick)]
    try:
        children += [Child(HERE, row, dtype, quick) for dtype in dtypes]
        for _ in range(rounds + 1):
            for child in children:
                child.turn()
    finally:
        for child in children:
            child.end()
    before, *after = children
    line = f"{row:30s} before {1000 * before.median:7.1f} ms, {before.memory:.1f} GiB"
    for dtype, child in zip(dtypes, after, strict=True):
        ratio = before.median / child.median
        line += f";  {dtype} {1000 * child.median:7.1f} ms, {child.memory:.1f} GiB: {ratio:.2f} ×"
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", default=BEFORE, help="a revision; version 0.1 by default")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--row", nargs="+", default=[*TRAINING, CERTIFICATION])
    parser.add_argument("--quick", action="store_true", help="tiny sizes, against this tree")
    parser.add_argument("--child", nargs=2, metavar=("ROW", "DTYPE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        row, dtype = options.child
        name, posterior = row.removeprefix("certify:").split("/")
        if row.startswith("certify:"):
            certify_in_turns(name, posterior, options.quick)
        else:
            train_in_turns(name, posterior, dtype, options.quick)
        return
    if options.quick:
        for row in ("mlp-600/k-linear", "lenet-5/k-nonlinear", CERTIFICATION):
            print(compare(row, HERE, 1, quick=True), flush=True)
        return
    with earlier(options.against) as old:
        for row in options.row:
            print(compare(row, old, options.rounds, quick=False), flush=True)


if __name__ == "__main__":
    main()
