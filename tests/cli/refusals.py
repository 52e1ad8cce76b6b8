"""What every command does with bad input."""

from __future__ import annotations

from click.testing import Result

__all__ = ["refused"]


def refused(result: Result, *words: str) -> None:
    """Exit code 2, and one line that says what was wrong."""
    assert result.exit_code == 2, result.output
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    for word in words:
        assert word in last
    assert "Traceback" not in result.output
