"""The display of training: a bar on a terminal or in a notebook, lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pacbound.training.descent import Step
from pacbound.training.log import EpochRecord
from pacbound.training.notebook_bar import notebook_bar

__all__ = ["Callback", "training_progress"]

LINES = 20  # at most, for the epochs of a prior
OF_THE_PHASE = {"choosing": " of a candidate for the prior", "prior": " of the prior"}


class Callback:
    """Functions called during training. A subclass may have them as methods.

    Arguments:
        on_step: Called after every step, also of a learned prior.
        on_epoch: Called after every epoch of the posterior, once its checkpoint is written.

    Example:
        >>> records = []
        >>> watch = Callback(on_epoch=records.append)
    """

    _step: Callable[[Step], None] | None = None
    _epoch: Callable[[EpochRecord], None] | None = None

    def __init__(
        self,
        on_step: Callable[[Step], None] | None = None,
        on_epoch: Callable[[EpochRecord], None] | None = None,
    ) -> None:
        self._step, self._epoch = on_step, on_epoch

    def on_step(self, step: Step) -> None:
        """Called after every step, also of a learned prior."""
        if self._step is not None:
            self._step(step)

    def on_epoch(self, record: EpochRecord) -> None:
        """Called after every epoch of the posterior, once its checkpoint is written."""
        if self._epoch is not None:
            self._epoch(record)


@contextmanager
def training_progress(objective: str) -> Iterator[Callback]:
    """Show steps and epochs on stderr.

    Variational inference has no bound; it shows the negative ELBO.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    def last(figures: EpochRecord | Step) -> str:
        if objective == "elbo":
            return f"−ELBO {figures.objective:.4f}"
        if figures.bound is None:
            return ""
        error = f" ± {figures.bound_error:.2%}" if isinstance(figures, EpochRecord) else ""
        return f"bound {figures.bound:.2%}{error}"

    if bar := notebook_bar():

        def move(step: Step) -> None:
            of = OF_THE_PHASE.get(step.phase, "")
            done, total = (step.epoch - 1) * step.steps + step.step, step.epochs * step.steps
            figures = f"risk {step.risk:.2%}, KL {step.kl:z.0f}  {last(step)}"
            bar(f"epoch {step.epoch}/{step.epochs}{of}  {figures}", done, total)

        yield Callback(move)
        return
    console = Console(stderr=True)
    if not console.is_terminal:

        def write_epoch(record: EpochRecord) -> None:
            figures = f"risk {record.risk:.2%}  KL {record.kl:z6.0f}  {last(record)}"
            print(f"epoch {record.epoch:3d}  {figures}  {record.seconds:.0f} s", file=sys.stderr)

        def write_prior(step: Step) -> None:
            if step.phase == "choosing" and step.epoch == step.step == 1:
                print("prior, a candidate is trained", file=sys.stderr)
            parts = [LINES * epoch // step.epochs for epoch in (step.epoch - 1, step.epoch)]
            if step.phase == "prior" and step.step == step.steps and parts[0] < parts[1]:
                print(f"prior, epoch {step.epoch:3d}  error {step.risk:.2%}", file=sys.stderr)

        yield Callback(write_prior, write_epoch)
        return
    columns = [
        TextColumn("epoch {task.fields[epoch]}"),
        BarColumn(),
        TextColumn("risk {task.fields[risk]:.2%}  KL {task.fields[kl]:z.0f}"),
        TextColumn("[bold]{task.fields[last]}"),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", epoch="-", risk=1.0, kl=0.0, last="")

        def draw(step: Step) -> None:
            of = OF_THE_PHASE.get(step.phase, "")
            progress.update(
                task,
                total=step.epochs * step.steps,
                completed=(step.epoch - 1) * step.steps + step.step,
                epoch=f"{step.epoch}/{step.epochs}{of}",
                risk=step.risk,
                kl=step.kl,
                last=last(step),
            )

        yield Callback(draw)
