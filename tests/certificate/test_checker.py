"""The checker: what it accepts, its arithmetic, hostile files, and that it stands alone."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import random
import shutil
import subprocess
import sys
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from certificate_cases import DRAWN, SAMPLED, Primitives, issue
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from pacbound.bounds.density_ratio import log_density_ratio
from pacbound.bounds.prior_grid import best_index, index_cost, variance
from pacbound.bounds.rounding import exact, precise
from pacbound.certificate import checker

VALID = issue()
TEXT = VALID.to_json()
TAIL_FIELDS = ("correction", "upper")
SAMPLED_RECORD = issue(SAMPLED).to_mapping()


# What is accepted


@st.composite
def primitives(draw: st.DrawFn) -> Primitives:
    learned = draw(st.booleans())
    m, passes = draw(st.integers(8, 500 if learned else 10**6)), draw(st.integers(1, 200))
    groups = []
    for _ in range(draw(st.integers(1, 3))):
        d, mean_square = draw(st.integers(1, 10**6)), draw(st.floats(1e-8, 10))
        trace, gap = d * mean_square, draw(st.floats(0, 100))
        groups.append((d, trace, draw(st.floats(0, 10)), d * math.log(mean_square) / 2 - gap))
    n = draw(st.integers(1, 2000))
    network = draw(st.sampled_from(checker.CHOICES["network"]))
    posterior = draw(st.sampled_from(("diag", "k-nonlinear")))
    nonlinear = posterior == "k-nonlinear"
    sampled: dict[str, Any] = {}
    if nonlinear or network != "mlp" or draw(st.booleans()):
        batch = draw(st.integers(1, min(m, 2000)))
        errors = draw(st.sets(st.integers(0, batch), min_size=1, max_size=8))
        sampled |= {
            "batch": batch,
            "counts": tuple((error, draw(st.integers(1, 10**4))) for error in sorted(errors)),
            "limit": draw(st.sampled_from(("betting", "chernoff"))),
        }
    if nonlinear or draw(st.booleans()):
        draws = sum(times for _, times in sampled.get("counts", ()))
        shared = bool(draws) and draw(st.booleans())
        sampled |= {
            "kl": draw(st.decimals("0.001", "0.3", places=5)),
            "samples": draw(st.integers(draws if shared else 1, 10**5)),
            "shared": shared,
            "tail": draw(st.sampled_from(("gaussian", "theorem3"))),
            "expansion": draw(st.floats(1, 20)),
        }
    predictor = draw(st.sampled_from(tuple(checker.FACTORS)))
    of_one_draw, held_out = predictor == "draw", st.none()
    if of_one_draw:
        sampled = {"deviation": draw(st.floats(-5, 5))}
    if of_one_draw or predictor == "gibbs":
        held_out = st.none() | st.integers(0, n).map(lambda errors: (errors, n))
    elif sampled.get("shared"):
        sampled["samples"] *= 2  # enough for pairs
    if learned:
        sampled["fraction"] = draw(st.sampled_from(checker.CHOICES["prior_fraction"]))
        sampled["split_seed"] = draw(st.integers(0, 100))
        sampled["own"] = tuple(1.01 * trace / d for d, trace, _, _ in groups)
    return Primitives(
        **sampled,
        predictor=predictor,
        posterior=posterior,
        m=m,
        passes=passes,
        errors=draw(st.integers(1, m) if of_one_draw else st.integers(0, m * passes)),
        pac_bayes=draw(st.decimals("0.001", "0.3", places=5)),
        risk=Decimal(0) if of_one_draw else draw(st.decimals("0.001", "0.3", places=5)),
        groups=tuple(groups),
        widths=tuple(draw(st.lists(st.integers(1, 2000), max_size=3))),
        network=network,
        seed=draw(st.integers(0, 10**6)),
        initializer=draw(st.sampled_from(checker.CHOICES["initializer"])),
        input_scale=draw(st.sampled_from(checker.CHOICES["input_scale"])),
        smoothing=draw(st.sampled_from(checker.CHOICES["smoothing"])),
        alignment=draw(st.sampled_from(checker.CHOICES["alignment"])),
        hidden_bias=draw(st.sampled_from(checker.CHOICES["hidden_bias"])),
        trials=draw(st.integers(1, 1000)),
        inequality="maurer" if of_one_draw else draw(st.sampled_from(("mcallester", "maurer"))),
        held_out=draw(held_out),
    )


@given(primitives())
def test_what_is_issued_at_the_exact_bound_is_accepted_and_no_less(p: Primitives) -> None:
    certificate = issue(p)
    verdict = checker.check(certificate.to_json())
    assert verdict.reason == ""
    assert verdict.risk_bound == Decimal(repr(certificate.claim.risk_bound))
    smaller = [("claim.risk_bound", "bound.value"), ("kl.upper",), ("risk.upper",)]
    if p.samples:
        smaller += [(f"kl.{x}.{y}",) for x in ("gaussian", "theorem3") for y in TAIL_FIELDS]
    for fields in smaller:
        record = json.loads(certificate.to_json())
        for field in fields:
            *path, last = field.split(".")
            holder = record
            for name in path:
                holder = holder[name]
            holder[last] -= 1e-9 * abs(holder[last])
        record["claim"]["sentence"] = checker.sentence(record)
        assert not checker.check(json.dumps(record)).accepted, fields


@pytest.mark.parametrize("inequality", ["mcallester", "maurer"])
@pytest.mark.parametrize("case", [Primitives(), SAMPLED], ids=["exact", "sampled"])
def test_a_looser_claim_is_accepted(inequality: str, case: Primitives) -> None:
    record = issue(dataclasses.replace(case, inequality=inequality)).to_mapping()
    record["claim"]["risk_bound"] = 0.5
    record["bound"]["value"] = 0.4
    record["claim"]["sentence"] = checker.sentence(record)
    assert checker.check(json.dumps(record)).accepted


def test_a_looser_claim_of_one_draw_is_accepted() -> None:
    record = issue(DRAWN).to_mapping()
    record["claim"]["risk_bound"] = record["bound"]["value"] = 0.5
    record["kl"]["upper"] += 1
    record["bound"]["complexity"] *= 1.01
    record["claim"]["sentence"] = checker.sentence(record)
    assert checker.check(json.dumps(record)).accepted


def test_a_ratio_so_negative_that_nothing_is_paid_gives_the_risk_and_no_less() -> None:
    """Each group is e⁻⁴⁵ unlikely, and together they outweigh every cost."""
    groups = []
    for d, trace, _, _ in DRAWN.groups * 3:
        index = best_index(trace, d)
        rest = log_density_ratio(trace, d, 0.0, d, variance(index))
        groups.append((d, trace, 0.0, rest + index_cost(index) + 45))
    record = issue(dataclasses.replace(DRAWN, groups=tuple(groups), deviation=0)).to_mapping()
    assert record["kl"]["upper"] < 0
    assert record["bound"]["complexity"] == 0
    assert record["bound"]["value"] == pytest.approx(record["risk"]["upper"], rel=1e-12)
    assert checker.check(json.dumps(record)).accepted
    for field, holder in (("value", record["bound"]), ("risk_bound", record["claim"])):
        holder[field] *= 1 - 1e-9
    record["claim"]["sentence"] = checker.sentence(record)
    assert "bound.value" in checker.check(json.dumps(record)).reason


@pytest.mark.parametrize("limit", ["betting", "chernoff", "per-example"])
def test_a_vacuous_claim_is_accepted(limit: str) -> None:
    wrong = dataclasses.replace(SAMPLED, counts=((1000, 10_000),), limit=limit)
    case = Primitives(errors=6_000_000) if limit == "per-example" else wrong
    record = issue(case).to_mapping()
    assert record["claim"]["risk_bound"] == 1
    assert checker.check(json.dumps(record)).accepted


def test_samples_are_worth_more_than_theorem_3_says_and_so_are_batches() -> None:
    ours, theirs = (
        issue(dataclasses.replace(SAMPLED, tail=tail, limit=limit)).claim.risk_bound
        for tail, limit in (("gaussian", "betting"), ("theorem3", "chernoff"))
    )
    assert ours < 0.2 < 0.7 < theirs


def test_the_verdict_in_words() -> None:
    verdict = checker.check(TEXT)
    percent = f"{math.ceil(VALID.claim.risk_bound * 1e4) / 100:.2f}"
    words = f"risk ≤ {percent} % with probability ≥ 96.5 % (mnist, m = 60000, k-linear)"
    assert verdict.line("a.json") == f"ok        a.json: {words}"
    assert VALID.claim.sentence == (
        "With probability at least 96.5 % over the draw of the 60000 training examples and the "
        "Monte Carlo draws, the zero-one error of the randomised predictor (fresh weights for "
        "every prediction) on new data from the same distribution is at most "
        f"{percent} %."
    )


def test_the_verdict_on_one_draw_in_words() -> None:
    certificate = issue(DRAWN)
    percent = f"{math.ceil(certificate.claim.risk_bound * 1e4) / 100:.2f}"
    line = checker.check(certificate.to_json()).line("a.json")
    assert line.endswith("(mnist, m = 60000, k-linear, one drawn network)")
    assert certificate.claim.sentence == (
        "With probability at least 96.5 % over the draw of the 60000 training examples and of the "
        "network, the zero-one error of the one network that was drawn from the posterior, on new "
        f"data from the same distribution, is at most {percent} %."
    )


@pytest.mark.parametrize("predictor", ["gibbs", "draw", "vote-tandem"])
@given(st.decimals(0, 1, places=12), st.decimals("0.000001", "0.999999", places=12))
def test_the_sentence_rounds_against_the_claim(
    predictor: str, risk: Decimal, delta: Decimal
) -> None:
    claim = {"risk_bound": risk, "delta": delta, "loss": "zero-one", "predictor": predictor}
    prior = {"center": {"kind": "initialization"}}
    words = checker.sentence({"claim": claim, "data": {"m": 8}, "prior": prior}).split()
    assert risk * 100 <= Decimal(words[-2]) < risk * 100 + Decimal("0.01")
    confidence = Decimal(words[words.index("%") - 1])
    assert 100 - delta * 100 - Decimal("0.0001") < confidence <= 100 - delta * 100


# Choices


def test_widths_are_numbered_once_each_the_preferred_ones_first() -> None:
    preferred = checker.PREFERRED_WIDTHS
    order = [*preferred, *(width for width in range(1, 3000) if width not in preferred)]
    indices = [checker.choice("width.9", width)["index"] for width in order]
    assert indices == list(range(1, 3000))


def test_declared_values_are_numbered_in_order() -> None:
    for name, values in checker.CHOICES.items():
        assert [checker.choice(name, value)["index"] for value in values] == [
            *range(1, len(values) + 1)
        ]
    assert checker.choice("seed", 0)["index"] == 1
    assert checker.choice("depth", 2)["index"] == 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("network", "transformer"),
        ("width.0", 600),
        ("width.x", 600),
        ("seed", 1.0),
        ("input_scale", True),
        ("alignment", "rotate"),
        ("hidden_bias", -5),
        ("hidden_bias", False),
    ],
)
def test_an_undeclared_choice_is_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError, match="not a declared value"):
        checker.choice(name, value)


# Arithmetic


def enclosed(interval: checker.Interval, value: arb) -> bool:
    return not exact(interval.lo) > value and not exact(interval.hi) < value


positive = st.decimals("1e-30", "1e30", places=35).map(lambda x: x + Decimal("1e-35"))
real = st.decimals(-500, 500, places=30)  # exp of much more is no fraction to compute with


@given(real, positive)
def test_intervals_enclose_what_flint_computes(x: Decimal, y: Decimal) -> None:
    a, b = checker.Interval(x), checker.Interval(y)
    with precise():
        p, q = exact(x), exact(y)
        for ours, theirs in (
            (a + b, p + q),
            (a - b, p - q),
            (a * b, p * q),
            (a / b, p / q),
            (b.ln(), q.log()),
            (b.sqrt(), q.sqrt()),
            (a.exp(), p.exp()),
        ):
            assert enclosed(ours, theirs)
            width = Fraction(ours.hi) - Fraction(ours.lo)
            assert 0 <= width <= abs(Fraction(ours.lo)) / 10**47


def test_pi_is_enclosed() -> None:
    with precise():
        assert enclosed(checker.PI, arb.pi())


def test_a_division_by_what_may_be_zero_is_refused() -> None:
    with pytest.raises(ZeroDivisionError):
        checker.Interval(1) / checker.Interval(-1, 1)


# Hostile files

HOSTILE = {
    "NaN": TEXT.replace('"trials": 1', '"trials": NaN'),
    "infinite": TEXT.replace('"trials": 1', '"trials": Infinity'),
    "negative infinite": TEXT.replace('"trials": 1', '"trials": -Infinity'),
    "huge exponent": TEXT.replace('"trials": 1', '"trials": 1e999999999'),
    "exponent beyond decimal": TEXT.replace('"trials": 1', f'"trials": 1e{"9" * 40}'),
    "tiny exponent": TEXT.replace('"trials": 1', '"trials": 1e-999999999'),
    "zero with an exponent": TEXT.replace('"trials": 1', '"trials": 0e999999999'),
    "million digits": TEXT.replace('"trials": 1', f'"trials": {"1" * 10**6}'),
    "million decimals": TEXT.replace('"trials": 1', f'"trials": 0.{"1" * 10**6}'),
    "nested arrays": "[" * 10**6,
    "nested objects": '{"a":' * 10**5 + "1" + "}" * 10**5,
    "nested settings": TEXT.replace(
        '"settings": {}', f'"settings": {{"a": {"[" * 10**5}{"]" * 10**5}}}'
    ),
    "duplicate": TEXT.replace('"trials": 1', '"trials": 1, "trials": 1'),
    "many duplicates": "{" + '"a": 1,' * 10**5 + '"a": 1}',
    "many entries": json.dumps(VALID.to_mapping() | {"prior": {"choices": [{}] * 10**5}}),
    "long array": f"[{'1,' * 10**6}1]",
    "many counts": json.dumps(
        SAMPLED_RECORD | {"risk": SAMPLED_RECORD["risk"] | {"counts": [[1, 1]] * 10**5}}
    ),
    "array": "[]",
    "number": "1",
    "text": '"pacbound"',
    "null": "null",
    "truth": TEXT.replace('"trials": 1', '"trials": true'),
    "control characters": TEXT.replace('"trials": 1', r'"\u001b[2J\n": 1'),
}
NOT_JSON = {
    "empty": b"",
    "truncated": TEXT[: len(TEXT) // 2].encode(),
    "binary": bytes(range(256)),
    "latin-1": TEXT.replace("mnist", "é").encode("latin-1"),
    "half a character": TEXT.replace("mnist", r"\ud800").encode(),
    "byte order mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "too long": b" " * (4 * 2**20) + TEXT.encode(),
}


@pytest.mark.parametrize("name", [*HOSTILE, *NOT_JSON])
def test_a_hostile_file_is_rejected_at_once_and_in_one_line(name: str) -> None:
    start = time.process_time()
    verdict = checker.check(HOSTILE[name] if name in HOSTILE else NOT_JSON[name])
    assert time.process_time() - start < 2
    assert not verdict.accepted
    if name != "nested arrays":  # not JSON either: no bracket is closed
        assert verdict.exit_code == (1 if name in HOSTILE else 2)
    line = verdict.line("bad\nname\x1b.json")
    assert line.isprintable()
    assert len(line) < 400


@given(st.binary(max_size=300) | st.text(max_size=300))
def test_no_input_raises(content: str | bytes) -> None:
    assert not checker.check(content).accepted


def test_no_damage_raises() -> None:
    draw = random.Random(0)
    for _ in range(300):
        damaged = bytearray(TEXT.encode())
        for _ in range(draw.randrange(1, 4)):
            damaged[draw.randrange(len(damaged))] = draw.choice(b'0123456789.-e"{}[],:ntf ')
        checker.check(bytes(damaged))


def test_absurd_but_well_formed_numbers_are_quick() -> None:
    largest = 10**15
    record = VALID.to_mapping()
    record["prior"]["variances"][0]["index"] = largest
    record["also"]["held_out"] = {"n": largest, "errors": 500_000, "upper": 4e-10}
    start = time.process_time()
    assert not checker.check(json.dumps(record)).accepted
    record["prior"] = VALID.to_mapping()["prior"]
    assert "held_out" in checker.check(json.dumps(record)).reason
    assert time.process_time() - start < 3


def test_as_many_counts_and_groups_as_are_allowed_are_quick() -> None:
    record = json.loads(json.dumps(SAMPLED_RECORD))
    pairs = [[errors, 1] for errors in range(10_000)]
    record["risk"] |= {"batch": 10_000, "counts": pairs, "upper": 0.9}
    groups, variances = record["kl"]["groups"], record["prior"]["variances"]
    record["kl"]["groups"] = [groups[0]] * 1000
    record["prior"]["variances"] = [
        variances[0] | {"layers": [str(layer)]} for layer in range(1000)
    ]
    record["model"]["parameters"] = variances[0]["parameters"] * 1000
    start = time.process_time()
    assert "kl.gaussian" in checker.check(json.dumps(record)).reason
    record |= {name: SAMPLED_RECORD[name] for name in ("kl", "prior", "model")}
    assert "bound.value" in checker.check(json.dumps(record)).reason
    assert time.process_time() - start < 10


# Alone


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A folder with nothing in it but the checker, a checkpoint and its certificate."""
    shutil.copy(checker.__file__, tmp_path / "checker.py")
    (tmp_path / "mlp.pt").write_bytes(b"weights")
    record = VALID.to_mapping()
    record["model"]["checkpoint_sha256"] = hashlib.sha256(b"weights").hexdigest()
    (tmp_path / "good.json").write_text(json.dumps(record), encoding="utf-8")
    record["claim"]["risk_bound"] *= 0.9
    (tmp_path / "bad.json").write_text(json.dumps(record), encoding="utf-8")
    (tmp_path / "junk.json").write_text("no JSON", encoding="utf-8")
    return tmp_path


def run_alone(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", "checker.py", *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={"PYTHONIOENCODING": "utf-8"},
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "exit_code", "lines"),
    [
        (["good.json"], 0, ["ok"]),
        (["good.json", "--checkpoint", "mlp.pt", "--max-risk", "0.9"], 0, ["ok"]),
        (["good.json", "bad.json"], 1, ["ok", "REJECTED"]),
        (["good.json", "--max-risk", "0.01"], 1, ["REJECTED"]),
        (["good.json", "--checkpoint", "junk.json"], 1, ["REJECTED"]),
        (["bad.json", "junk.json", "absent.json", "."], 2, ["REJECTED"] * 4),
        (["good.json", "--checkpoint", "absent.pt"], 2, ["REJECTED"]),
        (["good.json", "--max-risk", "25"], 2, []),
        (["good.json", "--max-risk", "nan"], 2, []),
        (["good.json", "--trust-me"], 2, []),
        ([], 2, []),
    ],
)
def test_the_checker_runs_alone(
    alone: Path, arguments: list[str], exit_code: int, lines: list[str]
) -> None:
    done = run_alone(alone, *arguments)
    assert done.returncode == exit_code, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == lines
    assert "Traceback" not in done.stderr


def test_the_checker_imports_the_standard_library_alone() -> None:
    source = Path(checker.__file__).read_text(encoding="utf-8")
    lines = source.splitlines()
    imported = {
        line.split()[1].split(".")[0] for line in lines if line.startswith(("import ", "from "))
    }
    assert imported <= sys.stdlib_module_names
    assert len(lines) <= 500


def test_a_console_without_the_sign_is_served(alone: Path) -> None:
    command = [sys.executable, "-S", "checker.py", "good.json"]
    done = subprocess.run(
        command, cwd=alone, capture_output=True, env={"PYTHONIOENCODING": "ascii"}, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith(b"ok        good.json: risk ? ")


def test_max_risk_is_compared_exactly() -> None:
    bound = Decimal(repr(VALID.claim.risk_bound))
    assert checker.check(TEXT, bound).accepted
    assert not checker.check(TEXT, bound.next_minus()).accepted
