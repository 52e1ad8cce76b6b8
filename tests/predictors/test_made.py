"""What a certificate says of its making: the training's command and seconds."""

from __future__ import annotations

import dataclasses
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pacbound.certificate import checker
from pacbound.data import Dataset
from pacbound.files import file_digest
from pacbound.predictors.chunks import Sampler
from pacbound.predictors.issuing import Request, certify
from pacbound.recipes import Settings
from pacbound.recipes.commands import setting_texts, train_command
from pacbound.training.log import TrainingLog, log_path
from pacbound.training.loop import train
from pacbound.workers.kept import Kept

REQUEST = Request(Decimal("0.035"), draws=600)


@pytest.fixture
def trained(tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path) -> Path:
    path = tmp_path / "a.pt"
    train(dataclasses.replace(tiny_settings, epochs=2), tiny_data, path)
    return path


def seconds(path: Path, data: Dataset) -> float | None:
    certificate = certify(path, data, REQUEST)
    assert checker.verify(certificate.to_json().encode()).accepted
    times = certificate.made.times
    return float(times["train"]) if "train" in times else None


def test_the_seconds_of_training_are_the_last_of_its_log(trained: Path, tiny_data: Dataset) -> None:
    lines = log_path(trained).read_text().splitlines()
    records = [json.loads(line) for line in lines]
    for record, value in zip(records, (12.34, 56.78), strict=True):
        record["seconds"] = value
    log_path(trained).write_text("".join(json.dumps(record) + "\n" for record in records))
    assert seconds(trained, tiny_data) == 56.8


def test_the_seconds_of_training_that_was_resumed_are_those_of_all_parts(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    class Stopped(Exception):
        pass

    def stop(record: object) -> None:
        raise Stopped

    path = tmp_path / "a.pt"
    with pytest.raises(Stopped):
        train(tiny_settings, tiny_data, path, on_epoch=stop)
    log = TrainingLog(log_path(path))
    (first,) = log.records()
    log.restart(0)
    log.append(dataclasses.replace(first, seconds=1000.0))
    train(tiny_settings, tiny_data, path, resume=True)
    found = seconds(path, tiny_data)
    assert found is not None
    assert 1000 <= found < 1010


@pytest.mark.parametrize("name", ["seconds", "kl", "prior_seconds"])
def test_a_number_of_any_length_is_no_figure(name: str, trained: Path, tiny_data: Dataset) -> None:
    line = json.loads(log_path(trained).read_text().splitlines()[0])
    log_path(trained).write_text(json.dumps(line | {name: 10**400}) + "\n")
    assert seconds(trained, tiny_data) is None


def test_a_log_that_is_no_file_is_not_opened(trained: Path, tiny_data: Dataset) -> None:
    log_path(trained).unlink()
    os.mkfifo(log_path(trained))
    assert seconds(trained, tiny_data) is None


def test_other_test_examples_are_judged_anew(
    trained: Path, tiny_data: Dataset, tmp_path: Path
) -> None:
    """Which are not in the digest of the data."""
    assert tiny_data.test_labels is not None
    kept = Sampler(kept=Kept(tmp_path / "partial"))
    certify(trained, tiny_data, REQUEST, kept)
    others = (tiny_data.test_labels + 1) % tiny_data.classes
    changed = dataclasses.replace(tiny_data, test_labels=others)
    assert changed.sha256 == tiny_data.sha256
    continued, anew = certify(trained, changed, REQUEST, kept), certify(trained, changed, REQUEST)
    assert continued.also == anew.also


@pytest.mark.parametrize("content", [None, b"", b"no JSON", b"\xff\xfe\x00", b'{"epoch": 1'])
def test_the_seconds_are_null_without_a_log_that_can_be_read(
    trained: Path, tiny_data: Dataset, content: bytes | None
) -> None:
    if content is None:
        log_path(trained).unlink()
    else:
        log_path(trained).write_bytes(content)
    assert seconds(trained, tiny_data) is None


def test_the_training_command_is_that_of_the_settings(
    trained: Path, tiny_settings: Settings, tiny_data: Dataset
) -> None:
    made = certify(trained, tiny_data, REQUEST).made
    assert made.training_command == train_command(
        dataclasses.replace(tiny_settings, epochs=2), trained
    )
    assert made.settings == setting_texts(dataclasses.replace(tiny_settings, epochs=2))


def test_the_same_training_gives_the_same_certificate_but_for_dates_and_seconds(
    trained: Path, tiny_settings: Settings, tiny_data: Dataset
) -> None:
    def timeless() -> dict[str, Any]:
        record = certify(trained, tiny_data, REQUEST).to_mapping()
        del record["made"]["date"], record["made"]["times"]
        return record

    digest, certificate = file_digest(trained), timeless()
    trained.unlink()
    log_path(trained).unlink()
    train(dataclasses.replace(tiny_settings, epochs=2), tiny_data, trained)
    assert file_digest(trained) == digest
    assert timeless() == certificate
