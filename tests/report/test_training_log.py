"""Training logs: what training writes is read, old logs too, and anything else is refused."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_cases import record as vector

from pacbound.certificate.format import Certificate
from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.recipes import Settings
from pacbound.report.training_log import find_training_log, read_training_log
from pacbound.training.log import EpochRecord, TrainingLog, log_path
from pacbound.training.loop import train
from pacbound.verification import model_digest

change = dataclasses.replace


def line(epoch: int, **changes: Any) -> str:
    record = EpochRecord(
        epoch=epoch,
        phase="bound",
        surrogate_risk=0.3,
        risk=0.2,
        kl=5000.0,
        nats=5020.0,
        bound=0.4,
        objective=0.7,
        prior_variances=[0.01, 0.02],
        lipschitz=[],
        learning_rate=0.01,
        seconds=10.0 * epoch,
        beta=1.25,
    )
    return json.dumps(dataclasses.asdict(record) | changes) + "\n"


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    def write(*lines: str | bytes) -> Path:
        path = tmp_path / "run.log.jsonl"
        path.write_bytes(b"".join(x if isinstance(x, bytes) else x.encode() for x in lines))
        return path

    return write


@pytest.mark.parametrize(
    "changes",
    [
        {"objective": "catoni-trained", "prior_variance": "trained"},
        {"posterior": "k-nonlinear", "flow_hidden": (6,), "linear_epochs": 1, "epochs": 1},
        {"warm_start_epochs": 1, "epochs": 1, "objective": "catoni"},
    ],
)
def test_what_training_writes_is_read(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path, changes: dict[str, Any]
) -> None:
    path = tmp_path / "tiny.pt"
    train(change(tiny_settings, **{"epochs": 2, **changes}), tiny_data, path)
    log, records = read_training_log(log_path(path)), TrainingLog(log_path(path)).records()
    assert log.name == "tiny"
    assert log.epochs == tuple(record.epoch for record in records)
    assert log.phases == tuple(record.phase for record in records)
    for name in ("risk", "kl", "bound", "objective", "learning_rate", "seconds"):
        assert log.series(name) == tuple(getattr(record, name) for record in records)
    beta = [math.nan if record.beta is None else record.beta for record in records]
    assert log.series("beta") == pytest.approx(beta, nan_ok=True)
    variances = zip(*(record.prior_variances for record in records), strict=True)
    assert log.layers("prior_variances") == tuple(variances)


def test_groups_without_a_constant_at_first_have_nan_there(written: Callable[..., Path]) -> None:
    path = written(line(1), line(2, lipschitz=[0.5, 0.7]), line(3, lipschitz=[0.6, 0.8]))
    first, second = read_training_log(path).layers("lipschitz")
    assert math.isnan(first[0])
    assert (first[1:], second[1:]) == ((0.5, 0.6), (0.7, 0.8))
    assert read_training_log(written(line(1))).layers("lipschitz") == ()


def test_an_old_log_without_beta_is_read(written: Callable[..., Path]) -> None:
    old = json.loads(line(1))
    del old["beta"], old["prior_seconds"]
    path = written(json.dumps(old) + "\n")
    assert math.isnan(read_training_log(path).series("beta")[0])
    assert TrainingLog(path).records()[0].beta is None


def test_the_time_of_a_learned_prior_comes_first(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    learned = change(tiny_settings, prior_fraction=0.5, prior_epochs=1, epochs=1)
    made = train(learned, tiny_data, tmp_path / "a.pt").learned_prior
    assert made is not None
    (record,) = TrainingLog(log_path(tmp_path / "a.pt")).records()
    (row,) = read_training_log(log_path(tmp_path / "a.pt")).rows
    assert row.prior_seconds == record.prior_seconds == made.seconds
    assert row.seconds == record.seconds + made.seconds


def test_nan_and_infinity_are_kept(written: Callable[..., Path]) -> None:
    path = written(line(1, kl=math.nan, bound=math.inf), line(2, risk=None))
    log = read_training_log(path)
    assert math.isnan(log.series("kl")[0])
    assert log.series("bound")[0] == math.inf
    assert math.isnan(log.series("risk")[1])


@pytest.mark.parametrize("cut", range(1, len(line(3)) - 1, 37))
def test_a_run_in_progress_is_read_up_to_its_last_whole_line(
    written: Callable[..., Path], cut: int
) -> None:
    assert read_training_log(written(line(1), line(2), line(3)[:cut])).epochs == (1, 2)
    assert read_training_log(written(line(1), line(2).rstrip("\n"))).epochs == (1, 2)


def test_a_log_without_epochs_is_empty(written: Callable[..., Path]) -> None:
    assert read_training_log(written()).rows == ()
    assert read_training_log(written("\n")).layers("prior_variances") == ()


def test_an_epoch_made_again_replaces_what_came_after_it(written: Callable[..., Path]) -> None:
    log = read_training_log(
        written(line(1), line(2), line(3), line(2, seconds=40.0), line(3, seconds=50.0))
    )
    assert log.epochs == (1, 2, 3)
    assert log.series("seconds") == (10.0, 40.0, 50.0)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ('{"epoch": 2, "ris\n', "line 2: not JSON"),
        (b"\xff\xfe\n", "line 2: not JSON"),
        ("[1]\n", "line 2: not an object"),
        ("{}\n", "line 2: no valid epoch and phase"),
        (line(2).replace('"epoch": 2', '"epoch": "2"'), "line 2: no valid epoch and phase"),
        (line(2, seconds=math.nan), "line 2: seconds must be"),
        (line(2, prior_seconds=-1), "line 2: seconds must be"),
        (line(2, risk="low"), "line 2: risk must be a number, not 'low'"),
        (line(2, kl=True), "line 2: kl must be a number"),
        (line(2, prior_variances=0.1), "line 2: prior_variances must be a list"),
        (line(2, lipschitz=["x"]), "line 2: lipschitz must be a number"),
    ],
)
def test_what_is_no_log_is_refused_with_its_line(
    written: Callable[..., Path], bad: str | bytes, words: str
) -> None:
    path = written(line(1), bad, line(3))
    with pytest.raises(PacboundError, match=r"run\.log\.jsonl, ") as refused:
        read_training_log(path)
    assert words in str(refused.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PacboundError, match="cannot read"):
        read_training_log(tmp_path / "absent.log.jsonl")


def test_a_cell_is_named_by_its_folder_without_the_digest(tmp_path: Path) -> None:
    folder = tmp_path / "mlp-600-diag-c172bde116cf"
    folder.mkdir()
    (folder / "checkpoint.log.jsonl").write_text(line(1))
    assert read_training_log(folder / "checkpoint.log.jsonl").name == "mlp-600-diag"


# Finding the log of a certificate -----------------------------------------------------------


def certificate_for(checkpoint: str, digest: str = "") -> Certificate:
    made = Certificate.from_mapping(vector("gibbs-mnist-size"))
    return change(
        made,
        made=change(
            made.made,
            command=f"pacbound certify {checkpoint} --delta 0.035",
            training_command=f"pacbound train mlp-600 -o {checkpoint}",
        ),
        model=change(made.model, sha256=digest or made.model.sha256),
    )


@pytest.mark.parametrize("at", ["runs/a.log.jsonl", "out/runs/a.log.jsonl", "out/a.log.jsonl"])
def test_a_log_is_found_where_the_commands_say_or_beside_the_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_training_log("out/b.json", certificate_for("runs/a.pt")) is None
    Path(at).parent.mkdir(parents=True)
    Path(at).write_text(line(1))
    assert find_training_log("out/b.json", certificate_for("runs/a.pt")) == Path(at)


def test_a_log_of_the_certificates_own_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "b.log.jsonl").write_text(line(1))
    certificate = certificate_for("'unbalanced")
    assert find_training_log(tmp_path / "b.json", certificate) == tmp_path / "b.log.jsonl"


def test_the_log_of_another_checkpoint_is_passed_over(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    checkpoint, log = tmp_path / "a.pt", tmp_path / "a.log.jsonl"
    train(change(tiny_settings, epochs=1), tiny_data, checkpoint)
    other = certificate_for(str(checkpoint))
    own = certificate_for(str(checkpoint), model_digest(checkpoint))
    assert find_training_log(tmp_path / "c.json", other) is None
    assert find_training_log(tmp_path / "c.json", own) == log
    checkpoint.write_bytes(b"no checkpoint")
    assert find_training_log(tmp_path / "c.json", own) is None


@pytest.mark.parametrize("command", ["x" * 5000 + ".pt", "'" * 1_000_000, "a\0b.pt"])
def test_a_command_that_names_no_possible_file_has_no_log(tmp_path: Path, command: str) -> None:
    certificate = certificate_for("a.pt")
    certificate = change(certificate, made=change(certificate.made, command=command))
    assert find_training_log(tmp_path / "mine.json", certificate) is None
