"""`train` and `certify` as a user meets them: what works, and what bad input gets."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from refusals import refused
from warm_python import WarmProcess, WarmPython

from pacbound.networks.digests import tensors_digest
from pacbound.training.checkpoints import Checkpoint
from pacbound_cli import cli

SMALL = ["--set", "hidden=[8]", "--set", "batch=100", "--set", "learning_rate=0.02"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(a) for a in arguments])


@pytest.fixture
def trained(tiny_file: Path, tmp_path: Path) -> Path:
    path = tmp_path / "tiny.pt"
    result = run("train", "mlp-600", "--data", tiny_file, *SMALL, "--epochs", "4", "-o", path)
    assert result.exit_code == 0, result.output
    return path


def edited(path: Path, target: Path, edit: Any) -> Path:
    content = torch.load(path, weights_only=True)
    edit(content)
    torch.save(content, target)
    return target


# What works ---------------------------------------------------------------------------------


def test_train_certify_verify(trained: Path, tmp_path: Path) -> None:
    certificate = tmp_path / "certificates" / "tiny.json"
    result = run("certify", trained, "--draws", "3000", "-o", certificate)
    assert result.exit_code == 0, result.output
    assert "With probability at least 96.5 %" in result.stdout
    for words in ("empirical risk", "KL(q‖p)", "Monte Carlo allowance", "maurer", "pinsker"):
        assert words in result.stdout
    assert run("verify", certificate, "--checkpoint", trained).exit_code == 0


def test_certify_says_that_training_is_not_finished(trained: Path, tmp_path: Path) -> None:
    command = ["certify", "--draws", "3000", "-o", tmp_path / "c.json"]
    assert "not finished" not in run(*command, trained).output
    stopped = edited(trained, tmp_path / "stopped.pt", lambda x: x.update(training={"step": 1}))
    result = run(*command, stopped)
    assert result.exit_code == 0, result.output
    assert "stopped.pt is not finished: it is at epoch 4 of its training" in result.stderr
    assert run("verify", tmp_path / "c.json", "--checkpoint", stopped).exit_code == 0


def test_certify_tells_of_a_certificate_that_it_replaces(trained: Path, tmp_path: Path) -> None:
    command = ["certify", trained, "--draws", "3000", "-o", tmp_path / "c.json"]
    for more, told in (([], False), ([], False), (["--delta", "0.05"], True)):
        result = run(*command, *more)
        assert result.exit_code == 0, result.output
        assert ("this one needs --place 2" in result.stderr) == told
    placed = run(*command, "--delta", "0.01", "--place", "2")
    assert "needs --place 2" not in placed.stderr
    (tmp_path / "c.json").write_text("{}")
    assert "is replaced" not in run(*command).output


def test_certify_and_export_one_draw(trained: Path, tmp_path: Path) -> None:
    certificate, net = tmp_path / "draw.json", tmp_path / "out" / "net.pt"
    base = ["certify", trained, "--predictor", "draw", "-o", certificate]
    result = run(*base, "--export", net)
    assert result.exit_code == 0, result.output
    for words in ("one network that was drawn", "ln dq/dp", "held-out", "net.pt", "smoothing"):
        assert words in result.stdout
    for words in ("Monte Carlo", "Pinsker", "Catoni"):
        assert words not in result.stdout
    assert run("verify", certificate, "--checkpoint", trained).exit_code == 0
    exported = run("verify", certificate, "--checkpoint", net)
    assert exported.exit_code == 0, exported.output
    weights = torch.load(net, weights_only=True)
    weights["1.bias"][0] += 1
    torch.save(weights, tmp_path / "changed.pt")
    changed = run("verify", certificate, "--checkpoint", tmp_path / "changed.pt")
    assert changed.exit_code == 1 and "other tensors" in changed.output
    weights["odd"] = torch.zeros(1, dtype=torch.complex64)
    torch.save(weights, tmp_path / "odd.pt")
    assert run("verify", certificate, "--checkpoint", tmp_path / "odd.pt").exit_code == 2
    weights = torch.load(net, weights_only=True)
    assert {name: value.dtype for name, value in weights.items()} == dict.fromkeys(
        ("1.weight", "1.bias", "3.weight", "3.bias"), torch.float32
    )
    assert sorted(p.name for p in net.parent.iterdir()) == ["net.inputs.json", "net.pt"]
    first = net.read_bytes()
    assert json.loads(run(*base, "--export", net, "--json").stdout)["predictor"] == "draw"
    assert net.read_bytes() == first
    assert run(*base, "--max-risk", "0.01").exit_code == 1


def test_what_does_not_go_with_a_draw(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(run("certify", trained, "--export", "net.pt"), "--predictor draw")
    draw = ["certify", trained, "--predictor", "draw"]
    refused(run(*draw, "--inequality", "mcallester"), "binomial, density")
    for option, value in (("--draws", 10), ("--samples", 10), ("--kl-tail", "gaussian")):
        refused(run(*draw, option, value), option, "the others do not sample")
    refused(run("certify", trained, "--predictor", "drawn"), "'drawn' is not one of", "'draw'")
    refused(run(*draw, "--export", "net.bin"), ".pt or .onnx")
    refused(run(*draw, "--export", trained / "net.pt"), "cannot write")
    assert run(*draw, "--seed", "3").exit_code == 2
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    refused(run(*draw, "--export", "net.onnx"), "pip install 'pacbound[onnx]'")
    assert not list(tmp_path.glob("net*"))


def test_options_that_have_no_effect_are_named(
    trained: Path, tiny_file: Path, tmp_path: Path
) -> None:
    """A Gaussian posterior of dense layers draws per example, and its KL is exact."""
    target = tmp_path / "certificate.json"
    base = ["certify", trained, "--draws", "3000", "-o", target]
    assert "no effect" not in run(*base).stderr
    result = run(*base, "--weights", 10, "--samples", 10, "--risk-limit", "chernoff")
    assert result.exit_code == 0, result.output
    for option in ("--weights", "--samples", "--risk-limit"):
        assert f"{option} has no effect: " in result.stderr
    assert "--draws" in result.stderr and "--draws has" not in result.stderr
    path = tmp_path / "nonlinear.pt"
    settings = ["--set", "linear_epochs=1", "--set", "flow_hidden=[4]", "--epochs", 1]
    train = ["train", "mlp-600", "--data", tiny_file, "--posterior", "k-nonlinear", *SMALL]
    assert run(*train, *settings, "-o", path).exit_code == 0
    numbers = ["--weights", 20, "--samples", 20, "-o", target]
    result = run("certify", path, "--draws", "3000", *numbers)
    assert result.exit_code == 0, result.output
    assert "--draws has no effect: examples share weights: see --weights" in result.stderr
    assert "--weights has" not in result.stderr and "--samples" not in result.stderr


def test_a_choice_between_predictors_is_spoken_of(trained: Path, tmp_path: Path) -> None:
    base = ["certify", trained, "-o", tmp_path / "certificate.json"]
    sampled = [*base, "--draws", 3000]
    assert "another predictor" in run(*sampled, "--certificates", 2).stderr
    assert "another predictor" in run(*sampled, "--place", 2).stderr
    for silent in ([], ["--certificates", 2, "--candidates", 2]):
        assert "another predictor" not in run(*sampled, *silent).stderr
    assert not run(*base, "--predictor", "draw", "--certificates", 2).stderr


def test_an_inequality_that_cannot_be_is_refused_before_the_sampling(
    trained: Path, tmp_path: Path
) -> None:
    target = tmp_path / "certificate.json"
    result = run("certify", trained, "--inequality", "catoni", "--draws", 3000, "-o", target)
    refused(result, "needs a prior with a validation part")
    assert not list(tmp_path.glob("certificate*"))


def test_the_papers_protocol_of_a_recipe(tiny_file: Path, tmp_path: Path) -> None:
    path, target = tmp_path / "paper.pt", tmp_path / "certificate.json"
    train = ["train", "mlp-600", "--data", tiny_file, "--protocol", "paper", *SMALL]
    result = run(*train, "--epochs", 1, "-o", path)
    assert result.exit_code == 0, result.output
    assert Checkpoint.load(path).settings.objective == "catoni-trained"
    assert run("certify", path, "--draws", 3000, "-o", target).exit_code == 0
    command = json.loads(target.read_text())["made"]["training_command"]
    assert command.startswith("pacbound train mlp-600 --protocol paper ")
    refused(run("train", "mlp-600", "--protocol", "papers"), "did you mean 'paper'?")


def test_a_learned_prior_from_training_to_verify(tiny_file: Path, tmp_path: Path) -> None:
    path, certificate = tmp_path / "learned.pt", tmp_path / "learned.json"
    options = [*SMALL, "--set", "prior_epochs=2", "--epochs", "1", "-o", path]
    base = ["train", "mlp-600", "--data", tiny_file]
    made = run(*base, "--prior", "learned", "--prior-fraction", "0.7", *options)
    assert made.exit_code == 0, made.output
    assert "prior, epoch   2" in made.stderr
    (prior,) = tmp_path.glob("prior-*.pt")
    assert run("certify", path, "--predictor", "draw", "-o", certificate).exit_code == 0
    record = json.loads(certificate.read_text())
    assert record["data"]["m"] == 180
    assert record["prior"]["kind"] == "learned"
    assert run("verify", certificate, "--checkpoint", path).exit_code == 0
    fixed = ["certify", path, "--predictor", "fixed", "-o", tmp_path / "fixed.json"]
    assert run(*fixed, "--export", tmp_path / "centre.pt").exit_code == 0
    for kept in (path, tmp_path / "centre.pt"):
        assert run("verify", tmp_path / "fixed.json", "--checkpoint", kept).exit_code == 0
    replayed = run("certify", path, "--predictor", "draw", "--replay-prior", "-o", certificate)
    assert replayed.exit_code == 0, replayed.output
    words = " ".join(replayed.stdout.split())
    assert "The prior was learned from the other 420 examples" in words
    assert "trained again on the same kind of machine, is the same bit for bit" in words
    # Elsewhere it is ordinary output, and recorded, not a warning of Python.
    other = Checkpoint.load(path)
    assert other.learned_prior is not None
    machine = {**other.learned_prior.machine, "processor": "another"}
    variances = tuple(2 * v for v in other.learned_prior.variances)
    elsewhere = dataclasses.replace(other.learned_prior, machine=machine, variances=variances)
    dataclasses.replace(other, stored_prior=elsewhere).save(tmp_path / "elsewhere.pt")
    again = ["certify", tmp_path / "elsewhere.pt", "--predictor", "draw", "--replay-prior"]
    replayed = run(*again, "-o", tmp_path / "elsewhere.json")
    assert replayed.exit_code == 0, replayed.output
    assert "its variances by a factor of up to 2" in " ".join(replayed.stdout.split())
    assert "Warning" not in replayed.stderr
    replayed = run(*again, "-o", tmp_path / "elsewhere.json", "--json")
    assert "does not prove it" in json.loads(replayed.stdout)["made"]["prior"]["replay"]
    assert run("verify", tmp_path / "elsewhere.json").exit_code == 0
    # The command that the certificate names makes the checkpoint again, without its files.
    first = Checkpoint.load(path)
    path.unlink()
    prior.unlink()
    assert run(*shlex.split(record["made"]["training_command"])[1:]).exit_code == 0
    again = Checkpoint.load(path)
    assert again.settings == first.settings
    assert again.prior_sha256 == first.prior_sha256
    assert tensors_digest(again.posterior) == tensors_digest(first.posterior)


def test_the_default_part_of_a_learned_prior_is_half(tiny_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    options = [*SMALL, "--set", "prior_epochs=1", "--epochs", "1", "-o", path]
    made = run("train", "mlp-600", "--data", tiny_file, "--prior", "learned", *options)
    assert made.exit_code == 0, made.output
    assert torch.load(path, weights_only=True)["settings"]["prior_fraction"] == 0.5
    small = ["train", "mlp-600-learned", "--data", tiny_file, *SMALL, "--set", "alignment=none"]
    free = tmp_path / "free.pt"
    made = run(*small, "--prior", "data-free", "--epochs", "1", "-o", free)
    assert made.exit_code == 0, made.output
    assert "learned_prior" not in torch.load(free, weights_only=True)


def test_certify_a_vote(trained: Path, tmp_path: Path) -> None:
    certificate = tmp_path / "vote.json"
    base = ["certify", trained, "--predictor", "vote", "--draws", "3000", "-o", certificate]
    for options, predictor, words in (
        ([], "vote-gibbs", "times 2"),
        (["--vote-by", "gibbs"], "vote-gibbs", "times 2"),
        (["--vote-by", "tandem"], "vote-tandem", "times 4"),
    ):
        result = run(*base, *options)
        assert result.exit_code == 0, result.output
        assert "majority vote" in result.stdout
        assert words in result.stdout
        assert json.loads(certificate.read_text())["predictor"] == predictor
        assert run("verify", certificate, "--checkpoint", trained).exit_code == 0


def test_what_does_not_go_with_a_vote_or_a_prior(
    trained: Path, tiny_file: Path, tmp_path: Path
) -> None:
    refused(run("certify", trained, "--vote-by", "tandem"), "--vote-by", "--predictor vote")
    draw = ["certify", trained, "--predictor", "draw"]
    refused(run(*draw, "--vote-by", "gibbs"), "--predictor vote")
    refused(run("certify", trained, "--predictor", "vote", "--vote-by", "all"), "'all'")
    vote = ["certify", trained, "--predictor", "vote"]
    refused(run(*vote, "--export", tmp_path / "net.pt"), "--predictor draw")
    target = tmp_path / "a.json"
    refused(run(*draw, "--replay-prior", "-o", target), "did not learn from data")
    assert not target.exists()
    base = ["train", "mlp-600", "--data", tiny_file, *SMALL, "-o", tmp_path / "x.pt"]
    refused(run(*base, "--prior", "data-free", "--prior-fraction", "0.5"), "--prior learned")
    refused(run(*base, "--prior", "learned", "--prior-fraction", "0"), "above 0")
    refused(run(*base, "--prior", "learned", "--prior-fraction", "-1"), "above 0")
    refused(run(*base, "--prior", "learned", "--prior-fraction", "1"), "prior_fraction must be")
    refused(run(*base, "--prior", "learned", "--prior-fraction", "nan"), "prior_fraction must be")
    refused(run(*base, "--prior-fraction", "0.55"), "cannot be paid for")
    refused(run(*base, "--prior", "guessed"), "'guessed'")
    for key, value in (("prior_dropout", "1"), ("prior_batch", "0"), ("prior_tolerance", "0")):
        refused(run(*base, "--set", f"{key}={value}"), f"{key} must be")
    refused(
        run(*base, "--set", "prior_augmentation=blur"), "none, flip, flip-crop, flip-shift, distort"
    )
    assert not list(tmp_path.glob("*x.pt"))


def test_an_edited_prior_is_refused(tiny_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    options = [*SMALL, "--set", "prior_epochs=1", "--epochs", "1", "-o", path]
    assert (
        run("train", "mlp-600", "--data", tiny_file, "--prior", "learned", *options).exit_code == 0
    )

    def center(content: dict[str, Any]) -> None:
        content["learned_prior"]["center"]["1.weight"][0, 0] += 1

    def missing(content: dict[str, Any]) -> None:
        del content["learned_prior"]

    def empty(content: dict[str, Any]) -> None:
        content["learned_prior"] = {}

    def threads(content: dict[str, Any]) -> None:
        content["learned_prior"]["threads"] = -1

    words = {
        center: "weights do not give the prior",
        missing: "are of different kinds",
        empty: "its learned prior cannot be read",
        threads: "-1 threads",
    }
    for edit, expected in words.items():
        bad = edited(path, tmp_path / "bad.pt", edit)
        refused(run("certify", bad, "--predictor", "draw", "-o", tmp_path / "a.json"), expected)
    assert not (tmp_path / "a.json").exists()


def test_the_training_command_of_a_certificate_makes_the_checkpoint_again(
    tiny_file: Path, tmp_path: Path
) -> None:
    path, certificate = tmp_path / "my run.pt", tmp_path / "a.json"
    options = ["--set", "protocol=paper", "--set", "initial_scale=[0.1, 0.03]"]
    options += ["--set", "alignment=deskew", "--set", "flow_learning_rate=0.00001"]
    made = run("train", "mlp-600", "--data", tiny_file, *SMALL, *options, "--epochs", 2, "-o", path)
    assert made.exit_code == 0, made.output
    assert run("certify", path, "--draws", "3000", "-o", certificate).exit_code == 0
    command = json.loads(certificate.read_text())["made"]["training_command"]
    first = path.read_bytes()
    path.unlink()
    program, *words = shlex.split(command)
    assert program == "pacbound"
    assert run(*words).exit_code == 0
    assert path.read_bytes() == first


def test_max_risk_decides_the_exit_code(trained: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    arguments = ["certify", trained, "--draws", "3000", "-o", target]
    assert run(*arguments, "--max-risk", "0.999").exit_code == 0
    result = run(*arguments, "--max-risk", "0.01")
    assert result.exit_code == 1
    assert "larger than --max-risk" in result.stderr
    assert run("verify", target).exit_code == 0  # the certificate itself is sound


def test_json_output(trained: Path, tiny_file: Path, tmp_path: Path) -> None:
    result = run("certify", trained, "--draws", "3000", "-o", tmp_path / "a.json", "--json")
    assert json.loads(result.stdout)["data"]["m"] == 600
    path = tmp_path / "b.pt"
    small = ["train", "mlp-600", "--data", tiny_file, *SMALL, "--epochs", "1", "-o", path]
    assert json.loads(run(*small, "--json").stdout)["epoch"] == 1
    assert json.loads(run("recipes", "--json").stdout)["mlp-600"]
    assert json.loads(run("recipes", "show", "mlp-600", "--json").stdout)["hidden"] == [600]
    assert json.loads(run("recipes", "mlp-600", "--json").stdout)["hidden"] == [600]


def test_recipes_are_described_in_whole_sentences() -> None:
    lines = run("recipes").stdout.splitlines()
    assert len(lines) > 10 and all(line.endswith(".") or not line for line in lines)
    refused(run("recipes", "mlp-60"), "did you mean 'mlp-600'")


def test_an_existing_checkpoint_is_not_lost(trained: Path, tiny_file: Path) -> None:
    before = trained.read_bytes()
    refused(run("train", "mlp-600", "--data", tiny_file, *SMALL, "-o", trained), "--resume")
    assert trained.read_bytes() == before


def test_a_finished_run_whose_log_is_lost_is_left_as_it_is(
    trained: Path, tiny_file: Path, tmp_path: Path
) -> None:
    words = ["train", "mlp-600", "--data", tiny_file, *SMALL, "--epochs", "4", "-o", trained]
    before, log = trained.read_bytes(), trained.with_suffix(".log.jsonl")
    assert run(*words, "--resume").exit_code == 0
    log.unlink()
    for more in ([], ["--json"]):
        result = run(*words, "--resume", *more)
        refused(result, "is fully trained and was not changed", log.name, "--force")
        assert len(result.stderr.strip().splitlines()) == 1
        assert (trained.read_bytes(), log.exists()) == (before, False)
    certificate = tmp_path / "a.json"
    assert run("certify", trained, "--draws", "600", "-o", certificate).exit_code == 0


def test_kill_minus_nine_loses_at_most_an_epoch(
    tiny_file: Path, tmp_path: Path, warm_python: WarmPython
) -> None:
    """Killed again and again at odd moments, it ends with the weights of an undisturbed run."""
    words = ["train", "mlp-600", "--data", str(tiny_file), *SMALL, "--epochs", "60"]
    whole, parts = tmp_path / "whole.pt", tmp_path / "parts.pt"
    assert run(*words, "--threads", "1", "-o", whole).exit_code == 0
    command = [sys.executable, "-m", "pacbound_cli", *words, "--threads", "1", "-o", str(parts)]
    log, flags, codes = parts.with_suffix(".log.jsonl"), list[str](), list[int]()

    def begun() -> WarmProcess:
        return warm_python.start([*command, *flags])

    for epochs in (2, 12, 30):  # on a busy machine, it may come to the end of 60 before the kill
        process = begun()
        while process.poll() is None:
            if log.exists() and len(log.read_bytes().splitlines()) >= epochs:
                process.kill()
            time.sleep(0.003)
        codes.append(process.wait())
        flags = ["--resume"]
    assert {-signal.SIGKILL} <= {*codes} <= {0, -signal.SIGKILL}
    assert begun().wait() == 0
    assert whole.read_bytes() == parts.read_bytes()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_every_command_has_help_with_an_example() -> None:
    import click

    def walk(command: click.Command, path: list[str]) -> None:
        if path:
            assert command.help, path
            assert "Example" in command.help, path
            assert run(*path, "--help").exit_code == 0
        if isinstance(command, click.Group):
            for name, inner in command.commands.items():
                walk(inner, [*path, name])

    walk(cli, [])


def test_help_and_verify_do_not_import_torch() -> None:
    code = (
        "import sys; from pacbound_cli import cli; cli(['--help'], standalone_mode=False); "
        "assert not {'torch', 'numpy', 'rich'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


# What is refused ----------------------------------------------------------------------------


class _Bomb:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("touch BOMB",)


def test_files_that_are_no_checkpoints(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bad = tmp_path / "bad.pt"
    refused(run("certify", tmp_path / "none.pt"), "none.pt", "No such file")
    refused(run("certify", tmp_path), "not a regular file")
    content = trained.read_bytes()
    for broken in (b"", b"hello", content[:1000], content[: len(content) // 2], content[:-1]):
        bad.write_bytes(broken)
        refused(run("certify", bad), "bad.pt", "not a pacbound checkpoint")
    torch.save({"a": torch.zeros(1)}, bad)
    refused(run("certify", bad), "not a pacbound checkpoint")
    for bomb in (lambda p: torch.save({"x": _Bomb()}, p), lambda p: _pickle(p)):
        bomb(bad)
        refused(run("certify", bad), "not a pacbound checkpoint")
    assert not (tmp_path / "BOMB").exists()


def _pickle(path: Path) -> None:
    with path.open("wb") as stream:
        pickle.dump(_Bomb(), stream)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("module.1.posteriors.affine.mean", float("nan"), ["NaN"]),
        ("module.1.posteriors.affine.mean", float("inf"), ["infinite"]),
        ("module.1.posteriors.affine.log_scale", float("nan"), ["NaN"]),
        ("module.1.posteriors.affine.log_scale", -1000.0, ["zero or infinite scale"]),
        ("module.3.posteriors.affine.log_scale", 1000.0, ["zero or infinite scale"]),
        ("module.1.posteriors.affine.triangles.0.below", 0.1, ["triangle"]),
    ],
)
def test_tensors_that_make_no_sense(
    trained: Path, tmp_path: Path, name: str, value: float, words: list[str]
) -> None:
    def edit(content: dict[str, Any]) -> None:
        content["posterior"][name].view(-1)[0] = value

    bad = edited(trained, tmp_path / "bad.pt", edit)
    refused(run("certify", bad, "-o", tmp_path / "a.json"), *words)
    assert not (tmp_path / "a.json").exists()


def test_tensors_that_do_not_fit(trained: Path, tmp_path: Path) -> None:
    name = "module.1.posteriors.affine.mean"

    def missing(content: dict[str, Any]) -> None:
        del content["posterior"][name]

    def extra(content: dict[str, Any]) -> None:
        content["posterior"]["more"] = torch.zeros(1)

    def shape(content: dict[str, Any]) -> None:
        content["posterior"][name] = torch.zeros(8, 16)

    def dtype(content: dict[str, Any]) -> None:
        content["posterior"][name] = content["posterior"][name].half()

    def recipe(content: dict[str, Any]) -> None:
        content["settings"]["hidden"] = [9]

    def unknown(content: dict[str, Any]) -> None:
        content["settings"]["hiden"] = [9]

    def field(content: dict[str, Any]) -> None:
        content["prior_center"] = torch.zeros(1)

    def seed(content: dict[str, Any]) -> None:
        content["settings"]["prior_seed"] = 1

    words = {
        missing: [name],
        extra: ["more"],
        shape: ["(8, 16)"],
        dtype: ["float16"],
        recipe: ["digest differs"],
        unknown: ["hiden", "did you mean 'hidden'"],
        field: ["prior_center"],
        seed: ["seed 1"],
    }
    for edit, expected in words.items():
        bad = edited(trained, tmp_path / "bad.pt", edit)
        refused(run("certify", bad, "-o", tmp_path / "a.json"), *expected)


def test_bad_options(trained: Path, tiny_file: Path, tmp_path: Path) -> None:
    for delta in ("0", "1", "-1", "nan", "2", "x"):
        refused(run("certify", trained, "--delta", delta), "delta")
    refused(run("certify", trained, "--inequality", "mauer"), "did you mean 'maurer'")
    assert run("certify", trained, "--max-risk", "nan").exit_code == 2
    refused(run("train", "mlp-60"), "did you mean 'mlp-600'")
    base = ["train", "mlp-600", "--data", tiny_file, "-o", tmp_path / "x.pt"]
    refused(run(*base, "--posterior", "k-liner"), "did you mean 'k-linear'")
    refused(run(*base, "--objective", "pinker"), "did you mean 'pinsker'")
    refused(run(*base, "--set", "epoch=3"), "did you mean 'epochs'")
    refused(run(*base, "--set", "epochs"), "key=value")
    refused(run(*base, "--set", "epochs=[1"), "epochs")
    refused(run(*base, "--epochs", "0"), "epochs must be")
    refused(run(*base, "--set", "learning_rate=nan"), "learning_rate must be")
    refused(run(*base, "--set", "delta=1.0"), "delta must be")
    refused(run(*base, "--set", "hidden=600"), "hidden must be")
    refused(run(*base, "--set", "input_scale=1.1"), "cannot be paid for")
    refused(run(*base, "--set", "initializer=ones"), "initializer")
    refused(run(*base, "--set", "protocol=papper"), "did you mean 'paper'")
    refused(run(*base, "--set", "protocol=[paper]"), "unknown protocol")
    refused(run(*base, "--set", "alignment=rotate"), "alignment must be none or deskew")
    refused(run(*base, "--set", "hidden_bias=-5"), "cannot be paid for")
    refused(run(*base, "--set", "weight_draws=0"), "weight_draws must be")
    refused(run(*base, "--set", "initial_scale=[0.1, 0.2, 0.3]"), "one for each of 2 layers")
    refused(run(*base, "--set", "initial_scale=wide"), "initial_scale must be")
    refused(run(*base, "--resume"), "no checkpoint")
    refused(run("train", "mlp-600", "--data", "mnst"), "did you mean 'mnist'")
    refused(run("recipes", "show", "mlp"), "mlp")
    assert not (tmp_path / "x.pt").exists()


@pytest.mark.parametrize("shape", [(20, 9), (20, 3, 16, 16)])
def test_inputs_that_cannot_be_deskewed(tmp_path: Path, shape: tuple[int, ...]) -> None:
    path = tmp_path / "other.npz"
    np.savez(path, x=np.zeros(shape, dtype=np.float32), y=np.arange(20) % 2)
    base = ["train", "mlp-600", "--data", path, *SMALL, "--set", "smoothing=0"]
    output = ["-o", tmp_path / "x.pt"]
    refused(run(*base, "--set", "alignment=deskew", *output), "images of one channel")
    assert not (tmp_path / "x.pt").exists()


def test_labels_out_of_range(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    np.savez(path, x=np.zeros((20, 4, 4), dtype=np.float32), y=np.full(20, -1))
    refused(run("train", "mlp-600", "--data", path, "-o", tmp_path / "x.pt"), "labels")


def test_data_that_changed_since_training(trained: Path, tiny_file: Path, tmp_path: Path) -> None:
    arrays = dict(np.load(tiny_file))
    arrays["y"] = np.roll(arrays["y"], 1)
    other = tmp_path / "other.npz"
    np.savez(other, **arrays)
    target = tmp_path / "a.json"
    base = ["certify", trained, "--draws", "3000", "--data", other, "-o", target]
    refused(run(*base), "other data", "--allow-other-data")
    assert not target.exists()
    assert run(*base, "--allow-other-data").exit_code == 0
    assert run("verify", target).exit_code == 0


def test_places_that_cannot_be_written(trained: Path, tiny_file: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    refused(run("certify", trained, "-o", file / "a.json"), "cannot write")
    refused(run("certify", trained, "-o", tmp_path), "it is a folder")
    refused(run("train", "mlp-600", "--data", tiny_file, "-o", file / "a.pt"), "cannot write")
    refused(run("certify", trained, "-o", "/proc/nowhere/a.json"), "cannot write")


def test_a_full_disk_leaves_the_old_file(trained: Path, tmp_path: Path) -> None:
    """A file-size limit stands in for a full disk."""
    import resource

    from pacbound.errors import PacboundError
    from pacbound.files import write_whole

    target = tmp_path / "kept"
    target.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(PacboundError, match="cannot write"):
            write_whole(target, lambda stream: stream.write(bytes(100_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert target.read_bytes() == b"old"
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".kept")) == []
