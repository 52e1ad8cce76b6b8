"""One forged certificate for every check: each must be rejected."""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from certificate_cases import DRAWN, LEARNED, SAMPLED, VOTE, Primitives, issue

from pacbound.certificate import checker

KNOBS: dict[str, Any] = {
    "trials": 3,
    "seed": 2,
    "widths": (600, 250),
    "smoothing": 0.5,
    "alignment": "deskew",
    "hidden_bias": -4.0,
}
CHOSEN = {
    "exact": Primitives(**KNOBS),
    "sampled": dataclasses.replace(SAMPLED, **KNOBS),
    "drawn": dataclasses.replace(DRAWN, **KNOBS),
    "learned": dataclasses.replace(LEARNED, trials=3, seed=2, split_seed=1),
    "vote": dataclasses.replace(VOTE, trials=3, seed=2, split_seed=1),
}
CERTIFICATES = {case: json.loads(issue(chosen).to_json()) for case, chosen in CHOSEN.items()}
VALID, WITH_SAMPLES, OF_A_DRAW, WITH_LEARNED, OF_A_VOTE = CERTIFICATES.values()

# Every number that takes part in the claim, and the ways in which it must not be moved: a limit or
# a price made smaller, evidence made worse than what the limits were computed from, or a number
# that another one fixes. An index of Catoni's grid is the best one here, so both ways are worse.
PROTECTED = {
    "claim.risk_bound": "-",
    "claim.delta": "-+",
    "budget.pac_bayes": "-+",
    "budget.risk": "-+",
    "budget.kl": "-+",
    "model.parameters": "-+",
    "prior.variances[].parameters": "-+",
    "prior.variances[].b": "-+",
    "prior.variances[].c": "-+",
    "prior.variances[].index": "-+",
    "prior.choices[].index": "-+",
    "prior.choices[].value": "-+",
    "prior.trials": "+",
    "kl.upper": "-",
    "kl.groups[].log_det": "-",
    "risk.upper": "-+",
    "bound.complexity": "-+",
    "bound.value": "-",
}
HELD_OUT = {"also.held_out.n": "-", "also.held_out.errors": "+", "also.held_out.upper": "-"}
GIBBS = HELD_OUT | {
    "risk.draws": "-",
    "also.mcallester": "-",
    "also.maurer": "-",
    "also.pinsker": "-",
    "also.catoni.beta_index": "-+",
    "also.catoni.value": "-",
}
PER_EXAMPLE = {
    "data.m": "-+",
    "kl.groups[].trace": "+",
    "kl.groups[].distance_sq": "+",
    "risk.errors": "+",
}
DATA_FREE = {"prior.center.seed": "-+", "prior.variances[].value": "-+"}
# A larger variance than the prior brought would give a smaller KL, as would any other centre:
# training it again shows which they are.
OF_A_LEARNED_PRIOR = {
    "prior.variances[].value": "-",
    "prior.center.examples": "-+",
    "prior.center.learned_from": "-+",
    "prior.center.split_seed": "-+",
    "prior.center.training.prior_seed": "-+",
    "prior.center.training.prior_fraction": "-+",
    "prior.center.training.split_seed": "",
    "prior.center.training.prior_epochs": "",
    "prior.center.errors": "",
}
# What only one of the ways to a KL and a risk has. The number of examples m is then tied to the
# number of draws, or to nothing but the digest of the data.
ONLY = {
    "exact": DATA_FREE | GIBBS | PER_EXAMPLE,
    "learned": OF_A_LEARNED_PRIOR | GIBBS | PER_EXAMPLE,
    "vote": OF_A_LEARNED_PRIOR | PER_EXAMPLE | {"risk.draws": "-"},
    "drawn": DATA_FREE
    | HELD_OUT
    | {
        "data.m": "-",
        "kl.groups[].distance_sq": "+",
        "kl.groups[].noise_sq": "-",
        "risk.errors": "+",
    },
    "sampled": DATA_FREE
    | GIBBS
    | {
        "data.m": "-",
        "kl.samples": "-",
        "kl.groups[].mean_square": "+",
        "kl.groups[].lipschitz": "+",
        "kl.groups[].offset": "+",
        "kl.gaussian.correction": "-",
        "kl.gaussian.upper": "-",
        "kl.theorem3.correction": "-",
        "kl.theorem3.upper": "-",
        "risk.batch": "-",
        "risk.counts[][]": "+",
    },
}
UNPROTECTED = {"data.classes", "made.seconds", "made.training_seconds"}


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers(inner, (*path, key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path


def name(path: tuple[Any, ...]) -> str:
    dotted = ".".join("[]" if isinstance(key, int) else key for key in path)
    return dotted.replace(".[]", "[]")


def forged(
    path: tuple[Any, ...], change: Callable[[Any], Any], case: str = "exact"
) -> dict[str, Any]:
    certificate = copy.deepcopy(CERTIFICATES[case])
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
    pytest.param(case, path, sign, id=f"{case}-{name(path)}{sign}")
    for case, certificate in CERTIFICATES.items()
    for path in numbers(certificate)
    for sign in (PROTECTED | ONLY[case]).get(name(path), "")
]


@pytest.mark.parametrize("case", CERTIFICATES)
def test_the_certificate_itself_is_accepted(case: str) -> None:
    assert checker.check(json.dumps(CERTIFICATES[case])).reason == ""


@pytest.mark.parametrize("case", CERTIFICATES)
def test_every_number_of_the_claim_is_protected(case: str) -> None:
    found = {name(path) for path in numbers(CERTIFICATES[case])}
    assert found == PROTECTED.keys() | ONLY[case].keys() | UNPROTECTED


@pytest.mark.parametrize(("case", "path", "sign"), CASES)
def test_no_number_can_be_moved_for_the_better(case: str, path: tuple[Any, ...], sign: str) -> None:
    certificate = forged(path, lambda value: nudged(value, sign), case)
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
    words = "index must be int>0"
    if "variances" in path:  # 0 is for a learned prior
        words = "has an index 0" if index == 0 and index is not False else "index must be int>=0"
    assert words in reason(forged(path, lambda _: index))


@pytest.mark.parametrize("position", range(len(VALID["prior"]["choices"])))
def test_no_choice_can_be_left_out_or_repeated(position: int) -> None:
    def without(choices: list[Any]) -> list[Any]:
        return choices[:position] + choices[position + 1 :]

    def twice(choices: list[Any]) -> list[Any]:
        return [*choices, choices[position]]

    left_out = f"None is not a declared value of {VALID['prior']['choices'][position]['name']}"
    assert left_out in reason(forged(("prior", "choices"), without))
    assert "prior.choices" in reason(forged(("prior", "choices"), twice))


@pytest.mark.parametrize(
    ("knob", "value"),
    [
        ("network", "transformer"),
        ("initializer", "by-hand"),
        ("input_scale", 0.123),
        ("input_scale", "1"),
        ("smoothing", 7),
        ("alignment", "none"),
        ("alignment", "rotate"),
        ("alignment", 1),
        ("hidden_bias", 0),
        ("hidden_bias", -3),
        ("hidden_bias", -4.5),
        ("hidden_bias", 4),
        ("hidden_bias", "-4"),
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


@pytest.mark.parametrize(
    ("case", "knob"),
    [
        (case, knob)
        for case in ("exact", "sampled", "drawn")
        for knob in ("alignment", "hidden_bias")
    ]
    + [(case, knob) for case in ("learned", "vote") for knob in ("seed", "split_seed")],
)
def test_a_knob_that_was_chosen_is_paid_for(case: str, knob: str) -> None:
    """The price of the default entry, at which the same nats would give a smaller bound."""
    default = dataclasses.replace(CHOSEN[case], **{knob: getattr(Primitives(), knob)})
    cheap = json.loads(issue(default).to_json())
    chosen = CERTIFICATES[case]
    assert cheap["claim"]["risk_bound"] < chosen["claim"]["risk_bound"]
    forgery = chosen | {name: cheap[name] for name in ("claim", "bound", "also")}
    assert "bound.complexity" in reason(forgery)
    forgery = cheap | {"prior": copy.deepcopy(cheap["prior"])}
    for entry in forgery["prior"]["choices"]:
        if entry["name"] == knob:
            entry["value"] = getattr(CHOSEN[case], knob)
    assert "prior.choices must be each knob once, with its own index" in reason(forgery)


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
        (("model", "posterior"), "laplace", "posterior"),
        (("model", "posterior"), "k-nonlinear", "k-nonlinear has no exact KL"),
        (("model", "checkpoint_sha256"), ("AB" * 32), "digest"),
        (("prior", "center", "kind"), "learned", "center.examples is missing"),
        (("prior", "center", "kind"), "guessed", "center=guessed is not known"),
        (("prior", "center", "kind"), ["learned"], "is not known"),
        (("prior", "center", "initializer"), "zeros", "center.initializer"),
        (("prior", "variances"), [], "1 to 1000"),
        (("prior", "choices"), VALID["prior"]["choices"] * 1000, "1 to 1000"),
        (("prior", "variances", 0, "layers"), [], "1 to 1000"),
        (("prior", "variances", 0, "layers"), [1], "layers[0] must be text"),
        (("prior", "variances", 0, "layers"), ["1"], "layer twice"),
        (("kl", "method"), "guess", "kl=guess"),
        (("kl", "upper"), -1.0, "kl.upper"),
        (("kl", "groups", 0, "log_det"), 0.0, "log_det"),
        (("kl", "groups"), VALID["kl"]["groups"][:1], "differ in number"),
        (("risk", "sampler"), "sieve", "risk=sieve"),
        (("risk", "sampler"), "whole-set", "risk.weights_sha256 is missing"),
        (("claim", "predictor"), "draw", "those of claim.predictor draw"),
        (("kl", "method"), "drawn", "kl.groups[0].noise_sq is missing"),
        (("also", "mcallester"), None, "those of claim.predictor gibbs"),
        (("also", "maurer"), None, "those of claim.predictor gibbs"),
        (("also", "pinsker"), None, "those of claim.predictor gibbs"),
        (("also", "catoni"), None, "those of claim.predictor gibbs"),
        (("risk", "limit"), "hope", "risk.limit"),
        (("risk", "draws"), VALID["risk"]["draws"] + 1, "multiple"),
        (("risk", "errors"), VALID["risk"]["draws"] + 1, "larger than risk.draws"),
        (("bound", "inequality"), "hoeffding", "inequality"),
        (("also", "held_out", "errors"), 10_001, "larger than its n"),
        (("also", "held_out", "errors"), 10**12, "held_out"),
        (("also", "held_out", "upper"), 0, "held_out"),
        (("also", "held_out"), [], "also.held_out"),
        (("seeds", "risk"), "", "digest"),
        (("seeds", "kl"), "", "digest"),
        (("seeds", "kl"), "ab" * 32, "seeds.kl"),
        (("made", "training_command"), None, "made.training_command must be text"),
        (("made", "training_seconds"), -1, "made.training_seconds must be real>=0"),
        (("made", "training_seconds"), "45.6", "made.training_seconds must be real>=0"),
        (("made", "training_seconds"), False, "made.training_seconds must be real>=0"),
        (("made", "settings"), [], "settings"),
        (("made",), None, "object"),
    ],
)
def test_a_wrong_value_is_named(path: tuple[Any, ...], value: Any, words: str) -> None:
    assert words in reason(forged(path, lambda _: value))


def relabelled(certificate: dict[str, Any], posterior: str, network: str) -> dict[str, Any]:
    """The certificate for another posterior and network, its knobs those of that network."""
    certificate = copy.deepcopy(certificate)
    certificate["model"]["posterior"] = posterior
    choices = {entry["name"]: entry["value"] for entry in certificate["prior"]["choices"]}
    choices["network"] = network
    certificate["prior"]["choices"] = [
        checker.choice(name, choices[name]) for name in checker.required_choices(2)
    ]
    return certificate


@pytest.mark.parametrize(
    ("posterior", "network"), [("k-linear", "lenet"), ("k-nonlinear", "mlp"), ("diag", "lenet")]
)
def test_draws_per_example_need_dense_layers_with_an_exact_form(
    posterior: str, network: str
) -> None:
    certificate = relabelled(WITH_SAMPLES, posterior, network)
    assert "per-example" not in checker.check(json.dumps(certificate)).reason
    dense = relabelled(WITH_SAMPLES, "k-linear", "mlp")
    for attempt in (certificate, dense):
        attempt["risk"] = VALID["risk"]
        attempt["kl"]["shared"] = False
    assert "draw no weights per-example" in reason(certificate)
    assert "per-example" not in checker.check(json.dumps(dense)).reason


GROUPS = WITH_SAMPLES["kl"]["groups"]
FIRST = ("kl", "groups", 0)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("kl", "method"), "exact", "kl."),
        (("kl", "tail"), "bernstein", "kl.tail"),
        (("kl", "tail"), "theorem3", "kl.upper is"),
        (("kl", "samples"), 0, "kl.samples"),
        (("kl", "samples"), 9_999, "kl.shared"),
        (("kl", "shared"), None, "kl.shared must be bool"),
        (("kl", "shared"), 0, "kl.shared must be bool"),
        (("kl", "groups"), GROUPS[:1], "differ in number"),
        (("kl", "groups"), [*GROUPS, GROUPS[0]], "differ in number"),
        (("kl", "groups"), GROUPS[::-1], "log_det"),
        ((*FIRST, "log_det"), 0.0, "log_det is 0.0, too large"),
        ((*FIRST, "lipschitz"), GROUPS[0]["lipschitz"] / 2, "log_det"),
        ((*FIRST, "lipschitz"), 0, "lipschitz must be real>0"),
        ((*FIRST, "mean_square"), 0, "mean_square must be real>0"),
        ((*FIRST, "mean_square"), GROUPS[0]["mean_square"] / 2, "log_det"),
        ((*FIRST, "offset"), -1.0, "offset must be real>=0"),
        (("kl", "gaussian"), None, "kl.gaussian must be an object"),
        (("kl", "theorem3"), [], "kl.theorem3 must be an object"),
        (("kl", "gaussian", "upper"), -1.0, "kl.gaussian.upper"),
        (("kl", "theorem3", "upper"), WITH_SAMPLES["kl"]["upper"], "kl.theorem3.upper is"),
        (("kl", "theorem3", "correction"), 1.0, "kl.theorem3.correction is"),
        (("seeds", "kl"), None, "seeds.kl"),
        (("risk", "sampler"), "per-example", "risk."),
        (("risk", "limit"), "chernoff", "risk.upper is"),
        (("risk", "limit"), "hope", "risk.limit"),
        (("risk", "upper"), 0, "risk.upper is 0"),
        (("risk", "upper"), 0.02, "risk.upper is"),
        (("risk", "draws"), 10_001, "kl.shared"),
        (("risk", "draws"), 9_999, "risk.counts is not risk.draws in all"),
        (("risk", "batch"), 60_001, "risk.batch and data.m"),
        (("risk", "batch"), 79, "rise to at most risk.batch"),
        (("risk", "counts"), [], "risk.counts must be an array"),
        (("risk", "counts"), {}, "risk.counts must be an array"),
        (("risk", "counts"), [[0, 1]] * 10_001, "1 to 10000"),
        (("risk", "counts"), WITH_SAMPLES["risk"]["counts"][:-1], "in all"),
        (("risk", "counts"), WITH_SAMPLES["risk"]["counts"][::-1], "rise"),
        (("risk", "counts"), [[0, 5_000], [0, 5_000]], "rise"),
        (("risk", "counts", 0), [44], "risk.counts[0] must be errors-and-times"),
        (("risk", "counts", 0), [44, 1200, 0], "risk.counts[0] must be errors-and-times"),
        (("risk", "counts", 0), [-1, 1200], "risk.counts[0] must be errors-and-times"),
        (("risk", "counts", 0), [44.5, 1200], "risk.counts[0] must be errors-and-times"),
        (("risk", "counts", 0), [44, 0], "risk.counts[0] must be errors-and-times"),
        (("risk", "counts", 0), [44, -1200], "risk.counts[0] must be errors-and-times"),
        (("risk", "counts", 0), [44, True], "risk.counts[0] must be errors-and-times"),
        (("risk", "counts", 0), {"errors": 44}, "risk.counts[0] must be errors-and-times"),
        (("risk", "counts", 0), [43, 1200 - 1], "in all"),
    ],
)
def test_a_wrong_value_of_a_sample_is_named(path: tuple[Any, ...], value: Any, words: str) -> None:
    assert words in reason(forged(path, lambda _: value, "sampled"))


DRAWN_GROUP = OF_A_DRAW["kl"]["groups"][0]


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("claim", "predictor"), "gibbs", "those of claim.predictor gibbs"),
        (("claim", "predictor"), "mean", "claim.predictor must be gibbs|draw"),
        (("bound", "inequality"), "mcallester", "bound.inequality of a draw must be maurer"),
        (("also", "mcallester"), 0.9, "those of claim.predictor draw"),
        (("also", "maurer"), OF_A_DRAW["bound"]["value"], "those of claim.predictor draw"),
        (("also", "pinsker"), 1.0, "those of claim.predictor draw"),
        (("also", "catoni"), VALID["also"]["catoni"], "those of claim.predictor draw"),
        (("also", "held_out", "upper"), 0, "held_out"),
        (("kl",), VALID["kl"], "those of claim.predictor draw"),
        (("kl",), WITH_SAMPLES["kl"], "those of claim.predictor draw"),
        (("risk",), VALID["risk"], "those of claim.predictor draw"),
        (("risk",), WITH_SAMPLES["risk"], "those of claim.predictor draw"),
        (("kl", "method"), "exact", "kl.groups[0].trace is missing"),
        (("kl", "upper"), -1e6, "kl.upper is"),
        (("kl", "groups"), OF_A_DRAW["kl"]["groups"][:1], "differ in number"),
        (("kl", "groups"), OF_A_DRAW["kl"]["groups"][::-1], "kl.groups"),
        ((*FIRST, "distance_sq"), 0, "distance_sq must be real>0"),
        ((*FIRST, "distance_sq"), DRAWN_GROUP["distance_sq"] / 2, "log_det"),
        ((*FIRST, "noise_sq"), -1, "noise_sq must be real>=0"),
        ((*FIRST, "noise_sq"), 2 * DRAWN_GROUP["noise_sq"], "noise_sq is"),
        ((*FIRST, "noise_sq"), 0, "noise_sq is"),
        ((*FIRST, "log_det"), 0.0, "log_det is 0.0, too large"),
        (("risk", "errors"), 60_001, "risk.errors is larger"),
        (("risk", "errors"), 3421, "risk.upper is"),
        (("risk", "upper"), 0.056, "risk.upper is"),
        (("risk", "weights_sha256"), None, "digest"),
        (("risk", "weights_sha256"), "AB" * 32, "digest"),
        (("seeds", "risk"), None, "digest"),
        (("seeds", "kl"), "ab" * 32, "seeds.kl"),
    ],
)
def test_a_wrong_value_of_a_draw_is_named(path: tuple[Any, ...], value: Any, words: str) -> None:
    assert words in reason(forged(path, lambda _: value, "drawn"))


@pytest.mark.parametrize("share", ["risk", "kl"])
def test_no_delta_of_a_draw_goes_to_monte_carlo(share: str) -> None:
    certificate = copy.deepcopy(OF_A_DRAW)
    certificate["budget"] |= {"pac_bayes": 0.025, share: 0.01}
    assert f"budget.{share}" in reason(certificate)


def test_the_risk_of_gibbs_is_paid_for() -> None:
    for case in ("exact", "sampled"):
        certificate = copy.deepcopy(CERTIFICATES[case])
        budget = certificate["budget"]
        certificate["budget"] |= {"pac_bayes": round(0.035 - budget["kl"], 3), "risk": 0}
        assert "budget.risk" in reason(certificate)


def test_a_draw_cannot_be_told_as_gibbs_nor_gibbs_as_a_draw() -> None:
    """Not even with the sentence and every field of the other predictor but its evidence."""
    for mine, other in ((OF_A_DRAW, VALID), (VALID, OF_A_DRAW)):
        certificate = copy.deepcopy(mine)
        for section in ("claim", "budget", "also", "seeds", "bound"):
            certificate[section] = copy.deepcopy(other[section])
        assert "those of claim.predictor" in reason(with_its_own_sentence(certificate))


def test_a_sampled_kl_is_paid_for() -> None:
    certificate = copy.deepcopy(WITH_SAMPLES)
    certificate["budget"] |= {"kl": 0, "pac_bayes": 0.03}
    assert "budget.kl and seeds.kl" in reason(certificate)


def test_every_group_has_its_own_share_of_the_kl_budget() -> None:
    """With the whole of it for each of two groups the limits would hold half as surely."""
    generous = dataclasses.replace(SAMPLED, **KNOBS, kl=2 * SAMPLED.kl)
    certificate = copy.deepcopy(WITH_SAMPLES)
    certificate["kl"] = json.loads(issue(generous).to_json())["kl"]
    assert "kl.gaussian.upper is" in reason(certificate)


def test_samples_are_shared_only_with_a_risk_per_weights() -> None:
    certificate = relabelled(WITH_SAMPLES, "k-linear", "mlp")
    certificate["risk"] = VALID["risk"]
    assert "kl.shared" in reason(certificate)


# A learned prior


def with_fields(certificate: dict[str, Any], path: str, **fields: Any) -> dict[str, Any]:
    """A copy with some fields of one of its objects replaced."""
    certificate = copy.deepcopy(certificate)
    holder = certificate
    for key in path.split("."):
        holder = holder[key]
    holder |= fields
    return certificate


CENTER = WITH_LEARNED["prior"]["center"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"learned_from": 0}, "learned_from must be int>0"),
        ({"learned_from": 1}, "learned_from is not"),
        ({"learned_from": "3000"}, "learned_from must be int>0"),
        ({"examples": 3000}, "learned_from is not"),
        ({"examples": 10**6 + 1}, "at most 1000000 examples"),
        ({"examples": 10**15}, "at most 1000000 examples"),
        ({"examples": 10**16}, "examples must be int>0"),
        ({"split_seed": 0}, "split_seed is not"),
        ({"split_seed": True}, "split_seed must be int>=0"),
        ({"split_sha256": "ab" * 32}, "split_sha256 is not"),
        ({"examples_sha256": None}, "examples_sha256 must be digest"),
        ({"errors": 3001}, "data.m is 3000, less than the 3001 due"),
        ({"errors": -1}, "errors must be int>=0"),
        ({"training": []}, "training must be any-object"),
        ({"training": {}}, "prior.center.network is not"),
        ({"training": CENTER["training"] | {"prior_seed": 0}}, "prior.center.seed is not"),
        ({"training": CENTER["training"] | {"prior_seed": "2"}}, "prior.center.seed is not"),
        ({"training": CENTER["training"] | {"prior_seed": [2]}}, "prior.center.seed is not"),
        ({"training": CENTER["training"] | {"network": "lenet"}}, "prior.center.network is not"),
        ({"training": CENTER["training"] | {"prior_fraction": 0.9}}, "prior_fraction is not"),
    ],
)
def test_a_wrong_value_of_a_learned_center_is_named(fields: dict[str, Any], words: str) -> None:
    assert words in reason(with_fields(WITH_LEARNED, "prior.center", **fields))


@pytest.mark.parametrize("case", ["learned", "vote"])
@pytest.mark.parametrize(
    ("knob", "value"),
    [
        ("prior_fraction", "0.5"),
        ("prior_fraction", 0),
        ("prior_fraction", 1),
        ("prior_fraction", 0.51),
        ("prior_fraction", 0.7),
        ("split_seed", "1"),
        ("split_seed", 1.0),
        ("split_seed", -1),
        ("seed", 0),
        ("network", 1),
    ],
)
def test_a_choice_of_a_learned_prior_is_what_its_index_says(
    case: str, knob: str, value: Any
) -> None:
    def change(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [entry | {"value": value} if entry["name"] == knob else entry for entry in choices]

    reason(forged(("prior", "choices"), change, case))


@pytest.mark.parametrize("position", range(4))
def test_no_choice_of_a_learned_prior_can_be_left_out_or_added(position: int) -> None:
    choices = WITH_LEARNED["prior"]["choices"]
    assert [entry["name"] for entry in choices] == [
        "network",
        "seed",
        "split_seed",
        "prior_fraction",
    ]
    name = choices[position]["name"]
    without = [*choices[:position], *choices[position + 1 :]]
    certificate = with_fields(WITH_LEARNED, "prior", choices=without)
    assert f"None is not a declared value of {name}" in reason(certificate)
    more = [*choices, VALID["prior"]["choices"][position + 2]]
    assert "prior.choices" in reason(with_fields(WITH_LEARNED, "prior", choices=more))
    assert "prior.choices" in reason(with_fields(WITH_LEARNED, "prior", choices=choices[::-1]))


@pytest.mark.parametrize("depth", ["2", 1.5, -1, 10**14])
def test_a_depth_of_a_learned_prior_is_not_trusted(depth: Any) -> None:
    more = [*WITH_LEARNED["prior"]["choices"], {"name": "depth", "index": 1, "value": depth}]
    reason(with_fields(WITH_LEARNED, "prior", choices=more))


def test_a_prior_without_data_has_no_variance_of_its_own() -> None:
    """Not even the one on the grid for nothing, nor any other at which the KL is smaller."""
    for case in ("exact", "sampled", "drawn"):
        for value in (CERTIFICATES[case]["prior"]["variances"][0]["value"], 0.123):
            entry = CERTIFICATES[case]["prior"]["variances"][0] | {"index": 0, "value": value}
            certificate = forged(("prior", "variances", 0), lambda _, entry=entry: entry, case)
            assert "prior.variances has an index 0" in reason(certificate)


def test_a_learned_prior_may_choose_a_variance_on_the_grid_at_its_price() -> None:
    chosen = dataclasses.replace(CHOSEN["learned"], own=())
    certificate = json.loads(issue(chosen).to_json())
    assert checker.check(json.dumps(certificate)).reason == ""
    free = copy.deepcopy(certificate)
    for entry in free["prior"]["variances"]:
        assert entry["index"] > 0
        entry["value"] *= 1.001
    assert "of the grid" in reason(free)


def test_examples_that_the_prior_saw_are_not_counted() -> None:
    """All examples counted, with fields that say so, or a part of none of them."""
    m, fields = 6000, dict(WITH_LEARNED["prior"]["center"])
    everything = dataclasses.replace(CHOSEN["learned"], m=m, errors=32_000)
    certificate = json.loads(issue(everything).to_json())
    certificate["prior"]["center"] = fields
    assert "prior.center.examples is not" in reason(certificate)
    for learned_from, examples in ((1, 6001), (3000, 9000), (6000, 6000), (6000, 12_000)):
        center = fields | {"learned_from": learned_from, "examples": examples}
        assert "prior.center" in reason(with_fields(certificate, "prior", center=center))


def test_a_data_free_certificate_told_as_learned_and_the_other_way_round() -> None:
    for mine, other in ((VALID, WITH_LEARNED), (WITH_LEARNED, VALID)):
        reason(with_its_own_sentence(with_fields(mine, "prior", center=other["prior"]["center"])))
        forgery = copy.deepcopy(mine | {"prior": other["prior"]})
        reason(with_its_own_sentence(forgery))


def test_a_learned_prior_of_convolutions_draws_no_weights_per_example() -> None:
    for posterior, network in (("diag", "lenet"), ("diag", "vgg"), ("k-linear", "lenet")):
        changed = dataclasses.replace(CHOSEN["learned"], network=network, posterior=posterior)
        certificate = json.loads(issue(changed).to_json())
        assert "draw no weights per-example" in reason(certificate)


@pytest.mark.parametrize("fraction", [0.7, 0.6, 0.8, 0.4, 0.9, 0.3, 0.2])
def test_every_declared_fraction_is_accepted_as_it_is_written(fraction: float) -> None:
    """Most of them are no floats: 0.7 in JSON is not the number that 0.7 is in binary."""
    certificate = issue(dataclasses.replace(CHOSEN["learned"], fraction=fraction))
    assert checker.check(certificate.to_json()).reason == ""


def test_a_fraction_that_is_only_close_to_a_declared_one_has_no_price() -> None:
    """At its tie it would give another split for the same price."""
    certificate = issue(dataclasses.replace(CHOSEN["learned"], fraction=0.7)).to_json()
    forgery = certificate.replace('"value": 0.7', '"value": 0.70000000000000000001')
    assert forgery != certificate
    assert "is not a declared value of prior_fraction" in reason(forgery)


# Votes


def test_what_a_vote_cannot_have() -> None:
    vote = OF_A_VOTE["claim"]["predictor"]
    for fields in (
        {"mcallester": 0.9},
        {"maurer": OF_A_VOTE["bound"]["value"]},
        {"pinsker": 1},
        {"catoni": {"beta_index": 1, "value": 1}},
        {"held_out": VALID["also"]["held_out"]},
    ):
        assert f"claim.predictor {vote}" in reason(with_fields(OF_A_VOTE, "also", **fields))
    for section in ("kl", "risk"):
        certificate = OF_A_VOTE | {section: OF_A_DRAW[section]}
        assert f"claim.predictor {vote}" in reason(certificate)
    certificate = with_fields(OF_A_VOTE, "budget", pac_bayes=0.035, risk=0)
    assert f"claim.predictor {vote}" in reason(certificate)


@pytest.mark.parametrize("predictor", ["gibbs", "draw", "vote", "vote-", "tandem", ["gibbs"]])
def test_pairs_are_not_told_as_another_predictor(predictor: Any) -> None:
    reason(with_fields(OF_A_VOTE, "claim", predictor=predictor))
    if predictor in ("gibbs", "draw"):
        forgery = with_fields(OF_A_VOTE, "claim", predictor=predictor)
        reason(with_its_own_sentence(forgery))


def test_a_vote_by_pairs_is_four_times_their_risk_and_pays_twice_the_kl() -> None:
    value = OF_A_VOTE["bound"]["value"]
    assert OF_A_VOTE["claim"]["risk_bound"] == pytest.approx(4 * value, rel=1e-12)
    for times in (1, 2, 3.999):
        forgery = with_fields(OF_A_VOTE, "claim", risk_bound=times * value)
        assert "claim.risk_bound is" in reason(with_its_own_sentence(forgery))
    once = json.loads(issue(dataclasses.replace(CHOSEN["vote"], predictor="vote-gibbs")).to_json())
    assert once["bound"]["complexity"] < OF_A_VOTE["bound"]["complexity"]
    forgery = OF_A_VOTE | {"bound": once["bound"]}
    forgery = with_fields(forgery, "claim", risk_bound=min(4 * once["bound"]["value"], 1))
    assert "bound.complexity is" in reason(with_its_own_sentence(forgery))


def test_a_vote_by_gibbs_is_twice_its_risk() -> None:
    vote = json.loads(issue(dataclasses.replace(CHOSEN["vote"], predictor="vote-gibbs")).to_json())
    assert checker.check(json.dumps(vote)).reason == ""
    forgery = with_fields(vote, "claim", risk_bound=vote["bound"]["value"])
    assert "claim.risk_bound is" in reason(with_its_own_sentence(forgery))


def test_samples_shared_with_pairs_are_twice_as_many() -> None:
    shared = dataclasses.replace(SAMPLED, predictor="vote-tandem", held_out=None)
    text = issue(dataclasses.replace(shared, samples=20_000)).to_json()
    assert checker.check(text).reason == ""
    assert "kl.shared" in reason(issue(dataclasses.replace(shared, samples=19_999)).to_json())


NUMBERS = {
    name(path): (path, case) for case in CERTIFICATES for path in numbers(CERTIFICATES[case])
}


FREE = ("made.", "prior.center.training.")


@pytest.mark.parametrize("field", [field for field in NUMBERS if not field.startswith(FREE)])
def test_only_a_number_is_a_number(field: str) -> None:
    path, case = NUMBERS[field]
    kinds = {field.split(":")[-1] for fields in checker.FIELDS.values() for field in fields.split()}
    for value in (None, True, False, [], [1], {}, {"a": 1}, "1", -(10**20), *kinds):
        reason(forged(path, lambda _, value=value: value, case))


def objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from objects(inner, (*path, key))


@pytest.mark.parametrize(
    ("case", "path"),
    [
        pytest.param(case, path, id=f"{case}-{name(path)}")
        for case, certificate in CERTIFICATES.items()
        for path in objects(certificate)
        if not {"settings", "training"} & set(path)
    ],
)
def test_fields_can_be_neither_added_nor_left_out(case: str, path: tuple[Any, ...]) -> None:
    certificate = copy.deepcopy(CERTIFICATES[case])
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
    assert "data.m must be int>=8" in reason(with_its_own_sentence(certificate))
