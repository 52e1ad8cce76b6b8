"""Certificates that pass all checks: every predictor, prior, evidence, sampler, bound, claim."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from building import (
    SAMPLED,
    Json,
    counted,
    data,
    default_choices,
    drawn,
    exact,
    finish,
    fixed,
    given,
    grid,
    ledger,
    monte_carlo,
    per_example,
    per_weights,
    prior,
    sha256,
    stochastic,
    with_cost,
)

SPEC = Path(__file__).parents[2] / "pacbound/certificate/SPEC.md"
HISTOGRAM = [[1, 10], [2, 30], [3, 40], [5, 20]]
RISING = [[0, 3], [4, 25], [5, 60], [7, 11], [50, 1]]  # the last: every example was wrong
SEVERAL = ["0.01", "0.004", "0.003", "0.002", "0.001"]


def spec_examples() -> list[Json]:
    """The two certificates of appendix B."""
    blocks = re.findall(r"```json\n(.*?)```", SPEC.read_text(encoding="utf-8"), re.DOTALL)
    return [json.loads(block) for block in blocks]


def held_out(examples: int, errors: int) -> Json:
    return {"kind": "held-out", "examples": examples, "errors": errors}


def inequality(*names: str) -> list[Json]:
    return [{"kind": "inequality", "name": name} for name in names]


# Fixed predictors


def every_counted_claim() -> list[Json]:
    """Every subject and loss that a counted predictor can claim, in order."""
    tiny: Json = {"delta": "0.002"}
    return [
        counted(31, 1000, delta="0.01"),
        counted(80, 1000, loss="abstention", **tiny),
        with_cost(counted(0, 1000, **tiny), "harm", "12.5"),
        with_cost(counted(0, 1000, **tiny), "time", "0"),
        counted(11, 920, subject="answered", **tiny),
        with_cost(counted(0, 920, subject="answered", **tiny), "harm", "3.000000001"),
        counted(3, 400, subject="true-class", **{"class": 0}, **tiny),
        counted(10, 350, subject="true-class", **{"class": 1}, **tiny),
        counted(18, 250, subject="true-class", **{"class": 2}, **tiny),
        with_cost(counted(0, 250, subject="true-class", **{"class": 2}, **tiny), "harm", "100.25"),
        counted(9, 420, subject="predicted-class", **{"class": 0}, **tiny),
        counted(23, 581, subject="predicted-class", **{"class": 2}, **tiny),
        with_cost(counted(0, 420, subject="predicted-class", **{"class": 0}, **tiny), "harm", "4"),
        counted(2, 300, subject="group", group="north", **tiny),
        counted(29, 700, subject="group", group="süd 🌍", **tiny),
        with_cost(counted(0, 300, subject="group", group="north", **tiny), "harm", "1.5"),
    ]


def fixed_model(source: str, **changes: Any) -> Json:
    recipe = {"recipe": "mlp-600-learned"} if source == "centre" else {}
    fields = {"sha256": sha256("model"), "extractors": [], "answer_above": ""}
    return {"source": source} | recipe | fields | changes


def learned_centre(**choices: Any) -> Json:
    """The prior of a fixed predictor that was learned from a part of the data set."""
    part = {"examples": 0, "sha256": sha256("part")}
    own = default_choices("learned", "mlp-600-learned") | choices
    return {"kind": "learned", "part": part, "choices": own}


def fixed_vectors() -> Iterator[tuple[str, Json]]:
    extractors = [
        {"sha256": sha256("extractor 1"), "origin": "ImageNet"},
        {"sha256": sha256("extractor 2"), "origin": "a dictionary"},
    ]
    yield (
        "fixed-every-claim",
        fixed(
            every_counted_claim(),
            data(1000, 3, duplicates=400, copies="independent"),
            model=fixed_model("onnx", extractors=extractors, answer_above="0.8"),
            ledger=ledger((1, 2), (3, 2), place=2),
        ),
    )
    yield "fixed-estimator", fixed([counted(7, 285)], data(285), model=fixed_model("estimator"))
    yield (
        "fixed-module-one-class",
        fixed(
            [
                counted(3, 150, delta="0.03"),
                counted(0, 60, subject="true-class", delta="0.01", **{"class": 1}),
                counted(0, 70, subject="predicted-class", delta="0.01", **{"class": 1}),
            ],
            data(150, 3),
            model=fixed_model("module"),
        ),
    )
    yield (
        "fixed-centre-default",
        fixed(
            [counted(180, 30000, delta="0.035")],
            data(60000, 10),
            model=fixed_model("centre"),
            prior=learned_centre(),
        ),
    )
    yield (
        "fixed-centre-other-choices",
        fixed(
            [counted(4, 300)],
            data(1001, 4, duplicates=10),
            model=fixed_model("centre"),
            prior=learned_centre(seed=3, prior_fraction="0.7", split_seed=12),
        ),
    )
    yield (
        "fixed-centre-blocks",
        fixed(
            [counted(4, 500)],
            data(1000, 4),
            model=fixed_model("centre"),
            prior=learned_centre(blocks=[{"layer": 1, "sizes": [30, 570]}]),
        ),
    )
    yield "fixed-copies-unknown", fixed([counted(3, 100)], data(100, copies="unknown"))
    # The limit is 0.95 exactly: only the slack of comparisons decides it.
    yield "fixed-one-example", fixed([counted(0, 1, delta="0.05")], data(1))
    yield "fixed-one-example-wrong", fixed([counted(1, 1, delta="0.05")], data(1))
    yield "fixed-all-wrong", fixed([counted(100, 100)], data(100))
    yield "fixed-all-but-one-wrong", fixed([counted(99, 100)], data(100))
    yield "fixed-ten-million", fixed([counted(60000, 10**7)], data(10**7, 1000))
    yield "fixed-ten-million-no-error", fixed([counted(0, 10**7)], data(10**7))
    yield "fixed-few-errors-of-many", fixed([counted(1, 10**6)], data(10**6))
    yield (
        "fixed-rates-around-a-thousandth",
        fixed(
            [
                counted(40, 60000, delta="0.01"),
                counted(1, 60000, loss="abstention", delta="0.01"),
                counted(0, 59999, subject="answered", delta="0.01"),
            ],
            data(60000),
            model=fixed_model("onnx", answer_above="0"),
        ),
    )
    yield (
        "fixed-long-shares",
        fixed(
            [
                counted(5, 300, delta="0.012345678901234567890123456789"),
                counted(
                    1, 120, subject="group", group="a", delta="0.000000000000000000000000000001"
                ),
            ],
            data(300, duplicates=3),
        ),
    )
    yield "fixed-declared-five", fixed([counted(3, 100)], data(100), ledger=ledger(of=5))
    yield (
        "fixed-many-looks",
        fixed([counted(3, 100)], data(100), ledger=ledger((1, 1000000), (1, 1000000))),
    )
    yield (
        "fixed-all-candidates",
        fixed([counted(3, 1000)], data(1000), ledger=ledger((10**9, 0), (10**9, 0), place=10**9)),
    )
    yield "fixed-cost-only", fixed([with_cost(counted(0, 1000), "harm", "12.5")], data(1000))
    yield "fixed-cost-whole", fixed([with_cost(counted(0, 1000), "harm", "1000")], data(1000))
    yield (
        "fixed-forty-classes",
        fixed(
            [
                counted(x % 7, 25, subject="true-class", delta="0.001", **{"class": x})
                for x in range(40)
            ],
            data(1000, 40),
        ),
    )
    yield (
        "fixed-threshold-one",
        fixed(
            [counted(0, 3, subject="answered")],
            data(100),
            model=fixed_model("predictions", answer_above="1.000"),
        ),
    )


# One drawn network


def draw_vectors() -> Iterator[tuple[str, Json]]:
    two = [grid("1", 100, 200), grid("2", 20, 150)]
    ratio = drawn(("1.65", "97.5", "-225"), ("0.4", "21.3", "-43.7"))
    both = inequality("binomial", "density")
    yield (
        "draw-initialised-density",
        stochastic(
            *("draw", [counted(31, 1000, delta="0.035")], data(1000, 3)),
            *(prior("initialised", "table", two), ratio),
            also=[*both, held_out(500, 14)],
        ),
    )
    yield (
        "draw-initialised-binomial",
        stochastic(
            *("draw", [counted(31, 1000)], data(1000, 3), prior("initialised", "table", two)),
            ratio,
            bound={"inequality": "binomial", "selected": "beforehand"},
        ),
    )
    yield (
        "draw-learned-binomial",
        stochastic(
            *("draw", [counted(180, 30000, delta="0.035")], data(60000, 10)),
            prior(
                "learned",
                "mlp-600-learned",
                [given("1", 1000, "0.0001")],
                validation={"examples": 6000, "errors": 44},
            ),
            drawn(("0.1015", "1003.1", "-4606")),
            recipe="mlp-600-learned",
            also=both,
        ),
    )
    yield (
        "draw-learned-density",
        stochastic(
            *("draw", [counted(6, 500)], data(1000)),
            prior(
                "learned",
                "table",
                [given("1", 120, "0.01")],
                validation={"examples": 0, "errors": 0},
            ),
            drawn(("1.31", "118.4", "-277")),
            bound={"inequality": "density", "selected": "candidate"},
            ledger=ledger(user=(2, 1), place=3),
        ),
    )
    frozen = stochastic(
        *("draw", every_counted_claim(), data(1000, 3, duplicates=10)),
        prior(
            "elsewhere",
            "module",
            [given("head", 20, "0.05"), grid("last", 100, 230)],
            origin="ImageNet, torchvision’s weights of 2023",
            validation={"examples": 200, "errors": 9},
        ),
        drawn(("1.1", "21.5", "-30.4"), ("1.2", "95.5", "-236")),
        recipe="module",
        network="module",
        posterior="diag",
        ledger=ledger((2, 0), (1, 3), of=4),
        also=[*both, held_out(1, 1)],
    )
    frozen["model"] |= {"frozen": 11_000_000, "answer_above": "0.75"}
    frozen["model"]["extractors"] = [{"sha256": sha256("extractor"), "origin": "declared"}]
    yield "draw-elsewhere-every-claim", frozen
    yield (
        "draw-elsewhere-density",
        stochastic(
            *("draw", every_counted_claim()[:1], data(1000, 3)),
            prior("elsewhere", "table", [grid("1", 120, 180)]),
            drawn(("1.9", "118.0", "-280")),
            bound={"inequality": "density", "selected": "beforehand"},
        ),
    )
    yield (
        "draw-density-costs",
        stochastic(
            *(
                "draw",
                [
                    counted(31, 1000, delta="0.01"),
                    with_cost(counted(0, 1000, delta="0.01"), "harm", "7.25"),
                ],
                data(1000, 3),
            ),
            *(prior("initialised", "table", two), ratio),
        ),
    )
    # The drawn network is likelier under the prior: the ratio is negative.
    yield (
        "draw-negative-ratio",
        stochastic(
            *("draw", [counted(12, 2000)], data(4000)),
            prior("learned", "table", [given("1", 50, "0.01")]),
            drawn(("0.42", "61", "-114.5")),
            also=both,
        ),
    )
    yield (
        "draw-negative-density",
        stochastic(
            *("draw", [counted(12, 2000)], data(4000)),
            prior("learned", "table", [given("1", 50, "0.01")]),
            drawn(("0.22", "71", "-100.5")),
            bound={"inequality": "density", "selected": "beforehand"},
        ),
    )
    yield (
        "draw-thousands-of-nats",
        stochastic(
            *("draw", [counted(2850, 60000)], data(60000, 10)),
            prior("initialised", "mlp-600", [grid("1", 471000, 430), grid("2", 6010, 300)]),
            drawn(("680.5", "470000.5", "-1550300"), ("50.25", "6100.1", "-16300.5")),
            recipe="mlp-600",
            also=both,
        ),
    )
    yield (
        "draw-hopeless",
        stochastic(
            *("draw", [counted(1, 100)], data(100)),
            prior("initialised", "table", [grid("1", 100, 10000)]),
            drawn(("0", "100", "-999999999999999.999999999999999999999999999999")),
            bound={"inequality": "binomial", "selected": "beforehand"},
        ),
    )
    yield (
        "draw-thousands-binomial",
        stochastic(
            *("draw", [counted(2850, 30000)], data(60000, 10)),
            prior("learned", "mlp-600-learned", [given("1", 477010, "0.0001")]),
            drawn(("61.5", "476000.5", "-2131700")),
            recipe="mlp-600-learned",
        ),
    )


# Sampled predictors

TWO_GROUPS = [grid("1", 100, 200), grid("2", 20, 150)]


def sampled_evidence(kind: str, learned: bool) -> Json:
    small = kind in ("gaussian", "theorem3")
    if kind == "exact" and learned:
        return exact(("1.01", "0.02", "-230.2"), ("0.2", "0.004", "-46.1"))
    if kind == "exact":
        return exact(("1.2", "0.5", "-225"), ("0.3", "0.25", "-43"))
    assert small
    if learned:
        return monte_carlo(
            kind, 10000, ("1.03", "0.11", "0.15", "-231"), ("0.204", "0.105", "0", "-46.5")
        )
    return monte_carlo(kind, 1000, ("1.7", "0.12", "0.7", "-225"), ("0.55", "0.13", "0.4", "-43"))


SAMPLERS = ("per-example", "betting", "chernoff")
KINDS = ("initialised", "learned", "elsewhere")
EVIDENCES = ("exact", "gaussian", "theorem3")
INEQUALITIES = ("rule", "maurer", "mcallester", "xi", "catoni")
LEDGERS = (ledger(), ledger(user=(3, 4), place=2), ledger((2, 1), (2, 0), of=3))


def sampled_vectors() -> Iterator[tuple[str, Json]]:
    """Every predictor × prior × evidence, with samplers, inequalities and ledgers in turn."""
    for x, y, z in product(range(3), range(3), range(3)):
        kind, evidence = KINDS[y], EVIDENCES[z]
        sampler = SAMPLERS[(x + y) % 3] if evidence == "exact" else SAMPLERS[1 + (x + y + z) % 2]
        name = INEQUALITIES[(2 * x + 3 * y + z) % 5]
        if name == "catoni" and kind == "initialised":
            name = "maurer"
        yield sampled_vector(SAMPLED[x], kind, evidence, sampler, name, LEDGERS[(x + y + z) % 3])


def sampled_vector(
    predictor: str, kind: str, evidence: str, sampler: str, name: str, its_ledger: Json
) -> tuple[str, Json]:
    learned = kind != "initialised"
    m = 1000
    if sampler == "per-example":
        claim = per_example(1900, m)
    else:
        claim = per_weights(HISTOGRAM, m, 50, sampler)
    own = [given("1", 100, "0.0101"), given("2", 20, "0.0105")]
    its_prior = prior(kind, "table", own if learned else TWO_GROUPS)
    others = ["mcallester", "maurer", "xi", "pinsker"]
    if learned and name in ("rule", "catoni"):
        its_prior["validation"] = {"examples": 300, "errors": 9}
        others.insert(3, "catoni")
    also = inequality(*others)
    also += [held_out(400, 11)] if predictor == "gibbs" else []
    also += [{"kind": "theorem3"}] if evidence != "exact" else []
    record = stochastic(
        *(predictor, [claim], data(2 * m if kind == "learned" else m, 3)),
        *(its_prior, sampled_evidence(evidence, learned)),
        posterior="k-linear" if evidence == "exact" else "k-nonlinear",
        also=also,
        ledger=its_ledger,
    )
    if name not in ("rule", record["bound"]["inequality"]):
        selected = "candidate" if its_ledger["user"]["candidates"] > 1 else "beforehand"
        record["bound"] = {"inequality": name, "selected": selected}
    by = record["bound"]["inequality"]
    return f"{predictor}-{kind}-{evidence}-{sampler}-{by}", record


def gibbs_claims() -> list[Json]:
    """Every subject and loss that a Gibbs predictor can claim, drawn per example."""
    tiny: Json = {"delta": "0.002", "delta_risk": "0.001"}
    return [
        per_example(3100, 1000, delta="0.01"),
        with_cost(per_example(0, 1000, **tiny), "harm", "812.125"),
        per_example(800, 400, subject="true-class", **{"class": 0}, **tiny),
        per_example(2300, 600, subject="true-class", **{"class": 1}, **tiny),
        with_cost(per_example(0, 600, subject="true-class", **{"class": 1}, **tiny), "harm", "700"),
        per_example(900, 300, 40, subject="group", group="north", **tiny),
        per_example(1200, 500, 40, subject="group", group="south", **tiny),
        with_cost(per_example(0, 500, subject="group", group="south", **tiny), "harm", "0"),
    ]


def per_weights_claims() -> list[Json]:
    tiny: Json = {"delta": "0.002", "delta_risk": "0.001"}
    of_cost = per_weights([[0, 5], [125, 900], [250, 95]], 1000, 1000, "betting", **tiny)
    return [
        per_weights(RISING, 1000, 50, "betting", delta="0.01"),
        with_cost(of_cost, "harm"),
        per_weights(
            [[0, 60], [1, 40]], 400, 1, "chernoff", subject="true-class", **{"class": 0}, **tiny
        ),
        per_weights(
            [[0, 90], [1, 10]], 600, 1, "betting", subject="true-class", **{"class": 1}, **tiny
        ),
        per_weights([[3, 100]], 300, 100, "betting", subject="group", group="north", **tiny),
    ]


def special_vectors() -> Iterator[tuple[str, Json]]:
    initialised = prior("initialised", "table", TWO_GROUPS)
    evidence = sampled_evidence("exact", False)
    everything = inequality("mcallester", "maurer", "xi", "pinsker")
    yield (
        "gibbs-every-claim-per-example",
        stochastic("gibbs", gibbs_claims(), data(1000), initialised, evidence),
    )
    yield (
        "gibbs-every-claim-per-weights",
        stochastic(
            *("gibbs", per_weights_claims(), data(1000)),
            prior("initialised", "lenet-5", TWO_GROUPS),
            evidence,
            recipe="lenet-5",
            network="lenet",
            posterior="diag",
        ),
    )
    vote_claims = [claim for claim in gibbs_claims() if claim.get("loss") != "cost"]
    yield (
        "vote-gibbs-every-claim",
        stochastic("vote-gibbs", vote_claims, data(1000), initialised, evidence, also=everything),
    )
    yield (
        "vote-tandem-every-claim",
        stochastic(
            "vote-tandem", vote_claims, data(1000), initialised, evidence, posterior="k-diag"
        ),
    )
    blocks = [
        {"layer": 1, "sizes": [30, 570]},
        {"layer": 2, "sizes": [1, 2, 3, 4]},
    ]
    block_prior = prior("initialised", "mlp-600", [grid(x, 60, 190) for x in "abcd"])
    block_prior["choices"] |= {"later_bias": "-4", "hidden_bias": "0", "blocks": blocks}
    yield (
        "gibbs-block-prior",
        stochastic(
            *("gibbs", [per_example(1900, 1000)], data(1000), block_prior),
            exact(*[("0.9", "0.25", "-130")] * 2, *[("0.897", "0", "-126.2")] * 2),
            recipe="mlp-600",
        ),
    )
    for name, network in (("lenet-5", "lenet"), ("mlp-600", "mlp"), ("mlp-600x2", "mlp")):
        own = prior("initialised", f"{name}-blocks", [grid(x, 60, 190) for x in "ab"])
        shared = network == "lenet"  # examples share weights
        claim = per_weights(RISING, 1000, 50, "betting") if shared else per_example(1900, 1000)
        yield (
            f"gibbs-blocks-of-{name}",  # the default choices of a recipe, which cost little
            stochastic(
                *("gibbs", [claim], data(1000), own),
                exact(("0.9", "0.25", "-130"), ("0.897", "0", "-126.2")),
                recipe=f"{name}-blocks",
                network=network,
            ),
        )
    one = prior("initialised", "mlp-600", [grid("all", 120, 184)])
    one["choices"] |= {
        "input_scale": "1",
        "smoothing": "0",
        "hidden_bias": "0",
        "variance_groups": "network",
    }
    yield (
        "gibbs-one-variance",
        stochastic(
            *("gibbs", [per_example(1900, 1000)], data(1000), one),
            exact(("1.9", "0.25", "-250")),
            recipe="mlp-600",
        ),
    )
    # Two variances, because the one layer has blocks.
    one = prior("elsewhere", "table", TWO_GROUPS)
    one["choices"] |= {"variance_groups": "network", "blocks": blocks[:1], "seed": 7}
    yield (
        "gibbs-network-with-blocks",
        stochastic("gibbs", [per_example(1900, 1000)], data(1000), one, evidence),
    )
    no_default = prior("initialised", "mlp-600", TWO_GROUPS)
    no_default["choices"] |= {"widths": [600, 20], "seed": 999999999}
    yield (
        "gibbs-recipe-without-default",
        stochastic(
            *("gibbs", [per_example(1900, 1000)], data(1000), no_default, evidence),
            recipe="mlp-600-learned",
        ),
    )
    yield (
        "gibbs-other-network",
        stochastic(
            "gibbs",
            [per_weights(RISING, 1000, 50, "betting")],
            data(1000),
            initialised,
            evidence,
            network="vgg",
        ),
    )
    module = stochastic(
        *(
            "gibbs",
            [per_example(1900, 1000)],
            data(1000),
            prior("initialised", "module", TWO_GROUPS),
        ),
        evidence,
        recipe="module",
        network="module",
    )
    module["model"]["frozen"] = 5
    yield "gibbs-module", module
    yield (
        "gibbs-fashion-default",
        stochastic(
            *("gibbs", [per_weights(RISING, 300, 50, "betting")], data(1000)),
            prior("learned", "fashion-lenet-learned", [given("1", 120, "0.01")]),
            exact(("1.2", "0.01", "-276.5")),
            recipe="fashion-lenet-learned",
            network="lenet",
        ),
    )
    yield (
        "gibbs-learned-not-default",
        stochastic(
            *("gibbs", [per_weights(RISING, 500, 50, "chernoff")], data(1000)),
            prior("learned", "fashion-lenet-learned", [given("1", 120, "0.01")])
            | {"choices": default_choices("learned", "table")},
            exact(("1.2", "0.01", "-276.5")),
            recipe="fashion-lenet-learned",
            network="resnet",
        ),
    )
    # Half of an odd number of examples: 500.5 is rounded up.
    yield (
        "gibbs-half-of-odd",
        stochastic(
            *("gibbs", [per_example(40, 500)], data(1001)),
            prior(
                "learned",
                "table",
                [given("1", 120, "0.01")],
                validation={"examples": 501, "errors": 501},
            ),
            exact(("1.2", "0", "-276.31021115928548208215897456")),
            also=inequality("catoni"),
        ),
    )
    for name in ("mcallester", "xi", "maurer"):
        rule = "rule" if name == "xi" else "beforehand"
        yield (
            f"gibbs-one-example-{name}",
            stochastic(
                *("gibbs", [per_example(0, 1, 1000)], data(1), initialised, evidence),
                bound={"inequality": name, "selected": rule},
                also=everything,
            ),
        )
    yield (
        "gibbs-never-wrong",
        stochastic("gibbs", [per_example(0, 1000)], data(1000), initialised, evidence),
    )
    yield (
        "gibbs-always-wrong",
        stochastic("gibbs", [per_example(100000, 1000)], data(1000), initialised, evidence),
    )
    yield (
        "vote-tandem-vacuous",
        stochastic("vote-tandem", [per_example(40000, 1000)], data(1000), initialised, evidence),
    )
    yield (
        "gibbs-betting-all-wrong",
        stochastic(
            "gibbs",
            [per_weights([[7, 500]], 1000, 7, "betting")],
            data(1000),
            initialised,
            evidence,
        ),
    )
    yield (
        "gibbs-betting-few-draws",
        stochastic(
            "gibbs", [per_weights([[0, 1]], 1000, 7, "betting")], data(1000), initialised, evidence
        ),
    )
    yield (
        "gibbs-long-histogram",
        stochastic(
            *("gibbs", [per_weights([[x, 1 + 3 * x] for x in range(301)], 1000, 1000, "betting")]),
            *(data(1000), initialised, evidence),
        ),
    )
    yield (
        "gibbs-large-counts",
        stochastic(
            *("gibbs", [per_weights([[1, 10**15], [2, 10**15]], 10**7, 10**6, "betting")]),
            *(data(10**7), initialised, evidence),
        ),
    )
    yield (
        "gibbs-mnist-size",
        stochastic(
            *("gibbs", [per_example(285000, 60000)], data(60000, 10, name="mnist")),
            prior("initialised", "mlp-600", [grid("1", 471000, 430), grid("2", 6010, 300)]),
            exact(("580.5", "120.25", "-1580300"), ("28", "22", "-16300.5")),
            recipe="mlp-600",
            also=[*everything, held_out(10000, 470)],
        ),
    )
    made = stochastic("gibbs", [per_example(1900, 1000)], data(1000), initialised, evidence)
    made["made"] |= {
        "command": "",
        "training_command": "x" * 2000,
        "date": "",
        "machine": {"A b_c.d:e/f+g-9": "\u00e9\U0001f600" * 1000},
        "settings": {f"setting {x}": "" for x in range(300)},
    }
    yield "gibbs-made-at-its-limits", made


def odd_texts() -> Iterator[tuple[str, Json]]:
    """Texts that are unusual and allowed."""
    name = '{[[[[[[[[[[ \\ "quoted" \u00ad \ue000 \U0001f600' + "\U00020000" * 60
    group = "\U0001f600" * 60  # 60 code points, 120 units of UTF-16
    # By code points the first comes first; by units of UTF-16 it would be second.
    groups = ["\uffee", group]
    claims = [counted(1, 40, subject="group", group=x, delta="0.01") for x in groups]
    yield "fixed-odd-texts", fixed(claims, data(100, name=name))


def good_vectors() -> dict[str, Json]:
    first, second = spec_examples()
    vectors = {"spec-b-fixed": first, "spec-b-gibbs": second}
    for source in (fixed_vectors, odd_texts, draw_vectors, sampled_vectors, special_vectors):
        for name, record in source():
            assert name not in vectors, name
            vectors[name] = finish(record)
    for name in LARGER:
        vectors[f"{name}-one-unit-larger"] = finish(vectors[name], units=1)
    return vectors


# One unit is what an issuer's own arithmetic may err by.
LARGER = (
    *("fixed-every-claim", "draw-elsewhere-every-claim", "gibbs-every-claim-per-weights"),
    *("vote-gibbs-every-claim", "draw-negative-ratio"),
)
