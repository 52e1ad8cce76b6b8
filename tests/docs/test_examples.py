"""Every example in the README and the documentation runs, page by page, on small made data."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import click
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from page_examples import PAGES, RUN, SHOWN, Reader, blocks, commands_in_text, parse
from stand_ins import names, put_files, replace_images

from pacbound.data import catalogue
from pacbound.errors import PacboundError

# Commands that a test cannot run, by how they begin. They are only read: options must exist.
NOT_RUN = {
    "make ": "makes an environment, and is what runs this test",
    "python3 -m venv ": "makes an environment; tests/test_wheel.py does",
    "source ": "is for the reader's shell",
    "pip install ": "needs a network; tests/test_wheel.py installs the wheel",
    "torchrun ": "starts processes, on GPUs even; tests/training/test_ranks.py does",
    "pacbound table pac-bayes --workers": "hours of training",
    "pacbound table vi": "hours of training",
    "pacbound table bandit": "hours of playing",
    "pacbound features --extractor pacbound.": "needs pretrained weights, CIFAR-10 and minutes",
    "pacbound data get keel": "needs a download; tests/data/test_keel.py reads the tables",
    "pacbound table learned --network": "minutes of training; tests/cli runs a cell",
    "pacbound table keel --p": "minutes of training; tests/experiments/keel runs a cell",
    "pacbound certify mlp.pt --scheduler": "needs a Dask cluster; tests/workers has one",
    "pacbound vi lenet-5-cifar5": "needs CIFAR-10, and minutes for an epoch",
    "pacbound vi vgg-16-augmented": "needs CIFAR-10, and hours",
    "pacbound vi lenet-5 --posterior point": "two other posteriors of the same command are run",
}

# What makes a command quick: options that are added at its end, by the first pattern that fits.
# What is given twice counts as it is given last.
REDUCTIONS = {
    r"certify .*--predictor (draw|fixed)": "",
    r"certify plants.pt": "",
    r"certify ": "--draws 1000 --weights 20 --samples 20",
    r"train .*(learned|--prior-fraction)": "--epochs 1 --set prior_epochs=1",
    r"train table ": "--epochs 2 --set prior_epochs=2",
    r"train ": "--epochs 2 --set batch=100",
    r"vi ": "--epochs 1 --set warm_start_epochs=1 --samples 2",
    r"bandit ": "--steps 60 --seeds 1 --workers 1",
    r"off-policy ": "--set minibatches=2 --draws 2",
    r"predict .*--certificate": "",
    r"predict ": "--samples 2",
    r"simulate ": "--shapes 2x2 --trials 3",
}

# What is written otherwise: data that are not made here, work that would take minutes, and bounds
# that 600 examples cannot have.
REPLACEMENTS = {
    "pacbound bandit mushroom": "pacbound bandit bandit.npz",
    "--max-risk 0.25": "--max-risk 1",
    "--max-risk 0.2": "--max-risk 1",
    'objective="kl-inverse", epochs=20': 'objective="kl-inverse", epochs=2',
    "net.certify(data, delta=0.05)": "net.certify(data, delta=0.05, draws=1000)",
    'net.certify("mnist", delta=0.035)': 'net.certify("mnist", delta=0.035, draws=1000)',
    "normal(0, 40, later": "normal(0, 4000, later",
    '{"epochs": 5}': '{"epochs": 2, "batch": 100}',
}

# What a page takes for granted that its reader did before.
BEFORE = {
    "docs/continuous-integration.md": [
        "pacbound train mlp-30 -o first.pt",
        "pacbound certify first.pt",
    ],
    "docs/policies.md": ["mkdir certificates", "cp deployed.json certificates/digits.json"],
    "docs/monitoring.md": ["mkdir certificates", "cp deployed.json certificates/digits.json"],
    "docs/predicting.md": ["cp mine.npz new.npz"],
    "docs/scaling.md": ["pacbound train mlp-30 -o mlp.pt"],
    "docs/variational-inference.md": ["pacbound vi lenet-5 --posterior diag -o lenet.pt"],
    "docs/reading-a-certificate.md": [
        "pacbound train mlp-30 -o first.pt",
        "pacbound certify first.pt",
    ],
    "docs/ledger.md": ["pacbound train mlp-30 -o narrow.pt"],
    "docs/data.md": [
        f"gzip -c ../cache/mnist/{name} > {name}.gz"
        for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")
    ],
}


def reduced(text: str) -> str:
    """A command or a Python block with its replacements and added options."""
    for written, other in REPLACEMENTS.items():
        text = text.replace(written, other)
    if not text.startswith("pacbound "):
        return text
    command, hash_sign, comment = text.partition("#")
    for pattern, options in REDUCTIONS.items():
        if re.match(f"pacbound {pattern}", command):
            return f"{command.rstrip()} {options} {hash_sign}{comment}"
    return text


def is_skipped(command: str) -> bool:
    return command.startswith(tuple(NOT_RUN))


def every_command() -> list[str]:
    return [command for page in PAGES for block in blocks(page) for command in block.commands()]


WITH_EXAMPLES = [page for page in PAGES if any(block.language in RUN for block in blocks(page))]


@pytest.mark.parametrize("page", WITH_EXAMPLES)
def test_examples_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warm_workers: None
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    replace_images(tmp_path / "cache", monkeypatch)
    put_files(folder)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "argv", ["pacbound"])
    before = set(sys.modules)
    reader = Reader(reduced, names())
    try:
        for command in BEFORE.get(page, []):
            reader.run(command, f"before {page}")
        for block in blocks(page):
            if block.language in RUN:
                reader.follow(block, is_skipped)
    finally:
        catalogue.cache_clear()  # the next test may ask for the true data
        for name in set(sys.modules) - before:
            if name in ("mine", "own", "package", "package.module"):
                del sys.modules[name]


@pytest.mark.parametrize("page", PAGES)
def test_commands_can_be_read(page: str) -> None:
    """Those of blocks, run or not, and those in the text."""
    commands = [command for block in blocks(page) for command in block.commands()]
    for command in [*commands, *commands_in_text(page)]:
        program, *words = shlex.split(command, comments=True)
        if program == "torchrun":
            program, words = "pacbound", words[words.index("pacbound_cli") + 1 :]
        if program == "pacbound":
            try:
                parse(words)
            except click.MissingParameter:
                assert len(words) <= 2, command  # a command that is only named
            except click.exceptions.Exit as done:
                assert done.exit_code == 0, command  # --help
            except (click.ClickException, PacboundError) as error:
                raise AssertionError(f"{page}: {command}: {error}") from error


@pytest.mark.parametrize("page", PAGES)
def test_blocks_are_of_a_known_kind(page: str) -> None:
    """A block in another language would be an example that nothing runs."""
    for block in blocks(page):
        assert block.language in (*RUN, *SHOWN), f"{block.place}: ```{block.language}"
        if block.language in ("", "text"):
            hidden = [line for line in block.text.splitlines() if line.startswith("$ ")]
            assert not hidden, f"{block.place}: write it as ```console, so that it is run"


def test_no_exception_is_out_of_date() -> None:
    commands = every_command()
    texts = [block.text for page in PAGES for block in blocks(page)]
    for start in NOT_RUN:
        assert any(command.startswith(start) for command in commands), start
    for written in REPLACEMENTS:
        assert any(written in text for text in texts), written
    for pattern in REDUCTIONS:
        assert any(re.match(f"pacbound {pattern}", command) for command in commands), pattern
    assert set(BEFORE) <= set(WITH_EXAMPLES)


def test_a_wrong_example_is_noticed() -> None:
    for wrong in (
        "pacbound trane mlp-600",
        "pacbound train mlp-600 --epoch x",
        "pacbound train mlp-600 --set hiden=[3]",
        "pacbound certify mlp.pt --predictor median",
        "pacbound data fetch mnist",
    ):
        with pytest.raises((click.ClickException, PacboundError)):
            parse(shlex.split(wrong)[1:])
