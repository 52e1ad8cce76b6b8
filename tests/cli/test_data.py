"""`pacbound data`: results on stdout, one-line errors, exit codes."""

from __future__ import annotations

import gzip
import hashlib
import json
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner

from pacbound.data import catalogue
from pacbound.data.entry import CanonicalFile, Entry
from pacbound.data.idx import IMAGES_LABELS, encode_idx, idx_dataset
from pacbound.experiments.bandit.problems import problem_files
from pacbound.experiments.bandit.problems.entry import RawEntry
from pacbound_cli.data import data
from pacbound_cli.errors import OneLineErrors

FILES = {
    name: encode_idx(np.ones((2, 3, 3), np.uint8) if "images" in name else np.eye(2, dtype="u1")[0])
    for name in IMAGES_LABELS
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run `pacbound data` with an empty cache and a data set 'toy' that has no source."""
    monkeypatch.setenv("PACBOUND_DATA", str(tmp_path / "cache"))
    files = tuple(
        CanonicalFile(name, len(content), hashlib.sha256(content).hexdigest())
        for name, content in FILES.items()
    )
    toy = Entry("toy", "a toy", 2, 2, 2, files, (), partial(idx_dataset, "toy", 2))
    monkeypatch.setitem(catalogue(), "toy", toy)
    pacbound = OneLineErrors("pacbound", commands={"data": data})
    return lambda *words: CliRunner().invoke(pacbound, ["data", *map(str, words)])


def written(folder, *names):
    for name in names:
        (folder / f"{name}.gz").write_bytes(gzip.compress(FILES[name]))
    return [folder / f"{name}.gz" for name in names]


def test_list_shows_every_set(run):
    shown = run("list")
    assert shown.exit_code == 0
    for word in ("mnist", "fashion-mnist", "60,000", "55.0 MB", "no"):
        assert word in shown.stdout


def test_list_as_json(run, tmp_path):
    rows = {row["name"]: row for row in json.loads(run("list", "--json").stdout)}
    assert rows["mnist"]["m"] == 60_000 and rows["mnist"]["classes"] == 10
    assert not rows["toy"]["cached"]
    run("add", "toy", *written(tmp_path, *FILES))
    rows = {row["name"]: row for row in json.loads(run("list", "--json").stdout)}
    assert rows["toy"]["cached"]


def test_add_says_what_is_missing_then_get_succeeds(run, tmp_path):
    first, *others = written(tmp_path, *FILES)
    shown = run("add", "toy", first)
    assert shown.exit_code == 0
    assert "still missing train-labels-idx1-ubyte" in shown.stdout
    assert json.loads(run("add", "toy", *others, "--json").stdout)["missing"] == []
    assert "complete" in run("add", "toy", first).stdout
    assert "2 training examples, 2 classes" in run("get", "toy").stdout
    got = json.loads(run("get", "toy", "--json").stdout)
    assert got["m"] == got["test_m"] == 2
    assert got["sources"] == ["cache"]
    assert len(got["sha256"]) == 64


def test_the_files_of_a_bandit_problem_are_listed_added_and_got(run, tmp_path, monkeypatch):
    content = b"1 2 3"
    file = CanonicalFile("table", len(content), hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(problem_files(), "game", RawEntry("game", "a game", 77, (file,), ()))
    assert "pacbound data add game FILE…" in run("get", "game").stderr
    (tmp_path / "mine").write_bytes(content)
    assert "game: complete" in run("add", "game", tmp_path / "mine").stdout
    assert run("get", "game").stdout.startswith("game: table\nfrom cache, in ")
    got = json.loads(run("get", "game", "--json").stdout)
    assert (got["files"], got["sources"]) == (["table"], ["cache"])
    rows = {row["name"]: row for row in json.loads(run("list", "--json").stdout)}
    assert rows["game"]["rows"] == 77 and rows["game"]["cached"]
    assert not rows["covertype"]["cached"]
    assert "77" in run("list").stdout and "covertype" in run("list").stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["get", "toi"], "unknown data set 'toi'; did you mean 'toy'?"),
        (["add", "toi", "x"], "unknown data set 'toi'"),
        (["get", "toy"], "pacbound data add toy FILE…"),
        (["add", "toy", "missing.gz"], "cannot read missing.gz"),
        (["add", "toy", __file__], "is not a published file of 'toy'"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(run, words, complaint):
    shown = run(*words)
    assert shown.exit_code == 2
    assert shown.stdout == ""
    assert complaint in shown.stderr
    assert len(shown.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", [[], ["list"], ["get"], ["add"]])
def test_help_has_an_example(run, command):
    shown = run(*command, "--help")
    assert shown.exit_code == 0
    assert "pacbound data" in shown.stdout.split("Examples:")[1]
