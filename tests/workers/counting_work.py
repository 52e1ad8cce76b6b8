"""Work that any worker can do in a moment, or that goes wrong."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pacbound.errors import PacboundError
from pacbound.workers.child import Orders, Send

__all__ = ["Greet", "Squares"]


@dataclass(frozen=True)
class Squares:
    """Chunk k gives k², plus a number of the work's own, and the process that did it."""

    chunks: int
    plus: int = 0
    seconds: float = 0.0
    fault: str = ""  # what happens to chunk 3: "refuse", "break", "die", or "die once"
    mark: Path | None = None  # where a death is noted

    @property
    def identity(self) -> str:
        return "squares"

    def begin(self) -> Callable[[int], list[int]]:
        def square(number: int) -> list[int]:
            time.sleep(self.seconds)
            if number == 3:
                self._go_wrong()
            return [number**2 + self.plus, os.getpid()]

        return square

    def _go_wrong(self) -> None:
        if self.fault == "refuse":
            raise PacboundError("three is too many")
        if self.fault == "break":
            raise ZeroDivisionError("a fault")
        if self.fault == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "die once" and self.mark is not None and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Greet:
    """A job of its own process that sends one event, after an order."""

    threads: int = 1

    def do(self, send: Send, orders: Orders) -> None:
        send({"event": "greeting", "to": orders.get()["name"]})
