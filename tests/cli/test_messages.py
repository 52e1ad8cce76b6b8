"""Messages that every command shares: errors as JSON, a closed pipe, an interrupt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from refusals import refused

import pacbound
from pacbound.errors import DataError, by_caller, called_by_command
from pacbound_cli import cli
from pacbound_cli.train import _going_on

VECTORS = Path(pacbound.__file__).parent / "certificate/vectors"
DRAW = VECTORS / "accepted-draw-learned-binomial.json"


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        (["certify", "absent.pt"], "FileError", "absent.pt"),
        (["train", "mlp600"], "UnknownName", "did you mean 'mlp-600'?"),
        (["train", "mlp-600", "--set", "smoothing=0.7"], "SettingError", "0, 0.5, 0.75, 1, 1.25"),
        (["train", "table", "--objective", "elbow"], "UnknownName", "choose from: catoni, "),
        (["verify"], "UsageError", "Missing argument"),
        (["verify", "--max-risk", "25", "a.json"], "UsageError", "25 % is 0.25"),
        (["explain", "absent.json"], "CertificateError", "no such file: absent.json"),
        (["explain", "."], "CertificateError", ". is a folder: give one of its certificates"),
        (["data", "get", "mnits"], "UnknownName", "did you mean 'mnist'?"),
        (["trane"], "UsageError", "trane"),
    ],
)
def test_errors_under_json_are_json(
    words: list[str], kind: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "elbow" in words:
        Path("few.csv").write_text("a,y\n" + "0,p\n1,q\n" * 20)
        words = [*words, "--data", "few.csv", "--label", "y"]
    plain = CliRunner().invoke(cli, words)
    refused(plain, message)
    assert plain.stdout == ""
    told = CliRunner().invoke(cli, [*words, "--json"])
    refused(told, message)
    found = json.loads(told.stdout)
    assert (found["kind"], found["exit_code"]) == (kind, 2)
    assert message in found["error"]


@pytest.mark.parametrize(
    "words",
    [
        ["recipes", "show", "mlp-600"],  # printed by Click
        ["explain", str(DRAW)],  # printed by Rich
        ["verify", str(DRAW), "--json"],
        ["verify", "--help"],
    ],
)
def test_a_closed_pipe_ends_a_command_quietly(words: list[str]) -> None:
    root = Path(pacbound.__file__).parents[1]
    places = {"PYTHONPATH": os.pathsep.join([str(root), str(root / "cli")])}
    reading, writing = os.pipe()
    os.close(reading)  # before anything is written, as a `head` that has ended
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pacbound_cli", *words],
            stdout=writing,
            stderr=subprocess.PIPE,
            env={**os.environ, **places},
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_output_without_greek_letters_is_no_error() -> None:
    root = Path(pacbound.__file__).parents[1]
    places = {"PYTHONPATH": os.pathsep.join([str(root), str(root / "cli")])}
    command = [sys.executable, "-m", "pacbound_cli", "explain", str(DRAW)]
    whole, plain = (
        subprocess.run(
            command,
            capture_output=True,
            env={**os.environ, **places, "PYTHONIOENCODING": encoding},
            check=False,
        )
        for encoding in ("utf-8", "ascii")
    )
    assert (whole.returncode, plain.returncode, plain.stderr) == (0, 0, b"")
    assert not whole.stdout.isascii() and plain.stdout.isascii()


def test_a_broken_pipe_of_something_else_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("pacbound.verification.check_demands", broken)
    refused(CliRunner().invoke(cli, ["verify", str(DRAW)]), "Broken pipe")


def test_messages_name_options_to_commands_and_arguments_to_python(tmp_path: Path) -> None:
    table = tmp_path / "copied.csv"
    table.write_text("id,label,prediction\n" + "a,0,0\n" * 40)
    with pytest.raises(DataError, match=r"declare them with copies='independent'"):
        pacbound.certify_fixed(str(table))
    command = ["certify-fixed", "--predictions", str(table), "-o", str(tmp_path / "c.json")]
    refused(CliRunner().invoke(cli, command), "declare them with --copies independent")
    assert by_caller("--it", "it") == "it"  # the command has ended
    with called_by_command():
        assert by_caller("--it", "it") == "--it"


def test_what_the_same_command_does_after_an_interrupt() -> None:
    run, prior = Path("run.pt"), Path("prior-1.pt")
    assert _going_on(run, True, False, False, None) == "continues run.pt"
    assert _going_on(run, False, False, True, prior) == "with --resume continues run.pt"
    replaced = _going_on(run, False, True, True, None)
    assert replaced == "with --resume instead of --force continues run.pt"
    kept = _going_on(run, False, True, False, prior)
    assert kept == "goes on with the learned prior in prior-1.pt"
    assert _going_on(run, False, True, False, None) == "starts again"


def test_verify_takes_folders(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for place in ("b.json", "deep/a.json"):
        (tmp_path / place).write_bytes(DRAW.read_bytes())
    (tmp_path / "net.inputs.json").write_text('{"format": "other"}')
    command = ["verify", str(tmp_path), str(tmp_path / "b.json")]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    names = [line.split(":")[0] for line in result.stdout.splitlines()]
    assert names == [f"VERIFIED {tmp_path / place}" for place in ("b.json", "deep/a.json")]
    assert result.stderr.startswith(f"skipped {tmp_path / 'net.inputs.json'}")
    policy = CliRunner().invoke(cli, ["policy", str(tmp_path), "-o", str(tmp_path / "p.yaml")])
    assert policy.exit_code == 0, policy.output
    (tmp_path / "damaged.json").write_text("{")  # it is seen, not passed over
    assert CliRunner().invoke(cli, command).exit_code == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    refused(CliRunner().invoke(cli, ["verify", str(empty)]), "no certificates in")
