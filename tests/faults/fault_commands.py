"""Commands as a user gives them, and how they refuse."""

from __future__ import annotations

from click.testing import CliRunner, Result

from pacbound_cli import cli

TRAIN = ["train", "mlp-600", "--set", "hidden=[8]", "--set", "batch=100", "--threads", "1"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(a) for a in arguments])


def said(result: Result, *words: object, code: int = 2) -> None:
    """The exit code, and one line that says what was wrong."""
    assert result.exit_code == code, result.output
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    for word in words:
        assert str(word) in last
    assert "Traceback" not in result.output
