"""Several processes, started by torchrun for real: the run of one process, and its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent))

from rank_runs import INDEPENDENT, RUNS, made, run

from pacbound.errors import PacboundError
from pacbound.networks.initializers import prior_center
from pacbound.networks.mlp import mlp
from pacbound.networks.share import Share
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import posterior_named
from pacbound.predictors.issuing import Request, certify
from pacbound.recipes import recipe
from pacbound.recipes.commands import train_command
from pacbound.seeds import TrainingNoise, derive
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.log import EpochRecord, TrainingLog, log_path
from pacbound.training.loop import train
from pacbound.training.ranks import ALONE, Ranks, joined
from pacbound_cli import cli

ROOT = Path(__file__).parents[2]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'cli'}", "OMP_NUM_THREADS": "1"}


class _Stopped(Exception):
    pass


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """All runs by one process, and by two."""
    one, two = (tmp_path_factory.mktemp(name) for name in ("one", "two"))
    for name in RUNS:
        run(name, one / f"{name}.pt")

    def stop(record: EpochRecord) -> None:
        raise _Stopped

    of, changes, _ = RUNS["diag"]
    with pytest.raises(_Stopped):
        train(recipe(of, changes), made("diag"), two / "half.pt", on_epoch=stop)
    script = str(Path(__file__).with_name("rank_runs.py"))
    done = subprocess.run(
        [*TORCHRUN, script, str(two)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return one, two


def difference(one: Path, two: Path) -> float:
    """The largest of any parameter, relative to the largest entry of its tensor.

    A bias in front of batch normalisation has no effect. Its gradient is rounding error, of which
    Adam makes steps of full length: those differ, and the running means with them.
    """
    a, b = Checkpoint.load(one).posterior, Checkpoint.load(two).posterior
    assert list(a) == list(b)
    names = [name for name, value in a.items() if value.is_floating_point()]
    if any(name.endswith("running_mean") for name in names):
        names = [n for n in names if not n.endswith(("running_mean", "bias.mean"))]
    scales = {name: max(a[name].abs().max().item(), 1e-3) for name in names}
    return max((a[k] - b[k]).abs().max().item() / scale for k, scale in scales.items())


def test_two_processes_are_one_within_rounding(
    folders: tuple[Path, Path], record_property: pytest.RecordProperty
) -> None:
    one, two = folders
    for name, (_, _, dtype) in RUNS.items():
        found = difference(one / f"{name}.pt", two / f"{name}.pt")
        record_property("measured", f"{name}, two processes against one: {found:.1e} in {dtype}")
        # Checkpoints are of float32, whatever they were computed with.
        assert found < (1e-4 if dtype == "float32" else 1e-6), name
        records = [TrainingLog(log_path(f / f"{name}.pt")).records() for f in folders]
        for single, joint in zip(*records, strict=True):
            assert joint.risk == pytest.approx(single.risk, abs=1 / 100)
            assert joint.objective == pytest.approx(single.objective, rel=1e-4)
            assert joint.kl == pytest.approx(single.kl, rel=1e-4)


def test_a_checkpoint_of_two_processes_is_certified_as_that_of_one(
    folders: tuple[Path, Path],
) -> None:
    request = Request(Decimal("0.035"), draws=4000)
    for name in ("diag", "learned prior"):
        single, joint = (certify(f / f"{name}.pt", made(name), request) for f in folders)
        # Seeds are derived from the tensors, so that other networks are drawn.
        assert joint.risk_bound == pytest.approx(single.risk_bound, abs=0.03)
        assert float(joint.evidence.nats) == pytest.approx(float(single.evidence.nats), rel=1e-4)
        assert joint.prior.sha256 == single.prior.sha256


def test_what_one_process_began_two_continue(folders: tuple[Path, Path]) -> None:
    one, two = folders
    assert difference(one / "diag.pt", two / "half.pt") < 1e-4  # its first epoch was in float32
    records = TrainingLog(log_path(two / "half.pt")).records()
    assert [record.epoch for record in records] == [1, 2, 3]


def test_independent_noise_is_another_run(folders: tuple[Path, Path]) -> None:
    one, two = folders
    path = two / "independent.pt"
    assert difference(one / "weights drawn.pt", path) > 1e-3
    records = TrainingLog(log_path(path)).records()
    shared = TrainingLog(log_path(one / "weights drawn.pt")).records()
    assert records[-1].surrogate_risk < records[0].surrogate_risk
    assert records[-1].bound == pytest.approx(shared[-1].bound, abs=0.1)
    settings = Checkpoint.load(path).settings
    assert settings.noise_streams == 2
    command = train_command(settings, "a.pt")
    assert command.startswith("torchrun --nproc-per-node 2 -m pacbound_cli train mlp-600 ")
    assert "noise_streams=2" in command
    with pytest.raises(PacboundError, match="noise_streams=2 is for that many processes, not for"):
        train(recipe("mlp-600", INDEPENDENT), made(""), two / "other.pt", ranks=ALONE)


def test_a_process_without_a_row_is_refused_by_all(folders: tuple[Path, Path]) -> None:
    for rank in range(2):
        text = (folders[1] / f"refused-{rank}.txt").read_text()
        assert "leave a last one of 1, fewer than the 2 processes" in text
    assert not (folders[1] / "refused.pt").exists()


# The command --------------------------------------------------------------------------------


def test_noise_of_its_own_is_for_several_processes() -> None:
    result = CliRunner().invoke(cli, ["train", "mlp-600", "--rank-noise", "independent"])
    assert result.exit_code == 2
    assert "--rank-noise independent is for several processes" in result.stderr


def test_several_processes_are_refused_on_a_device_that_cannot_speak(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost"}.items():
        monkeypatch.setenv(name, value)
    with (
        pytest.raises(
            PacboundError, match="several processes can train on cpu and cuda, not on mps"
        ),
        joined(torch.device("mps")),
    ):
        pass


@pytest.mark.parametrize(
    ("count", "words"), [("2", "cannot connect: .*MASTER_PORT"), ("two", "'two'")]
)
def test_what_torchrun_did_not_set_is_told(
    count: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": count, "MASTER_ADDR": "localhost"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("MASTER_PORT", raising=False)
    with pytest.raises(PacboundError, match=words), joined(torch.device("cpu")):
        pass


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
def test_a_killed_process_ends_the_other(tiny_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    changes = ["hidden=[8]", "hidden_bias=0", "initial_scale=0.05", "batch=100"]
    words = ["-m", "pacbound_cli", "train", "mlp-600", "--data", str(tiny_file), "-o", str(path)]
    words += [word for change in changes for word in ("--set", change)]
    with subprocess.Popen(
        [*TORCHRUN, *words, "--epochs", "100000"],
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
    ) as parent:
        try:
            until = time.monotonic() + 900
            while not path.exists():
                assert parent.poll() is None and time.monotonic() < until
                time.sleep(0.1)
            os.kill(process_of_rank(1, parent.pid), signal.SIGKILL)
            _, errors = parent.communicate(timeout=600)
        finally:
            parent.kill()
    assert parent.returncode != 0
    assert "Signal 9 (SIGKILL)" in errors or "lost the others" in errors
    assert errors.count("epoch   1  ") == 1  # the first process alone speaks
    assert Checkpoint.load(path).epoch >= 1


def process_of_rank(rank: int, parent: int) -> int:
    """The child of torchrun that has a rank."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    for child in map(int, children):
        if f"RANK={rank}".encode() in Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
            return child
    raise AssertionError(f"no process of rank {rank} among {children}")


# Shares of a batch --------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["diag", "k-diag", "k-linear", "k-nonlinear"])
@pytest.mark.parametrize("draws", [1, 3, 4])
@pytest.mark.parametrize("count", [2, 3])
def test_rows_have_the_noise_that_they_have_in_the_whole_batch(
    family: str, draws: int, count: int
) -> None:
    module = mlp((5,), [6], 3)
    center = prior_center(module, "he-normal", 0)
    options = {"kind": "iaf", "hidden": [4], "steps": 1, "seed": "0"}
    network = StochasticNetwork(module, center, posterior_named(family, **options), [0.3])
    inputs = torch.randn(11, 5)

    def outputs(share: Share) -> torch.Tensor:
        source = TrainingNoise(derive("shares"))
        with torch.no_grad():
            rows = network(inputs[share.place], source, draws, share)
        # All processes are at the same place of the stream after it.
        return torch.cat([rows.flatten(), source.normal(1)])

    whole = outputs(Share.whole(11))
    shares = [outputs(Ranks(rank, count).share(11)) for rank in range(count)]
    assert all(torch.equal(share[-1], whole[-1]) for share in shares)
    torch.testing.assert_close(torch.cat([share[:-1] for share in shares]), whole[:-1])


@pytest.mark.parametrize("batch", [1, 2, 5, 12, 13])
@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_shares_are_cut_as_torch_cuts_the_batch(batch: int, parts: int) -> None:
    chunks = [len(part) for part in torch.empty(batch).chunk(parts)]
    assert Share.whole(batch).sizes(parts) == chunks
    for count in (1, 2, 3):
        sizes = [Ranks(rank, count).share(batch).sizes(parts) for rank in range(count)]
        assert [sum(column) for column in zip(*sizes, strict=True)] == chunks
