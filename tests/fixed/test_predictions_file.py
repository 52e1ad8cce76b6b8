"""Files of predictions: three formats that say the same, and what is refused."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

import pacbound
from pacbound.data.digests import id_digests
from pacbound.errors import PacboundError

N = 300
GENERATOR = np.random.default_rng(3)
NAMES = ["cat", "dog", "owl"]
TRUTH = GENERATOR.integers(0, 3, N)
LOGITS = GENERATOR.normal(size=(N, 3)) + 2 * np.eye(3)[TRUTH]
TABLE = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
GUESS = TABLE.argmax(1)
IDS = [f"row {k}" for k in range(N)]
GROUPS = [("north", "south")[k % 2] for k in range(N)]
COSTS = [round(float(c), 3) for c in GENERATOR.random(N) * (TRUTH != GUESS)]


def write_csv(path: Path, columns: dict[str, Any]) -> Path:
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def columns(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"label": TRUTH.tolist(), "prediction": GUESS.tolist()}
    return {name: value for name, value in {**given, **changes}.items() if value is not None}


def limit(errors: int, m: int, level: float) -> float:
    return float(beta.ppf(1 - level, errors + 1, m - errors))


def test_the_limit_is_that_of_clopper_and_pearson(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "p.csv", columns())
    certificate = pacbound.certify_fixed(path)
    errors = int((TRUTH != GUESS).sum())
    assert certificate.risk_bound == pytest.approx(limit(errors, N, 0.05), abs=2e-10)
    assert certificate.model.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (certificate.data.copies, certificate.data.m) == ("unknown", N)
    assert "Copies among the examples cannot be detected." in certificate.sentence
    paid = pacbound.certify_fixed(path, candidates=5, looks=1, certificates=2)
    assert paid.risk_bound == pytest.approx(limit(errors, N, 0.05 / 20), abs=1e-8)


def test_ids_show_copies(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "p.csv", columns(id=IDS))
    certificate = pacbound.certify_fixed(path)
    assert (certificate.data.copies, certificate.data.duplicates) == ("counted", 0)
    ordered = sorted(row.tobytes() for row in id_digests(IDS, TRUTH))
    content = b"pacbound-data/2 3\n" + b"".join(ordered)
    assert certificate.data.sha256 == hashlib.sha256(content).hexdigest()
    two = [IDS[0], *IDS[:-1]]
    labels = [TRUTH[0], *TRUTH[:-1]]
    path = write_csv(tmp_path / "q.csv", columns(label=labels, id=two))
    assert pacbound.certify_fixed(path).data.duplicates == 1
    many = [IDS[k // 10 * 10] for k in range(N)]
    labels = [int(TRUTH[k // 10 * 10]) for k in range(N)]
    path = write_csv(tmp_path / "r.csv", columns(label=labels, id=many))
    with pytest.raises(PacboundError, match="exact copies"):
        pacbound.certify_fixed(path)
    declared = pacbound.certify_fixed(path, copies="independent")
    assert f"{N - N // 10}, declared to be independent examples" in declared.sentence
    with pytest.raises(PacboundError, match="copies cannot be seen"):
        pacbound.certify_fixed(write_csv(tmp_path / "s.csv", columns()), copies="independent")


def test_csv_jsonl_and_npz_say_the_same(tmp_path: Path) -> None:
    probable = {f"p_{k}": TABLE[:, k] for k in range(3)}
    given = {"label": TRUTH, "group": GROUPS, "id": IDS, "cost": COSTS}
    table = write_csv(
        tmp_path / "p.csv",
        {**given, **{k: [repr(float(x)) for x in v] for k, v in probable.items()}},
    )
    np.savez(tmp_path / "p.npz", **{k: np.array(v) for k, v in given.items()}, probabilities=TABLE)
    rows = [
        {
            "label": int(TRUTH[k]),
            "group": GROUPS[k],
            "id": IDS[k],
            "cost": COSTS[k],
            "probabilities": TABLE[k].tolist(),
        }
        for k in range(N)
    ]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = [
        pacbound.certify_fixed(path, claims=["overall", "answered", "per-class"], answer_above=0.8)
        for path in (table, tmp_path / "p.npz", tmp_path / "p.jsonl")
    ]
    assert found[0].claims == found[1].claims == found[2].claims
    assert len({(c.data.sha256, c.data.groups_sha256, c.sentence) for c in found}) == 1
    losses = [(c.subject, c.loss) for c in found[0].claims]
    assert losses[:5] == [
        ("all", "zero-one"),
        ("all", "abstention"),
        ("all", "cost"),
        ("answered", "zero-one"),
        ("answered", "cost"),
    ]


def test_classes_with_names(tmp_path: Path) -> None:
    names = np.array(NAMES)
    plain = pacbound.certify_fixed(write_csv(tmp_path / "p.csv", columns()), claims=["per-class"])
    given = columns(label=names[TRUTH], prediction=names[GUESS])
    named = pacbound.certify_fixed(write_csv(tmp_path / "q.csv", given), claims=["per-class"])
    assert named.claims == plain.claims
    assert named.data.name == "q (classes: cat, dog, owl)"
    shuffled = {f"p_{NAMES[k]}": TABLE[:, k] for k in (2, 0, 1)}
    given = {"label": names[TRUTH], **shuffled}
    probable = pacbound.certify_fixed(write_csv(tmp_path / "r.csv", given), claims=["per-class"])
    counts = {c.class_: (c.m, c.errors) for c in probable.claims}
    expected = {c.class_: (c.m, c.errors) for c in plain.claims}
    assert counts == {0: expected[2], 1: expected[0], 2: expected[1]}
    shuffled = {f"p_{k}": TABLE[:, k] for k in (2, 0, 1)}  # numbers stand for themselves
    given = {"label": TRUTH, **shuffled}
    numbered = pacbound.certify_fixed(write_csv(tmp_path / "s.csv", given), claims=["per-class"])
    assert {c.class_: (c.m, c.errors) for c in numbered.claims} == expected


def test_whole_numbers_look_alike_and_nothing_predicted_is_an_error(tmp_path: Path) -> None:
    given = columns(label=[f"{k}.0" for k in TRUTH], prediction=["", *GUESS[1:].tolist()])
    certificate = pacbound.certify_fixed(write_csv(tmp_path / "p.csv", given))
    assert certificate.claims[0].errors == 1 + int((TRUTH != GUESS)[1:].sum())


@pytest.mark.parametrize(
    ("right", "other"),
    [("E11.9", "E11.90"), ("007", "7x"), ("١", "1"), ("ab", "AB"), ("250.0x", "250.00x")],
)
def test_classes_are_compared_as_they_are_written(tmp_path: Path, right: str, other: str) -> None:
    given = {"label": [right] * 50, "prediction": [right] * 20 + [other] * 30}
    certificate = pacbound.certify_fixed(write_csv(tmp_path / "p.csv", given))
    assert certificate.claims[0].errors == 30
    assert certificate.made.settings["classes"] == ", ".join(sorted([right, other]))


def test_codes_among_names_are_not_numbers(tmp_path: Path) -> None:
    given = {"label": ["250.00"] * 30 + ["E11"], "prediction": ["250.0"] * 30 + ["E11"]}
    certificate = pacbound.certify_fixed(write_csv(tmp_path / "p.csv", given))
    assert certificate.claims[0].errors == 30


@pytest.mark.parametrize(
    ("label", "prediction"),
    [
        (["250.00", "401.1"] * 20, ["250.0", "401.10"] * 20),
        (["007", "1"] * 20, ["7", "1"] * 20),
        (["250.00", "1.00"] * 20, ["250.0", "1.0"] * 20),
        (["1", "1.0"] * 20, ["1", "1"] * 20),
    ],
)
def test_numbers_written_in_two_ways_are_never_right(
    tmp_path: Path, label: list[str], prediction: list[str]
) -> None:
    path = write_csv(tmp_path / "p.csv", {"label": label, "prediction": prediction})
    wrong = sum(a != b for a, b in zip(label, prediction, strict=True))
    try:
        assert pacbound.certify_fixed(path).claims[0].errors == wrong
    except PacboundError as error:
        assert "may be one class or two" in str(error)


def test_columns_of_codes_that_are_one_number_are_refused(tmp_path: Path) -> None:
    given = {"label": ["007", "7"] * 20, "p_007": [1, 0] * 20, "p_7": [0, 1] * 20}
    with pytest.raises(PacboundError, match="may be one class or two"):
        pacbound.certify_fixed(write_csv(tmp_path / "p.csv", given))
    given = {"label": ["1", "0"] * 20, "p_01": [1, 0] * 20, "p_00": [0, 1] * 20}
    with pytest.raises(PacboundError, match="may be one class or two"):
        pacbound.certify_fixed(write_csv(tmp_path / "p.csv", given))


def test_a_label_of_many_digits_is_a_name(tmp_path: Path) -> None:
    given = {"label": ["1" * 5000, "0"] * 20, "prediction": ["0"] * 40}
    certificate = pacbound.certify_fixed(write_csv(tmp_path / "p.csv", given))
    assert certificate.claims[0].errors == 20
    assert certificate.made.settings["classes"] == "(2 names)"


@pytest.mark.parametrize("truths", [("False", "True"), ("false", "true"), (False, True)])
def test_booleans_are_the_classes_0_and_1(tmp_path: Path, truths: tuple[Any, Any]) -> None:
    wrong = int(((TRUTH > 0) != (GUESS > 0)).sum())
    labels, guesses = (TRUTH > 0).astype(int).tolist(), [truths[k] for k in (GUESS > 0).astype(int)]
    rows = [{"label": a, "prediction": b} for a, b in zip(labels, guesses, strict=True)]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for path in (
        write_csv(tmp_path / "p.csv", columns(label=labels, prediction=guesses)),
        tmp_path / "p.jsonl",
    ):
        certificate = pacbound.certify_fixed(path)
        assert (certificate.data.classes, certificate.claims[0].errors) == (2, wrong)


def test_names_of_classes_are_recorded(tmp_path: Path) -> None:
    names = np.array(["cat, big", "dog", "owl"])
    given = columns(label=names[TRUTH], prediction=names[GUESS])
    certificate = pacbound.certify_fixed(write_csv(tmp_path / "p.csv", given))
    assert json.loads(certificate.made.settings["classes"]) == names.tolist()
    plain = pacbound.certify_fixed(write_csv(tmp_path / "q.csv", columns()))
    assert "classes" not in plain.made.settings


def test_every_claim_is_that_of_its_members(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "p.csv", columns(group=GROUPS, cost=COSTS))
    certificate = pacbound.certify_fixed(
        path, claims=["overall", "per-class", "predicted-class"], delta=0.1
    )
    wrong, groups = TRUTH != GUESS, np.array(GROUPS)
    assert sum(c.delta for c in certificate.claims) == certificate.delta
    for claim in certificate.claims:
        members = {
            "all": np.ones(N, bool),
            "true-class": claim.class_ == TRUTH,
            "predicted-class": claim.class_ == GUESS,
            "group": groups == claim.group,
        }[claim.subject]
        assert claim.m == members.sum()
        if claim.loss == "cost":
            assert float(claim.total or 0) == pytest.approx(sum(COSTS))
            # Hoeffding: kl(mean‖bound) = ln(1/δ)/m
            q, p = sum(COSTS) / N, float(claim.bound)
            kl = q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p))
            assert kl == pytest.approx(-np.log(float(claim.delta)) / N, rel=1e-6)
        else:
            assert claim.errors == wrong[members].sum()
            exact = limit(claim.errors, claim.m, float(claim.delta))
            assert float(claim.bound) == pytest.approx(exact, abs=2e-10)


def test_groups_in_a_column_of_another_name(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "p.csv", columns(region=GROUPS))
    certificate = pacbound.certify_fixed(path, groups="region")
    assert [c.group for c in certificate.claims] == [None, "north", "south"]
    with pytest.raises(PacboundError, match="unknown column 'region'"):
        pacbound.certify_fixed(path)
    with pytest.raises(PacboundError, match="unknown column 'place'"):
        pacbound.certify_fixed(write_csv(path, columns()), groups="place")


def test_a_group_of_one_has_a_claim(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "p.csv", columns(group=["lonely", *["rest"] * (N - 1)]))
    certificate = pacbound.certify_fixed(path)
    (claim,) = (c for c in certificate.claims if c.group == "lonely")
    assert claim.m == 1
    errors = int(TRUTH[0] != GUESS[0])
    expected = 1.0 if errors else 1 - float(claim.delta)
    assert float(claim.bound) == pytest.approx(expected, abs=2e-10)


def test_a_cost_in_a_near_tie_is_1(tmp_path: Path) -> None:
    given = {
        "label": [0, 1] * 50,
        "p_0": [0.5, 0.1] * 50,
        "p_1": [0.5, 0.9] * 50,
        "cost": [0] * 100,
    }
    certificate = pacbound.certify_fixed(write_csv(tmp_path / "p.csv", given))
    assert [c.total for c in certificate.claims if c.loss == "cost"] == [50]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no label": ({"label": None}, "no column 'label'"),
    "no prediction": ({"prediction": None}, "no column 'prediction'"),
    "a missing label": ({"label": ["", *TRUTH[1:]]}, "row 2 has no label"),
    "a label that is nan": ({"label": ["nan", *TRUTH[1:]]}, "row 2 has no label"),
    "a negative label": ({"label": [-1, *TRUTH[1:]]}, "holds the class -1"),
    "a huge label": ({"label": [10**6, *TRUTH[1:]]}, "without gaps"),
    "one class": ({"label": ["a"] * N, "prediction": ["a"] * N}, "single class"),
    "nothing predicted": ({"prediction": [""] * N}, "no example has a prediction"),
    "an unknown column": ({"lable": TRUTH}, "unknown column 'lable'; did you mean 'label'"),
    "an empty group": ({"group": ["", *GROUPS[1:]]}, "cannot be named"),
    "an empty id": ({"id": ["", *IDS[1:]]}, "row 2 has no id"),
    "a cost above 1": ({"cost": [2, *COSTS[1:]]}, "the cost of example 1"),
    "a cost of nan": ({"cost": ["nan", *COSTS[1:]]}, "the cost of example 1"),
    "a cost that is a text": ({"cost": ["dear", *COSTS[1:]]}, "the cost of example 1"),
    "one probability": ({"prediction": None, "p_0": [1] * N}, "at least two classes"),
    "confidence above 1": ({"confidence": [7] * N}, "row 2: confidence is 7"),
    "confidence as text": ({"confidence": ["high"] * N}, "confidence is 'high', not a number"),
}


@pytest.mark.parametrize(("changes", "words"), REFUSED.values(), ids=REFUSED)
def test_malformed_columns_are_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PacboundError, match=words):
        pacbound.certify_fixed(write_csv(tmp_path / "p.csv", columns(**changes)))


def probable(**changes: Any) -> dict[str, Any]:
    return {"label": TRUTH, **{f"p_{k}": TABLE[:, k] for k in range(3)}, **changes}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"p_0": [0.9] * N}, "row 2: the probabilities add up to"),
        ({"p_0": ["nan", *TABLE[1:, 0]]}, "row 2: p_0 is nan"),
        ({"p_0": [-0.1, *TABLE[1:, 0]]}, "row 2: p_0 is -0.1"),
        ({"p_0": ["", *TABLE[1:, 0]]}, "row 2: p_0 is '', not a number"),
        ({"label": [3, *TRUTH[1:]]}, "label '3' is not one of the 3 classes"),
        ({"prediction": (GUESS + 1) % 3}, "not the class of the largest probability"),
        ({"prediction": ["", *GUESS[1:]]}, "has probabilities and no prediction"),
        ({"confidence": TABLE.max(1)}, "leave out 'confidence'"),
    ],
)
def test_malformed_probabilities_are_refused(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(PacboundError, match=words):
        pacbound.certify_fixed(write_csv(tmp_path / "p.csv", probable(**changes)))


FILES = {
    "p.csv": [
        "",
        "\n",
        "label,prediction\n",
        "label,prediction\n0\n",
        "label,label\n0,1\n",
        "\xff",
    ],
    "p.jsonl": ["", "{", "[1]\n", '{"label": 0}\n{"prediction": 1}\n', '{"label": [0]}', "0" * 9],
    "p.npz": ["", "PK", "no archive"],
    "p.txt": ["label,prediction\n0,0\n"],
}


@pytest.mark.parametrize(
    ("name", "content"), [(name, text) for name, texts in FILES.items() for text in texts]
)
def test_files_of_another_kind_are_refused(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(PacboundError):
        pacbound.certify_fixed(tmp_path / name)


def test_unknown_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    for name in ("ids", "groups", "lable"):
        np.savez(path, label=TRUTH, prediction=GUESS, **{name: np.arange(N)})
        with pytest.raises(PacboundError, match=f"unknown column '{name}'; did you mean"):
            pacbound.certify_fixed(path)
    np.savez(path, label=TRUTH, prediction=GUESS, region=np.arange(N) % 2 + 1.0)
    certificate = pacbound.certify_fixed(path, groups="region")
    assert [c.group for c in certificate.claims] == [None, "1", "2"]
    np.savez(path, label=TRUTH, probabilities=TABLE, p_0=TABLE[:, 1])
    with pytest.raises(PacboundError, match="leave out one"):
        pacbound.certify_fixed(path)


def test_labels_that_have_no_probability(tmp_path: Path) -> None:
    labels = np.array([3, *TRUTH[1:]])
    with pytest.raises(PacboundError, match=r"Keep such examples.*column of probabilities 0"):
        pacbound.certify_fixed(write_csv(tmp_path / "p.csv", probable(label=labels)))
    given = probable(label=labels, p_3=np.zeros(N))  # as the message says
    certificate = pacbound.certify_fixed(write_csv(tmp_path / "p.csv", given))
    assert certificate.claims[0].errors == 1 + int((TRUTH != GUESS)[1:].sum())


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(PacboundError):
            pacbound.certify_fixed(path)
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    with pytest.raises(PacboundError, match="not a regular file"):
        pacbound.certify_fixed(folder)
    np.savez(tmp_path / "p.npz", label=TRUTH, prediction=GUESS[:5])
    with pytest.raises(PacboundError, match="prediction has shape"):
        pacbound.certify_fixed(tmp_path / "p.npz")
    np.savez(tmp_path / "q.npz", label=TRUTH, probabilities=TABLE[:5])
    with pytest.raises(PacboundError, match="probabilities has shape"):
        pacbound.certify_fixed(tmp_path / "q.npz")
    with pytest.raises(PacboundError, match="give no data"):
        pacbound.certify_fixed(write_csv(tmp_path / "p.csv", columns()), TRUTH)
