"""`certify` with several claims and a ledger, and `verify` on what it demands of them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from refusals import refused

from pacbound.data import Dataset
from pacbound.recipes import Settings
from pacbound.training.loop import train
from pacbound_cli import cli


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture
def trained(tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path) -> Path:
    path = tmp_path / "a.pt"
    train(tiny_settings, tiny_data, path)
    return path


def test_claims_groups_costs_and_ledger(trained: Path, tiny_data: Dataset, tmp_path: Path) -> None:
    groups, costs, target = tmp_path / "groups.npy", tmp_path / "costs.csv", tmp_path / "c.json"
    np.save(groups, np.where(np.arange(tiny_data.m) % 3, "big", "small"))
    costs.write_text("0,0.5,1\n1,0,0.25\n1,1,0\n")
    words = ["certify", trained, "--draws", 3000, "-o", target, "--groups", groups]
    words += ["--cost", costs, "--candidates", 3, "--looks", 2, "--place", 4]
    result = run(*words, "--claims", "overall,per-class")
    assert result.exit_code == 0, result.output
    record = json.loads(target.read_text())
    subjects = [(claim["subject"], claim["loss"]) for claim in record["claims"]]
    classes, named = [("true-class", "zero-one")] * 3, [("group", "zero-one")] * 2
    assert subjects == [("all", "zero-one"), ("all", "cost"), *classes, *named]
    assert record["claims"][1]["cost"] == "costs"
    assert record["ledger"]["user"] == {"candidates": 3, "looks": 2}
    assert record["ledger"]["certificates"] == {"counted": "place", "number": 4}
    assert run("verify", target).exit_code == 0
    worst = max(float(claim["bound"]) for claim in record["claims"][2:5])
    assert run("verify", target, "--max-class-risk", min(worst + 1e-6, 1)).exit_code == 0
    assert run("verify", target, "--max-class-risk", worst - 1e-6).exit_code == 1
    assert run("verify", target, "--checkpoint", trained).exit_code == 0


def test_groups_are_a_column_of_texts_in_another_file(
    trained: Path, tiny_data: Dataset, tmp_path: Path
) -> None:
    people, target = tmp_path / "people.csv", tmp_path / "c.json"
    rows = "".join(f"{k},{'north' if k % 4 else 'south'}\n" for k in range(tiny_data.m))
    people.write_text(f"id, region\n{rows}")
    words = ["certify", trained, "--predictor", "draw", "-o", target]
    assert run(*words, "--groups", f"{people}:region").exit_code == 0
    claims = json.loads(target.read_text())["claims"]
    assert {c["group"]: c["m"] for c in claims if c["subject"] == "group"} == {
        "north": tiny_data.m * 3 // 4,
        "south": tiny_data.m // 4,
    }
    assert run("verify", target).exit_code == 0
    refused(run(*words, "--groups", f"{people}:regio"), "did you mean 'region'")
    archive = tmp_path / "features.npz"
    np.savez(archive, groups=np.array(["north", "south"]).repeat(tiny_data.m // 2))
    assert run(*words, "--groups", f"{archive}:groups").exit_code == 0
    claims = json.loads(target.read_text())["claims"]
    assert [c["m"] for c in claims if c["subject"] == "group"] == [tiny_data.m // 2] * 2
    refused(run(*words, "--groups", f"{archive}:group"), "cannot read the groups")
    people.write_text("region\nnorth\n")
    refused(run(*words, "--groups", f"{people}:region"), "1 groups are given for 600 examples")


def test_what_does_not_hold_for_a_predictor_is_refused(trained: Path, tmp_path: Path) -> None:
    costs = tmp_path / "costs.csv"
    costs.write_text("0,1,1\n1,0,1\n1,1,0\n")
    refused(run("certify", trained, "--claims", "predicted-class"), "cannot be claimed for gibbs")
    vote = ["certify", trained, "--predictor", "vote"]
    refused(run(*vote, "--cost", costs), "costs cannot be claimed for vote-gibbs")
    refused(run("certify", trained, "--claims", "per-clas"), "did you mean 'per-class'")
    refused(run("certify", trained, "--groups", "region"), "FILE.npy")
    refused(run("certify", trained, "--predictor", "fixed"), "did not learn")
    refused(run("certify", trained, "--certificates", 2, "--place", 1), "not both")
    refused(run("certify", trained, "--candidates", 10**10), "candidates", "1000000000")
    refused(run("certify", trained, "--looks", 10**7), "looks", "1000000")
    refused(run("certify", trained, "--place", 10**10), "place", "1000000000")
    refused(run("certify", trained, "--inequality-seen"), "--candidates 2")
    costs.write_text("0,2,1\n1,0,1\n1,1,0\n")
    refused(run("certify", trained, "--cost", costs), "not between 0 and 1")


def test_draw_given_the_predicted_class(trained: Path, tmp_path: Path) -> None:
    target = tmp_path / "c.json"
    words = ["certify", trained, "--predictor", "draw", "-o", target]
    assert run(*words, "--claims", "overall,predicted-class").exit_code == 0
    record = json.loads(target.read_text())
    assert {claim["subject"] for claim in record["claims"]} == {"all", "predicted-class"}


def test_odd_names_of_files_are_recorded_as_printable_texts(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    """They would otherwise be refused by the checker, after all the work."""
    odd = tmp_path / "of “mine”\x1b[2J\u202e"
    odd.mkdir()
    data, costs = odd / "d”.npz", odd / "c”\x9b.csv"
    np.savez(data, x=tiny_data.train_inputs, y=tiny_data.train_labels)
    costs.write_text("0,1,1\n1,0,1\n1,1,0\n")
    path, target = odd / "a”.pt", tmp_path / "c.json"
    train(dataclasses.replace(tiny_settings, data=str(data)), tiny_data, path)
    result = run("certify", path, "--cost", costs, "--draws", 600, "-o", target)
    assert result.exit_code == 0, result.output
    record = json.loads(target.read_text())
    assert record["data"]["name"] == 'd"'
    assert record["claims"][1]["cost"] == 'c"\N{REPLACEMENT CHARACTER}'
    assert run("verify", target).exit_code == 0
