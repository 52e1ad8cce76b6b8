"""`predict` on rows of files: any order of columns, no labels, one row, and class names."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from refusals import refused

from pacbound.predictors.export import load_exported
from pacbound_cli import cli

NAMES = ("length", "width", "depth")
KINDS = np.array(["oak", "ash", "elm"])
FAST = ("--set", "prior_epochs=20", "--set", "prior_batch=20", "--epochs", "1")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(a) for a in arguments])


def rows() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 3, 120)
    inputs = generator.normal(4.0 * np.eye(3)[labels], 1.0).astype(np.float32)
    return inputs * np.float32([1, 100, 0.01]), KINDS[labels]


def written(path: Path, places: list[int], order: tuple[int, ...], labelled: bool) -> Path:
    inputs, kinds = rows()
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*(NAMES[i] for i in order), *(["tree"] if labelled else [])])
        for place in places:
            cells = [repr(float(inputs[place, i])) for i in order]
            writer.writerow([*cells, *([kinds[place]] if labelled else [])])
    return path


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trained table, its certificate and its exported network."""
    folder = tmp_path_factory.mktemp("trees")
    table = written(folder / "trees.csv", list(range(120)), (0, 1, 2), True)
    arguments = ["--data", table, "--label", "tree", *FAST, "-o", folder / "trees.pt"]
    assert run("train", "table", *arguments).exit_code == 0
    for predictor in ("fixed", "draw"):
        files = ["-o", folder / f"{predictor}.json", "--export", folder / f"{predictor}.pt"]
        result = run("certify", folder / "trees.pt", "--predictor", predictor, *files)
        assert result.exit_code == 0, result.output
    return folder


def lines_of(path: Path) -> list[dict[str, str]]:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("predictor", ["fixed", "draw"])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "npz"])
def test_unlabelled_rows_get_the_certified_classes_by_name(
    trees: Path, tmp_path: Path, predictor: str, ending: str
) -> None:
    new = written(tmp_path / "new.csv", list(range(40)), (2, 0, 1), False)
    target, proof = tmp_path / f"out.{ending}", trees / f"{predictor}.json"
    arguments = ["--data", new, "--certificate", proof, "-o", target]
    result = run("predict", trees / "trees.pt", *arguments)
    assert result.exit_code == 0, result.output
    flat = " ".join(result.stdout.split())
    assert f"The certificate {proof} covers it".replace(" ", "") in flat.replace(" ", "")
    # The exported network, on the columns in the order of training, is the oracle.
    logits = load_exported(trees / f"{predictor}.pt")(rows()[0][:40])
    expected = sorted(KINDS)
    names = [expected[k] for k in logits.argmax(1)]
    if ending == "npz":
        arrays = dict(np.load(target))
        assert arrays["class_names"][arrays["classes"]].tolist() == names
        assert "labels" not in arrays
    else:
        assert [line["prediction"] for line in lines_of(target)] == names
        assert [int(line["row"]) for line in lines_of(target)] == list(range(1, 41))
    assert (np.array(names) == rows()[1][:40]).mean() > 0.8


def test_one_row_has_the_prediction_that_it_has_among_others(trees: Path, tmp_path: Path) -> None:
    many = written(tmp_path / "many.csv", [3, 4, 5, 6], (0, 1, 2), False)
    one = written(tmp_path / "one.csv", [5], (1, 0, 2), True)
    shown = [
        json.loads(run("predict", trees / "trees.pt", "--data", path, "--json").stdout)
        for path in (many, one)
    ]
    among, alone = shown[0]["predictions"][2], shown[1]["predictions"][0]
    assert alone.pop("label") == rows()[1][5]
    assert alone == {**among, "row": 1}
    chances = {name.removeprefix("p_"): p for name, p in alone.items() if name.startswith("p_")}
    assert set(chances) == set(KINDS) and sum(chances.values()) == pytest.approx(1, abs=1e-5)
    assert alone["prediction"] == max(chances, key=lambda name: chances[name])
    assert shown[1]["accuracy"] == float(alone["prediction"] == rows()[1][5])
    assert "accuracy" not in shown[0] and shown[0]["certificate"] is None


def test_labelled_rows_are_counted_against_the_claim(trees: Path, tmp_path: Path) -> None:
    kinds = rows()[1]
    same = [place for place in range(120) if kinds[place] == "elm"][:10]  # rows of one class
    path = written(tmp_path / "elms.csv", same, (2, 1, 0), True)
    arguments = ["predict", trees / "trees.pt", "--data", path, "--certificate"]
    shown = json.loads(run(*arguments, trees / "fixed.json", "--json").stdout)
    wrong = sum(line["prediction"] != line["label"] for line in shown["predictions"])
    assert (shown["examples"], shown["errors"], shown["split"]) == (10, wrong, "given")
    assert shown["certificate_file"] == str(trees / "fixed.json")
    assert shown["claims"][0]["errors"] == wrong
    result = run(*arguments, trees / "draw.json")
    assert "10 given examples" in result.stdout and "elm" in result.stdout
    whole = run(
        "predict", trees / "trees.pt", "--data", trees / "trees.csv", "--json", "--limit", 5
    )
    assert json.loads(whole.stdout)["split"] == "train"  # the same examples


def test_what_predict_writes_can_be_watched(trees: Path, tmp_path: Path) -> None:
    new = written(tmp_path / "new.csv", list(range(40)), (2, 0, 1), True)
    outcomes, proof = tmp_path / "outcomes.csv", trees / "fixed.json"
    arguments = ["--data", new, "--certificate", proof, "-o", outcomes, "--json"]
    shown = json.loads(run("predict", trees / "trees.pt", *arguments).stdout)
    result = run("monitor", proof, outcomes, "--json")
    assert result.exit_code == 0, result.output
    claim = json.loads(result.stdout)["claims"][0]
    assert (claim["outcomes"], claim["mean"]) == (40, pytest.approx(shown["errors"] / 40))
    outcomes.write_text("label,prediction\nelm,birch\n")
    refused(run("monitor", proof, outcomes), "'birch'", "ash, elm, oak")


def test_a_rejected_certificate_is_an_object_for_programs(trees: Path, tmp_path: Path) -> None:
    new = written(tmp_path / "new.csv", [1, 2], (0, 1, 2), False)
    content = json.loads((trees / "fixed.json").read_text())
    content["claims"][0]["bound"] = "0.0000000001"
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(content, indent=1))
    base = ["predict", trees / "trees.pt", "--data", new, "--json", "--certificate"]
    for path, code in ((forged, 1), (tmp_path / "none.json", 2)):
        result = run(*base, path)
        error = json.loads(result.stdout)
        assert (result.exit_code, error["exit_code"], error["kind"]) == (
            *(code, code),
            "CertificateError",
        )
        assert error["error"].startswith(f"REJECTED {path}: ")
        assert error["error"] in result.stderr


@pytest.mark.parametrize("predictor", ["fixed", "draw"])
def test_an_exported_network_predicts_without_its_checkpoint(
    trees: Path, tmp_path: Path, predictor: str
) -> None:
    new = written(tmp_path / "new.csv", list(range(40)), (2, 0, 1), True)
    proof, network = trees / f"{predictor}.json", tmp_path / "net.pt"
    for ending in (".pt", ".inputs.json"):
        content = (trees / predictor).with_suffix(ending).read_bytes()
        network.with_suffix(ending).write_bytes(content)
    rows_given = ["--data", new, "--certificate", proof, "--json"]
    there = run("predict", network, *rows_given)
    assert there.exit_code == 0, there.output
    assert json.loads(there.stdout) == json.loads(
        run("predict", trees / "trees.pt", *rows_given).stdout
    )
    other = trees / ("draw.json" if predictor == "fixed" else "fixed.json")
    refused(run("predict", network, "--data", new), "give --certificate")
    refused(run("predict", network, "--data", new, "--certificate", other), "digests differ")
    refused(run("certify", network), "the weights of one network", "give the checkpoint")
    described = network.with_suffix(".inputs.json")
    content = json.loads(described.read_text())
    content["settings"]["input_scale"] = 2.0  # another map of the inputs, in front of the weights
    described.write_text(json.dumps(content))
    refused(run("predict", network, *rows_given), "input_scale=2.0", "made with 1.0")


def test_an_exported_network_takes_what_it_was_trained_on(trees: Path) -> None:
    network, (inputs, _) = load_exported(trees / "fixed.pt"), rows()
    assert (network.kind.columns, network.kind.class_names) == (NAMES, tuple(sorted(KINDS)))
    expected = network(inputs)
    assert torch.equal(network(torch.from_numpy(inputs)), expected)
    with pytest.warns(UserWarning, match="float64; it is used as float32, exactly"):
        assert torch.equal(network(inputs.astype(np.float64)), expected)
    assert torch.equal(network(inputs[3]), network(inputs[3:4]))  # one row
    with pytest.raises(ValueError, match="uint8, but the network was trained on float32"):
        network(np.zeros((2, 3), np.uint8))  # bytes would be divided by 255
    with pytest.raises(ValueError, match=r"shape \(2,\), the network is for \(3,\)"):
        network(inputs[:, :2])


def test_training_says_whose_bound_it_shows(trees: Path, tmp_path: Path) -> None:
    base = ["train", "table", "--data", trees / "trees.csv", "--label", "tree", *FAST]
    fixed = run(*base, "-o", tmp_path / "fixed.pt")
    assert "This is the bound of the posterior" in fixed.stdout, fixed.output
    assert "KL -0" not in fixed.output
    free = run(*base, "--prior", "data-free", "-o", tmp_path / "free.pt")
    assert "This is the bound" not in free.stdout, free.output


def test_what_a_command_reads_is_not_replaced(trees: Path, tmp_path: Path) -> None:
    for name in ("trees.csv", "trees.pt", "fixed.json", "fixed.pt", "fixed.inputs.json"):
        (tmp_path / name).write_bytes((trees / name).read_bytes())
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    table, checkpoint, proof = (tmp_path / x for x in ("trees.csv", "trees.pt", "fixed.json"))
    linked = tmp_path / "linked.csv"
    linked.symlink_to(table)
    for command in (
        ["certify", checkpoint, "--data", table, "-o", checkpoint],
        ["certify", checkpoint, "--data", table, "-o", table],
        ["certify", checkpoint, "--data", table, "-o", tmp_path / "c.json", "--export", checkpoint],
        ["predict", checkpoint, "--data", table, "-o", linked],
        ["report", tmp_path, "-o", proof],
        ["train", "table", "--data", table, "--label", "tree", *FAST, "--force", "-o", table],
    ):
        refused(run(*command), "cannot write", "the command reads it; give another name")
    assert all(path.read_bytes() == content for path, content in before.items())


def test_rows_that_cannot_be_used(trees: Path, tmp_path: Path) -> None:
    base = ["predict", trees / "trees.pt", "--data"]
    path = tmp_path / "bad.csv"
    path.write_text("length,width\n1,2\n")
    refused(run(*base, path), "no column 'depth'")
    path.write_text("length,width,depth,dept\n1,2,3,4\n")
    refused(run(*base, path), "unknown column 'dept'", "did you mean 'depth'")
    path.write_text("length,width,depth,tree\n1,2,3,birch\n")
    refused(run(*base, path), "row 2", "unknown class 'birch'")
    path.write_text("length,width,depth\n")
    refused(run(*base, path), "no rows")
    new = written(tmp_path / "new.csv", [1, 2], (0, 1, 2), False)
    refused(run(*base, new, "-o", tmp_path / "out.txt"), ".csv, .jsonl or .npz")
    refused(run(*base, new, "--plot", tmp_path / "a.svg"), "classes are known")
    refused(run(*base, new, "--ood", "mnist", "-o", tmp_path / "o.csv"), ".npz")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bad.csv", "new.csv"]


def test_names_and_types_are_kept_beside_the_exported_network(trees: Path) -> None:
    described = json.loads((trees / "fixed.inputs.json").read_text())
    assert described["columns"] == list(NAMES) and described["dtype"] == "float32"
    assert described["class_names"] == sorted(KINDS)


def test_a_checkpoint_from_before_names_were_kept(trees: Path, tmp_path: Path) -> None:
    content = torch.load(trees / "trees.pt", weights_only=True)
    for key in ("dtype", "columns", "class_names"):
        del content["data"][key]
    old = tmp_path / "old.pt"
    torch.save(content, old)
    new = written(tmp_path / "new.csv", [1, 2], (0, 1, 2), False)
    refused(run("predict", old, "--data", new), "inputs without names")
    np.savez(tmp_path / "new.npz", x=rows()[0][:2])
    shown = run("predict", old, "--data", tmp_path / "new.npz", "--json", "--samples", 1)
    lines = json.loads(shown.stdout)["predictions"]
    assert len(lines) == 2 and all(line["prediction"] in ("0", "1", "2") for line in lines)
    content["data"] |= {"dtype": "float32", "columns": ["a"], "class_names": []}
    torch.save(content, old)
    refused(run("predict", old), "data description cannot be read")
