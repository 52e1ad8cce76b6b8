"""A progress bar in a notebook, without a package beside IPython."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from markupsafe import escape

__all__ = ["notebook_bar"]

PAUSE = 0.25  # seconds between two drawings: a notebook keeps up with a few per second

Bar = Callable[[str, int, int], None]  # the text, what is done, and the total


def notebook_bar() -> Bar | None:
    """A bar that is drawn in the output of the cell; None outside a notebook."""
    display = _display()
    if display is None:
        return None
    shown: list[Any] = []
    last = [float("-inf"), 0.0]  # when it was drawn, and the part that was done

    def draw(text: str, done: int, total: int) -> None:
        now, part = time.monotonic(), done / max(total, 1)
        if now - last[0] < PAUSE and part < 1 and part > last[1]:
            return
        last[:] = [now, part]
        content = {"text/html": _html(text, part), "text/plain": f"{text}  {part:.0%}"}
        if shown:
            shown[0].update(content, raw=True)
        else:
            shown.append(display(content, raw=True, display_id=True))

    return draw


def _html(text: str, part: float) -> str:
    label = f'<span style="font: 13px ui-monospace, monospace">{escape(text)}</span>'
    return f'<progress value="{part:.4f}" style="width: 18em"></progress> {label}'


def _display() -> Callable[..., Any] | None:
    """IPython's `display`, if a kernel shows what it is given. A terminal's IPython does not."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display  # type: ignore[import-not-found]

    found: Callable[..., Any] = display
    return found
