"""Child processes: what they send, and how they end."""

from __future__ import annotations

import queue
from pathlib import Path

from counting_work import Greet

from pacbound.workers.child import Child, Event


def test_a_finished_child_ends_without_a_word(tmp_path: Path) -> None:
    """Its thread still waits for orders then, which made the interpreter abort."""
    events: queue.Queue[tuple[str, Event]] = queue.Queue()
    child = Child("one", Greet(), events, tmp_path / "errors.txt")
    child.order({"name": "you"})
    found = [events.get(timeout=60) for _ in range(2)]
    assert found == [
        ("one", {"event": "greeting", "to": "you"}),
        ("one", {"event": "ended", "code": 0}),
    ]
    assert (tmp_path / "errors.txt").read_text() == ""


def test_a_child_ends_with_its_parent(tmp_path: Path) -> None:
    """The pipe closes, whatever the child is waiting for."""
    events: queue.Queue[tuple[str, Event]] = queue.Queue()
    child = Child("one", Greet(), events, tmp_path / "errors.txt")
    assert child.process.stdin is not None
    child.process.stdin.close()
    assert events.get(timeout=60) == ("one", {"event": "ended", "code": 1})
