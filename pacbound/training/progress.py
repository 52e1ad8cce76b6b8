"""How training is shown: a bar on a terminal, a line for each epoch elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pacbound.training.log import EpochRecord
from pacbound.training.loop import Step

__all__ = ["training_progress"]


@contextmanager
def training_progress(
    objective: str,
) -> Iterator[tuple[Callable[[Step], None], Callable[[EpochRecord], None]]]:
    """What to call after every step and every epoch; both write to stderr.

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

        yield (lambda step: None), on_epoch
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

        yield on_step, (lambda record: None)
