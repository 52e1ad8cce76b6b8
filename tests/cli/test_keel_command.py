"""`table keel` as a user meets it: shown without running, and what bad input gets."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result
from refusals import refused

from pacbound_cli import cli


def table(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["table", "keel", *map(str, arguments)])


def test_show_runs_nothing(tmp_path: Path) -> None:
    result = table("--show", "--folder", tmp_path, "--json")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert len(rows) == 43 and {row["state"] for row in rows} == {"not run"}
    assert [row["name"] for row in rows][-1] == "letter"
    assert "not run" in table("--show", "--folder", tmp_path, "--problem", "wdbc").stdout


def test_no_bound_is_shown_smaller_than_it_is() -> None:
    rows = {row["name"]: row for row in json.loads(table("--show", "--json").stdout)}
    shown = {line.split()[0]: line.split() for line in table("--show").stdout.splitlines() if line}
    for name, row in rows.items():
        for place, kind in enumerate(("plain", "fixed", "draw", "gibbs"), 3):
            assert float(shown[name][place]) >= 100 * row[kind] - 1e-9


def test_bad_input() -> None:
    refused(table("--problem", "wdbcc"), "did you mean 'wdbc'")
    refused(table("--posterior", "diag"), "no --posterior")
    refused(table("--set", "epochs=3"), "no --set")
    refused(table("--seeds", "3"), "no --seeds")
