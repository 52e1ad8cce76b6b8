"""The checker as a program: it stands alone, survives hostile files, and says what it verified."""

from __future__ import annotations

import ast
import json
import os
import random
import resource
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from write_vectors import FOLDER, INDEX

from pacbound.certificate import checker

CHECKER = Path(checker.__file__)
ACCEPTED = sorted(FOLDER.glob("accepted-*.json"))
GIBBS = FOLDER / "accepted-spec-b-gibbs.json"
FIXED = FOLDER / "accepted-fixed-estimator.json"
FORTY = FOLDER / "accepted-fixed-forty-classes.json"
CONTENT = GIBBS.read_bytes()


# It stands alone


def test_it_imports_the_standard_library_alone() -> None:
    tree = ast.parse(CHECKER.read_text(encoding="utf-8"))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(node.module or "")
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names
    assert not {"socket", "subprocess", "urllib", "ctypes", "pickle"} & imported


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", "-X", "utf8", CHECKER, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_runs_isolated_on_all_good_vectors(record_property: Any) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run(*ACCEPTED)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(ACCEPTED)
    assert all(line.startswith("VERIFIED ") for line in lines)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    record_property("measured", f"checker: {len(lines)} certificates, {seconds:.2f} s of CPU")
    assert seconds / len(lines) < 0.1


def test_it_is_executable_as_the_hook_runs_it() -> None:
    assert os.access(CHECKER, os.X_OK)
    assert CHECKER.read_text(encoding="utf-8").startswith("#!/usr/bin/env python3\n")


def test_no_field_hides_behind_a_method_of_dict() -> None:
    names: set[str] = set()

    def collect(pairs: list[tuple[str, Any]]) -> None:
        names.update(name for name, _ in pairs)

    for path in ACCEPTED:
        json.loads(path.read_bytes(), object_pairs_hook=collect)
    assert not names & set(dir(checker.Record))


# The command line


def test_lines_and_exit_codes(tmp_path: Path) -> None:
    forged = FOLDER / "6.1-delta-too-large.json"
    done = run(GIBBS, forged)
    verified, rejected = done.stdout.splitlines()
    assert done.returncode == 1
    assert verified == (
        f"VERIFIED {GIBBS}: with probability at least 96.5 % its error is at most 16.84 %; "
        "its error on examples of each of 2 true classes is at most 30.47 % "
        "(gibbs, coins, m = 1000)"
    )
    assert rejected == f"REJECTED {forged}: 6.1 the shares add up to 0.035, not to 0.04"
    junk = tmp_path / "junk.json"
    junk.write_text("no JSON")
    done = run(junk)
    assert done.returncode == 2
    assert done.stdout.startswith(f"REJECTED {junk}: 1.4 not JSON")


def test_other_json_is_called_what_it_is() -> None:
    verdict = checker.verify(b'{"name": "package", "version": 1}')
    assert verdict.check == "1.7" and "not a certificate" in verdict.reason
    assert "None" not in verdict.reason


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for name in ("absent.json", str(tmp_path), "", "a" + chr(0) + "b"):
        verdict = checker.check_file(name)
        assert (verdict.accepted, verdict.check, verdict.exit_code) == (False, "", 2), name
        assert "cannot be read" in verdict.reason
        verdict = checker.check_file(str(GIBBS), checkpoint=name)
        assert verdict.accepted == (name == "")


DIGEST = json.loads(CONTENT)["model"]["sha256"]


@pytest.mark.parametrize(
    ("file", "options", "reason"),
    [
        (GIBBS, ["--max-risk", "0.2"], ""),
        (GIBBS, ["--max-risk", "0.1683922217"], ""),
        (GIBBS, ["--max-risk", "0.1683922216"], "its risk bound 0.1683922217 is over 0.1683922216"),
        (GIBBS, ["--max-class-risk", "0.31"], ""),
        (GIBBS, ["--max-class-risk", "0.3"], "its risk bound 0.3046355140 for class 1 is over 0.3"),
        (FIXED, ["--max-class-risk", "0.9"], "it claims the error of 0 true classes of 2"),
        (FIXED, ["--max-class-risk", "1"], ""),
        (FORTY, ["--max-risk", "0.99"], "it makes no claim about the error on all inputs"),
        (FORTY, ["--max-class-risk", "0.9"], ""),
        (
            FOLDER / "accepted-fixed-module-one-class.json",
            ["--max-class-risk", "0.9"],
            "it claims the error of 1 true classes of 3",
        ),
        (FIXED, ["--checkpoint", str(GIBBS)], "it is for another file"),
        (GIBBS, ["--checkpoint", str(GIBBS)], "it is for other tensors"),
        (GIBBS, ["--model-sha256", DIGEST], ""),
        (GIBBS, ["--model-sha256", "0" * 64], "it is for other tensors"),
    ],
)
def test_demands(
    file: Path, options: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = checker.main([str(file), *options])
    line = capsys.readouterr().out
    assert code == (1 if reason else 0)
    assert line.startswith(f"REJECTED {file}: {reason}" if reason else "VERIFIED ")


def test_a_certificate_for_the_bytes_of_a_file(tmp_path: Path) -> None:
    record = json.loads(FIXED.read_bytes())
    record["model"]["sha256"] = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    (tmp_path / "c.json").write_text(json.dumps(record), encoding="utf-8")
    (tmp_path / "model.pkl").write_text("test")
    verdict = checker.check_file(str(tmp_path / "c.json"), checkpoint=str(tmp_path / "model.pkl"))
    assert verdict.accepted, verdict.reason


@pytest.mark.parametrize("option", ["--max-risk", "--max-class-risk"])
@pytest.mark.parametrize("value", ["25", "-0.1", "nan", "x"])
def test_wrong_options(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        checker.main([str(GIBBS), f"{option}={value}"])
    assert error.value.code == 2
    assert option in capsys.readouterr().err


def test_the_verdict_has_the_certificate_and_its_figures() -> None:
    verdict = checker.verify(CONTENT)
    assert verdict.accepted
    assert verdict.risk_bound == Decimal("0.1683922217")
    assert verdict.delta == Decimal("0.035")
    assert verdict.certificate is not None
    assert verdict.certificate == json.loads(CONTENT)
    assert verdict.certificate.claims[1]["class"] == 0
    assert verdict.certificate.evidence.groups[0].trace == "0.25"
    assert not hasattr(verdict.certificate, "absent")
    only_classes = checker.verify(FORTY.read_bytes())
    assert only_classes.accepted
    assert only_classes.risk_bound is None


# Hostile files


def survives(content: bytes) -> checker.Verdict:
    verdict = checker.verify(content)
    assert verdict.accepted or verdict.check in checker.CHECKS, verdict
    assert "cannot be evaluated" not in verdict.reason, verdict
    assert verdict.line("x").isprintable()
    return verdict


@given(st.binary(max_size=300))
def test_random_bytes(content: bytes) -> None:
    assert not survives(content).accepted


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_random_json(fields: dict[str, Any]) -> None:
    assert not survives(json.dumps(fields).encode()).accepted
    assert not survives(json.dumps(fields | {"format": checker.FORMAT}).encode()).accepted


def test_truncated_files() -> None:
    for end in range(0, len(CONTENT.rstrip()) - 1, 7):
        assert survives(CONTENT[:end]).check in ("1.2", "1.4")


def test_flipped_bytes() -> None:
    generator = random.Random(0)
    for _ in range(1000):
        changed = bytearray(CONTENT)
        changed[generator.randrange(len(changed))] = generator.randrange(256)
        survives(bytes(changed))


EXTREMES: list[Any] = [0, 1, 10**15, 10**6, "0", "0.4", "0." + "0" * 29 + "1", "9" * 18]
EXTREMES += ["-" + "9" * 18, "0.0000000000", "1.0000000000", "999999999999999.999999"]
EXTREMES += ["-999999999999999.999999"]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every holder and key inside a record."""
    found: list[tuple[Any, Any]] = []
    for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        found.append((value, key))
        if isinstance(inner, dict | list):
            found += places(inner)
    return found


@given(st.sampled_from(ACCEPTED), st.randoms(use_true_random=False), json_values)
def test_other_values_in_any_place(path: Path, generator: random.Random, value: Any) -> None:
    record = json.loads(path.read_bytes())
    holder, key = generator.choice(places(record))
    other, its_key = generator.choice(places(record))
    copied = json.loads(json.dumps(other[its_key]))
    holder[key] = generator.choice([*EXTREMES, value, copied])
    survives(json.dumps(record).encode())


@pytest.mark.parametrize(
    ("name", "content", "number"),
    [
        ("brackets", b"[" * 10**6, "1.3"),
        ("objects", b'{"a":' * 10**5, "1.3"),
        ("eight deep", b"[" * 8 + b"]" * 8, "1.7"),
        ("digits", b"9" * 10**6, "1.5"),
        ("negative digits", b"-" + b"9" * 10**6, "1.5"),
        ("exponent", b"1e999999999", "1.5"),
        ("backslashes", b'"' + b"\\" * 10**6, "1.4"),
        ("quotes", b'"' * 10**6, "1.4"),
        ("twice and no json", b'{"a":1,"a":1,' + b'"b":' * 10, "1.4"),
        ("spaces", b" " * (4 * 2**20), "1.4"),
        ("too many spaces", b" " * (4 * 2**20 + 1), "1.1"),
        ("no utf-8", b"\xff", "1.2"),
        ("lone surrogate", b'"\\ud800"', "1.7"),
        ("lone surrogates", CONTENT.replace(b"coins", b"\\ud800\\ud800"), "2.6"),
        ("surrogate pair", CONTENT.replace(b"coins", b"\\ud83d\\ude00"), "accepted"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_extreme_files(name: str, content: bytes, number: str) -> None:
    assert (survives(content).check or "accepted") == number


def test_every_vector_is_one_printable_line() -> None:
    for entry in json.loads((FOLDER / INDEX).read_text(encoding="utf-8")):
        verdict = checker.verify((FOLDER / entry["file"]).read_bytes())
        line = verdict.line("a\n" + chr(27) + "[2Jb.json")
        assert line.isprintable()
        assert line.split(" ")[0] in ("VERIFIED", "REJECTED")
