"""The format's dataclasses: they read and write what SPEC.md defines, and refuse the rest."""

from __future__ import annotations

import copy
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pacbound.certificate import checker, format
from pacbound.certificate.format import Certificate, schema
from pacbound.errors import CertificateError, PacboundError

STORED = Path(format.__file__).with_name("schema.json")
VECTORS = sorted(Path(format.__file__).with_name("vectors").glob("accepted-*.json"))
# test_vectors.py compares the files with what their builder makes, which takes seconds.
GOOD = {path.stem.removeprefix("accepted-"): json.loads(path.read_bytes()) for path in VECTORS}
SCHEMA = jsonschema.Draft202012Validator(schema())


def one(predictor: str) -> dict[str, Any]:
    return copy.deepcopy(next(v for v in GOOD.values() if v["predictor"] == predictor))


@pytest.mark.parametrize("name", GOOD)
def test_good_certificates_survive(name: str) -> None:
    record = json.loads(json.dumps(GOOD[name]))
    certificate = Certificate.from_mapping(record)
    assert certificate.to_mapping() == record
    assert Certificate.from_json(certificate.to_json()) == certificate
    SCHEMA.validate(record)


def test_schema_is_the_one_in_the_file() -> None:
    """Made again by: python -m pacbound.certificate.format > pacbound/certificate/schema.json"""
    assert json.loads(STORED.read_text(encoding="utf-8")) == schema()
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_stored_vectors_are_read(path: Path) -> None:
    record = json.loads(path.read_bytes())
    SCHEMA.validate(record)
    assert Certificate.from_mapping(record).to_mapping() == record


def test_save_and_load(tmp_path: Path) -> None:
    certificate = Certificate.from_mapping(one("gibbs"))
    certificate.save(tmp_path / "c.json")
    assert Certificate.load(tmp_path / "c.json") == certificate
    with pytest.raises(PacboundError, match="cannot read"):
        Certificate.load(tmp_path / "none.json")


def changed(predictor: str, *path: str | int, value: Any = None) -> dict[str, Any]:
    """A certificate with one value replaced, or removed for None."""
    record = one(predictor)
    at: Any = record
    for step in path[:-1]:
        at = at[step]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return record


@pytest.mark.parametrize(
    "record, words",
    [
        ([], "not a certificate of the format"),
        ({"format": "pacbound-certificate/1"}, "not a certificate of the format"),
        (changed("gibbs", "delta"), "delta is missing"),
        (changed("gibbs", "delta", value=0.05), "delta must be a decimal"),
        (changed("gibbs", "delta", value="0.5"), "below 0.5"),
        (changed("gibbs", "delta", value="0.05\n"), "delta must be"),
        (changed("gibbs", "data", "m", value=True), "data.m must be an integer"),
        (changed("gibbs", "data", "m", value=1.0), "data.m must be an integer"),
        (changed("gibbs", "data", "sha256", value="0"), "data.sha256 must be a SHA-256"),
        (changed("gibbs", "data", "colour", value="red"), "data.colour"),
        (changed("gibbs", "claims", value=[]), "claims must be an array"),
        (changed("gibbs", "claims", 0, "class_", value=0), r"claims\[0\].class_"),
        (changed("gibbs", "claims", 0, "class", value=0), r"claims\[0\].class"),
        (changed("gibbs", "predictor", value="oracle"), "predictor must be one of"),
        (changed("gibbs", "prior", "kind", value="none"), "prior"),
        (changed("gibbs", "made", "times", value={"": "1"}), "made.times"),
        (changed("gibbs", "made", "date", value="\x1b"), "made.date must be a text of printable"),
        (changed("draw", "evidence", "kind", value="exact"), "evidence"),
        (changed("fixed", "evidence", value={}), "evidence must be left out"),
        (changed("fixed", "model", "network", value="mlp"), "model.network must be left out"),
    ],
)
def test_other_shapes_are_refused_in_one_line(record: Any, words: str) -> None:
    with pytest.raises(CertificateError, match=words) as refusal:
        Certificate.from_mapping(record)
    assert "\n" not in str(refusal.value)
    assert not checker.verify(json.dumps(record).encode()).accepted


@pytest.mark.parametrize("text", ["", "{", "NaN", "[" * 100_000, b"\xff"])
def test_other_texts_are_refused(text: str | bytes) -> None:
    with pytest.raises(CertificateError):
        Certificate.from_json(text)


def test_overall_claim() -> None:
    certificate = Certificate.from_mapping(one("fixed"))
    assert certificate.overall is not None
    assert isinstance(certificate.overall.bound, Decimal)
    assert certificate.risk_bound == float(certificate.overall.bound)
    assert certificate.overall.scope == "all"
