"""The format: dataclasses, schema and checker agree, and a certificate survives its file."""

from __future__ import annotations

import dataclasses
import json
import typing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from certificate_cases import DRAWN, LEARNED, SAMPLED, VOTE, Primitives, issue
from hypothesis import given
from hypothesis import strategies as st

from pacbound.certificate import checker
from pacbound.certificate.format import Certificate, Choice
from pacbound.errors import BadInput

SCHEMA = json.loads(Path(checker.__file__).with_name("schema.json").read_text(encoding="utf-8"))
CASES = {
    "exact": Primitives(),
    "sampled": SAMPLED,
    "drawn": DRAWN,
    "learned": LEARNED,
    "vote": VOTE,
}
ISSUED = {name: issue(case) for name, case in CASES.items()}
VALID = ISSUED["exact"]
SAMPLED_TEXT = ISSUED["sampled"].to_json()


# The fields of every object by its path; where there are variants, the fields of each of them.
Fields = dict[str, set[frozenset[str]]]


def joined(parts: list[Fields]) -> Fields:
    return {
        path: set().union(*(part.get(path, set()) for part in parts))
        for path in {path for part in parts for path in part}
    }


def inside(path: str, name: str) -> str:
    return f"{path}.{name}".lstrip(".")


def in_the_checker(kind: str = "certificate", path: str = "") -> Fields:
    kind = kind.removesuffix("?").removesuffix("[]")
    if kind in checker.VARIANTS:
        variants = [variant for variant in checker.FIELDS if variant.startswith(f"{kind}=")]
        return joined([in_the_checker(variant, path) for variant in variants])
    if kind not in checker.FIELDS:
        return {}
    fields = [field.partition(":") for field in checker.FIELDS[kind].split()]
    inner = [in_the_checker(of or name, inside(path, name)) for name, _, of in fields]
    return joined([{path: {frozenset(name for name, _, _ in fields)}}, *inner])


def in_the_dataclasses(cls: Any = Certificate, path: str = "") -> Fields:
    names = {field.name for field in dataclasses.fields(cls)} | ({"format"} if not path else set())
    found: list[Fields] = [{path: {frozenset(names)}}]
    for name, hint in typing.get_type_hints(cls).items():
        options = typing.get_args(hint) if not dataclasses.is_dataclass(hint) else (hint,)
        for option in options:
            if dataclasses.is_dataclass(option):
                found.append(in_the_dataclasses(option, inside(path, name)))
    return joined(found)


def in_the_schema(schema: dict[str, Any] = SCHEMA, path: str = "") -> Fields:
    if "oneOf" in schema:
        return joined([in_the_schema(option, path) for option in schema["oneOf"]])
    if "items" in schema:
        return in_the_schema(schema["items"], path)
    if "properties" not in schema:
        return {}
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == set(schema["properties"])
    inner = [in_the_schema(part, inside(path, name)) for name, part in schema["properties"].items()]
    return joined([{path: {frozenset(schema["properties"])}}, *inner])


def test_schema_dataclasses_and_checker_have_the_same_fields() -> None:
    assert in_the_checker() == in_the_dataclasses() == in_the_schema()
    assert len(in_the_checker()["kl.groups"]) == 3
    assert len(in_the_checker()["prior.center"]) == 2


def test_the_schema_has_its_fields_in_the_order_of_the_checker() -> None:
    for name in ("claim", "budget", "data", "model", "bound", "seeds", "made"):
        fields = [field.split(":")[0] for field in checker.FIELDS[name].split()]
        assert list(SCHEMA["properties"][name]["properties"]) == fields
        section = getattr(VALID, name)
        assert [field.name for field in dataclasses.fields(section)] == fields
    predictors = SCHEMA["properties"]["claim"]["properties"]["predictor"]["enum"]
    assert predictors == list(checker.FACTORS)
    assert f"predictor:{'|'.join(predictors)}" in checker.FIELDS["claim"]


def test_the_schema_accepts_what_the_checker_accepts() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    lenet = dataclasses.replace(CASES["sampled"], network="lenet", posterior="diag", held_out=None)
    for certificate in (*ISSUED.values(), issue(lenet)):
        assert checker.check(certificate.to_json()).accepted
        jsonschema.validate(json.loads(certificate.to_json()), SCHEMA)


def test_how_long_training_took_may_be_unknown() -> None:
    made = dataclasses.replace(VALID.made, training_seconds=None)
    text = dataclasses.replace(VALID, made=made).to_json()
    assert checker.check(text).accepted
    jsonschema.validate(json.loads(text), SCHEMA)
    assert Certificate.from_json(text).made.training_seconds is None


@pytest.mark.parametrize(
    ("case", "section", "field", "value"),
    [
        ("exact", "claim", "risk_bound", 1.5),
        ("exact", "claim", "delta", 0),
        ("exact", "data", "m", True),
        ("exact", "data", "m", 1.5),
        ("exact", "prior", "trials", 0),
        ("exact", "kl", "method", "guess"),
        ("exact", "seeds", "risk", "ABC"),
        ("exact", "seeds", "kl", "ABC"),
        ("exact", "risk", "note", 1),
        ("exact", "also", "held_out", 1),
        ("exact", "made", "training_command", None),
        ("exact", "made", "training_seconds", -1),
        ("exact", "made", "training_seconds", "45.6"),
        ("sampled", "kl", "method", "exact"),
        ("sampled", "kl", "samples", 0),
        ("sampled", "kl", "shared", 1),
        ("sampled", "kl", "theorem3", None),
        ("sampled", "kl", "groups", []),
        ("sampled", "risk", "batch", 0),
        ("sampled", "risk", "counts", []),
        ("sampled", "risk", "counts", [[1, 2, 3]]),
        ("sampled", "risk", "counts", [[-1, 10_000]]),
        ("sampled", "risk", "counts", [[1, 0]]),
        ("drawn", "claim", "predictor", "mean"),
        ("drawn", "kl", "method", "exact"),
        ("drawn", "kl", "groups", []),
        ("drawn", "kl", "upper", None),
        ("drawn", "risk", "weights_sha256", "ABC"),
        ("drawn", "risk", "errors", -1),
        ("drawn", "risk", "draws", 60_000),
        ("drawn", "also", "catoni", 1),
        ("drawn", "also", "mcallester", "0.1"),
        ("learned", "data", "m", 7),
        ("learned", "data", "classes", 1),
        ("learned", "prior", "center", None),
        ("learned", "prior", "center", VALID.to_mapping()["prior"]["center"] | {"errors": 1}),
        ("vote", "claim", "predictor", "vote"),
    ],
)
def test_the_schema_rejects_what_the_checker_rejects(
    case: str, section: str, field: str, value: Any
) -> None:
    record = json.loads(ISSUED[case].to_json())
    record[section][field] = value
    assert not checker.check(json.dumps(record)).accepted
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(record, SCHEMA)


@pytest.mark.parametrize("certificate", ISSUED.values(), ids=ISSUED)
def test_a_certificate_survives_its_text(certificate: Certificate) -> None:
    text = certificate.to_json()
    assert text.endswith("}\n")
    assert Certificate.from_json(text) == certificate
    assert Certificate.from_json(text).to_json() == text
    assert Certificate.from_mapping(certificate.to_mapping()) == certificate
    fields = checker.FIELDS["certificate"].split()
    assert list(json.loads(text)) == [field.split(":")[0] for field in fields]


def test_counts_are_printed_a_pair_a_line_and_texts_as_they_are() -> None:
    made = dataclasses.replace(VALID.made, command="a [\n 1,\n 2\n ]")
    certificate = dataclasses.replace(ISSUED["sampled"], made=made)
    text = certificate.to_json()
    assert "\n   [44, 1200],\n   [51, 3300],\n" in text
    assert json.loads(text)["made"]["command"] == made.command
    assert Certificate.from_json(text) == certificate


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
        (VALID.to_json().replace('"exact"', '"guess"'), "kl.method is not known"),
        (VALID.to_json().replace('"exact"', '["exact"]'), "kl.method is not known"),
        (VALID.to_json().replace('"exact"', '"per-example"'), "kl.method is not known"),
        (VALID.to_json().replace('"exact"', '"monte-carlo"'), "kl.tail is missing"),
        (VALID.to_json().replace('"kl": null', '"kl": 1'), "seeds.kl is of the wrong kind"),
        (SAMPLED_TEXT.replace("[44, 1200]", "[44]"), "risk.counts is of the wrong kind"),
        (SAMPLED_TEXT.replace("[44, 1200]", "[44, 1200, 1]"), "risk.counts is of the wrong kind"),
        (SAMPLED_TEXT.replace("[44, 1200]", "[44, 1.5]"), "risk.counts is of the wrong kind"),
        (SAMPLED_TEXT.replace("[44, 1200]", "44"), "risk.counts is of the wrong kind"),
        (SAMPLED_TEXT.replace('"shared": true', '"shared": 1'), "kl.shared is of the wrong kind"),
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
