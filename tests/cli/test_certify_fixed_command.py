"""`certify-fixed`: networks, files of predictions, refusals, and no torch where none is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from refusals import refused
from torch import nn

from pacbound.data import Dataset
from pacbound_cli import cli

ROOT = Path(__file__).parents[2]
FACTORY = """from torch import nn

def network(input_shape, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(16, classes))

def other():
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 5), nn.ReLU(), nn.Linear(5, 3))
"""


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, ["certify-fixed", *(str(word) for word in words)])


@pytest.fixture
def folder(tmp_path: Path, tiny_data: Dataset, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with predictions, held-out data, a factory and trained weights."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pacbound", "certify-fixed"])
    Path("own_network.py").write_text(FACTORY)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(16, 3))
    x, y = torch.from_numpy(tiny_data.train_inputs), torch.from_numpy(tiny_data.train_labels)
    optimizer = torch.optim.Adam(net.parameters(), 0.05)
    for _ in range(40):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    torch.save(net.state_dict(), "net.pt")
    np.savez("held-out.npz", x=tiny_data.test_inputs, y=tiny_data.test_labels)
    np.savez("other.npz", x=tiny_data.train_inputs, y=tiny_data.train_labels)
    assert tiny_data.test_inputs is not None and tiny_data.test_labels is not None
    with torch.no_grad():
        table = net(torch.from_numpy(tiny_data.test_inputs)).softmax(1).numpy()
    rows = [
        f"{k},{y},{'ab'[k % 2]},{p[0]:.6f},{p[1]:.6f},{p[2]:.6f}"
        for k, (y, p) in enumerate(zip(tiny_data.test_labels, table, strict=True))
    ]
    Path("p.csv").write_text("\n".join(["id,label,group,p_0,p_1,p_2", *rows]))
    return tmp_path


NETWORK = ["--model", "own_network:network", "--weights", "net.pt"]


def record(path: str = "c.json") -> dict:  # type: ignore[type-arg]
    found: dict = json.loads(Path(path).read_text())  # type: ignore[type-arg]
    return found


def test_a_network_and_its_predictions_have_the_same_errors(folder: Path) -> None:
    result = run(*NETWORK, "--data", "held-out.npz", "-o", "c.json")
    assert result.exit_code == 0, result.output
    assert "its error is at most" in " ".join(result.output.split())
    assert run("--predictions", "p.csv", "-o", "d.json", "--json").exit_code == 0
    network, predictions = record(), record("d.json")
    assert network["claims"][0]["errors"] == predictions["claims"][0]["errors"]
    assert network["model"]["source"] == "module"
    assert [c.get("group") for c in predictions["claims"]] == [None, "a", "b"]
    for path, kept in (("c.json", "net.pt"), ("d.json", "p.csv")):
        verdict = CliRunner().invoke(cli, ["verify", path, "--checkpoint", kept])
        assert verdict.exit_code == 0, verdict.output
    verdict = CliRunner().invoke(cli, ["verify", "c.json", "--checkpoint", "p.csv"])
    assert verdict.exit_code == 1


def test_the_report_and_the_explanation_read_it(folder: Path) -> None:
    words = ["--predictions", "p.csv", "-o", "c.json", "--answer-above", "0.6"]
    assert run(*words, "--claims", "overall,answered,per-class").exit_code == 0
    for command in (["explain", "c.json"], ["report", "c.json", "-o", "page.html"]):
        result = CliRunner().invoke(cli, command)
        assert result.exit_code == 0, result.output
    assert "abstention" in Path("page.html").read_text()


def test_options_of_claims_and_ledger(folder: Path) -> None:
    Path("costs.csv").write_text("0,1,1\n1,0,1\n0.5,0.5,0\n")
    words = ["--predictions", "p.csv", "--claims", "overall,per-class,predicted-class"]
    words += ["--cost", "costs.csv", "--candidates", 5, "--looks", 1, "--place", 2]
    result = run(*words, "--delta", "0.1", "-o", "c.json", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == record()
    assert record()["ledger"]["user"] == {"candidates": 5, "looks": 1}
    assert record()["ledger"]["certificates"] == {"counted": "place", "number": 2}
    assert record()["delta"] == "0.1"
    assert "costs" in {claim.get("cost") for claim in record()["claims"]}
    refused(run(*words, "-o", "c.json"), "c.json exists", "--force")
    assert run(*words, "-o", "c.json", "--force").exit_code == 0
    assert run(*words, "--max-risk", "0.0001", "-o", "e.json").exit_code == 1


def test_abstention_with_a_threshold_chosen_on_others(folder: Path) -> None:
    words = [*NETWORK, "--data", "held-out.npz", "--answer-above", "auto:0.02", "-o", "c.json"]
    assert run(*words, "--calibration", "other.npz").exit_code == 0
    assert 0 < float(record()["model"]["answer_above"]) < 1
    assert record()["made"]["settings"]["calibration"].startswith("other: 600 examples")
    subjects = [(c["subject"], c["loss"]) for c in record()["claims"]]
    assert subjects == [("all", "abstention"), ("answered", "zero-one")]
    refused(run(*words, "--force", "--calibration", "held-out.npz"), "among the counted ones")
    refused(run(*words, "--force"), "on calibration examples only")


def test_groups_of_data_and_parts(folder: Path, tiny_file: Path) -> None:
    np.save("groups.npy", np.arange(200) % 3)
    words = [*NETWORK, "--data", tiny_file, "-o", "c.json"]
    refused(run(*words), "600 training and 200 test examples", "--part test")
    result = run(*words, "--part", "test", "--groups", "groups.npy")
    assert result.exit_code == 0, result.output
    assert len(record()["claims"]) == 4
    assert record()["data"]["name"] == "tiny, test part"
    Path("groups.csv").write_text("\n".join(["region", *["x", "y"] * 100]))
    result = run("--predictions", "p.csv", "--groups", "groups.csv:region", "-o", "d.json")
    assert result.exit_code == 0, result.output
    assert {c.get("group") for c in record("d.json")["claims"]} == {None, "x", "y"}
    words = ["--predictions", "p.csv", "-o", "e.json", "--groups"]
    refused(run(*words, "none.csv:region"), "there is no file none.csv")


def test_names_with_brackets_are_shown_as_they_are(folder: Path) -> None:
    rows = Path("p.csv").read_text().replace(",a,", ",age [/60],").replace(",b,", ",[red]:cat:,")
    Path("q.csv").write_text(rows)
    Path("costs [b].csv").write_text("0,1,1\n1,0,1\n1,1,0\n")
    result = run("--predictions", "q.csv", "--cost", "costs [b].csv", "-o", "c.json")
    assert result.exit_code == 0, result.output
    for name in ("age [/60]", "[red]:cat:", "costs [b]"):
        assert name in result.output
    assert CliRunner().invoke(cli, ["explain", "c.json"]).exit_code == 0


def test_max_risk_needs_the_overall_claim(folder: Path) -> None:
    words = ["--predictions", "p.csv", "--answer-above", "0.6", "--max-risk", "0.9"]
    result = run(*words, "-o", "c.json")
    assert result.exit_code == 1
    assert "no claim on the overall error" in result.stderr and "larger" not in result.stderr
    assert run(*words, "--claims", "overall,answered", "-o", "d.json").exit_code == 0


def test_held_out_data_without_the_last_class(folder: Path, tiny_data: Dataset) -> None:
    assert tiny_data.test_inputs is not None and tiny_data.test_labels is not None
    rows = tiny_data.test_labels < 2
    np.savez("two.npz", x=tiny_data.test_inputs[rows], y=tiny_data.test_labels[rows])
    words = [*NETWORK, "--data", "two.npz", "-o", "c.json"]
    refused(run(*words), "told 2 classes, those of the data; --classes")
    result = run(*words, "--classes", 3)
    assert result.exit_code == 0, result.output
    assert (record()["data"]["classes"], record()["data"]["m"]) == (3, int(rows.sum()))
    refused(run(*words, "--classes", 4, "--force"), "does not fit the module")
    refused(run("--predictions", "p.csv", "--classes", 3), "--classes is for the factory")


def test_the_names_of_a_tables_classes_are_recorded(folder: Path, tiny_data: Dataset) -> None:
    assert tiny_data.test_inputs is not None and tiny_data.test_labels is not None
    rows = tiny_data.test_inputs.reshape(len(tiny_data.test_labels), -1)
    lines = [",".join([*map(str, range(16)), "kind"])]
    for row, label in zip(rows, tiny_data.test_labels, strict=True):
        lines.append(",".join([*map(str, row), str(label + 1)]))
    Path("table.csv").write_text("\n".join(lines))
    result = run(*NETWORK, "--data", "table.csv", "--label", "kind", "-o", "c.json")
    assert result.exit_code == 0, result.output
    assert record()["made"]["settings"]["classes"] == "1, 2, 3"


def test_refusals(folder: Path) -> None:
    refused(run(), "exactly one of")
    refused(run("--predictions", "p.csv", *NETWORK), "exactly one of")
    refused(run("--model", "own_network:network", "--data", "held-out.npz"), "need each other")
    refused(run(*NETWORK), "give --data")
    refused(run("--predictions", "p.csv", "--data", "held-out.npz"), "--data is for a network")
    refused(run("--predictions", "p.csv", "--part", "test"), "--part is for a network")
    refused(run("--predictions", "none.csv"), "none.csv")
    refused(run("--predictions", "p.csv", "--answer-above", "1.5"), "below 1")
    refused(run("--predictions", "p.csv", "--delta", "0.6"), "below 0.5")
    refused(run("--predictions", "p.csv", "--claims", "all"), "unknown claim 'all'")
    refused(run("--predictions", "p.csv", "--max-risk", "7"), "not between 0 and 1")
    other = ["--model", "own_network:other", "--weights", "net.pt", "--data", "held-out.npz"]
    refused(run(*other), "does not fit the module", "1.weight (3, 16), not (5, 16)", "missing: 3.")
    refused(run(*other[:2], "--weights", "p.csv", *other[4:]), "is not a state dict")
    torch.save({"weights": 1}, "odd.pt")
    refused(run(*other[:2], "--weights", "odd.pt", *other[4:]), "holds no state dict")
    torch.save(nn.Linear(2, 2), "whole.pt")
    refused(run(*other[:2], "--weights", "whole.pt", *other[4:]), "asks to run code")
    assert not Path("certificates").exists() or not list(Path("certificates").iterdir())


def test_predictions_need_no_torch(folder: Path) -> None:
    """Also with every kind of claim, and with a threshold chosen on another file."""
    text = Path("p.csv").read_text().splitlines()
    Path("q.csv").write_text("\n".join([text[0], *text[101:]]))
    Path("p.csv").write_text("\n".join(text[:101]))
    code = """
import sys
from pacbound_cli import cli
sys.argv = ["pacbound", "certify-fixed", "--predictions", "p.csv", "-o", "c.json",
    "--claims", "overall,answered,per-class,predicted-class", "--answer-above", "auto:0.3",
    "--calibration", "q.csv"]
try:
    cli()
except SystemExit as done:
    assert not done.code, done.code
assert "torch" not in sys.modules and "pandas" not in sys.modules
"""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'cli'}"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=900)
    assert record()["model"]["answer_above"]
