"""The vectors: the verdict on each, that every check has one, and where they come from."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from good_vectors import SPEC
from write_vectors import FOLDER, INDEX, vector_files

from pacbound.certificate import checker

ENTRIES: list[dict[str, Any]] = json.loads((FOLDER / INDEX).read_text(encoding="utf-8"))
SPEC_TEXT = SPEC.read_text(encoding="utf-8")
SPEC_NUMBERS = re.findall(r"^- \*\*(\d+\.\d+)\b", SPEC_TEXT, re.MULTILINE)


def content(entry: dict[str, Any]) -> bytes:
    spaces: int = entry.get("spaces", 0)
    stored: bytes = Path(FOLDER, entry["file"]).read_bytes()
    return stored + b" " * spaces


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda x: f"{x['file']} {x.get('spaces', '')}")
def test_the_verdict_is_the_expected_one(entry: dict[str, Any]) -> None:
    verdict = checker.verify(content(entry))
    assert (verdict.check or "accepted", verdict.accepted) == (
        entry["expected"],
        entry["expected"] == "accepted",
    ), verdict.reason
    assert (verdict.certificate is not None) == verdict.accepted
    assert "cannot be evaluated" not in verdict.reason
    assert "\n" not in verdict.line(entry["file"])


def test_the_files_are_those_that_the_builder_makes() -> None:
    files = vector_files()
    assert {path.name for path in FOLDER.glob("*.json")} == set(files)
    different = [name for name in files if (FOLDER / name).read_bytes() != files[name]]
    assert not different, "run tests/certificate/write_vectors.py"


def test_every_file_is_in_the_index() -> None:
    assert {entry["file"] for entry in ENTRIES} == {
        path.name for path in FOLDER.glob("*.json") if path.name != INDEX
    }
    accepted = {entry["file"] for entry in ENTRIES if entry["expected"] == "accepted"}
    forged = [entry for entry in ENTRIES if entry["expected"] != "accepted"]
    assert all(entry["made_from"] in accepted for entry in forged)
    assert len(forged) >= 60


def test_every_check_of_the_specification_has_a_forged_vector() -> None:
    assert {entry["expected"] for entry in ENTRIES} - {"accepted"} == set(SPEC_NUMBERS)


def test_the_checker_lists_the_checks_of_the_specification_in_its_order() -> None:
    assert list(checker.CHECKS) == SPEC_NUMBERS
    assert all(checker.CHECKS.values())


def cited_numbers() -> list[str]:
    """The numbers with which the checker rejects, in the order of its text."""
    tree = ast.parse(Path(checker.__file__).read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    cited = [
        (call.lineno, str(call.args[0].value))
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id in ("check", "_reject", "Rejected")
        if isinstance(call.args[0], ast.Constant)
    ]
    return [number for _, number in sorted(cited)]


def test_the_checker_rejects_with_every_number_of_the_specification_and_no_other() -> None:
    assert set(cited_numbers()) == set(SPEC_NUMBERS)


def test_the_checker_makes_the_checks_in_the_order_of_the_specification() -> None:
    by_section = [number for number in cited_numbers() if not number.startswith("2.")]
    assert by_section == [number for number in SPEC_NUMBERS if not number.startswith("2.")]


def good_records() -> dict[str, Any]:
    return {
        entry["file"]: json.loads(content(entry))
        for entry in ENTRIES
        if entry["expected"] == "accepted"
    }


def walk(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    """Every place of a record and what is there."""
    places = [(path, value)]
    if isinstance(value, dict):
        for key, inner in value.items():
            places += walk(inner, (*path, key))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            places += walk(inner, (*path, position))
    return places


WIDE: tuple[str, ...] = (
    "spec-b-gibbs",
    "fixed-every-claim",
    "draw-elsewhere-every-claim",
    "fixed-centre-blocks",
)
WIDE += ("gibbs-every-claim-per-weights", "gibbs-learned-theorem3-chernoff-catoni")


@pytest.mark.parametrize("name", WIDE)
def test_no_field_may_miss_and_none_may_be_added(name: str) -> None:
    record = good_records()[f"accepted-{name}.json"]
    for path, value in walk(record):
        if not isinstance(value, dict) or (path[:1] == ("made",) and len(path) == 2):
            continue
        for key in list(value):
            taken = value.pop(key)
            expected = "1.7" if (path, key) == ((), "format") else "2.2"
            assert checker.verify(json.dumps(record).encode()).check == expected, (path, key)
            value[key] = taken
        value["added"] = 0
        assert checker.verify(json.dumps(record).encode()).check == "2.3", path
        del value["added"]


@pytest.mark.parametrize("name", WIDE)
def test_no_field_may_be_of_another_kind(name: str) -> None:
    record = good_records()[f"accepted-{name}.json"]
    for path, value in walk(record):
        if not path:
            continue
        holder: Any = record
        for key in path[:-1]:
            holder = holder[key]
        others: list[Any] = [None, True, -1, [[]], {"": 0}, "\u0000"]
        for other in others:
            holder[path[-1]] = other
            verdict = checker.verify(json.dumps(record).encode())
            allowed = ("1.7",) if path == ("format",) else ("2.",)
            text_anywhere = path == ("sentence",) and other == "\u0000"
            assert verdict.check.startswith(("13.1",) if text_anywhere else allowed), path
        holder[path[-1]] = value


def test_the_order_of_fields_and_the_layout_are_free() -> None:
    for name, record in good_records().items():
        backwards = json.loads(
            json.dumps(record), object_pairs_hook=lambda pairs: dict(reversed(pairs))
        )
        for text in (json.dumps(backwards), json.dumps(record, indent="\t", ensure_ascii=True)):
            assert checker.verify(text.encode()).accepted, name
