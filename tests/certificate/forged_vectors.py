"""Certificates that fail exactly one check first: at least one for every check of SPEC.md.

Each differs from a good vector in as little as possible. The later figures are computed anew only
where an earlier check would stop the forgery otherwise.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

from building import Json, finish, sha256, shifted, to_bytes

ABSENT = object()  # the value of a field that is taken away


class Forged(NamedTuple):
    number: str  # of the check that must reject it
    slug: str
    base: str  # the good vector that it was made from
    content: bytes
    spaces: int = 0  # that follow the content; files of 4 MiB are not stored

    @property
    def name(self) -> str:
        return f"{self.number}-{self.slug}"


def changed(record: Json, changes: dict[str, Any]) -> Json:
    """The record with other values at these places, such as `claims.0.errors`."""
    record = copy.deepcopy(record)
    for place, value in changes.items():
        *path, last = (int(x) if x.isdigit() else x for x in place.split("."))
        holder: Any = record
        for key in path:
            holder = holder[key]
        if value is ABSENT:
            del holder[last]
        else:
            holder[last] = value
    return record


def found(record: Json, place: str) -> Any:
    value: Any = record
    for key in place.split("."):
        value = value[int(key)] if key.isdigit() else value[key]
    return value


# 1 Reading

NINE = b"[" * 9 + b"]" * 9


def unreadable(good: dict[str, Json]) -> Iterator[Forged]:
    base = "fixed-estimator"
    whole = to_bytes(good[base])

    def edit(number: str, slug: str, old: str, new: str | bytes) -> Forged:
        assert whole.count(old.encode()) == 1, (number, slug)
        replacement = new if isinstance(new, bytes) else new.encode()
        return Forged(number, slug, base, whole.replace(old.encode(), replacement))

    def raw(number: str, slug: str, content: bytes) -> Forged:
        return Forged(number, slug, base, content)

    yield Forged("1.1", "one-byte-too-many", base, whole, 4 * 2**20 + 1 - len(whole))
    yield raw("1.2", "latin-1", whole.replace(b"letters", b"caf\xe9"))
    yield raw("1.2", "overlong", whole.replace(b"letters", b"\xc1\x81"))
    yield raw("1.2", "surrogate", whole.replace(b"letters", b"\xed\xa0\x80"))
    yield raw("1.2", "beyond-unicode", whole.replace(b"letters", b"\xf4\x90\x80\x80"))
    yield raw("1.2", "cut-in-a-character", "“".encode()[:2])
    yield raw("1.2", "utf-16", whole.decode().encode("utf-16"))
    yield edit("1.3", "nine-deep", '"claims": [', b'"deep": ' + NINE[1:-1] + b', "claims": [')
    yield raw("1.3", "nine-deep-alone", NINE)
    yield raw("1.3", "nine-deep-and-no-json", b"}]" + b"[{" * 6)
    yield raw("1.3", "ten-thousand-deep", b"[" * 10_000)
    yield raw("1.3", "after-a-string", rb'"\\" ' + NINE)
    yield raw("1.4", "empty", b"")
    yield raw("1.4", "space", b" \n")
    yield raw("1.4", "cut-off", whole[:1000])
    yield raw("1.4", "brackets-in-a-string-without-end", b'"' + b"[" * 9)
    yield raw("1.4", "brackets-after-an-escape", rb'"\"' + b"[" * 9)
    yield raw("1.4", "lone-backslash", b'"\\')
    yield raw("1.4", "byte-order-mark", b"\xef\xbb\xbf" + whole)
    yield raw("1.4", "two-values", whole + whole)
    yield raw("1.4", "zero-byte-at-the-end", whole + b"\0")
    yield raw("1.4", "no-break-space", whole + b"\xc2\xa0")
    yield raw("1.4", "form-feed", whole + b"\f")
    yield edit("1.4", "nan", '"examples": 285', '"examples": NaN')
    yield edit("1.4", "infinity", '"examples": 285', '"examples": Infinity')
    yield edit("1.4", "minus-infinity", '"examples": 285', '"examples": -Infinity')
    yield edit("1.4", "comment", '"also": []', '"also": [] /* none */')
    yield edit("1.4", "trailing-comma", '"also": []', '"also": [],,')
    yield edit("1.4", "comma-in-array", '"also": []', '"also": [1,]')
    yield edit("1.4", "single-quotes", '"also": []', "'also': []")
    yield edit("1.4", "leading-zero", '"examples": 285', '"examples": 0285')
    yield edit("1.4", "plus-sign", '"examples": 285', '"examples": +285')
    yield edit("1.4", "no-digit-after-point", '"examples": 285', '"examples": 285.')
    yield edit("1.4", "arabic-digits", '"examples": 285', '"examples": ٢٨٥')
    yield edit("1.4", "true-in-python", '"examples": 285', '"examples": True')
    yield edit("1.4", "raw-line-feed", "letters", "let\nters")
    yield edit("1.4", "raw-tab", "letters", "let\tters")
    yield edit("1.4", "unknown-escape", "letters", "let\\x41ters")
    yield edit("1.4", "short-escape", "letters", "let\\u12ters")
    yield edit("1.4", "float-and-no-json", '"also": []', '"also": [1.0')
    yield edit("1.5", "negative-zero", '"duplicates": 0', '"duplicates": -0')
    yield edit("1.5", "point-zero", '"examples": 285', '"examples": 285.0')
    yield edit("1.5", "exponent", '"examples": 285', '"examples": 285e0')
    yield edit("1.5", "2-to-the-53", '"examples": 285', '"examples": 9007199254740992')
    yield edit("1.5", "minus-2-to-the-53", '"examples": 285', '"examples": -9007199254740992')
    yield edit("1.5", "five-thousand-digits", '"examples": 285', f'"examples": {"9" * 5000}')
    yield edit("1.5", "in-a-name-twice", '"also": []', '"also": [1.5], "also": []')
    yield raw("1.5", "a-float-alone", b"0.5")
    yield edit("1.6", "twice-at-the-top", '"also": []', '"also": [], "also": []')
    yield edit("1.6", "twice-inside", '"classes": 2', '"classes": 2, "classes": 3')
    yield edit("1.6", "twice-by-an-escape", '"classes": 2', '"classes": 2, "cl\\u0061sses": 3')
    yield edit("1.6", "twice-in-a-map", '"machine": {}', '"machine": {"a": "", "a": ""}')
    yield raw("1.6", "twice-and-no-certificate", b'[{"a": 1, "a": 1}]')
    yield raw("1.7", "array", b"[]")
    yield raw("1.7", "text", b'"pacbound-certificate/2"')
    yield raw("1.7", "null", b"null")
    yield raw("1.7", "integer", b"9007199254740991")
    yield raw("1.7", "empty-object", b"{}")
    yield edit("1.7", "format-1", "pacbound-certificate/2", "pacbound-certificate/1")
    yield edit("1.7", "format-as-number", '"pacbound-certificate/2"', "2")
    yield edit("2.6", "lone-surrogate", "letters", "let\\ud800ters")
    yield edit("2.6", "escaped-control-character", "letters", "let\\u0000ters")
    yield edit("13.1", "lone-surrogate", "With probability", "\\udc00With probability")


# 2 to 13: changes of fields

Changes = dict[str, Any]
Case = tuple[str, str, str, Changes]  # number, slug, base, changes

FIXED, GROUP, EVERY = "fixed-estimator", "spec-b-fixed", "fixed-every-claim"
GIBBS, WEIGHTS = "spec-b-gibbs", "gibbs-every-claim-per-weights"
SAMPLES = "gibbs-initialised-gaussian-chernoff-maurer"
DRAW, OTHER_DRAW = "draw-initialised-density", "draw-elsewhere-every-claim"
CENTRE, LEARNED = "fixed-centre-other-choices", "gibbs-half-of-odd"
ELSEWHERE, VOTE = "gibbs-elsewhere-exact-chernoff-maurer", "vote-gibbs-every-claim"
BLOCKS, ONE = "gibbs-block-prior", "gibbs-one-variance"

SHAPE: list[Case] = [
    ("2.1", "data-is-an-array", FIXED, {"data": []}),
    ("2.1", "claim-is-a-text", FIXED, {"claims.0": "a claim"}),
    ("2.1", "map-is-an-array", FIXED, {"made.machine": []}),
    ("2.1", "null", FIXED, {"made": None}),
    ("2.2", "no-sentence", FIXED, {"sentence": ABSENT}),
    ("2.2", "no-made", FIXED, {"made": ABSENT}),
    ("2.2", "no-limit", GIBBS, {"claims.2.limit": ABSENT}),
    ("2.2", "no-class", GIBBS, {"claims.1.class": ABSENT}),
    ("2.2", "no-total", EVERY, {"claims.2.total": ABSENT}),
    ("2.2", "no-evidence", GIBBS, {"evidence": ABSENT}),
    ("2.2", "no-validation", LEARNED, {"prior.validation": ABSENT}),
    ("2.2", "no-recipe-of-a-centre", CENTRE, {"model.recipe": ABSENT}),
    ("2.3", "unknown", FIXED, {"remark": ""}),
    ("2.3", "unknown-name-with-escapes", FIXED, {"\u202e\x1b[2J": ""}),
    ("2.3", "unknown-in-claim", FIXED, {"claims.0.upper": "0.0500000000"}),
    ("2.3", "sampler-of-a-fixed-claim", FIXED, {"claims.0.sampler": "per-example"}),
    ("2.3", "sampler-of-a-draw", DRAW, {"claims.0.sampler": "per-weights"}),
    ("2.3", "odd-sampler-of-a-draw", DRAW, {"claims.0.sampler": []}),
    ("2.3", "class-of-all", GIBBS, {"claims.0.class": 0}),
    ("2.3", "evidence-of-fixed", FIXED, {"evidence": {"kind": "monte-carlo"}}),
    ("2.3", "source-of-gibbs", GIBBS, {"model.source": "centre"}),
    ("2.3", "value-on-the-grid", GIBBS, {"prior.variances.0.value": "0.01"}),
    ("2.3", "seed-of-kl", GIBBS, {"seeds.kl": sha256("kl")}),
    ("2.3", "validation-of-a-fixed-centre", CENTRE, {"prior.validation": {}}),
    ("2.3", "validation-of-initialised", GIBBS, {"prior.validation": {}}),
    ("2.3", "errors-and-histogram", WEIGHTS, {"claims.0.errors": 5}),
    ("2.4", "text", FIXED, {"claims.0.errors": "7"}),
    ("2.4", "true", FIXED, {"claims.0.errors": True}),
    ("2.4", "null", FIXED, {"claims.0.errors": None}),
    ("2.4", "negative", FIXED, {"claims.0.errors": -1}),
    ("2.4", "too-large", FIXED, {"data.examples": 10000001}),
    ("2.4", "too-small", FIXED, {"claims.0.m": 0}),
    ("2.4", "one-class", FIXED, {"data.classes": 1}),
    ("2.4", "grid-index-0", GIBBS, {"prior.variances.0.index": 0}),
    ("2.4", "in-a-histogram", WEIGHTS, {"claims.0.histogram.0": [0, "3"]}),
    ("2.5", "number", FIXED, {"delta": 0}),
    ("2.5", "share-of-half", FIXED, {"delta": "0.5"}),
    ("2.5", "share-of-zero", FIXED, {"delta": "0.00"}),
    ("2.5", "exponent", FIXED, {"delta": "2e-2"}),
    ("2.5", "no-zero-before-the-point", FIXED, {"delta": ".02"}),
    ("2.5", "no-digit-after-the-point", GIBBS, {"evidence.groups.0.trace": "1."}),
    ("2.5", "two-zeros", FIXED, {"delta": "00.02"}),
    ("2.5", "plus-sign", FIXED, {"delta": "+0.02"}),
    ("2.5", "space", FIXED, {"delta": " 0.02"}),
    ("2.5", "line-feed", FIXED, {"delta": "0.02\n"}),
    ("2.5", "underscore", FIXED, {"delta": "0.0_2"}),
    ("2.5", "arabic-digits", FIXED, {"delta": "٠.٠٢"}),
    ("2.5", "fullwidth-digits", FIXED, {"claims.0.bound": "0.\uff10512775915"}),
    ("2.5", "31-decimals", FIXED, {"delta": "0.02" + "0" * 29}),
    ("2.5", "19-digits-before-the-point", GIBBS, {"evidence.groups.0.trace": "1" * 19}),
    ("2.5", "negative-zero", GIBBS, {"evidence.groups.0.log_det": "-0.0"}),
    ("2.5", "negative-zero-nats", FIXED, {"bound.code": "-0.000000"}),
    ("2.5", "negative-nonnegative", GIBBS, {"evidence.groups.0.distance_sq": "-1"}),
    ("2.5", "zero-positive", GIBBS, {"evidence.groups.0.trace": "0"}),
    ("2.5", "rate-of-9-decimals", FIXED, {"claims.0.bound": "0.051277592"}),
    ("2.5", "rate-above-1", FIXED, {"claims.0.bound": "1.0000000001"}),
    ("2.5", "rate-of-one-without-decimals", FIXED, {"claims.0.bound": "1"}),
    ("2.5", "nats-of-5-decimals", FIXED, {"bound.ledger": "0.00000"}),
    ("2.5", "nats-of-16-digits", GIBBS, {"evidence.nats": "1000000000000000.000000"}),
    ("2.5", "not-a-number", GIBBS, {"evidence.groups.0.trace": "NaN"}),
    ("2.5", "fraction", GIBBS, {"evidence.groups.0.trace": "1/4"}),
    ("2.5", "threshold-above-1", EVERY, {"model.answer_above": "1.01"}),
    ("2.5", "threshold-space", EVERY, {"model.answer_above": " "}),
    ("2.6", "empty-name", FIXED, {"data.name": ""}),
    ("2.6", "201-characters", FIXED, {"data.name": "x" * 201}),
    ("2.6", "61-characters", GROUP, {"claims.1.group": "\U0001f600" * 61}),
    ("2.6", "null", FIXED, {"data.name": None}),
    ("2.6", "direction-of-writing", FIXED, {"data.name": "a\u202eb"}),
    ("2.6", "quotation-mark", GROUP, {"claims.1.group": "north” is 0 %; “"}),
    ("2.6", "line-separator", FIXED, {"made.command": "a\u2028b"}),
    ("2.6", "tag-character", FIXED, {"made.command": "a\U000e0041b"}),
    ("2.6", "soft-newline", FIXED, {"made.command": "a\u0085b"}),
    ("2.6", "byte-order-mark", FIXED, {"made.command": "\ufeff"}),
    ("2.6", "empty-sentence", FIXED, {"sentence": ""}),
    ("2.6", "long-sentence", FIXED, {"sentence": "x" * 20001}),
    ("2.6", "value-of-a-map", FIXED, {"made.machine": {"a": 1}}),
    ("2.6", "long-value-of-a-map", FIXED, {"made.machine": {"a": "x" * 2001}}),
    ("2.7", "upper-case", FIXED, {"data.sha256": sha256("data").upper()}),
    ("2.7", "63-digits", FIXED, {"data.sha256": sha256("data")[1:]}),
    ("2.7", "line-feed", FIXED, {"data.sha256": sha256("data") + "\n"}),
    ("2.7", "empty", FIXED, {"data.sha256": ""}),
    ("2.7", "array", FIXED, {"data.sha256": []}),
    ("2.7", "digest-or-empty", FIXED, {"data.groups_sha256": "0"}),
    ("2.8", "predictor", FIXED, {"predictor": "Gibbs"}),
    ("2.8", "predictor-as-array", FIXED, {"predictor": ["fixed"]}),
    ("2.8", "no-prior-of-gibbs", GIBBS, {"prior.kind": "none"}),
    ("2.8", "initialised-prior-of-fixed", FIXED, {"prior.kind": "initialised"}),
    ("2.8", "drawn-evidence-of-gibbs", GIBBS, {"evidence.kind": "drawn"}),
    ("2.8", "exact-evidence-of-a-draw", DRAW, {"evidence.kind": "exact"}),
    ("2.8", "equal-number-another-word", GIBBS, {"prior.choices.input_scale": "1.0"}),
    ("2.8", "recipe", GIBBS, {"model.recipe": "mlp-601"}),
    ("2.8", "loss", FIXED, {"claims.0.loss": "zero_one"}),
    ("2.9", "no-claims", FIXED, {"claims": []}),
    ("2.9", "claims-as-object", FIXED, {"claims": {}}),
    ("2.9", "pair-of-three", WEIGHTS, {"claims.0.histogram.0": [0, 3, 1]}),
    ("2.9", "long-histogram", WEIGHTS, {"claims.0.histogram": [[x, 1] for x in range(1002)]}),
    ("2.9", "nine-extractors", FIXED, {"model.extractors": [{}] * 9}),
    ("2.9", "block-of-one", BLOCKS, {"prior.choices.blocks.0.sizes": [600]}),
    ("2.9", "no-variances", GIBBS, {"prior.variances": []}),
    ("2.9", "21-also", FIXED, {"also": [{}] * 21}),
    ("2.10", "301-entries", FIXED, {"made.times": {str(x): "" for x in range(301)}}),
    ("2.10", "empty-name", FIXED, {"made.times": {"": ""}}),
    ("2.10", "space-first", FIXED, {"made.times": {" a": ""}}),
    ("2.10", "61-characters", FIXED, {"made.times": {"a" * 61: ""}}),
    ("2.10", "line-feed", FIXED, {"made.times": {"a\n": ""}}),
    ("2.10", "not-ascii", FIXED, {"made.times": {"é": ""}}),
    ("2.10", "name-before-value", FIXED, {"made.times": {"a": 1, "é": ""}}),
]

MEANING: list[Case] = [
    ("3.1", "all-are-duplicates", EVERY, {"data.duplicates": 1000}),
    ("3.1", "of-one-example", "fixed-one-example", {"data.duplicates": 1}),
    ("3.2", "more-than-a-hundredth", "spec-b-gibbs", {"data.duplicates": 11}),
    ("3.2", "not-declared", EVERY, {"data.copies": "counted"}),
    ("3.3", "duplicates-of-unknown", "fixed-copies-unknown", {"data.duplicates": 1}),
    ("3.3", "unknown-of-estimator", FIXED, {"data.copies": "unknown"}),
    ("3.3", "unknown-of-gibbs", "gibbs-never-wrong", {"data.copies": "unknown"}),
    ("3.4", "one-too-few", LEARNED, {"prior.part.examples": 500}),
    ("3.4", "another-fraction", CENTRE, {"prior.choices.prior_fraction": "0.5"}),
    ("3.5", "the-part-is-counted", CENTRE, {"data.m": 1001}),
    ("3.5", "one-more", FIXED, {"data.m": 286}),
    ("4.1", "structure-of-mlp", GIBBS, {"model.structure_sha256": sha256("structure")}),
    ("4.1", "module-without-structure", "gibbs-module", {"model.structure_sha256": ""}),
    (
        "4.2",
        "centre-without-learned-prior",
        FIXED,
        {"model.source": "centre", "model.recipe": "table"},
    ),
    ("4.2", "learned-without-centre", CENTRE, {"model.source": "module", "model.recipe": ABSENT}),
    ("4.3", "gibbs-abstains", GIBBS, {"model.answer_above": "0.9"}),
    ("4.3", "vote-abstains", VOTE, {"model.answer_above": "0"}),
    ("4.4", "exact-of-nonlinear", GIBBS, {"model.posterior": "k-nonlinear"}),
    ("4.4", "samples-of-linear", SAMPLES, {"model.posterior": "k-linear"}),
    ("4.5", "validation-errors", LEARNED, {"prior.validation.errors": 502}),
    ("4.5", "errors-of-no-examples", ELSEWHERE, {"prior.validation.errors": 1}),
    ("4.6", "more-than-the-part", LEARNED, {"prior.validation.examples": 502}),
    (
        "4.7",
        "given-by-initialised",
        GIBBS,
        {
            "prior.variances.0.by": "given",
            "prior.variances.0.index": ABSENT,
            "prior.variances.0.value": "0.0223",
        },
    ),
    ("4.8", "same-name", SAMPLES, {"prior.variances.1.name": "1"}),
    ("4.9", "parameters", GIBBS, {"model.parameters": 23}),
    ("4.9", "parameters-of-a-group", SAMPLES, {"prior.variances.1.parameters": 19}),
    ("4.10", "a-group-too-few", SAMPLES, {"evidence.groups.1": ABSENT}),
    ("4.11", "two-for-one-network", SAMPLES, {"prior.choices.variance_groups": "network"}),
    ("4.12", "layer-twice", BLOCKS, {"prior.choices.blocks.1.layer": 1}),
    ("4.12", "layers-fall", BLOCKS, {"prior.choices.blocks.0.layer": 3}),
    ("4.12", "of-a-fixed-centre", "fixed-centre-blocks", {}),
    ("5.1", "gibbs-answered", GIBBS, {"claims.0.subject": "answered"}),
    ("5.1", "gibbs-predicted-class", GIBBS, {"claims.2.subject": "predicted-class"}),
    ("5.1", "gibbs-abstention", GIBBS, {"claims.0.loss": "abstention"}),
    ("5.1", "abstention-of-a-class", EVERY, {"claims.6.loss": "abstention"}),
    ("5.1", "abstention-of-the-answered", OTHER_DRAW, {"claims.4.loss": "abstention"}),
    (
        "5.1",
        "cost-of-a-vote",
        VOTE,
        {
            "claims.0.loss": "cost",
            "claims.0.cost": "harm",
            "claims.0.cost_sha256": sha256("harm"),
            "claims.0.errors": ABSENT,
            "claims.0.total": "31",
        },
    ),
    ("5.2", "no-threshold", EVERY, {"model.answer_above": ""}),
    ("5.2", "abstention-without-threshold", FIXED, {"claims.0.loss": "abstention"}),
    ("5.3", "class-too-large", GIBBS, {"claims.2.class": 2}),
    ("5.4", "twice", GIBBS, {"claims.2.class": 0}),
    ("5.4", "subject-order", GROUP, {}),
    ("5.4", "groups-by-utf-16", "fixed-odd-texts", {}),
    ("5.5", "all-of-fewer", GROUP, {"claims.0.m": 99}),
    ("5.5", "group-of-more", GROUP, {"claims.1.m": 101}),
    ("5.5", "counts-twice", CENTRE, {"claims.0.m": 301}),
    ("5.6", "classes-of-too-many", GIBBS, {"claims.2.m": 401}),
    ("5.6", "classes-of-too-few", GIBBS, {"claims.2.m": 399}),
    (
        "5.6",
        "some-classes-of-too-many",
        "fixed-forty-classes",
        {"data.classes": 41, "claims.39.m": 26},
    ),
    ("5.7", "groups-of-too-many", EVERY, {"claims.13.m": 301}),
    ("5.8", "no-digest-of-groups", GROUP, {"data.groups_sha256": ""}),
    ("5.8", "digest-of-no-groups", FIXED, {"data.groups_sha256": sha256("groups")}),
    ("5.9", "convolution", GIBBS, {"model.network": "lenet"}),
    ("5.9", "nonlinear", SAMPLES, {}),
    ("6.1", "delta-too-small", GIBBS, {"delta": "0.03"}),
    ("6.1", "delta-too-large", GIBBS, {"delta": "0.04"}),
    ("6.1", "share-of-a-claim", GIBBS, {"claims.1.delta": "0.0051"}),
    ("6.1", "share-of-the-risk", GIBBS, {"claims.0.delta_risk": "0.0049"}),
    ("6.1", "share-of-the-kl", SAMPLES, {"evidence.delta_kl": "0.006"}),
    (
        "6.1",
        "last-decimal",
        "fixed-long-shares",
        {"claims.1.delta": "0.000000000000000000000000000002"},
    ),
    ("7.1", "draw", DRAW, {"seeds.draw": sha256("lucky")}),
    ("7.1", "other-data", DRAW, {"data.sha256": sha256("other data")}),
    ("7.1", "other-prior", DRAW, {"prior.sha256": sha256("other prior")}),
    ("7.2", "risk", GIBBS, {"seeds.risk": sha256("lucky")}),
    ("7.2", "other-model", GIBBS, {"model.sha256": sha256("other model")}),
    ("7.3", "kl", SAMPLES, {"seeds.kl": sha256("lucky")}),
    ("8.1", "seed-not-paid", GIBBS, {"prior.choices.seed": 1}),
    ("8.1", "index-not-paid", GIBBS, {"prior.variances.0.index": 151}),
    ("8.1", "recipe-not-paid", GIBBS, {"model.recipe": "mlp-30"}),
    ("8.1", "network-not-paid", "gibbs-other-network", {"model.network": "resnet"}),
    ("8.1", "width-not-paid", "gibbs-recipe-without-default", {"prior.choices.widths.1": 21}),
    ("8.1", "block-not-paid", BLOCKS, {"prior.choices.blocks.0.sizes.0": 31}),
    ("8.1", "split-seed-not-paid", CENTRE, {"prior.choices.split_seed": 13}),
    ("8.1", "a-default-that-is-none", "gibbs-fashion-default", {"model.recipe": "table"}),
    ("8.1", "input-scale-not-paid", ONE, {"prior.choices.input_scale": "8"}),
    ("8.1", "smoothing-not-paid", ONE, {"prior.choices.smoothing": "0.5"}),
    ("8.1", "alignment-not-paid", ONE, {"prior.choices.alignment": "deskew"}),
    ("8.1", "hidden-bias-not-paid", ONE, {"prior.choices.hidden_bias": "-0.5"}),
    ("8.1", "later-bias-not-paid", ONE, {"prior.choices.later_bias": "-0.5"}),
    ("8.1", "initializer-not-paid", ELSEWHERE, {"prior.choices.initializer": "he-normal"}),
    ("8.2", "looks-not-paid", GIBBS, {"ledger.user.looks": 3}),
    ("8.2", "candidates-not-paid", FIXED, {"ledger.recipe.candidates": 2}),
    ("8.2", "certificates-not-paid", FIXED, {"ledger.certificates.number": 2}),
    ("8.2", "place-not-paid", DRAW, {"ledger.certificates.counted": "place"}),
    ("9.1", "determinant-too-large", GIBBS, {"evidence.groups.0.log_det": "-49.2"}),
    ("9.1", "determinant-of-one-group", ELSEWHERE, {"evidence.groups.1.log_det": "-46"}),
    ("9.2", "determinant-too-large", SAMPLES, {"evidence.groups.0.log_det": "-212"}),
    ("9.3", "noise-too-small", "draw-learned-binomial", {"evidence.groups.0.noise_sq": "552.78"}),
    ("9.3", "noise-too-large", DRAW, {"evidence.groups.0.noise_sq": "341.43"}),
    ("9.3", "noise-of-many", "draw-thousands-of-nats", {"evidence.groups.0.noise_sq": "461294"}),
    ("9.4", "trace", GIBBS, {"evidence.groups.0.trace": "0.26"}),
    ("9.4", "distance", GIBBS, {"evidence.groups.0.distance_sq": "1.199"}),
    ("9.4", "determinant", GIBBS, {"evidence.groups.0.log_det": "-50.26"}),
    ("9.4", "samples", SAMPLES, {"evidence.samples": 999}),
    ("9.4", "tail", SAMPLES, {"evidence.tail": "theorem3"}),
    ("9.4", "lipschitz", SAMPLES, {"evidence.groups.1.lipschitz": "0.14"}),
    ("9.4", "mean-square", SAMPLES, {"evidence.groups.1.mean_square": "0.56"}),
    ("9.4", "noise", DRAW, {"evidence.groups.0.noise_sq": "97.4"}),
    ("9.4", "given-variance", LEARNED, {"prior.variances.0.value": "0.0101"}),
    (
        "9.4",
        "certificates-of-samples",
        SAMPLES,
        {"ledger.certificates.number": 3, "ledger.certificates.counted": "place"},
    ),
    ("10.1", "errors-of-examples", FIXED, {"claims.0.errors": 286}),
    ("10.1", "errors-of-draws", GIBBS, {"claims.0.errors": 100001}),
    ("10.1", "abstentions", EVERY, {"claims.1.errors": 1001}),
    ("10.2", "total-of-examples", EVERY, {"claims.3.total": "1000.000000000000000000000000000001"}),
    (
        "10.2",
        "total-of-draws",
        "gibbs-every-claim-per-example",
        {"claims.1.total": "100001"},
    ),
    ("10.3", "draws-not-even", GIBBS, {"claims.0.draws": 100001}),
    ("10.4", "values-fall", WEIGHTS, {"claims.0.histogram.1": [6, 25]}),
    ("10.4", "value-twice", WEIGHTS, {"claims.0.histogram.1": [5, 25]}),
    ("10.4", "value-above-scale", WEIGHTS, {"claims.0.histogram.4": [51, 1]}),
    ("10.4", "never-seen", WEIGHTS, {"claims.0.histogram.4": [50, 0]}),
    ("10.5", "errors-changed", GIBBS, {"claims.0.errors": 1000}),
    ("10.5", "total-changed", EVERY, {"claims.2.total": "12.500001"}),
    ("10.5", "histogram-changed", WEIGHTS, {"claims.0.histogram.1": [4, 26]}),
    ("10.5", "scale-changed", WEIGHTS, {"claims.0.scale": 51}),
    ("11.1", "density-of-fixed", FIXED, {"bound.inequality": "density"}),
    ("11.1", "xi-of-fixed", FIXED, {"bound.inequality": "xi"}),
    ("11.1", "maurer-of-a-draw", DRAW, {"bound.inequality": "maurer"}),
    ("11.1", "binomial-of-gibbs", GIBBS, {"bound.inequality": "binomial"}),
    ("11.2", "catoni-of-initialised", GIBBS, {"bound.inequality": "catoni"}),
    ("11.2", "catoni-without-examples", ELSEWHERE, {"bound.inequality": "catoni"}),
    ("11.3", "not-the-rule", GIBBS, {"bound.inequality": "maurer"}),
    ("11.3", "the-rule", GIBBS, {"bound.selected": "beforehand"}),
    ("11.3", "binomial-of-initialised", "draw-initialised-binomial", {"bound.selected": "rule"}),
    ("11.3", "xi-with-validation", LEARNED, {"bound.inequality": "xi"}),
    (
        "11.4",
        "no-candidates",
        "draw-initialised-binomial",
        {"bound.selected": "candidate"},
    ),
    (
        "11.4",
        "candidates-of-the-recipe-alone",
        "fixed-all-candidates",
        {},
    ),
    ("12.1", "binomial-of-gibbs", GIBBS, {"also.0.name": "binomial"}),
    ("12.1", "catoni-without-validation", GIBBS, {"also.0.name": "catoni"}),
    ("12.1", "xi-of-a-draw", DRAW, {"also.0.name": "xi"}),
    (
        "12.1",
        "binomial-of-fixed",
        FIXED,
        {"also": [{"kind": "inequality", "name": "binomial", "value": "0.0512775915"}]},
    ),
    (
        "12.1",
        "held-out-of-a-vote",
        VOTE,
        {"also": [{"kind": "held-out", "examples": 9, "errors": 1, "upper": "0.5000000000"}]},
    ),
    ("12.1", "theorem3-of-exact", GIBBS, {"also": [{"kind": "theorem3", "nats": "99.000000"}]}),
    ("12.1", "theorem3-of-fixed", FIXED, {"also": [{"kind": "theorem3", "nats": "99.000000"}]}),
    ("12.2", "twice", GIBBS, {"also.1.name": "mcallester"}),
    ("12.2", "names-fall", DRAW, {}),
    ("12.2", "kinds-fall", GIBBS, {}),
    ("12.4", "held-out-errors", GIBBS, {"also.2.errors": 501}),
    ("12.5", "held-out-errors-changed", GIBBS, {"also.2.errors": 30}),
    ("13.1", "another-percentage", GIBBS, {}),
    ("13.1", "trailing-space", GIBBS, {}),
    ("13.1", "straight-quotes", GROUP, {}),
    ("13.1", "another-apostrophe", OTHER_DRAW, {}),
    ("13.1", "no-notes", GIBBS, {}),
    ("13.1", "truer-threshold", EVERY, {"model.answer_above": "0.80"}),
    ("13.1", "another-origin", ELSEWHERE, {"prior.origin": "trained on these letters"}),
    ("13.1", "another-group", GROUP, {"claims.1.group": "south"}),
    ("13.1", "duplicates-not-said", FIXED, {"data.duplicates": 1}),
]


def rearranged(good: dict[str, Json], number: str, slug: str) -> Json:
    """The forgeries that are not a change of one or two fields."""
    if slug == "of-a-fixed-centre":
        blocks = [{"layer": 2, "sizes": [30, 570]}, {"layer": 1, "sizes": [30, 570]}]
        return changed(good["fixed-centre-blocks"], {"prior.choices.blocks": blocks})
    if slug == "subject-order":
        return changed(good[GROUP], {"claims": good[GROUP]["claims"][::-1]})
    if slug == "groups-by-utf-16":
        return changed(good["fixed-odd-texts"], {"claims": good["fixed-odd-texts"]["claims"][::-1]})
    if slug == "nonlinear":
        claim = good[SAMPLES]["claims"][0]
        fields = {k: v for k, v in claim.items() if k not in ("scale", "histogram", "limit_by")}
        per_example = {"sampler": "per-example", "draws": 100000, "errors": 6000}
        return changed(good[SAMPLES], {"claims.0": fields | per_example})
    if slug == "candidates-of-the-recipe-alone":
        draw = good["draw-initialised-binomial"]
        tried = {"ledger.recipe.candidates": 2, "bound.selected": "candidate"}
        return finish(changed(draw, tried))
    if slug == "names-fall":
        also = good[DRAW]["also"]
        return changed(good[DRAW], {"also": [also[1], also[0], also[2]]})
    if slug == "kinds-fall":
        also = good[GIBBS]["also"]
        return changed(good[GIBBS], {"also": [also[2], also[0], also[1]]})
    sentences = {
        "another-percentage": (GIBBS, "16.84 %", "16.83 %"),
        "trailing-space": (GIBBS, "examples: 7.", "examples: 7. "),
        "straight-quotes": (GROUP, "“north”", '"north"'),
        "another-apostrophe": (OTHER_DRAW, "torchvision’s", "torchvision's"),
        "no-notes": (GIBBS, " Exact copies among the 1000 examples: 7.", ""),
    }
    base, old, new = sentences[slug]
    said = good[base]["sentence"]
    assert said.count(old) == 1, (number, slug)
    return changed(good[base], {"sentence": said.replace(old, new)})


def impossible(good: dict[str, Json]) -> Iterator[Forged]:
    """Primitives of which everything is computed anew, and that cannot all be true."""
    # A mean square that is too small for the determinant.
    small = {"evidence.groups.0.mean_square": "0.01", "evidence.groups.0.log_det": "-213"}
    # A second group that makes up for the first.
    large = {**small, "evidence.groups.1.mean_square": "60"}
    for slug, changes in (("negative-kl", small), ("negative-kl-of-one-group", large)):
        yield Forged("9.6", slug, SAMPLES, to_bytes(finish(changed(good[SAMPLES], changes))))
    # Below the tolerance of 9.1, which grows with the number of parameters.
    many = 10**12
    changes = {
        "model.parameters": many,
        "prior.variances": [{"name": "1", "parameters": many, "by": "given", "value": "1"}],
        "evidence.groups": [{"trace": str(many), "distance_sq": "0", "log_det": "900"}],
    }
    forged = finish(changed(good[ELSEWHERE], changes))
    yield Forged("9.6", "in-the-tolerance", ELSEWHERE, to_bytes(forged))

    def of(subject: str) -> list[int]:
        wanted = subject, "zero-one"
        claims = enumerate(good[EVERY]["claims"])
        return [place for place, x in claims if (x["subject"], x["loss"]) == wanted]

    classes, predicted, groups = of("true-class"), of("predicted-class"), of("group")
    for slug, changes in (
        ("fewer-errors-over-all", {"claims.0.errors": 30}),
        ("more-errors-over-all", {"claims.0.errors": 32}),
        ("fewer-errors-of-a-class", {f"claims.{classes[2]}.errors": 17}),
        ("more-errors-of-a-class", {f"claims.{classes[2]}.errors": 19}),
        ("fewer-errors-of-a-group", {f"claims.{groups[0]}.errors": 1}),
        ("more-errors-of-a-group", {f"claims.{groups[0]}.errors": 3}),
        ("fewer-errors-of-predictions", {f"claims.{predicted[1]}.errors": 22}),
        ("predicted-twice", {f"claims.{predicted[1]}.m": 582}),
    ):
        yield Forged("10.8", slug, EVERY, to_bytes(finish(changed(good[EVERY], changes))))


def unlikely_draws(good: dict[str, Json]) -> Iterator[Forged]:
    """A density ratio that no honest draw has; everything else is computed from it."""
    base = "draw-negative-density"
    changes = {"evidence.groups.0.noise_sq": "230", "evidence.groups.0.distance_sq": "0.2"}
    yield Forged("9.5", "ratio", base, to_bytes(finish(changed(good[base], changes))))
    base = "draw-initialised-density"
    changes = {
        "evidence.groups.0.noise_sq": "340",
        "evidence.groups.0.distance_sq": "0.1",
        "evidence.groups.0.log_det": "-228",
    }
    yield Forged("9.5", "ratio-on-the-grid", base, to_bytes(finish(changed(good[base], changes))))


# Every figure: one unit too small, two units too large

FIGURES: list[tuple[str, str, str, str]] = [  # place, too small, too large, base
    ("bound.code", "8.1", "8.1", GIBBS),
    ("bound.code", "8.1", "8.1", FIXED),
    ("bound.code", "8.1", "8.1", CENTRE),
    ("bound.code", "8.1", "8.1", BLOCKS),
    ("bound.code", "8.1", "8.1", ELSEWHERE),
    ("bound.ledger", "8.2", "8.2", GIBBS),
    ("bound.ledger", "8.2", "8.2", FIXED),
    ("bound.ledger", "8.2", "8.2", OTHER_DRAW),
    ("bound.ledger", "8.2", "8.2", EVERY),
    ("evidence.nats", "9.4", "9.4", GIBBS),
    ("evidence.nats", "9.4", "9.4", SAMPLES),
    ("evidence.nats", "9.4", "9.4", "gibbs-initialised-theorem3-betting-mcallester"),
    ("evidence.nats", "9.4", "9.4", "draw-negative-ratio"),
    ("evidence.nats", "9.4", "9.4", "gibbs-mnist-size"),
    ("claims.0.empirical", "10.5", "10.5", FIXED),
    ("claims.2.empirical", "10.5", "10.5", GIBBS),
    ("claims.5.empirical", "10.5", "10.5", EVERY),
    ("claims.0.empirical", "10.5", "10.5", SAMPLES),
    ("claims.0.empirical", "10.5", "10.5", "gibbs-half-of-odd"),
    ("claims.0.limit", "10.6", "10.7", GIBBS),
    ("claims.2.limit", "10.6", "10.7", GIBBS),
    ("claims.0.limit", "10.6", "10.7", SAMPLES),
    ("claims.0.limit", "10.6", "10.7", WEIGHTS),
    ("claims.1.limit", "10.6", "10.7", WEIGHTS),
    ("claims.1.limit", "10.6", "10.7", "gibbs-every-claim-per-example"),
    ("claims.0.limit", "10.6", "10.7", "gibbs-long-histogram"),
    ("claims.0.limit", "10.6", "10.7", "gibbs-never-wrong"),
    ("claims.0.bound", "11.5", "11.6", FIXED),
    ("claims.1.bound", "11.5", "11.6", GROUP),
    ("claims.0.bound", "11.5", "11.6", "fixed-one-example"),
    ("claims.0.bound", "11.5", "11.6", "fixed-all-but-one-wrong"),
    ("claims.0.bound", "11.5", "11.6", "fixed-ten-million"),
    ("claims.0.bound", "11.5", "11.6", "fixed-ten-million-no-error"),
    ("claims.2.bound", "11.5", "11.6", EVERY),
    ("claims.14.bound", "11.5", "11.6", EVERY),
    ("claims.0.bound", "11.5", "11.6", CENTRE),
    ("claims.0.bound", "11.5", "11.6", DRAW),
    ("claims.0.bound", "11.5", "11.6", "draw-initialised-binomial"),
    ("claims.0.bound", "11.5", "11.6", "draw-learned-binomial"),
    ("claims.2.bound", "11.5", "11.6", OTHER_DRAW),
    ("claims.1.bound", "11.5", "11.6", "draw-density-costs"),
    ("claims.0.bound", "11.5", "11.6", "draw-negative-ratio"),
    ("claims.0.bound", "11.5", "11.6", "draw-thousands-of-nats"),
    ("claims.0.bound", "11.5", "11.6", "draw-thousands-binomial"),
    ("claims.2.bound", "11.5", "11.6", GIBBS),
    ("claims.0.bound", "11.5", "11.6", SAMPLES),
    ("claims.0.bound", "11.5", "11.6", "gibbs-elsewhere-gaussian-chernoff-mcallester"),
    ("claims.0.bound", "11.5", "11.6", "gibbs-learned-gaussian-betting-catoni"),
    ("claims.0.bound", "11.5", "11.6", "vote-gibbs-initialised-gaussian-betting-xi"),
    ("claims.0.bound", "11.5", "11.6", "vote-gibbs-learned-exact-chernoff-catoni"),
    ("claims.0.bound", "11.5", "11.6", "vote-tandem-learned-exact-per-example-mcallester"),
    ("claims.0.bound", "11.5", "11.6", "vote-tandem-elsewhere-exact-betting-catoni"),
    ("claims.3.bound", "11.5", "11.6", VOTE),
    ("also.0.value", "12.3", "12.3", GIBBS),
    ("also.1.value", "12.3", "12.3", GIBBS),
    ("also.1.value", "12.3", "12.3", "gibbs-learned-gaussian-betting-catoni"),
    ("also.2.value", "12.3", "12.3", "gibbs-learned-gaussian-betting-catoni"),
    ("also.3.value", "12.3", "12.3", "gibbs-learned-gaussian-betting-catoni"),
    ("also.0.value", "12.3", "12.3", DRAW),
    ("also.1.value", "12.3", "12.3", DRAW),
    ("also.3.value", "12.3", "12.3", "vote-gibbs-every-claim"),
    ("also.2.upper", "12.5", "12.5", GIBBS),
    ("also.2.upper", "12.5", "12.5", DRAW),
    ("also.5.nats", "12.6", "12.6", SAMPLES),
    ("also.5.nats", "12.6", "12.6", "gibbs-initialised-theorem3-betting-mcallester"),
]
# A bound of 1 can only be too large, where less is due; and no figure may be below 0.
ONLY_TOO_SMALL: list[tuple[str, str, str]] = [
    ("claims.0.bound", "11.5", "fixed-all-wrong"),
    ("claims.0.bound", "11.5", "fixed-one-example-wrong"),
    ("claims.0.bound", "11.5", "gibbs-one-example-mcallester"),
    ("claims.0.bound", "11.5", "vote-tandem-vacuous"),
    ("claims.0.limit", "10.6", "gibbs-always-wrong"),
    ("claims.0.limit", "10.6", "gibbs-betting-all-wrong"),
    ("claims.0.bound", "11.5", "draw-hopeless"),
    ("also.0.value", "12.3", "gibbs-one-example-xi"),
]


def moved_figures(good: dict[str, Json]) -> Iterator[Forged]:
    for place, too_small, too_large, base in FIGURES:
        slug = f"{place.replace('.', '-')}-of-{base}"
        shown = found(good[base], place)
        less, more = shifted(shown, -1), shifted(shown, 2)
        negative_rate = less.startswith("-") and not place.endswith(("nats", "code", "ledger"))
        if not negative_rate:
            small = changed(good[base], {place: less})
            yield Forged(too_small, f"{slug}-one-unit-too-small", base, to_bytes(small))
        large = changed(good[base], {place: more})
        yield Forged(too_large, f"{slug}-two-units-too-large", base, to_bytes(large))
    for place, number, base in ONLY_TOO_SMALL:
        slug = f"{place.replace('.', '-')}-of-{base}-one-unit-too-small"
        small = changed(good[base], {place: shifted(found(good[base], place), -1)})
        yield Forged(number, slug, base, to_bytes(small))
    for place, number, base in (
        ("claims.0.bound", "11.6", FIXED),
        ("claims.0.limit", "10.7", GIBBS),
        ("claims.0.empirical", "10.5", GIBBS),
        ("also.2.upper", "12.5", GIBBS),
        ("also.0.value", "12.3", GIBBS),
    ):
        slug = f"{place.replace('.', '-')}-of-{base}-1"
        yield Forged(number, slug, base, to_bytes(changed(good[base], {place: "1.0000000000"})))


def forged_vectors(good: dict[str, Json]) -> dict[str, Forged]:
    vectors: dict[str, Forged] = {}

    def add(forged: Forged) -> None:
        assert forged.name not in vectors, forged.name
        vectors[forged.name] = forged

    for forged in unreadable(good):
        add(forged)
    for number, slug, base, changes in SHAPE + MEANING:
        simple = changed(good[base], changes)
        record = simple if changes else rearranged(good, number, slug)
        add(Forged(number, slug, base, to_bytes(record)))
    for forged in (*unlikely_draws(good), *impossible(good), *moved_figures(good)):
        add(forged)
    return vectors
