"""One epoch of VGG-16 on a slice of CIFAR-10 with each posterior: loss, time and memory.

    python benchmarks/vgg_epoch.py [--images 2560] [--augmented] [--posterior diag ...] [--quick]

Each posterior has a process of its own, so that the peak of its memory is its own. Times are of the
processor, with one thread, so that other work on the machine counts little; they are also given as
multiples of the deterministic network's. The loss is the cross-entropy with noise,
averaged over the first and over the last quarter of the epoch.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import resource
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from measuring import options_of

POSTERIORS = ["point", "diag", "k-diag", "k-linear", "k-nonlinear"]


def measure(posterior: str, images: int, augmented: bool, quick: bool) -> dict[str, float]:
    """One epoch with a posterior, in this process.

    Imports are here to keep the parent process small: on Linux the peak of a process is never less
    than the size of its parent.
    """
    import torch
    from made import made_data, tiny

    from pacbound.data import load
    from pacbound.data.catalogue import find
    from pacbound.recipes import recipe
    from pacbound.training.descent import Step
    from pacbound.training.loop import train

    torch.set_num_threads(1)
    name = "vi-vgg-16-augmented" if augmented else "vi-vgg-16"
    changes = {"posterior": posterior, "epochs": 1, "warm_start_epochs": 0}
    settings = recipe(name, changes | (tiny(name) if quick else {}))
    data = made_data(settings, images) if quick else load(settings.data)
    some = dataclasses.replace(
        data, train_inputs=data.train_inputs[:images], train_labels=data.train_labels[:images]
    )
    losses, times = [], [time.process_time()]

    def on_step(step: Step) -> None:
        losses.append(step.objective - settings.beta * step.kl / some.m)
        times.append(time.process_time())

    with TemporaryDirectory() as folder:
        train(settings, some, Path(folder) / "vgg.pt", on_step=on_step)
    whole = find(settings.data).m
    quarter = math.ceil(len(losses) / 4)
    steps = [after - before for before, after in pairwise(times[1:])]
    return {
        "first": sum(losses[:quarter]) / quarter,
        "last": sum(losses[-quarter:]) / quarter,
        "ms_per_image": 1000 * sum(steps) / len(steps) / settings.batch,
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "full_hours": sum(steps) / len(steps) * math.ceil(whole / settings.batch) * 210 / 3600,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=2560)
    parser.add_argument("--augmented", action="store_true")
    parser.add_argument("--posterior", nargs="*", default=POSTERIORS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = options_of(parser, quick={"images": 32, "posterior": ["k-nonlinear"]})
    sizes = options.images, options.augmented, options.quick
    if options.child:
        print(json.dumps(measure(options.posterior[0], *sizes)))
        return
    print(f"one epoch of {options.images} images, augmented: {options.augmented}")
    unit = None
    for posterior in options.posterior:
        words = [sys.executable, __file__, "--child", "--images", str(options.images)]
        words += ["--augmented"] * options.augmented + ["--quick"] * options.quick
        words += ["--posterior", posterior]
        result = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
        unit = unit or result["ms_per_image"]
        print(
            f"{posterior:12s} loss {result['first']:.3f} → {result['last']:.3f}   "
            f"{result['ms_per_image']:5.1f} ms/image = {result['ms_per_image'] / unit:4.2f} × "
            f"{options.posterior[0]}   {result['mib']:5.0f} MiB   "
            f"210 epochs of 50 000: {result['full_hours']:.0f} h"
        )


if __name__ == "__main__":
    main()
