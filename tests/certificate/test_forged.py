"""One forged certificate for every check: each must be rejected."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from certificate_cases import Primitives, issue

from pacbound.certificate import checker

VALID = json.loads(issue(Primitives(trials=3, seed=2, widths=(600, 250), smoothing=0.5)).to_json())

# Every number that takes part in the claim, and the ways in which it must not be moved: a limit or
# a price made smaller, evidence made worse than what the limits were computed from, or a number
# that another one fixes. An index of Catoni's grid is the best one here, so both ways are worse.
PROTECTED = {
    "claim.risk_bound": "-",
    "claim.delta": "-+",
    "budget.pac_bayes": "-+",
    "budget.risk": "-+",
    "budget.kl": "+",
    "data.m": "-+",
    "model.parameters": "-+",
    "prior.center.seed": "-+",
    "prior.variances[].parameters": "-+",
    "prior.variances[].b": "-+",
    "prior.variances[].c": "-+",
    "prior.variances[].index": "-+",
    "prior.variances[].value": "-+",
    "prior.choices[].index": "-+",
    "prior.choices[].value": "-+",
    "prior.trials": "+",
    "kl.upper": "-",
    "kl.groups[].trace": "+",
    "kl.groups[].distance_sq": "+",
    "kl.groups[].log_det": "-",
    "risk.draws": "-",
    "risk.errors": "+",
    "risk.upper": "-+",
    "bound.complexity": "-+",
    "bound.value": "-",
    "also.mcallester": "-",
    "also.maurer": "-",
    "also.pinsker": "-",
    "also.catoni.beta_index": "-+",
    "also.catoni.value": "-",
    "also.held_out.n": "-",
    "also.held_out.errors": "+",
    "also.held_out.upper": "-",
}
UNPROTECTED = {"data.classes", "made.seconds"}


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers(inner, (*path, key))
    elif isinstance(value, int | float):
        yield path


def name(path: tuple[Any, ...]) -> str:
    dotted = ".".join("[]" if isinstance(key, int) else key for key in path)
    return dotted.replace(".[]", "[]")


def forged(path: tuple[Any, ...], change: Callable[[Any], Any]) -> dict[str, Any]:
    certificate = copy.deepcopy(VALID)
    holder: Any = certificate
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = change(holder[path[-1]])
    return certificate


def reason(certificate: Any) -> str:
    text = certificate if isinstance(certificate, str) else json.dumps(certificate)
    verdict = checker.check(text)
    assert not verdict.accepted
    assert verdict.exit_code in (1, 2)
    assert verdict.reason
    assert "\n" not in verdict.line("forged.json")
    return verdict.reason


def with_its_own_sentence(certificate: dict[str, Any]) -> dict[str, Any]:
    certificate["claim"]["sentence"] = checker.sentence(certificate)
    return certificate


def nudged(value: float, sign: str) -> float:
    if isinstance(value, int):
        return value + (1 if sign == "+" else -1)
    return value * (1 + (1e-9 if (sign == "+") == (value > 0) else -1e-9)) or 1e-9


CASES = [
    pytest.param(path, sign, id=f"{name(path)}{sign}")
    for path in numbers(VALID)
    for sign in PROTECTED.get(name(path), "")
]


def test_the_certificate_itself_is_accepted() -> None:
    assert checker.check(json.dumps(VALID)).reason == ""


def test_every_number_of_the_claim_is_protected() -> None:
    assert {name(path) for path in numbers(VALID)} == PROTECTED.keys() | UNPROTECTED


@pytest.mark.parametrize(("path", "sign"), CASES)
def test_no_number_can_be_moved_for_the_better(path: tuple[Any, ...], sign: str) -> None:
    certificate = forged(path, lambda value: nudged(value, sign))
    for attempt in (certificate, with_its_own_sentence(copy.deepcopy(certificate))):
        reason(attempt)


@pytest.mark.parametrize("trials", [0, -1, 1.5, 2.0, True, "3", None])
def test_trials_are_a_positive_integer(trials: Any) -> None:
    assert "prior.trials" in reason(forged(("prior", "trials"), lambda _: trials))


@pytest.mark.parametrize("index", [0, -1, 1.5, 1.0, True, "1", None, 10**16])
@pytest.mark.parametrize(
    "path",
    [
        ("prior", "variances", 0, "index"),
        ("prior", "choices", 0, "index"),
        ("also", "catoni", "beta_index"),
    ],
)
def test_an_index_is_a_positive_integer(path: tuple[Any, ...], index: Any) -> None:
    assert "index must be int>0" in reason(forged(path, lambda _: index))


@pytest.mark.parametrize("position", range(len(VALID["prior"]["choices"])))
def test_no_choice_can_be_left_out_or_repeated(position: int) -> None:
    def without(choices: list[Any]) -> list[Any]:
        return choices[:position] + choices[position + 1 :]

    def twice(choices: list[Any]) -> list[Any]:
        return [*choices, choices[position]]

    assert "prior.choices" in reason(forged(("prior", "choices"), without))
    assert "prior.choices" in reason(forged(("prior", "choices"), twice))


@pytest.mark.parametrize(
    ("knob", "value"),
    [
        ("network", "vgg"),
        ("initializer", "by-hand"),
        ("input_scale", 0.123),
        ("input_scale", "1"),
        ("smoothing", 7),
        ("seed", -1),
        ("seed", 0.5),
        ("depth", 1),
        ("depth", 3),
        ("depth", 10**14),
        ("width.1", 0),
        ("width.2", 251),
        ("variance_groups", "network"),
    ],
)
def test_a_choice_is_what_its_index_says(knob: str, value: Any) -> None:
    def change(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [entry | {"value": value} if entry["name"] == knob else entry for entry in choices]

    reason(forged(("prior", "choices"), change))


def test_a_cheaper_choice_than_the_center_was_made_with() -> None:
    def cheap(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            entry | {"value": 0, "index": 1} if entry["name"] == "seed" else entry
            for entry in choices
        ]

    assert "prior.center.seed" in reason(forged(("prior", "choices"), cheap))


def test_one_variance_only_when_the_network_shares_it() -> None:
    def shared(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            checker.choice("variance_groups", "network")
            if entry["name"] == "variance_groups"
            else entry
            for entry in choices
        ]

    assert "variance_groups" in reason(forged(("prior", "choices"), shared))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("format",), "pacbound-certificate/2", "format"),
        (("claim", "loss"), "cross-entropy", "claim.loss"),
        (("claim", "predictor"), "mean", "claim.predictor"),
        (("claim", "sentence"), "It never errs.", "sentence"),
        (("budget", "kl"), 0.001, "budget"),
        (("data", "classes"), 1, "classes"),
        (("data", "m"), True, "data.m"),
        (("data", "sha256"), "0" * 63 + "G", "digest"),
        (("model", "posterior"), "k-nonlinear", "posterior"),
        (("model", "checkpoint_sha256"), ("AB" * 32), "digest"),
        (("prior", "center", "kind"), "learned", "center.kind"),
        (("prior", "center", "initializer"), "zeros", "center.initializer"),
        (("prior", "variances"), [], "1 to 1000"),
        (("prior", "choices"), VALID["prior"]["choices"] * 1000, "1 to 1000"),
        (("prior", "variances", 0, "layers"), [], "texts"),
        (("prior", "variances", 0, "layers"), ["1"], "layer twice"),
        (("kl", "method"), "guess", "kl=guess"),
        (("kl", "upper"), -1.0, "kl.upper"),
        (("kl", "groups", 0, "log_det"), 0.0, "log_det"),
        (("kl", "groups"), VALID["kl"]["groups"][:1], "differ in number"),
        (("risk", "sampler"), "whole-set", "risk=whole-set"),
        (("risk", "limit"), "hope", "risk.limit"),
        (("risk", "draws"), VALID["risk"]["draws"] + 1, "multiple"),
        (("risk", "errors"), VALID["risk"]["draws"] + 1, "larger than risk.draws"),
        (("bound", "inequality"), "hoeffding", "inequality"),
        (("also", "held_out", "errors"), 10_001, "larger than its n"),
        (("also", "held_out", "errors"), 10**12, "held_out"),
        (("also", "held_out", "upper"), 0, "held_out"),
        (("also", "held_out"), [], "also.held_out"),
        (("seeds", "risk"), "", "digest"),
        (("made", "settings"), [], "settings"),
        (("made",), None, "object"),
    ],
)
def test_a_wrong_value_is_named(path: tuple[Any, ...], value: Any, words: str) -> None:
    assert words in reason(forged(path, lambda _: value))


@pytest.mark.parametrize("path", [p for p in numbers(VALID) if "made" not in p], ids=name)
def test_only_a_number_is_a_number(path: tuple[Any, ...]) -> None:
    kinds = {field.split(":")[1] for fields in checker.FIELDS.values() for field in fields.split()}
    for value in (None, True, False, [], [1], {}, {"a": 1}, "1", -(10**20), *kinds):
        reason(forged(path, lambda _, value=value: value))


def objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from objects(inner, (*path, key))


@pytest.mark.parametrize("path", [p for p in objects(VALID) if "settings" not in p], ids=name)
def test_fields_can_be_neither_added_nor_left_out(path: tuple[Any, ...]) -> None:
    certificate = copy.deepcopy(VALID)
    holder = certificate
    for key in path:
        holder = holder[key]
    holder["note"] = 1
    assert "note is unknown" in reason(certificate)
    del holder["note"]
    for field in list(holder):
        value = holder.pop(field)
        assert re.search("missing|not known", reason(certificate))
        holder[field] = value


def test_the_risk_bound_cannot_be_below_one_that_follows() -> None:
    certificate = copy.deepcopy(VALID)
    for section, field in (("bound", "value"), ("claim", "risk_bound")):
        certificate[section][field] = VALID["risk"]["upper"] * 0.5
    assert "bound.value" in reason(with_its_own_sentence(certificate))


def test_the_inequalities_need_eight_examples() -> None:
    certificate = copy.deepcopy(VALID)
    certificate["data"]["m"] = 7
    certificate["risk"] |= {"draws": 7 * 10**6, "errors": 0}
    certificate["bound"] |= {"complexity": 10**6, "value": 1}
    certificate["claim"]["risk_bound"] = 1
    assert "data.m must be at least 8" in reason(with_its_own_sentence(certificate))
