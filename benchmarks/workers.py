"""What two workers save in certification, and what Dask costs on top.

    python benchmarks/workers.py [CHECKPOINT] [--draws 5000000] [--quick]

One certificate of `mlp-600` on MNIST (after one epoch, where no checkpoint is given), sampled in
one process, by two local processes, and by a Dask cluster of two workers on this machine: seconds,
ratios, the slope of the logarithms of time and workers (−1 is ideal), and whether the certificates
are the same. Then the largest memory of certification with
two workers, of all its processes together.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import psutil
from made import made_data, tiny
from measuring import options_of

from pacbound.certificate.format import Certificate
from pacbound.data import load
from pacbound.predictors.chunks import Sampler
from pacbound.predictors.issuing import Request, certify
from pacbound.recipes import recipe
from pacbound.training.loop import train
from pacbound.workers.cluster import DaskCluster
from pacbound.workers.engine import Engine, Here
from pacbound.workers.local import HERE, LocalProcesses

INTERVAL = 0.1  # seconds between looks at the memory


@contextmanager
def dask(processes: bool) -> Iterator[Engine]:
    """A cluster of two workers: processes, or threads here, which start at once."""
    from distributed import LocalCluster

    quiet: dict[str, Any] = {"dashboard_address": None, "silence_logs": 50}
    with (
        LocalCluster(2, threads_per_worker=1, processes=processes, **quiet) as cluster,
        DaskCluster(cluster.scheduler_address) as engine,
    ):
        yield engine


@contextmanager
def watched(peak: dict[str, float]) -> Iterator[None]:
    """Notes the largest memory of this process and its children: pages shared count once."""
    ended = threading.Event()
    process = psutil.Process()

    def watch() -> None:
        while True:
            total = 0
            for each in [process, *process.children(recursive=True)]:
                try:
                    total += each.memory_full_info().pss
                except psutil.Error:
                    continue
            peak["bytes"] = max(peak.get("bytes", 0.0), total)
            if ended.wait(INTERVAL):
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", nargs="?", type=Path)
    parser.add_argument("--draws", type=int, default=5_000_000)
    options = options_of(parser, quick={"draws": 400})
    settings = recipe("mlp-600", {"epochs": 1, **(tiny("mlp-600") if options.quick else {})})
    data = made_data(settings, 40) if options.quick else load("mnist")
    here = 0.0 if options.quick else HERE  # or work this small would start no processes
    with tempfile.TemporaryDirectory() as folder:
        path = options.checkpoint
        if path is None:
            path = Path(folder) / "mlp.pt"
            train(settings, data, path)
        request = Request(Decimal("0.035"), draws=options.draws)

        def timed(engine: Engine) -> tuple[Certificate, float]:
            start = time.perf_counter()
            found = certify(path, data, request, Sampler(engine))
            return found, time.perf_counter() - start

        alone, one = timed(Here())
        peak: dict[str, float] = {}
        with watched(peak), LocalProcesses(2, here) as processes:
            local, two = timed(processes)
        with dask(processes=not options.quick) as cluster:
            distributed, on_dask = timed(cluster)
    same = all(replace(found, made=alone.made) == alone for found in (local, distributed))
    print(f"one process           {one:7.1f} s")
    slope = math.log2(two / one)
    print(f"two local processes   {two:7.1f} s   {one / two:.2f} times faster (slope {slope:.2f})")
    print(f"two workers of Dask   {on_dask:7.1f} s   {on_dask / two - 1:+.0%} of local processes")
    print(f"the certificates are {'the same' if same else 'NOT the same'}")
    print(f"largest memory with two local processes: {peak['bytes'] / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
