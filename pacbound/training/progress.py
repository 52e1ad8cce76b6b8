"""How training is shown: a bar on a terminal, a line for each epoch elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from pacbound.training.learned_prior import PriorStep
from pacbound.training.log import EpochRecord
from pacbound.training.loop import Step

__all__ = ["SILENT", "Callbacks", "training_progress"]

Callbacks: TypeAlias = tuple[
    Callable[[Step], None], Callable[[EpochRecord], None], Callable[[PriorStep], None]
]
SILENT: Callbacks = (lambda step: None, lambda record: None, lambda step: None)


@contextmanager
def training_progress(objective: str) -> Iterator[Callbacks]:
    """What to call after every step, every epoch, and every step of a learned prior.

    All write to stderr.

    Variational inference has no bound to show, but the negative ELBO.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    def last(figures: EpochRecord | Step) -> str:
        if objective == "elbo":
            return f"−ELBO {figures.objective:.4f}"
        return f"bound {figures.bound:.2%}"

    console = Console(stderr=True)
    if not console.is_terminal:

        def on_epoch(record: EpochRecord) -> None:
            figures = f"risk {record.risk:.2%}  KL {record.kl:6.0f}  {last(record)}"
            print(f"epoch {record.epoch:3d}  {figures}  {record.seconds:.0f} s", file=sys.stderr)

        def on_prior(at: PriorStep) -> None:
            if at.step == at.steps:
                print(f"prior, epoch {at.epoch:3d}  error {at.risk:.2%}", file=sys.stderr)

        yield (lambda step: None), on_epoch, on_prior
        return
    columns = [
        TextColumn("epoch {task.fields[epoch]}"),
        BarColumn(),
        TextColumn("risk {task.fields[risk]:.2%}  KL {task.fields[kl]:.0f}"),
        TextColumn("[bold]{task.fields[last]}"),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", epoch="-", risk=1.0, kl=0.0, last="")

        def on_step(step: Step) -> None:
            progress.update(
                task,
                total=step.epochs * step.steps,
                completed=(step.epoch - 1) * step.steps + step.step,
                epoch=f"{step.epoch}/{step.epochs}",
                risk=step.risk,
                kl=step.kl,
                last=last(step),
            )

        def on_prior_step(at: PriorStep) -> None:
            progress.update(
                task,
                total=at.epochs * at.steps,
                completed=(at.epoch - 1) * at.steps + at.step,
                epoch=f"{at.epoch}/{at.epochs} of the prior",
                risk=at.risk,
            )

        yield on_step, (lambda record: None), on_prior_step
