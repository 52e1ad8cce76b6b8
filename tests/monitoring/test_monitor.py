"""Monitoring: every claim bets on its members, streams continue exactly, bad input is refused."""

from __future__ import annotations

import functools
import json
import math
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from outcome_cases import CLASSES, DRAW, EVERY, certificate, part, stream, write

import pacbound
from pacbound.certificate.checker import verify
from pacbound.errors import (
    CertificateError,
    DataError,
    FileError,
    MonitorError,
    PacboundError,
    SettingError,
)
from pacbound.monitoring import Monitored, certificate_digest, load_monitored
from pacbound.monitoring.process import POINTS
from pacbound.monitoring.process import Path as WealthPath
from pacbound.monitoring.sequential import SCALE, log_evidence
from pacbound.predictors import PREDICTORS

EVERY_COLUMN = "label prediction error group answered"


def cost_columns() -> str:
    names = sorted({claim.cost for claim in certificate(EVERY).claims if claim.cost})
    assert len(names) == 2
    return " ".join(f"cost:{name}" for name in names)


def naive_bets(columns: dict[str, list[Any]], claim: Any) -> list[tuple[int, int]]:
    """The rows and losses of a claim, row by row."""
    found = []
    for row in range(len(columns["label"])):
        at = {name: column[row] for name, column in columns.items()}
        member = {
            "all": True,
            "answered": at["answered"] == 1,
            "true-class": at["label"] == claim.class_,
            "predicted-class": at["prediction"] == claim.class_,
            "group": at["group"] == claim.group,
        }[claim.subject]
        if not member:
            continue
        if claim.loss == "cost":
            loss = math.floor(Decimal(repr(at[f"cost:{claim.cost}"])) * SCALE)
        elif claim.loss == "abstention":
            loss = SCALE * (1 - at["answered"])
        else:
            loss = SCALE * (at["label"] != at["prediction"])
        found.append((row, int(loss)))
    return found


def test_every_claim_bets_on_its_members(tmp_path: Path) -> None:
    columns = stream(3000, 0.3, 1, 3, f"{EVERY_COLUMN} {cost_columns()}")
    result = pacbound.monitor(EVERY, write(tmp_path / "o.csv", columns), alpha=0.05)
    claims = certificate(EVERY).claims
    assert [each.claim for each in result.claims] == list(claims)
    assert result.refuted and result.rows == result.new_rows == 3000
    for each in result.claims:
        own = naive_bets(columns, each.claim)
        losses = np.array([loss for _, loss in own])
        bound, share = float(each.claim.bound), 0.05 / len(claims)
        values, times = np.unique(losses, return_counts=True)
        counts = dict(zip(values.tolist(), times.tolist(), strict=True))
        assert each.outcomes == len(own) > 100
        assert each.total == Decimal(int(losses.sum())) / SCALE
        path = WealthPath(losses, bound)
        assert each.log_evidence == log_evidence(counts, bound, path.starts[-1])
        assert each.log_evidence == list(path.log_evidence(np.array([len(losses)])))[-1][1][0]
        crossing = path.first_crossing(share)
        assert each.refuted_at == (None if crossing is None else own[crossing - 1][0] + 1)
        assert (each.refuted_at is not None) or each.log_evidence < math.log(1 / share)


def test_alpha_is_divided_among_the_claims_that_are_watched() -> None:
    columns = stream(100, 0.1, classes=2)
    several = pacbound.monitor(CLASSES, columns, alpha=0.03)
    assert [each.share for each in several.claims] == [0.01] * 3
    one = pacbound.monitor(CLASSES, columns, alpha=0.03, claims=["overall"])
    assert [each.share for each in one.claims] == [0.03]
    assert one.left_out == {"per-class": "not selected"}


def test_errors_alone_are_enough_for_the_overall_claim() -> None:
    result = pacbound.monitor(CLASSES, stream(100, 0.1, classes=2, columns="error"))
    assert [each.claim.subject for each in result.claims] == ["all"]
    assert result.left_out == {"per-class": "no column label"}


@pytest.mark.parametrize("kind", ["mapping", "frame", "file", "arrays"])
def test_outcomes_may_come_in_several_forms(kind: str, tmp_path: Path) -> None:
    columns = stream(500, 0.02)
    expected = pacbound.monitor(DRAW, columns).fields()
    source: Any = {
        "mapping": columns,
        "frame": pd.DataFrame(columns | {"time": range(500)}),
        "file": str(write(tmp_path / "o.csv", {"id": list(range(500)), **columns})),
        "arrays": {name: np.array(column) for name, column in columns.items()},
    }[kind]
    assert pacbound.monitor(certificate(), source).fields() == expected


# A stream that is interrupted ------------------------------------------------------------------


@pytest.mark.parametrize("append", [False, True])
@pytest.mark.parametrize("cuts", [[700], [1, 2, 3], [129, 256, 257, 1000], [0, 2500, 2500]])
def test_a_stream_continues_to_the_bit(cuts: list[int], append: bool, tmp_path: Path) -> None:
    columns = stream(3000, 0.07, 4, 3, f"{EVERY_COLUMN} {cost_columns()}")
    whole = pacbound.monitor(EVERY, columns, state=tmp_path / "whole.json")
    start = 0
    for stop in [*cuts, 3000]:
        given = part(columns, start if append else 0, stop)
        result = pacbound.monitor(EVERY, given, state=tmp_path / "cut.json", append=append)
        assert (result.rows, result.new_rows) == (stop, stop - start)
        start = stop
    assert (tmp_path / "cut.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert result.claims == whole.claims
    loaded = load_monitored(certificate(EVERY), tmp_path / "whole.json")
    assert loaded.claims == whole.claims and loaded.points == whole.points


def test_an_alarm_stays(tmp_path: Path) -> None:
    bad, good = stream(200, 0.5), stream(5000, 0.0, 1)
    columns = {name: bad[name] + good[name] for name in bad}
    first = pacbound.monitor(DRAW, bad, state=tmp_path / "s.json")
    after = pacbound.monitor(DRAW, columns, state=tmp_path / "s.json")
    (each,) = after.claims
    assert first.refuted and after.refuted
    assert each.refuted_at == first.claims[0].refuted_at
    assert each.log_evidence < first.claims[0].log_evidence


def test_points_of_the_past_are_few_and_exact(tmp_path: Path) -> None:
    columns = stream(3000, 0.02)
    result = pacbound.monitor(DRAW, columns)
    (each,) = result.claims
    assert POINTS // 2 < len(result.points) == len(each.history) <= POINTS
    for row, point in list(zip(result.points, each.history, strict=True))[::17]:
        then = pacbound.monitor(DRAW, part(columns, 0, row)).claims[0]
        assert (point.outcomes, point.log_evidence) == (row, then.log_evidence)
        assert Decimal(point.total) / SCALE == then.total


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: {n: c[n][::-1] for n in c}, "in another order"),
        (lambda c: {n: [*c[n][1:], c[n][0]] for n in c}, "in another order"),
        (lambda c: c | {"label": [1 - c["label"][0], *c["label"][1:]]}, "were changed"),
        (lambda c: part(c, 0, 499), "has 499 rows, and"),
        (lambda c: {"error": [0] * 600}, "has no column label"),
    ],
)
def test_outcomes_that_do_not_continue_the_state_are_refused(
    change: Any, words: str, tmp_path: Path
) -> None:
    columns, state = stream(600, 0.1, classes=2), tmp_path / "s.json"
    pacbound.monitor(CLASSES, part(columns, 0, 500), state=state)
    before = state.read_bytes()
    with pytest.raises(MonitorError, match=words):
        pacbound.monitor(CLASSES, change(columns), state=state)
    assert state.read_bytes() == before


def test_swapped_rows_within_what_was_seen_are_noticed(tmp_path: Path) -> None:
    columns, state = stream(300, 0.1, classes=2), tmp_path / "s.json"
    pacbound.monitor(CLASSES, columns, state=state)
    first = columns["label"].index(1 - columns["label"][0])
    for column in columns.values():
        column[0], column[first] = column[first], column[0]
    with pytest.raises(MonitorError, match="another order"):
        pacbound.monitor(CLASSES, columns, state=state)


def test_a_state_keeps_its_certificate_alpha_and_claims(tmp_path: Path) -> None:
    columns, state = stream(50, 0.1, classes=2), tmp_path / "s.json"
    pacbound.monitor(CLASSES, columns, state=state, alpha=0.02, claims=["overall"])
    kept = pacbound.monitor(CLASSES, columns, state=state)
    assert kept.alpha == Decimal("0.02") and len(kept.claims) == 1
    assert kept.left_out == {"per-class": "not watched since the state began"}
    with pytest.raises(MonitorError, match=r"begun with alpha 0\.02"):
        pacbound.monitor(CLASSES, columns, state=state, alpha=0.01)
    with pytest.raises(MonitorError, match="begun with the claims overall"):
        pacbound.monitor(CLASSES, columns, state=state, claims=["per-class"])
    with pytest.raises(MonitorError, match="state of another certificate"):
        pacbound.monitor(DRAW, columns, state=state)


def test_a_state_follows_from_content_and_not_from_layout(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps(json.loads(DRAW.read_bytes())), encoding="utf-8")
    pacbound.monitor(DRAW, stream(50, 0.1), state=tmp_path / "s.json")
    assert pacbound.monitor(other, stream(50, 0.1), state=tmp_path / "s.json").new_rows == 0
    assert certificate_digest(certificate()) in (tmp_path / "s.json").read_text()


DAMAGE: dict[str, Any] = {
    "rows": -1,
    "digest": "x",
    "alpha": "2",
    "points": [5, 3],
    "claims": [],
    "columns": [1],
}


@pytest.mark.parametrize(
    "name", [*DAMAGE, "format", "counts", "past", "refuted_at", "history", "bound"]
)
def test_a_damaged_state_is_refused(name: str, tmp_path: Path) -> None:
    state = tmp_path / "s.json"
    pacbound.monitor(DRAW, stream(50, 0.1), state=state)
    record = json.loads(state.read_bytes())
    claim = record["claims"][0]
    inner = {
        "past": None,
        "counts": [[0, 60]],
        "refuted_at": 51,
        "history": [[1, 2, 3]],
        "bound": "0.5",
    }
    if name in inner:
        claim[name] = inner[name]
    else:
        record[name] = DAMAGE.get(name, "other")
    state.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(MonitorError):
        pacbound.monitor(DRAW, stream(50, 0.1), state=state)
    for missing in ("claims", "rows", "digest"):
        state.write_text(
            json.dumps({n: v for n, v in record.items() if n != missing}), encoding="utf-8"
        )
        with pytest.raises(MonitorError):
            pacbound.monitor(DRAW, stream(50, 0.1), state=state)


@pytest.mark.parametrize("content", [b"", b"no JSON", b"[]", b"\xff", b"[" * 100_000])
def test_what_is_no_state_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_bytes(content)
    with pytest.raises(MonitorError, match=r"s\.json"):
        pacbound.monitor(DRAW, stream(5, 0.1), state=tmp_path / "s.json")
    with pytest.raises(PacboundError):
        pacbound.monitor(DRAW, stream(5, 0.1), state=tmp_path)


WRONG: list[Any] = [
    None,
    True,
    -1,
    1.5,
    10**30,
    "",
    "ab",
    [],
    [1],
    [[0]],
    [[0, 1, 2]],
    {},
    {"a": 1},
]


def damaged(node: Any) -> list[Any]:
    """Copies of a record in which one value is another, at every place."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    found = []
    for place, value in list(items)[:4] if isinstance(node, list) else list(items):
        deeper = damaged(value) if isinstance(value, dict | list) else []
        for changed in [*WRONG, *deeper]:
            copy = node.copy()
            copy[place] = changed
            found.append(copy)
    return found


def test_any_damage_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No damage ends in another error: its exit code would say that a claim is refuted."""
    # The certificate is the same each time. Its module has the name of a function.
    module = sys.modules["pacbound.monitoring.monitor"]
    monkeypatch.setattr(module, "verify", functools.cache(verify))
    state = tmp_path / "s.json"
    pacbound.monitor(CLASSES, stream(3, 0.5, classes=2), state=state)
    records = damaged(json.loads(state.read_bytes()))
    assert len(records) > 500
    refused = 0
    for record in records:
        state.write_text(json.dumps(record), encoding="utf-8")
        try:
            pacbound.monitor(CLASSES, stream(1, 0.5, classes=2), state=state, append=True)
        except PacboundError as error:
            assert "\n" not in str(error)
            refused += 1
    assert refused > 0.9 * len(records)


@pytest.mark.parametrize("columns", [[], ["label"], ["prediction", "label"], ["label", "x"], "ab"])
def test_a_state_has_the_columns_of_its_claims(columns: Any, tmp_path: Path) -> None:
    state = tmp_path / "s.json"
    pacbound.monitor(CLASSES, stream(3, 0.5, classes=2), state=state)
    record = json.loads(state.read_bytes()) | {"columns": columns}
    state.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(MonitorError, match="is damaged: columns"):
        pacbound.monitor(CLASSES, stream(3, 0.5, classes=2), state=state)


# Names of classes ------------------------------------------------------------------------------


def named(folder: Path, classes: Any, path: Path = CLASSES) -> Path:
    """A certificate that records the names of its classes."""
    record = json.loads(path.read_bytes())
    record["made"]["settings"]["classes"] = (
        classes if isinstance(classes, str) else json.dumps(classes)
    )
    (folder / "named.json").write_text(json.dumps(record), encoding="utf-8")
    return folder / "named.json"


@pytest.mark.parametrize(
    ("names", "cells"),
    [
        (["ant", "zebra"], ["ant", "zebra"]),
        ([" ant", "ze, bra"], ["ant ", "ze, bra"]),
        ("ant, zebra", ["ant", "zebra"]),
        (["0", "1"], ["False", "True"]),
        (["1", "2"], ["1", "2"]),
        (["1", "2"], [1, 2]),
        (["1", "2"], [1.0, 2.0]),
        (["-1", "1"], [-1, 1]),
        (["250.0", "250.00"], ["250.0", "250.00"]),
        (["1", "0"], [True, False]),
    ],
)
def test_classes_are_known_by_their_names(names: Any, cells: Any, tmp_path: Path) -> None:
    columns = stream(300, 0.3, classes=2)
    own = {name: [cells[number] for number in column] for name, column in columns.items()}
    certificate = named(tmp_path, names)
    expected = pacbound.monitor(CLASSES, columns).fields()["claims"]
    assert pacbound.monitor(certificate, own).fields()["claims"] == expected
    file = write(tmp_path / "o.csv", {n: [str(x) for x in c] for n, c in own.items()})
    if not isinstance(cells[0], bool):
        assert pacbound.monitor(certificate, file).fields()["claims"] == expected


@pytest.mark.parametrize(
    ("names", "cell", "words"),
    [
        (["ant", "zebra"], "0", "is not one of the certificate's classes (ant, zebra; for a class"),
        (["1", "2"], "0", "is not one of the certificate's classes (1, 2; "),
        (["250.00", "250.1"], "250.0", "is not one of the certificate's classes"),
        (["7", "a"], "7.0", "is not one of the certificate's classes"),
        (["7", "8"], "007.5", "is not one of"),
        (["a", "b"], "c", "give the column error instead"),
        ("(2 names)", "ant", "does not hold the names of its 2 classes"),
        ("ant, ze, bra", "ant", "does not hold the names of its 2 classes"),
        (["a", "b", "c"], "a", "does not hold the names of its 2 classes"),
        (["a", "a "], "a", "does not hold the names of its 2 classes"),
        ([0, 1], "0", "does not hold the names of its 2 classes"),
        ("[" * 1990, "0", "does not hold the names of its 2 classes"),
    ],
)
def test_no_class_is_taken_for_another(names: Any, cell: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as refused:
        pacbound.monitor(named(tmp_path, names), {"label": [cell], "prediction": [cell]})
    assert words in str(refused.value) and "\n" not in str(refused.value)
    # The column error needs no names.
    assert pacbound.monitor(named(tmp_path, names), {"error": [0, 1]}).rows == 2


def test_without_names_classes_are_numbers_from_0() -> None:
    with pytest.raises(
        DataError, match=r"a class from 0 to 1 \(.* numbers from 0; .* column error"
    ):
        pacbound.monitor(CLASSES, {"label": ["cat"], "prediction": ["dog"]})


# Abstention and groups -------------------------------------------------------------------------


@pytest.mark.parametrize("nothing", [-1, "-1", -1.0, "", None, math.nan, np.nan])
def test_answered_follows_from_predictions_that_are_not_there(nothing: Any) -> None:
    columns = stream(400, 0.1, classes=3, columns="label prediction answered")
    pairs = zip(columns["prediction"], columns["answered"], strict=True)
    shown = [prediction if answered else nothing for prediction, answered in pairs]
    given = {"label": columns["label"], "prediction": shown}
    expected = pacbound.monitor(EVERY, columns, claims=["answered"])
    assert pacbound.monitor(EVERY, given, claims=["answered"]).claims == expected.claims
    frame = pd.DataFrame(given)
    assert pacbound.monitor(EVERY, frame, claims=["answered"]).claims == expected.claims
    with pytest.raises(DataError, match="is not a class"):
        pacbound.monitor(CLASSES, {"label": [0], "prediction": [nothing]})


def test_without_missing_predictions_nothing_follows_about_answers() -> None:
    given = stream(50, 0.1, classes=3)
    with pytest.raises(DataError, match="no column answered"):
        pacbound.monitor(EVERY, given, claims=["answered"])


def test_a_class_may_be_minus_one(tmp_path: Path) -> None:
    given = {"label": [-1, 0, 1], "prediction": [-1, 0, 0], "answered": [1, 1, 1]}
    certificate = named(tmp_path, ["-1", "0", "1"], EVERY)
    answered = pacbound.monitor(certificate, given, claims=["answered"]).claims[1]
    assert (answered.outcomes, answered.total) == (3, 1)


def test_outcomes_in_groups_without_a_claim_are_counted() -> None:
    columns = stream(300, 0.1, classes=3, columns="label prediction group answered")
    result = pacbound.monitor(EVERY, columns, claims=["groups"])
    others = columns["group"].count("elsewhere")
    assert 0 < others == result.other_groups == result.fields()["new_outcomes_of_other_groups"]
    assert pacbound.monitor(EVERY, columns, claims=["overall"]).other_groups == 0
    columns["group"] = ["nowhere"] * 300
    assert pacbound.monitor(EVERY, columns, claims=["groups"]).other_groups == 300


# Bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("lable,guess\n1,1\n", "has none of the columns label, prediction, error; it has lable"),
        ("label\n1\n", "no claim can be watched (overall: no column prediction or error)"),
        ("label,prediction\n1,1\n1,10\n", "row 3: prediction '10' is not a class from 0 to 9"),
        ("label,prediction\n1,-1\n", "row 2: prediction '-1' is not a class"),
        ("label,prediction\n1,1.5\n", "row 2: prediction '1.5' is not a class"),
        ("label,prediction\n1,nan\n", "row 2: prediction 'nan' is not a class"),
        ("label,prediction\n1,\n", "row 2: prediction '' is not a class"),
        ("label,prediction\n1,cat\n", "row 2: prediction 'cat' is not a class"),
        ("error\n0\n2\n", "row 3: error '2' is not 0 or 1"),
        ("error\n0\n1_0\n", "row 3: error '1_0' is not 0 or 1"),
        ("label,prediction,error\n1,1,0\n2,2,1\n", "row 3: error contradicts label and prediction"),
        ("label,prediction\n1,1\n1\n", "row 3: 1 cells under a header of 2"),
        ("label,prediction\n1,1\n\n1,1\n", "row 3: 0 cells under a header of 2"),
        ("label,label,prediction\n1,1,1\n", "two columns are named 'label'"),
        ('error\n"1\n', "cannot read"),
        ("error\n\udcff\n", "cannot read"),
    ],
)
def test_bad_outcomes_are_refused_in_one_line(content: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(PacboundError) as refused:
        pacbound.monitor(DRAW, path, state=tmp_path / "s.json")
    assert words in str(refused.value) and "\n" not in str(refused.value)
    assert not (tmp_path / "s.json").exists()


def test_blank_lines_at_the_end_are_no_outcomes(tmp_path: Path) -> None:
    path = write(tmp_path / "o.csv", stream(20, 0.1))
    expected = pacbound.monitor(DRAW, path).fields()
    for end in ("\n", "\r\n\r\n", "\n" * 70_000):
        path.write_text(path.read_text(encoding="utf-8") + end, encoding="utf-8", newline="")
        assert pacbound.monitor(DRAW, path).fields() == expected


@pytest.mark.parametrize("cost", ["1.1", "-0.1", "nan", "", "inf", "x", "1_0"])
def test_costs_are_from_0_to_1(cost: str) -> None:
    columns = stream(10, 0.1, classes=3, columns=f"{EVERY_COLUMN} {cost_columns()}")
    name = cost_columns().split()[0]
    columns[name][4] = cost
    with pytest.raises(DataError, match=r"row 5: cost:.* is not a cost from 0 to 1"):
        pacbound.monitor(EVERY, columns)


def test_the_column_of_a_single_cost_is_named_as_it_is_read(tmp_path: Path) -> None:
    columns = {"label": [0, 1] * 50, "prediction": [0, 1] * 49 + [1, 0]}
    costs = [0.0] * 98 + [0.5, 1.0]
    made = pacbound.certify_fixed(
        np.array(columns["prediction"]), np.array(columns["label"]), example_costs=costs
    )
    path = tmp_path / "costs.json"
    path.write_text(made.to_json())
    result = pacbound.monitor(path, columns)
    assert result.left_out == {"cost": "no column cost"}
    with pytest.raises(DataError, match="no column cost, which"):
        pacbound.monitor(path, columns, claims=["cost"])
    watched = pacbound.monitor(path, columns | {"cost": costs})
    assert [each.claim.loss for each in watched.claims] == ["zero-one", "cost"]


def test_a_missing_file_of_outcomes_is_named_once(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot read .*none\.csv: No such file or directory$"):
        pacbound.monitor(CLASSES, tmp_path / "none.csv")


def test_costs_are_rounded_down() -> None:
    columns = stream(3, 0, classes=3, columns=f"{EVERY_COLUMN} {cost_columns()}")
    for name in cost_columns().split():
        columns[name] = ["0.07", "0.99999999", "1e-5"]
    result = pacbound.monitor(EVERY, columns, claims=["cost"])
    overall = [each for each in result.claims if each.claim.subject == "all"]
    assert {each.total for each in overall} == {Decimal("1.0699")}


def test_what_is_not_answered_may_have_no_prediction_if_only_answers_are_watched() -> None:
    columns = stream(400, 0.1, classes=3, columns="label prediction answered")
    for row, answered in enumerate(columns["answered"]):
        if not answered:
            columns["prediction"][row] = ""
    result = pacbound.monitor(EVERY, columns, claims=["answered"])
    assert {(c.claim.subject, c.claim.loss) for c in result.claims} == {
        ("all", "abstention"),
        ("answered", "zero-one"),
    }
    assert result.claims[1].outcomes == sum(columns["answered"])
    for claims in (["overall"], ["predicted-class"], None):
        with pytest.raises(DataError, match=r"has no (error|prediction), which the claim"):
            pacbound.monitor(EVERY, columns, claims=claims)
    columns["prediction"][columns["answered"].index(1)] = ""
    with pytest.raises(DataError, match="it is answered and has no prediction"):
        pacbound.monitor(EVERY, columns, claims=["answered"])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"alpha": 0.0}, SettingError, "alpha 0.0 is not between 0 and 1"),
        ({"alpha": 1.0}, SettingError, "is not between"),
        ({"alpha": math.nan}, SettingError, "is not between"),
        ({"alpha": "x"}, SettingError, "alpha must be a number between 0 and 1, not 'x'"),
        ({"alpha": [0.1]}, SettingError, "alpha must be a number"),
        ({"append": True}, SettingError, "append continues a state: give the state"),
        ({"outcomes": {"label": 1, "prediction": 1}}, DataError, "column label must be a list"),
        ({"outcomes": {"error": "0101"}}, DataError, "column error must be a list"),
        ({"outcomes": {"error": np.array(1)}}, DataError, "column error must be a list"),
        ({"claims": ["overal"]}, SettingError, "did you mean 'overall'"),
        ({"claims": ["groups"]}, SettingError, "makes no claim of the kind groups"),
        ({"outcomes": [1, 2]}, DataError, "a mapping of columns"),
        ({"outcomes": {"label": [1], "prediction": [1, 2]}}, DataError, "different numbers"),
        ({"outcomes": "absent.csv"}, PacboundError, "absent.csv"),
        ({"certificate": "absent.json"}, CertificateError, "absent.json"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    given = {"certificate": DRAW, "outcomes": stream(5, 0.1), **arguments}
    with pytest.raises(error, match=words):
        pacbound.monitor(**given)


def test_a_forged_certificate_is_not_watched(tmp_path: Path) -> None:
    record = json.loads(DRAW.read_bytes())
    record["claims"][0]["bound"] = "0.0001000000"
    (tmp_path / "c.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(CertificateError, match=r"is rejected.*: 11\.5"):
        pacbound.monitor(tmp_path / "c.json", stream(5, 0.1))


def test_a_bound_of_one_is_not_watched() -> None:
    path = DRAW.parent / "accepted-vote-tandem-vacuous.json"
    claims = certificate(path).claims
    assert claims[0].bound == 1
    with pytest.raises(DataError, match="a bound of 1 cannot be refuted"):
        pacbound.monitor(path, {"error": [0, 1]})


def test_no_rows_are_no_evidence(tmp_path: Path) -> None:
    result = pacbound.monitor(DRAW, write(tmp_path / "o.csv", {"error": []}))
    (each,) = result.claims
    assert isinstance(result, Monitored) and not result.refuted
    assert (each.outcomes, each.mean, each.log_evidence, each.lower_limit) == (0, 0, 0, 0)


def test_torch_is_not_imported(tmp_path: Path) -> None:
    write(tmp_path / "o.csv", stream(10, 0.1))
    code = (
        f"import sys, pacbound; pacbound.monitor({str(DRAW)!r}, {str(tmp_path / 'o.csv')!r})\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# False alarms ----------------------------------------------------------------------------------


def test_false_alarms_at_the_bound_over_years_of_looks() -> None:
    """A small version of `benchmarks/monitor_alarms.py`: 300 streams of 87 600 outcomes."""
    generator = np.random.default_rng(11)
    alarms = 0
    for _ in range(300):
        losses = (generator.random(87_600) < 0.014).astype(np.int64) * SCALE
        alarms += WealthPath(losses, 0.014).first_crossing(0.05) is not None
    assert alarms <= 24  # P(Bin(300, 0.05) > 24) < 0.01


def test_several_claims_together_raise_few_false_alarms() -> None:
    """Three claims of a certificate at once, the risk of every class at its bound."""
    claims = certificate(CLASSES).claims
    risks = [float(claim.bound) for claim in claims if claim.class_ is not None]
    assert len(risks) == 2
    alarms = 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        label = (generator.random(1000) < 0.2).astype(int)
        wrong = generator.random(1000) < np.array(risks)[label]
        errors = {"label": label, "prediction": np.where(wrong, 1 - label, label)}
        alarms += pacbound.monitor(CLASSES, errors, alpha=0.1, claims=["per-class"]).refuted
    assert 1 <= alarms <= 32  # P(Bin(200, 0.1) > 32) < 0.01


def test_every_predictor_can_be_watched() -> None:
    for name in PREDICTORS:
        paths = list(DRAW.parent.glob(f"accepted-{name}*.json"))
        watched = 0
        for path in paths:
            try:
                pacbound.monitor(path, {"error": [0, 1, 0]})
                watched += 1
            except DataError as error:
                assert "cannot be refuted" in str(error) or "no column" in str(error)
        assert watched, name
