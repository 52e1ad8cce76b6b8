"""The format: dataclasses, schema and checker agree, and a certificate survives its file."""

from __future__ import annotations

import dataclasses
import json
import typing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from certificate_cases import Primitives, issue
from hypothesis import given
from hypothesis import strategies as st

from pacbound.certificate import checker
from pacbound.certificate.format import Certificate, Choice
from pacbound.errors import BadInput

SCHEMA = json.loads(Path(checker.__file__).with_name("schema.json").read_text(encoding="utf-8"))
VALID = issue()


def in_the_checker() -> dict[str, set[str]]:
    return {
        path.split("=")[0]: {field.split(":")[0] for field in fields.split()}
        for path, fields in checker.FIELDS.items()
    }


def in_the_dataclasses(cls: Any = Certificate, path: str = "") -> dict[str, set[str]]:
    found = {
        path: {field.name for field in dataclasses.fields(cls)}
        | ({"format"} if not path else set())
    }
    for name, hint in typing.get_type_hints(cls).items():
        options = typing.get_args(hint) if not dataclasses.is_dataclass(hint) else (hint,)
        for option in options:
            if dataclasses.is_dataclass(option):
                found |= in_the_dataclasses(option, f"{path}.{name}".lstrip("."))
    return found


def in_the_schema(schema: dict[str, Any] = SCHEMA, path: str = "") -> dict[str, set[str]]:
    if "oneOf" in schema:
        found: dict[str, set[str]] = {}
        for option in schema["oneOf"]:
            found |= in_the_schema(option, path)
        return found
    if "items" in schema:
        return in_the_schema(schema["items"], path)
    if "properties" not in schema:
        return {}
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == set(schema["properties"])
    found = {path: set(schema["properties"])}
    for name, inner in schema["properties"].items():
        found |= in_the_schema(inner, f"{path}.{name}".lstrip("."))
    return found


def test_schema_dataclasses_and_checker_have_the_same_fields() -> None:
    assert in_the_checker() == in_the_dataclasses() == in_the_schema()


def test_the_schema_accepts_what_the_checker_accepts() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for certificate in (VALID, issue(Primitives(held_out=None, network="lenet"))):
        assert checker.check(certificate.to_json()).accepted
        jsonschema.validate(json.loads(certificate.to_json()), SCHEMA)


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [
        ("claim", "risk_bound", 1.5),
        ("claim", "delta", 0),
        ("data", "m", True),
        ("data", "m", 1.5),
        ("prior", "trials", 0),
        ("kl", "method", "guess"),
        ("seeds", "risk", "ABC"),
        ("risk", "note", 1),
        ("also", "held_out", 1),
    ],
)
def test_the_schema_rejects_what_the_checker_rejects(section: str, field: str, value: Any) -> None:
    record = json.loads(VALID.to_json())
    record[section][field] = value
    assert not checker.check(json.dumps(record)).accepted
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(record, SCHEMA)


def test_a_certificate_survives_its_text() -> None:
    text = VALID.to_json()
    assert text.endswith("}\n")
    assert Certificate.from_json(text) == VALID
    assert Certificate.from_json(text).to_json() == text
    assert Certificate.from_mapping(VALID.to_mapping()) == VALID
    assert list(json.loads(text)) == [field.split(":")[0] for field in checker.FIELDS[""].split()]


@given(st.floats(0, 1e300))
def test_numbers_round_trip(upper: float) -> None:
    changed = dataclasses.replace(VALID, kl=dataclasses.replace(VALID.kl, upper=upper))
    assert Certificate.from_json(changed.to_json()).kl.upper == upper


def test_a_number_that_json_lacks_is_not_written() -> None:
    broken = dataclasses.replace(VALID, kl=dataclasses.replace(VALID.kl, upper=float("nan")))
    with pytest.raises(ValueError, match="not JSON compliant"):
        broken.to_json()


def test_a_certificate_is_saved_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "certificate.json"
    VALID.save(path)
    assert path.read_text(encoding="utf-8") == VALID.to_json()
    assert [entry.name for entry in path.parent.iterdir()] == ["certificate.json"]
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot write"):
        VALID.save(tmp_path / "file" / "certificate.json")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a certificate"),
        ("[1]", "format"),
        ('{"format": "other"}', "format"),
        ('{"format": "pacbound-certificate/1"}', "claim is missing"),
        (VALID.to_json().replace('"trials": 1', '"trials": 1, "note": 1'), "prior.note is unknown"),
        (VALID.to_json().replace('"trials": 1', '"trials": "1"'), "prior.trials"),
        (VALID.to_json().replace('"trials": 1', '"trials": true'), "prior.trials"),
        (VALID.to_json().replace('"m": 60000', '"m": 6e4'), "data.m"),
        (VALID.to_json().replace('"settings": {}', '"settings": 1'), "made.settings"),
        ("[" * 10**5, "not a certificate"),
    ],
)
def test_another_shape_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        Certificate.from_json(text)


def test_a_choice_that_cannot_be_paid_for_is_refused() -> None:
    assert Choice.of("width.1", 200).index == 2
    with pytest.raises(BadInput, match=r"0\.3 is not a declared value of input_scale"):
        Choice.of("input_scale", 0.3)
