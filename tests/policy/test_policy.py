"""Policies: every rule is kept, violated, and not kept by a missing claim; bad policies."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import pacbound
from pacbound.certificate import format
from pacbound.certificate.checker import check_file
from pacbound.errors import PolicyError
from pacbound.policy import RULES, first_policy, gate, judge, read_policy, summary, unmatched
from pacbound.policy.judging import UNLIMITED
from pacbound.policy.rules import PREDICTORS, PRIORS

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "pacbound/certificate/vectors"
ACCEPTED = sorted(VECTORS.glob("accepted-*.json"))
EVERY = VECTORS / "accepted-fixed-every-claim.json"
DRAW = VECTORS / "accepted-draw-learned-binomial.json"
GIBBS = VECTORS / "accepted-gibbs-initialised-exact-per-example-xi.json"
GIBBS_OF_TEN = VECTORS / "accepted-gibbs-mnist-size.json"  # classes, as DRAW
CLASSES = VECTORS / "accepted-gibbs-every-claim-per-weights.json"
ELSEWHERE = VECTORS / "accepted-draw-elsewhere-every-claim.json"


def record(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def bounds(path: Path, subject: str, loss: str = "zero-one") -> list[str]:
    claims = record(path)["claims"]
    return [c["bound"] for c in claims if (c["subject"], c["loss"]) == (subject, loss)]


def violations(folder: Path, policy: str, certificate: Path) -> dict[str, str]:
    """The violated rules and their messages; that no rule limits a bound has a test of its own."""
    path = folder / "policy.yaml"
    path.write_text(policy, encoding="utf-8")
    judged = judge(certificate, check_file(str(certificate)), read_policy(path))
    assert judged.passed == (not judged.violations)
    return {each.rule: each.message for each in judged.violations if each.rule != UNLIMITED}


WORST_CLASS = max(bounds(CLASSES, "true-class"))
WORST_GROUP = max(bounds(EVERY, "group"))
COST = max(bounds(EVERY, "all", "cost"))
ABSTENTION = bounds(EVERY, "all", "abstention")[0]
LESS = Decimal("1e-10")

# A rule, a certificate that keeps it only just, and a stricter one that it violates by a hair.
EDGES: list[tuple[str, Path, str, str]] = [
    ("max_risk", DRAW, bounds(DRAW, "all")[0], ""),
    ("max_class_risk", CLASSES, WORST_CLASS, ""),
    ("max_group_risk", EVERY, WORST_GROUP, ""),
    ("max_cost", EVERY, COST, ""),
    ("max_answered_risk", EVERY, bounds(EVERY, "answered")[0], ""),
    ("min_coverage", EVERY, str(1 - Decimal(ABSTENTION)), str(1 - Decimal(ABSTENTION) + LESS)),
    ("max_delta", DRAW, record(DRAW)["delta"], "0.0001"),
]


@pytest.mark.parametrize(("rule", "path", "kept", "violated"), EDGES, ids=lambda x: str(x)[:20])
def test_limits_are_exact(rule: str, path: Path, kept: str, violated: str, tmp_path: Path) -> None:
    violated = violated or str(Decimal(kept) - LESS)
    assert violations(tmp_path, f"{rule}: {kept}", path) == {}
    assert set(violations(tmp_path, f"{rule}: {violated}", path)) == {rule}


@pytest.mark.parametrize(
    ("rule", "path", "words"),
    [
        ("max_class_risk: 1", DRAW, "it claims the error of 0 true classes of 10"),
        ("max_class_risk: {3: 1}", DRAW, "it makes no claim about true class 3"),
        ("max_group_risk: 1", DRAW, "it makes no claim about groups"),
        ("max_group_risk: {north: 1, west: 1}", EVERY, "no claim about group “west”"),
        ("max_cost: 1", DRAW, "it makes no claim about costs"),
        ("max_cost: {harm: 1, money: 1}", EVERY, "no claim about cost “money”"),
        ("max_answered_risk: 1", DRAW, "it makes no claim about the error on answers"),
    ],
)
def test_a_missing_claim_is_a_violation(rule: str, path: Path, words: str, tmp_path: Path) -> None:
    (message,) = violations(tmp_path, rule, path).values()
    assert words in message


def test_the_overall_claim_may_be_missing(tmp_path: Path) -> None:
    without = [p for p in ACCEPTED if not bounds(p, "all")]
    assert without
    (message,) = violations(tmp_path, "max_risk: 1", without[0]).values()
    assert message == "it makes no claim about the error on all inputs"


def test_who_always_answers_has_full_coverage(tmp_path: Path) -> None:
    assert violations(tmp_path, "min_coverage: 1", DRAW) == {}


@pytest.mark.parametrize(
    ("rule", "path", "words"),
    [
        ("predictors: [fixed, gibbs]", DRAW, "its predictor is draw, not one of fixed, gibbs"),
        ("priors: [initialised]", DRAW, "its prior is learned, not one of initialised"),
        ("priors: [none, initialised, learned]", ELSEWHERE, "its prior is elsewhere"),
        ("max_looks: 0", VECTORS / "accepted-spec-b-gibbs.json", None),
        (f"model: {'a' * 64}", DRAW, "it is for another model, "),
        (f"data: {'a' * 64}", DRAW, "it counts other data, "),
        ("max_class_risk: {0: 0.9, 1: 0.1}", CLASSES, "for true class 1 is over 0.1"),
        ("max_group_risk: {north: 0.001}", EVERY, "for group “north” is over 0.001"),
        ("max_class_risk: 0.001", CLASSES, "for true class 0 is over 0.001, and 1 more"),
    ],
)
def test_other_rules(rule: str, path: Path, words: str | None, tmp_path: Path) -> None:
    found = violations(tmp_path, rule, path)
    if words is None:
        ledger = record(path)["ledger"]
        assert bool(found) == (ledger["recipe"]["looks"] + ledger["user"]["looks"] > 0)
        return
    (message,) = found.values()
    assert words in message


def test_looks_and_candidates_of_recipe_and_user_are_taken_together(tmp_path: Path) -> None:
    for path in ACCEPTED:
        ledger = record(path)["ledger"]
        looks = ledger["recipe"]["looks"] + ledger["user"]["looks"]
        candidates = ledger["recipe"]["candidates"] * ledger["user"]["candidates"]
        assert violations(tmp_path, f"max_looks: {looks}\nmax_candidates: {candidates}", path) == {}
        if looks:
            assert violations(tmp_path, f"max_looks: {looks - 1}", path)
        assert violations(tmp_path, f"max_candidates: {candidates - 1}", path)


def test_digests_pin_the_model_the_drawn_network_and_the_data(tmp_path: Path) -> None:
    found = record(DRAW)
    for rule, digest in (
        ("model", found["model"]["sha256"]),
        ("model", found["evidence"]["weights_sha256"]),
        ("data", found["data"]["sha256"]),
    ):
        assert violations(tmp_path, f'{rule}: "{digest}"', DRAW) == {}


# Baselines -------------------------------------------------------------------------------------


def test_a_baseline_compares_every_claim(tmp_path: Path) -> None:
    (tmp_path / "released").mkdir()
    for name, path in (("draw", DRAW), ("every", EVERY), ("gibbs", GIBBS_OF_TEN)):
        (tmp_path / "released" / f"{name}.json").write_bytes(path.read_bytes())
    assert violations(tmp_path, "baseline: released/draw.json", DRAW) == {}
    message = violations(tmp_path, "baseline: released/draw.json", GIBBS_OF_TEN)["baseline"]
    larger = bounds(GIBBS_OF_TEN, "all")[0]
    assert f"worse than released/draw.json: the bound {larger} of error, all is over" in message
    margin = Decimal(larger) - Decimal(bounds(DRAW, "all")[0])
    text = "baseline: {certificate: released/draw.json, margin: %s}"
    assert violations(tmp_path, text % margin, GIBBS_OF_TEN) == {}
    assert violations(tmp_path, text % (margin - LESS), GIBBS_OF_TEN)
    every = "baseline: {certificate: released/every.json, margin: 1}"
    missing = violations(tmp_path, every, GIBBS)["baseline"]
    assert "it does not make the claim about abstention, all, and" in missing


def test_a_larger_delta_than_the_baselines_is_worse(tmp_path: Path) -> None:
    (tmp_path / "released.json").write_bytes(GIBBS_OF_TEN.read_bytes())
    assert Decimal(record(DRAW)["delta"]) > Decimal(record(GIBBS_OF_TEN)["delta"])
    found = violations(tmp_path, "baseline: released.json", DRAW)
    assert "its delta 0.035 is over" in found["baseline"]


def test_a_certificate_is_no_baseline_of_itself(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_bytes(DRAW.read_bytes())
    found = violations(tmp_path, "baseline: c.json", tmp_path / "c.json")
    assert "is this certificate itself" in found["baseline"]


def test_a_baseline_is_checked_and_its_path_is_that_of_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    forged = record(DRAW)
    forged["claims"][0]["bound"] = "0.9000000000"
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/forged.json").write_text(json.dumps(forged), encoding="utf-8")
    policy = tmp_path / "deep" / "policy.yaml"
    policy.write_text("baseline: forged.json", encoding="utf-8")
    with pytest.raises(PolicyError, match=r"baseline forged\.json is rejected: 11\.6"):
        read_policy("deep/policy.yaml")
    policy.write_text("baseline: absent.json", encoding="utf-8")
    with pytest.raises(PolicyError, match=r"absent\.json cannot be read"):
        read_policy("deep/policy.yaml")


def test_a_baseline_on_other_data_is_no_baseline(tmp_path: Path) -> None:
    (tmp_path / "released.json").write_bytes(DRAW.read_bytes())
    other = VECTORS / "accepted-spec-b-gibbs.json"
    assert record(other)["data"]["classes"] == 2 and record(DRAW)["data"]["classes"] == 10
    text = "baseline: {certificate: released.json, margin: 1}"
    found = violations(tmp_path, text, other)
    assert found == {"baseline": "released.json is for other data: 10 classes, not 2"}


# No certificate passes unseen -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "limited"),
    [
        ("max_delta: 1", False),
        ("min_coverage: 0\nmax_looks: 99\npredictors: [draw]\npriors: [learned]", False),
        ("files:\n  other.json: {max_risk: 1}", False),
        ("files:\n  '*.json': {max_risk: 1}", True),
        ("max_risk: 1", True),
        ("baseline: {certificate: released.json, margin: 1}", True),
    ],
)
def test_a_certificate_that_no_rule_limits_is_a_violation(
    policy: str, limited: bool, tmp_path: Path
) -> None:
    (tmp_path / "released.json").write_bytes(DRAW.read_bytes())
    (tmp_path / "policy.yaml").write_text(policy, encoding="utf-8")
    judged = judge(DRAW, check_file(str(DRAW)), read_policy(tmp_path / "policy.yaml"))
    assert judged.passed == limited and judged.exit_code == (not limited)
    if not limited:
        (violation,) = judged.violations
        assert violation.rule == UNLIMITED and "max_risk" in violation.message


def test_a_new_certificate_meets_the_largest_bounds_of_a_first_policy(tmp_path: Path) -> None:
    paths = [DRAW, CLASSES]
    found = {str(path): check_file(str(path)).certificate for path in paths}
    text = first_policy({p: c for p, c in found.items() if c is not None}, "policy.yaml")
    (tmp_path / "policy.yaml").write_text(text, encoding="utf-8")
    most = read_policy(tmp_path / "policy.yaml").rules_for("renamed.json")["max_risk"]
    largest = max(Decimal(bounds(path, "all")[0]) for path in paths)
    assert largest <= most <= largest * Decimal("1.1")
    vacuous = VECTORS / "accepted-vote-tandem-vacuous.json"
    assert "max_risk" in violations(tmp_path, text, vacuous)


def test_patterns_that_match_nothing_are_found(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("files: {a.json: {max_risk: 1}, 'b-*.json': {max_risk: 1}}", encoding="utf-8")
    policy = read_policy(path)
    assert unmatched(policy, ["x/a.json", "b-1.json"]) == {}
    missing = unmatched(policy, [tmp_path / "a.json"])
    assert list(missing) == ["b-*.json"]
    assert missing["b-*.json"].endswith("no certificate that was given matches 'b-*.json'")
    judged = [judge("a.json", check_file(str(DRAW)), policy)]
    assert summary(policy, judged)["passed"]
    found = summary(policy, judged, missing)
    assert not found["passed"] and found["unmatched"] == ["b-*.json"]


# Which rules apply ------------------------------------------------------------------------------


def test_patterns_replace_rules_in_order(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        "max_risk: 0.1\nmax_delta: 0.05\nfiles:\n"
        '  "spam-*.json":\n    max_risk: 0.04\n'
        '  "spam-2.json": {max_risk: 0.2}\n'
        '  "deep/*.json": {max_risk: 0.3}\n',
        encoding="utf-8",
    )
    policy = read_policy(path)
    delta = {"max_delta": Decimal("0.05")}
    for name, most in (
        ("certificates/other.json", "0.1"),
        ("spam-1.json", "0.04"),
        ("certificates/spam-2.json", "0.2"),
        ("x/deep/spam-1.json", "0.3"),
        ("spam-1.json/other.json", "0.1"),
    ):
        assert policy.rules_for(name) == delta | {"max_risk": Decimal(most)}, name


def test_a_rejected_certificate_never_passes(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("max_risk: 1", encoding="utf-8")
    rules = read_policy(policy)
    for path in sorted(VECTORS.glob("*.json"))[::7]:
        verdict = check_file(str(path))
        judged = judge(path, verdict, rules)
        if not verdict.accepted:
            assert not judged.passed and judged.exit_code == verdict.exit_code
            assert judged.violations == () and judged.lines()[0].startswith("REJECTED")
    assert not summary(rules, [judge(path, verdict, rules)])["passed"] or verdict.accepted


def test_hostile_names_stay_in_one_line(tmp_path: Path) -> None:
    found = violations(tmp_path, "max_group_risk: 0.0001", EVERY)
    assert found
    judged = judge("a\nVERIFIED b.json: x", check_file(str(DRAW)), read_policy(_strict(tmp_path)))
    assert all("\n" not in line for line in judged.lines())


def _strict(folder: Path) -> Path:
    (folder / "strict.yaml").write_text("max_risk: 0", encoding="utf-8")
    return folder / "strict.yaml"


def test_python_has_it_too(tmp_path: Path) -> None:
    verdict = pacbound.verify(DRAW, policy=_strict(tmp_path))
    assert not verdict.accepted and verdict.exit_code == 1
    assert verdict.reason.startswith("max_risk: the bound 0.0084313265")
    (tmp_path / "fine.yaml").write_text("max_risk: 0.01", encoding="utf-8")
    assert pacbound.verify(DRAW, policy=tmp_path / "fine.yaml").accepted


# Bad policies ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it has no rules"),
        ("max_rsk: 0.1", "unknown rule 'max_rsk'; did you mean 'max_risk'?"),
        ("file:\n  a: 1", "did you mean 'files'?"),
        ("files:\n  '*.json': {max_rsk: 1}", "'*.json': unknown rule 'max_rsk'"),
        ("files:\n  '*.json': {files: 1}", "unknown rule 'files'"),
        ("max_risk: 1\nfiles: {}", "files must be a mapping of patterns"),
        ("files: {'': {max_risk: 1}}", "'' is not a pattern"),
        ("files: {'.': {max_risk: 1}}", "'.' is not a pattern"),
        ("files: {'/': {max_risk: 1}}", "'/' is not a pattern"),
        ("max_risk: 1\nfiles:\n  '*.json': {}", "'*.json' must be a mapping of rules"),
        (f"max_risk: {'[' * 100_000}", "nested too deeply"),
        ("\n".join(f"{' ' * n}a:" for n in range(1200)), "nested too deeply"),
        ("files: [a]", "files must be a mapping of patterns"),
        ("files:\n  '*.json': 1", "'*.json' must be a mapping of rules"),
        ("max_risk: 5", "max_risk must be a number from 0 to 1, not 5; 5 % is 0.05"),
        ("max_risk: -0.1", "must be a number from 0 to 1"),
        ("max_risk: low", "must be a number from 0 to 1, not 'low'"),
        ("max_risk: [0.1]", "must be a number from 0 to 1, not a list"),
        ("max_risk: {3: 0.1}", "must be a number from 0 to 1, not a mapping"),
        ("max_class_risk: {cat: 0.1}", "numbers of classes as names, not 'cat'"),
        ("max_class_risk: {3: x}", "must be a number from 0 to 1, not 'x'"),
        ("max_class_risk: {}", "has no entry"),
        ("max_looks: 1.5", "must be a whole number, not 1.5"),
        ("max_looks: -1", "must be a whole number"),
        ("predictors: [drew]", "unknown word 'drew'; did you mean 'draw'?"),
        ("predictors: []", "is an empty list"),
        ("priors: {a: 1}", "unknown word"),
        ("priors: [lerned]", "did you mean 'learned'?"),
        ("model: abc", "must be a SHA-256 of 64 digits"),
        ("data: 5", "must be a SHA-256 of 64 digits"),
        ("baseline: 5", "must be the path of a certificate"),
        ("baseline: {certificat: a.json}", "did you mean 'certificate'?"),
        ("baseline: {certificate: a.json, margin: 2}", "a margin from 0 to 1"),
        ("max_risk: 0.1\nmax_risk: 0.2", "line 2: max_risk is there twice"),
        ("max_risk 0.1", "line 1: "),
    ],
)
def test_bad_policies_are_refused_in_one_line(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError) as refused:
        read_policy(path)
    message = str(refused.value)
    assert words in message and "\n" not in message and message.startswith(str(path))


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\x00", b"a: 1\n" * 300_000])
def test_what_is_no_text_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_bytes(content)
    for path in (tmp_path / "p.yaml", tmp_path, tmp_path / "absent.yaml"):
        with pytest.raises(PolicyError):
            read_policy(path)


def test_the_words_are_those_of_the_format() -> None:
    assert PREDICTORS == format.PREDICTORS
    assert PRIORS == format._KINDS


# A first policy ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ACCEPTED, ids=lambda path: path.stem.removeprefix("accepted-"))
def test_certificates_keep_their_first_policy(path: Path, tmp_path: Path) -> None:
    verdict = check_file(str(path))
    assert verdict.certificate is not None
    text = first_policy({str(path): verdict.certificate}, "policy.yaml")
    assert violations(tmp_path, text, path) == {}
    assert (
        violations(tmp_path, text.replace("# model", "model").replace("# data", "data"), path) == {}
    )
    for_all = read_policy(tmp_path / "policy.yaml").rules
    assert set(violations(tmp_path, text, GIBBS if path != GIBBS else DRAW)) <= set(for_all)


def test_a_first_policy_of_many(tmp_path: Path) -> None:
    certificates = {str(path): check_file(str(path)).certificate for path in ACCEPTED}
    text = first_policy({p: c for p, c in certificates.items() if c is not None}, "policy.yaml")
    (tmp_path / "policy.yaml").write_text(text, encoding="utf-8")
    policy = read_policy(tmp_path / "policy.yaml")
    assert len(policy.files) == len(ACCEPTED)
    assert all(judge(path, check_file(str(path)), policy).passed for path in ACCEPTED)
    assert all(len(line) <= 130 for line in text.splitlines())
    for rule in RULES:
        assert rule in text, f"a reader does not learn of {rule}"


def test_names_that_a_pattern_could_misread(tmp_path: Path) -> None:
    certificate = check_file(str(DRAW)).certificate
    assert certificate is not None
    for name in ("a[1]*.json", "süd ?.json", "it's #1.json"):
        text = first_policy({f"x/{name}": certificate}, "policy.yaml")
        (tmp_path / "policy.yaml").write_text(text, encoding="utf-8")
        policy = read_policy(tmp_path / "policy.yaml")
        assert policy.rules_for(name).items() >= next(iter(policy.files.values())).items()
        assert not unmatched(policy, [name]) and unmatched(policy, ["a1x.json"])
    with pytest.raises(PolicyError, match="rename the file"):
        first_policy({'a"b.json': certificate}, "policy.yaml")
    with pytest.raises(PolicyError, match="two certificates are named"):
        first_policy({"a/c.json": certificate, "b/c.json": certificate}, "policy.yaml")


# Nothing installed -------------------------------------------------------------------------------


def test_the_gate_needs_the_standard_library_alone(tmp_path: Path) -> None:
    gate = ROOT / "pacbound/policy/gate.py"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-S", str(gate), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    strict = str(_strict(tmp_path))
    done = run("--policy", strict, str(DRAW), str(EVERY))
    assert done.returncode == 1, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["VIOLATED"] * 2
    assert run(str(DRAW)).returncode == 0
    assert run(str(DRAW), "--max-risk", "0.001").returncode == 1
    assert run(str(DRAW), "--max-risk", "5").returncode == 2
    for limit in ("nan", "inf", "-1"):
        done = run(str(DRAW), f"--max-risk={limit}")
        assert done.returncode == 2 and "must be in [0, 1]" in done.stderr
    assert run(str(DRAW), "--checkpoint", strict).returncode == 1
    (tmp_path / "two.yaml").write_text(
        f"max_risk: 1\nfiles: {{{DRAW.name}: {{max_risk: 1}}, absent.json: {{max_risk: 1}}}}",
        encoding="utf-8",
    )
    done = run("--policy", str(tmp_path / "two.yaml"), str(DRAW))
    assert done.returncode == 1 and "matches 'absent.json'" in done.stdout.splitlines()[1]
    assert run("--partial", "--policy", str(tmp_path / "two.yaml"), str(DRAW)).returncode == 0
    (tmp_path / "bad.yaml").write_text("max_rsk: 1", encoding="utf-8")
    done = run("--policy", str(tmp_path / "bad.yaml"), str(DRAW))
    assert done.returncode == 2 and "did you mean 'max_risk'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_gate_compares_no_tensors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tensors = tmp_path / "net.pt"
    tensors.write_bytes(b"PK" + bytes(100))
    assert gate.main([str(DRAW), "--checkpoint", str(tensors)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and "needs `pacbound verify --checkpoint`" in said.err
    assert "rule `model`" in said.err and said.err.count("\n") == 1
    # A predictor whose digest is that of a file's bytes is compared, whatever the file is.
    files = [p for p in ACCEPTED if record(p)["model"].get("source") in ("estimator", "onnx")]
    assert files
    assert gate.main([str(files[0]), "--checkpoint", str(tensors)]) == 1
    assert "it is for another file" in capsys.readouterr().out
