"""Builds certificates of format 2: primitives in, a complete certificate out.

It shares no code with the checker. Its lists are typed from SPEC.md, its figures come from mpmath.
"""

from __future__ import annotations

import copy
import hashlib
import json
from fractions import Fraction
from typing import Any

import formulas as f
from formulas import number
from mpmath import mp, mpf

Json = dict[str, Any]
SAMPLED = ("gibbs", "vote-gibbs", "vote-tandem")
RECIPES = [
    "table",
    "module",
    "fashion-lenet-learned",
    "lenet-5",
    "lenet-5-learned",
    "lenet-small",
    "lenet-small-deskewed",
    "mlp-30",
    "mlp-30-deskewed",
    "mlp-600",
    "mlp-600-learned",
    "mlp-600x2",
    "vi-lenet-5",
    "vi-lenet-5-cifar5",
    "lenet-5-blocks",
    "lenet-lean",
    "mlp-600-blocks",
    "mlp-600x2-blocks",
    "cifar-10-resnet-learned",
    "fashion-resnet-learned",
    "mnist-resnet-learned",
    "mnist-resnet-wide-learned",
]
BIASES = ["0", "-0.5", "-1", "-2", "-3", "-4", "-6", "-8"]
LISTS = {
    "network": ["lenet", "mlp", "module", "resnet", "vgg"],
    "initializer": ["fan-in-uniform", "he-normal", "orthogonal", "xavier-uniform", "zeros"],
    "input_scale": ["0.25", "0.5", "1", "1.5", "2", "3", "4", "8"],
    "smoothing": ["0", "0.5", "0.75", "1", "1.25", "1.5", "2", "3"],
    "alignment": ["deskew", "none"],
    "hidden_bias": BIASES,
    "later_bias": BIASES,
    "prior_fraction": ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"],
    "variance_groups": ["layer", "network"],
}
# network, initializer, input_scale, smoothing, alignment, hidden_bias, widths
INITIALISED = {
    "table": ("mlp", "zeros", "1", "0", "none", "0", []),
    "module": ("module", "fan-in-uniform", "1", "0", "none", "0", []),
    "lenet-5": ("lenet", "he-normal", "2", "0", "none", "-2", [20, 50, 500]),
    "lenet-small": ("lenet", "fan-in-uniform", "2", "0", "none", "0", [10, 20, 50]),
    "lenet-small-deskewed": ("lenet", "fan-in-uniform", "2", "0", "deskew", "0", [10, 20, 50]),
    "mlp-30": ("mlp", "fan-in-uniform", "1.5", "1", "none", "0", [30]),
    "mlp-30-deskewed": ("mlp", "fan-in-uniform", "1.5", "1", "deskew", "0", [30]),
    "mlp-600": ("mlp", "fan-in-uniform", "1.5", "1", "none", "-4", [600]),
    "mlp-600x2": ("mlp", "he-normal", "1.5", "1", "none", "-4", [600, 600]),
    "lenet-5-blocks": ("lenet", "he-normal", "2", "1", "none", "0", [20, 50, 500]),
    "lenet-lean": ("lenet", "fan-in-uniform", "2", "1", "none", "0", [6, 12]),
    "mlp-600-blocks": ("mlp", "fan-in-uniform", "1.5", "1", "none", "0", [600]),
    "mlp-600x2-blocks": ("mlp", "fan-in-uniform", "1.5", "1", "none", "0", [600, 600]),
}
LATER = {"lenet-5-blocks": "-2", "mlp-600-blocks": "-4", "mlp-600x2-blocks": "-4"}
BLOCKS = {
    "lenet-5-blocks": [[1, 8, 12], [2, 16, 34], [3, 20, 480]],
    "mlp-600-blocks": [[1, 30, 570]],
    "mlp-600x2-blocks": [[1, 30, 570], [2, 30, 570]],
}
FRACTIONS = {
    "fashion-lenet-learned": "0.7",
    "fashion-resnet-learned": "0.7",
    "mnist-resnet-wide-learned": "0.6",
    "cifar-10-resnet-learned": "0.8",
}
FACTOR = {"vote-gibbs": 2, "vote-tandem": 4}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# Primitives


def default_choices(kind: str, recipe: str) -> Json:
    """The default choices of a recipe, in the order of SPEC.md."""
    if kind == "initialised":
        row = INITIALISED[recipe]
        return {
            "initializer": row[1],
            "seed": 0,
            "input_scale": row[2],
            "smoothing": row[3],
            "alignment": row[4],
            "hidden_bias": row[5],
            "later_bias": LATER.get(recipe, "0"),
            "widths": list(row[6]),
            "variance_groups": "layer",
            "blocks": [{"layer": n, "sizes": sizes} for n, *sizes in BLOCKS.get(recipe, [])],
        }
    if kind == "learned":
        fraction = FRACTIONS.get(recipe, "0.5")
        first: Json = {"seed": 0, "prior_fraction": fraction, "split_seed": 0}
    else:
        first = {"initializer": "zeros" if recipe == "table" else "fan-in-uniform", "seed": 0}
    return first | {"variance_groups": "layer", "blocks": []}


def made() -> Json:
    empty: Json = {"software": {"pacbound": "0.2.0"}, "machine": {}, "prior": {}, "times": {}}
    return {"date": "2026-11-17", "command": "", "training_command": "", **empty, "settings": {}}


def ledger(
    recipe: tuple[int, int] = (1, 0), user: tuple[int, int] = (1, 0), place: int = 0, of: int = 1
) -> Json:
    """Candidates and looks of the recipe and of the user; a place, or one `of` a declared number"""
    certificates = {"counted": "place" if place else "declared", "number": place or of}
    return {
        "recipe": {"candidates": recipe[0], "looks": recipe[1]},
        "user": {"candidates": user[0], "looks": user[1]},
        "certificates": certificates,
    }


def grid(name: str, parameters: int, index: int) -> Json:
    return {"name": name, "parameters": parameters, "by": "grid", "index": index}


def given(name: str, parameters: int, value: str) -> Json:
    return {"name": name, "parameters": parameters, "by": "given", "value": value}


def data(examples: int, classes: int = 2, **changes: Any) -> Json:
    fields: Json = {
        "name": "letters",
        "examples": examples,
        "m": 0,
        "classes": classes,
        "sha256": sha256("data"),
        "duplicates": 0,
        "copies": "counted",
        "groups_sha256": "",
    }
    return fields | changes


def per_example(errors: int, m: int, passes: int = 100, **changes: Any) -> Json:
    counts = {"sampler": "per-example", "draws": m * passes, "errors": errors}
    return {"m": m, "delta": "0.02", "delta_risk": "0.01"} | counts | changes


def per_weights(histogram: list[list[int]], m: int, scale: int, by: str, **changes: Any) -> Json:
    counts = {"sampler": "per-weights", "scale": scale, "histogram": histogram, "limit_by": by}
    return {"m": m, "delta": "0.02", "delta_risk": "0.01"} | counts | changes


def counted(errors: int, m: int, **changes: Any) -> Json:
    return {"m": m, "delta": "0.02", "errors": errors} | changes


def with_cost(claim: Json, name: str, total: str = "") -> Json:
    """The same about a cost: the total of the costs in the place of the number of errors."""
    fields = {key: value for key, value in claim.items() if key != "errors"}
    if total:
        fields["total"] = total
    return fields | {"loss": "cost", "cost": name, "cost_sha256": sha256(name)}


def fixed(claims: list[Json], data: Json, **changes: Any) -> Json:
    record: Json = {
        "predictor": "fixed",
        "claims": claims,
        "data": data,
        "model": {
            "source": "predictions",
            "sha256": sha256("model"),
            "extractors": [],
            "answer_above": "",
        },
        "prior": {"kind": "none"},
        "ledger": ledger(),
        "bound": {"inequality": "binomial", "selected": "rule"},
        "also": [],
        "made": made(),
    }
    return record | changes


def prior(kind: str, recipe: str, variances: list[Json], **changes: Any) -> Json:
    fields: Json = {"kind": kind, "sha256": sha256("prior")}
    if kind == "elsewhere":
        fields["origin"] = "trained on other letters"
    if kind == "learned":
        fields["part"] = {"examples": 0, "sha256": sha256("part")}
    if kind != "initialised":
        fields["validation"] = {"examples": 0, "errors": 0}
    fields |= {"choices": default_choices(kind, recipe), "variances": variances}
    return fields | changes


def stochastic(
    predictor: str,
    claims: list[Json],
    data: Json,
    prior: Json,
    evidence: Json,
    recipe: str = "table",
    network: str = "mlp",
    posterior: str = "k-linear",
    **changes: Any,
) -> Json:
    """A certificate of anything but a fixed predictor; the inequality is that of the rule."""
    record: Json = {
        "predictor": predictor,
        "claims": claims,
        "data": data,
        "model": {
            "recipe": recipe,
            "network": network,
            "structure_sha256": sha256("structure") if network == "module" else "",
            "posterior": posterior,
            "parameters": sum(entry["parameters"] for entry in prior["variances"]),
            "frozen": 0,
            "sha256": sha256("posterior"),
            "extractors": [],
            "answer_above": "",
        },
        "prior": prior,
        "ledger": ledger(),
        "evidence": evidence,
        "bound": {"selected": "rule"},
        "also": [],
        "seeds": {},
        "made": made(),
    }
    record |= changes
    rule = inequality_of_the_rule(record)
    record["bound"] = {"inequality": rule} | record["bound"]
    return record


def inequality_of_the_rule(record: Json) -> str:
    predictor, prior = record["predictor"], record["prior"]
    if predictor == "fixed":
        return "binomial"
    if predictor == "draw":
        return "density" if prior["kind"] == "initialised" else "binomial"
    return "catoni" if prior.get("validation", {}).get("examples") else "xi"


def exact(*groups: tuple[str, str, str]) -> Json:
    names = ("trace", "distance_sq", "log_det")
    return {"kind": "exact", "groups": [dict(zip(names, x, strict=True)) for x in groups]}


def drawn(*groups: tuple[str, str, str]) -> Json:
    names = ("distance_sq", "noise_sq", "log_det")
    fields = {"kind": "drawn", "weights_sha256": sha256("weights")}
    return fields | {"groups": [dict(zip(names, x, strict=True)) for x in groups]}


def monte_carlo(tail: str, samples: int, *groups: tuple[str, str, str, str]) -> Json:
    names = ("mean_square", "lipschitz", "offset", "log_det")
    fields = {"kind": "monte-carlo", "delta_kl": "0.005", "tail": tail, "samples": samples}
    return fields | {"groups": [dict(zip(names, x, strict=True)) for x in groups]}


# Figures


def ln_certificates(record: Json) -> mpf:
    certificates = record["ledger"]["certificates"]
    if certificates["counted"] == "declared":
        return mp.log(certificates["number"])
    return mp.log(mp.pi**2 * mpf(certificates["number"]) ** 2 / 6)


def code(record: Json) -> mpf:
    prior, model = record["prior"], record["model"]
    total = mpf(0)
    for variance in prior.get("variances", []):
        if variance["by"] == "grid":
            total += f.cost(variance["index"])
    if prior["kind"] == "none":
        return total
    if prior["kind"] == "initialised":
        total += f.cost(RECIPES.index(model["recipe"]) + 1)
    return total + choices_cost(prior["kind"], prior["choices"], model)


def choices_cost(kind: str, choices: Json, model: Json) -> mpf:
    recipe = model["recipe"]
    if kind != "initialised":
        is_default = choices == default_choices(kind, recipe)
    elif recipe in INITIALISED:
        same_network = model["network"] == INITIALISED[recipe][0]
        is_default = same_network and choices == default_choices(kind, recipe)
    else:
        is_default = False
    if is_default:
        return mp.log(mpf(10) / 9)
    entries = choices | ({"network": model["network"]} if kind == "initialised" else {})
    return mp.log(10) + sum(entry_cost(name, value) for name, value in entries.items())


def entry_cost(name: str, value: Any) -> mpf:
    if name in LISTS:
        return f.cost(LISTS[name].index(value) + 1)
    if name in ("seed", "split_seed"):
        return f.cost(value + 1)
    total = f.cost(len(value) + 1)
    for entry in value:
        if name == "widths":
            total += f.cost(entry)
        else:
            sizes = entry["sizes"]
            total += f.cost(entry["layer"]) + f.cost(len(sizes) - 1)
            total += sum(f.cost(size) for size in sizes[:-1])
    return total


def ledger_nats(record: Json) -> mpf:
    recipe, user = record["ledger"]["recipe"], record["ledger"]["user"]
    total = mp.log(recipe["candidates"]) + mp.log(user["candidates"])
    total += (recipe["looks"] + user["looks"]) * mp.log(2)
    return total if record["predictor"] in SAMPLED else total + ln_certificates(record)


def divergence(record: Json, tail: str = "") -> mpf:
    evidence = record["evidence"]
    total = mpf(0)
    for variance, group in zip(record["prior"]["variances"], evidence["groups"], strict=True):
        d = variance["parameters"]
        on_grid = variance["by"] == "grid"
        lam = f.grid_variance(variance["index"]) if on_grid else number(variance["value"])
        spread = mpf(d)
        if evidence["kind"] == "exact":
            moment = number(group["trace"]) + number(group["distance_sq"])
        elif evidence["kind"] == "drawn":
            moment, spread = number(group["distance_sq"]), number(group["noise_sq"])
        else:
            level = ln_certificates(record) + mp.log(len(evidence["groups"]))
            level -= mp.log(number(evidence["delta_kl"]))
            mean_square, lipschitz = number(group["mean_square"]), number(group["lipschitz"])
            if (tail or evidence["tail"]) == "gaussian":
                moment = f.gaussian_moment(mean_square, lipschitz, evidence["samples"], level)
            else:
                offset = number(group["offset"])
                moment = f.theorem3_moment(
                    mean_square, lipschitz, d, offset, evidence["samples"], level
                )
        total += f.group_nats(moment, spread, d, lam, number(group["log_det"]))
    return total


def limit(record: Json, claim: Json) -> mpf:
    level = ln_certificates(record) - mp.log(number(claim["delta_risk"]))
    mean = number(f.exact_mean(claim))
    if claim["sampler"] == "per-example":
        return f.kl_inverse(mean, level / claim["draws"])
    if claim["limit_by"] == "betting":
        return f.betting_limit(claim["histogram"], claim["scale"], level)
    return f.kl_inverse(mean, level / sum(t for _, t in claim["histogram"]))


def bound(record: Json, claim: Json, inequality: str) -> mpf:
    predictor, m = record["predictor"], claim["m"]
    delta = number(claim["delta"])
    factor = FACTOR.get(predictor, 1)
    paid, owed = number(record["bound"]["code"]), number(record["bound"]["ledger"])
    ratio = mpf(0) if predictor == "fixed" else number(record["evidence"]["nats"])
    total = ratio * (2 if predictor == "vote-tandem" else 1) + paid + owed
    shown = claim["limit"] if predictor in SAMPLED else f.exact_mean(claim)
    q = number(shown)
    if inequality == "binomial":
        own = paid if predictor == "fixed" else f.draw_level(ratio + paid)
        level = own + owed - mp.log(delta)
        if claim["loss"] == "cost":
            return f.kl_inverse(q, level / m)
        return f.clopper_pearson(claim["errors"], m, level)
    if inequality in ("mcallester", "pinsker") and m == 1:
        return mpf(1)
    if inequality == "catoni":
        validation = record["prior"]["validation"]
        lam = f.catoni_parameters(validation["errors"], validation["examples"], m, delta)[3]
        return factor * f.catoni(q, total, m, delta, lam)
    c = f.complexity(inequality, total, m, delta)
    if inequality == "pinsker":
        return factor * (q + mp.sqrt(max(c, mpf(0)) / 2))
    return factor * f.kl_inverse(q, c)


def seed(record: Json, purpose: str) -> str:
    digests = [record[part]["sha256"] for part in ("model", "prior", "data")]
    return sha256(" ".join(["pacbound-seed/2", purpose, *digests]) + "\n")


# The sentence


def scope(claims: list[Json]) -> str:
    first, n = claims[0], len(claims)
    of_one = {
        "all": "",
        "answered": " among the inputs that it answers",
        "true-class": f" on examples of true class {first.get('class')}",
        "predicted-class": f" where it predicts class {first.get('class')}",
        "group": f" in the group “{first.get('group')}”",
    }
    of_several = {
        "true-class": f" on examples of each of {n} true classes",
        "predicted-class": f" where it predicts each of {n} classes",
        "group": f" in each of {n} groups",
    }
    return (of_one if n == 1 else of_several)[first["subject"]]


def clause(claims: list[Json]) -> str:
    first, worst = claims[0], max(claim["bound"] for claim in claims)  # of equal length
    if first["loss"] == "abstention":
        return f"it answers at least {f.cov(worst)} % of the inputs"
    if first["loss"] == "cost":
        name = first["cost"]
        unit = "% of the unit"
        return f"its mean cost “{name}”{scope(claims)} is at most {f.pct(worst)} {unit}"
    return f"its error{scope(claims)} is at most {f.pct(worst)} %"


def sentence(record: Json) -> str:
    predictor, prior, model = record["predictor"], record["prior"], record["model"]
    data, ledger = record["data"], record["ledger"]
    over = " and the Monte Carlo draws"
    who = "the majority vote of all networks, weighted by the posterior,"
    if predictor == "gibbs":
        who = "the randomised predictor, which draws fresh weights for every prediction,"
    elif predictor == "draw":
        over = " and of the network"
        who = "the one network that was drawn from the posterior,"
    elif predictor == "fixed":
        over, who = "", "the fixed predictor"
    families: list[list[Json]] = []
    names = ("subject", "loss", "cost")
    for claim in record["claims"]:
        same = families and all(families[-1][0].get(x) == claim.get(x) for x in names)
        if same:
            families[-1].append(claim)
        else:
            families.append([claim])
    text = (
        f"With probability at least {f.conf(record['delta'])} % over the draw of the {data['m']} "
        f"counted examples{over}, the following holds for {who} on new data from the same "
        f"distribution: {'; '.join(clause(family) for family in families)}."
    )
    if prior["kind"] == "learned":
        what = "predictor" if predictor == "fixed" else "prior"
        part = prior["part"]["examples"]
        text += f" The {what} was learned from the other {part} examples of the data set."
    elif prior["kind"] == "elsewhere":
        origin = prior["origin"]
        text += f" The prior is declared to be free of the counted examples (“{origin}”)."
    elif prior["kind"] == "none":
        text += " The predictor is declared to have been fixed before the counted examples"
        text += " were seen."
    if model["extractors"]:
        text += f" The extractors of its inputs (number: {len(model['extractors'])})"
        text += " are declared to be free of the counted examples."
    if model["answer_above"]:
        text += f" It answers where its confidence is above {model['answer_above']}, a threshold"
        text += " that is declared to have been fixed without the counted examples."
    candidates = ledger["recipe"]["candidates"] * ledger["user"]["candidates"]
    looks = ledger["recipe"]["looks"] + ledger["user"]["looks"]
    count = ledger["certificates"]["number"]
    place = ledger["certificates"]["counted"] == "place"
    if candidates > 1 or looks or place or count > 1:
        words = "place in the order of certificates" if place else "certificates"
        text += f" Declared and paid for: candidates {candidates}, adaptive looks {looks},"
        text += f" {words} {count}."
    if data["duplicates"]:
        independent = data["copies"] == "independent"
        end = ", declared to be independent examples." if independent else "."
        text += f" Exact copies among the {data['examples']} examples: {data['duplicates']}{end}"
    if data["copies"] == "unknown":
        text += " Copies among the examples cannot be detected."
    return text


# The whole certificate

ORDER = [
    "format",
    "sentence",
    "predictor",
    "delta",
    "claims",
    "data",
    "model",
    "prior",
    "ledger",
    "evidence",
    "bound",
    "also",
    "seeds",
    "made",
]
CLAIM_ORDER = [
    "subject",
    "class",
    "group",
    "loss",
    "cost",
    "cost_sha256",
    "m",
    "delta",
    "delta_risk",
    "sampler",
    "draws",
    "errors",
    "total",
    "scale",
    "histogram",
    "limit_by",
    "empirical",
    "limit",
    "bound",
]
ALSO_ORDER = ["kind", "name", "value", "examples", "errors", "upper", "nats"]


def ordered(fields: Json, order: list[str]) -> Json:
    assert set(fields) <= set(order), set(fields) - set(order)
    return {name: fields[name] for name in order if name in fields}


def shifted(shown: str, units: int) -> str:
    """A decimal, moved by units in its last place."""
    places = len(shown.partition(".")[2])
    moved = int(shown.replace(".", "")) + units
    digits = str(abs(moved)).rjust(places + 1, "0")
    return f"{'-' if moved < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def finish(record: Json, units: int = 0) -> Json:
    """The certificate with all figures that follow from its primitives, `units` above them."""

    def nats(x: mpf) -> str:
        return shifted(f.nats(x), units)

    def rate(x: mpf) -> str:
        return min(shifted(f.rate(max(x, mpf(0))), units), "1.0000000000")

    record = copy.deepcopy(record)
    record["format"] = "pacbound-certificate/2"
    predictor, data, prior = record["predictor"], record["data"], record["prior"]
    data["m"] = data["examples"]
    if prior["kind"] == "learned":
        share = Fraction(prior["choices"]["prior_fraction"])
        prior["part"]["examples"] = int(share * data["examples"] + Fraction(1, 2))
        data["m"] -= prior["part"]["examples"]
    for claim in record["claims"]:
        claim.setdefault("subject", "all")
        claim.setdefault("loss", "zero-one")
        if claim["subject"] == "group":
            data["groups_sha256"] = data["groups_sha256"] or sha256("groups")
    record["bound"]["code"] = nats(code(record))
    record["bound"]["ledger"] = nats(ledger_nats(record))
    if predictor != "fixed":
        evidence = record["evidence"]
        evidence["nats"] = nats(divergence(record))
        purposes = ["draw" if predictor == "draw" else "risk"]
        purposes += ["kl"] if evidence["kind"] == "monte-carlo" else []
        record["seeds"] = {purpose: seed(record, purpose) for purpose in purposes}
    shares = [claim[x] for claim in record["claims"] for x in ("delta", "delta_risk") if x in claim]
    shares += [record["evidence"]["delta_kl"]] if "kl" in record.get("seeds", {}) else []
    record.setdefault("delta", plain_decimal(sum(map(Fraction, shares))))
    for claim in record["claims"]:
        claim["empirical"] = shifted(f.exact_rate(f.exact_mean(claim)), units)
        if predictor in SAMPLED:
            claim["limit"] = rate(limit(record, claim))
        claim["bound"] = rate(bound(record, claim, record["bound"]["inequality"]))
    for entry in record["also"]:
        if entry["kind"] == "inequality":
            entry["value"] = rate(bound(record, record["claims"][0], entry["name"]))
        elif entry["kind"] == "held-out":
            level = -mp.log(number(record["delta"]))
            entry["upper"] = rate(f.clopper_pearson(entry["errors"], entry["examples"], level))
        else:
            entry["nats"] = nats(divergence(record, "theorem3"))
    record["claims"] = [ordered(claim, CLAIM_ORDER) for claim in record["claims"]]
    record["also"] = [ordered(entry, ALSO_ORDER) for entry in record["also"]]
    record["sentence"] = sentence(record)
    return ordered(record, ORDER)


def plain_decimal(x: Fraction | int) -> str:
    """A decimal that ends, without superfluous zeros."""
    x = Fraction(x)
    places = 0
    while (x * 10**places).denominator > 1:
        places += 1
    digits = str(int(x * 10**places)).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def to_bytes(record: Json) -> bytes:
    return (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode()
