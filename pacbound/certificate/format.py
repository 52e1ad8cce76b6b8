"""The certificate, format 2, as frozen dataclasses (SPEC.md, "The fields").

Each field has its kind and the condition under which it exists. A field that does not exist is
None. Decimals are `Decimal`, with the digits shown in the file.

Reading checks only the shape. The checker decides whether the claims hold.
"""

from __future__ import annotations

import functools
import json
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pacbound.bounds import codes
from pacbound.certificate.kinds import (
    DIGEST,
    DIGEST_OR_EMPTY,
    MAP,
    NATS,
    NONNEGATIVE,
    POSITIVE,
    RATE,
    REAL,
    SHARE,
    THRESHOLD,
    Array,
    Integer,
    OnlyIf,
    String,
    Text,
    Word,
    refuse,
)
from pacbound.certificate.shown import in_five_lines
from pacbound.errors import CertificateError
from pacbound.files import write_whole
from pacbound.printable import printable_json

__all__ = [
    "ALSO_KINDS",
    "ALSO_NAMES",
    "COUNTED",
    "FORMAT",
    "INEQUALITIES",
    "LOSSES",
    "POSTERIORS",
    "PREDICTORS",
    "SAMPLED",
    "SUBJECTS",
    "Also",
    "Block",
    "Bound",
    "Certificate",
    "Certificates",
    "Choices",
    "Claim",
    "Data",
    "Evidence",
    "Extractor",
    "Group",
    "Ledger",
    "Made",
    "Model",
    "Part",
    "Prior",
    "Seeds",
    "Tried",
    "Validation",
    "Variance",
    "schema",
]

FORMAT = "pacbound-certificate/2"
PICTURE = "pacbound.report.page.notebook:certificate_html"  # imported when a notebook shows one
SAMPLED = ("gibbs", "vote-gibbs", "vote-tandem")  # their empirical risk is estimated
COUNTED = ("draw", "fixed")  # their errors are counted
POSTERIORS = ("diag", "k-diag", "k-linear", "k-nonlinear")
PREDICTORS = ("gibbs", "draw", "vote-gibbs", "vote-tandem", "fixed")
SUBJECTS = ("all", "answered", "true-class", "predicted-class", "group")
LOSSES = ("zero-one", "abstention", "cost")
INEQUALITIES = ("mcallester", "maurer", "xi", "catoni", "binomial", "density")
ALSO_KINDS = ("inequality", "held-out", "theorem3")
ALSO_NAMES = ("mcallester", "maurer", "xi", "catoni", "pinsker", "binomial", "density")

MANY = 10**15
EXAMPLES = Integer(1, 10_000_000)
EXAMPLES_OR_NONE = Integer(0, 10_000_000)
PARAMETERS = Integer(1, 10**12)
SEED = Integer(0, 10**9)
CLASS = Integer(0, 1_000_000)
NAME = Text(1, 60)
LONG_NAME = Text(1, 200)

Json: TypeAlias = Any


def _if(name: str, *values: str) -> OnlyIf:
    """Exists if a field of the same object has one of these values."""
    return OnlyIf(lambda root, here: here.get(name) in values)


def _unless(name: str, *values: str) -> OnlyIf:
    return OnlyIf(lambda root, here: here.get(name) not in values)


def _of(part: str, name: str, *values: str) -> OnlyIf:
    """Exists if a field of a part of the certificate has one of these values."""
    return OnlyIf(lambda root, here: _inside(root, part).get(name) in values)


def _inside(root: Json, part: str) -> Json:
    found = root.get(part)
    return found if isinstance(found, dict) else {}


def _predictor(*names: str) -> OnlyIf:
    return OnlyIf(lambda root, here: root.get("predictor") in names)


_NOT_FIXED = _predictor(*SAMPLED, "draw")
_PER_EXAMPLE = _if("sampler", "per-example")
_PER_WEIGHTS = _if("sampler", "per-weights")


def _counts(root: Json, here: Json) -> bool:
    return root.get("predictor") in COUNTED or here.get("sampler") == "per-example"


_ERRORS = OnlyIf(lambda root, here: here.get("loss") != "cost" and _counts(root, here))
_TOTAL = OnlyIf(lambda root, here: here.get("loss") == "cost" and _counts(root, here))
_RECIPE = OnlyIf(
    lambda root, here: root.get("predictor") != "fixed" or here.get("source") == "centre"
)
_VALIDATION = OnlyIf(
    lambda root, here: (
        root.get("predictor") != "fixed" and here.get("kind") in ("learned", "elsewhere")
    )
)
_HAS_DRAW, _HAS_RISK = _predictor("draw"), _predictor(*SAMPLED)
_HAS_KL = _of("evidence", "kind", "monte-carlo")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One inequality: the mean loss on new data, given the subject, is at most `bound`."""

    subject: Annotated[str, Word(SUBJECTS)]
    class_: Annotated[int | None, CLASS, _if("subject", "true-class", "predicted-class")] = None
    group: Annotated[str | None, NAME, _if("subject", "group")] = None
    loss: Annotated[str, Word(LOSSES)]
    cost: Annotated[str | None, NAME, _if("loss", "cost")] = None
    cost_sha256: Annotated[str | None, DIGEST, _if("loss", "cost")] = None
    m: Annotated[int, EXAMPLES]
    delta: Annotated[Decimal, SHARE]
    delta_risk: Annotated[Decimal | None, SHARE, _HAS_RISK] = None
    sampler: Annotated[str | None, Word(("per-example", "per-weights")), _HAS_RISK] = None
    draws: Annotated[int | None, Integer(1, MANY), _PER_EXAMPLE] = None
    errors: Annotated[int | None, Integer(0, MANY), _ERRORS] = None
    total: Annotated[Decimal | None, NONNEGATIVE, _TOTAL] = None
    scale: Annotated[int | None, Integer(1, 1_000_000), _PER_WEIGHTS] = None
    histogram: Annotated[
        tuple[tuple[int, int], ...] | None,
        Array(1, 1001, Array(2, 2, Integer(0, MANY))),
        _PER_WEIGHTS,
    ] = None
    limit_by: Annotated[str | None, Word(("betting", "chernoff")), _PER_WEIGHTS] = None
    empirical: Annotated[Decimal, RATE]
    limit: Annotated[Decimal | None, RATE, _HAS_RISK] = None
    bound: Annotated[Decimal, RATE]

    @property
    def trials(self) -> int:
        """The items of the mean: examples, draws of examples, or draws of weights."""
        if self.histogram is not None:
            return sum(times for _, times in self.histogram)
        return self.draws if self.draws is not None else self.m

    @property
    def mean(self) -> Fraction:
        """The observed mean loss, exact."""
        if self.histogram is not None:
            assert self.scale is not None
            summed = sum(value * times for value, times in self.histogram)
            return Fraction(summed, self.scale * self.trials)
        lost = self.errors if self.errors is not None else self.total
        assert lost is not None
        return Fraction(lost) / self.trials

    @property
    def key(self) -> tuple[int, int, str, int, str]:
        """The sort key: claims are in this order."""
        places = SUBJECTS.index(self.subject), LOSSES.index(self.loss)
        return *places, self.cost or "", self.class_ or 0, self.group or ""

    @property
    def scope(self) -> str:
        """The subject of the claim, in a few words: `all`, `true class 3`, `group north`."""
        if self.class_ is not None:
            return f"{self.subject.replace('-', ' ')} {self.class_}"
        return f"group {self.group}" if self.group is not None else self.subject


@dataclass(frozen=True, kw_only=True)
class Data:
    name: Annotated[str, LONG_NAME]
    examples: Annotated[int, EXAMPLES]
    m: Annotated[int, EXAMPLES]
    classes: Annotated[int, Integer(2, 1_000_001)]
    sha256: Annotated[str, DIGEST]
    duplicates: Annotated[int, EXAMPLES_OR_NONE]
    copies: Annotated[str, Word(("counted", "independent", "unknown"))]
    groups_sha256: Annotated[str, DIGEST_OR_EMPTY]


@dataclass(frozen=True, kw_only=True)
class Extractor:
    sha256: Annotated[str, DIGEST]
    origin: Annotated[str, LONG_NAME]


@dataclass(frozen=True, kw_only=True)
class Model:
    source: Annotated[
        str | None,
        Word(("centre", "estimator", "module", "onnx", "predictions")),
        _predictor("fixed"),
    ] = None
    recipe: Annotated[str | None, Word(codes.RECIPES), _RECIPE] = None
    network: Annotated[str | None, Word(codes.NETWORKS), _NOT_FIXED] = None
    structure_sha256: Annotated[str | None, DIGEST_OR_EMPTY, _NOT_FIXED] = None
    posterior: Annotated[str | None, Word(POSTERIORS), _NOT_FIXED] = None
    parameters: Annotated[int | None, PARAMETERS, _NOT_FIXED] = None
    frozen: Annotated[int | None, Integer(0, 10**12), _NOT_FIXED] = None
    sha256: Annotated[str, DIGEST]
    extractors: Annotated[tuple[Extractor, ...], Array(0, 8, Extractor)] = ()
    answer_above: Annotated[str, THRESHOLD] = ""


@dataclass(frozen=True, kw_only=True)
class Part:
    """The examples that a prior was trained on."""

    examples: Annotated[int, EXAMPLES]
    sha256: Annotated[str, DIGEST]


@dataclass(frozen=True, kw_only=True)
class Validation:
    """Errors of a prior's centre on held-out examples that are not counted either."""

    examples: Annotated[int, EXAMPLES_OR_NONE]
    errors: Annotated[int, EXAMPLES_OR_NONE]


@dataclass(frozen=True, kw_only=True)
class Block:
    """The sizes of the blocks of a layer's units."""

    layer: Annotated[int, Integer(1, 10_000)]
    sizes: Annotated[tuple[int, ...], Array(2, 20, EXAMPLES)]


_INITIALISED = _of("prior", "kind", "initialised")
_LEARNED = _of("prior", "kind", "learned")
_NEW = _of("prior", "kind", "initialised", "elsewhere")


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The choices of the prior, as words of declared lists and whole numbers."""

    initializer: Annotated[str | None, Word(codes.INITIALIZERS), _NEW] = None
    seed: Annotated[int, SEED]
    input_scale: Annotated[str | None, Word(codes.INPUT_SCALES), _INITIALISED] = None
    smoothing: Annotated[str | None, Word(codes.SMOOTHING_LENGTHS), _INITIALISED] = None
    alignment: Annotated[str | None, Word(codes.ALIGNMENTS), _INITIALISED] = None
    hidden_bias: Annotated[str | None, Word(codes.HIDDEN_BIASES), _INITIALISED] = None
    later_bias: Annotated[str | None, Word(codes.HIDDEN_BIASES), _INITIALISED] = None
    widths: Annotated[tuple[int, ...] | None, Array(0, 100, EXAMPLES), _INITIALISED] = None
    prior_fraction: Annotated[str | None, Word(codes.PRIOR_FRACTIONS), _LEARNED] = None
    split_seed: Annotated[int | None, SEED, _LEARNED] = None
    variance_groups: Annotated[str, Word(codes.VARIANCE_GROUPS)]
    blocks: Annotated[tuple[Block, ...], Array(0, 100, Block)] = ()


@dataclass(frozen=True, kw_only=True)
class Variance:
    """A group of weights and their prior variance: an index on the grid, or a given value."""

    name: Annotated[str, LONG_NAME]
    parameters: Annotated[int, PARAMETERS]
    by: Annotated[str, Word(("grid", "given"))]
    index: Annotated[int | None, Integer(1, 10_000), _if("by", "grid")] = None
    value: Annotated[Decimal | None, POSITIVE, _if("by", "given")] = None


_KINDS = ("none", "initialised", "learned", "elsewhere")


@dataclass(frozen=True, kw_only=True)
class Prior:
    kind: Annotated[str, Word(_KINDS)]
    sha256: Annotated[str | None, DIGEST, _NOT_FIXED] = None
    origin: Annotated[str | None, LONG_NAME, _if("kind", "elsewhere")] = None
    part: Annotated[Part | None, Part, _if("kind", "learned")] = None
    validation: Annotated[Validation | None, Validation, _VALIDATION] = None
    choices: Annotated[Choices | None, Choices, _unless("kind", "none")] = None
    variances: Annotated[tuple[Variance, ...] | None, Array(1, 2000, Variance), _NOT_FIXED] = None


@dataclass(frozen=True, kw_only=True)
class Tried:
    candidates: Annotated[int, Integer(1, 10**9)] = 1
    looks: Annotated[int, Integer(0, 10**6)] = 0


@dataclass(frozen=True, kw_only=True)
class Certificates:
    """The number of certificates to choose from, or the position of this one."""

    counted: Annotated[str, Word(("declared", "place"))] = "declared"
    number: Annotated[int, Integer(1, 10**9)] = 1


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """The trials, as declared by the recipe and the user."""

    recipe: Annotated[Tried, Tried]
    user: Annotated[Tried, Tried]
    certificates: Annotated[Certificates, Certificates]

    @property
    def candidates(self) -> int:
        """The recipe's and the user's candidates, combined."""
        return self.recipe.candidates * self.user.candidates

    @property
    def looks(self) -> int:
        """The recipe's and the user's looks, combined."""
        return self.recipe.looks + self.user.looks


_EXACT = _of("evidence", "kind", "exact")
_DRAWN = _of("evidence", "kind", "drawn")
_CLOSED = _of("evidence", "kind", "exact", "drawn")


@dataclass(frozen=True, kw_only=True)
class Group:
    """The primitives of the divergence for weights that share a prior variance."""

    trace: Annotated[Decimal | None, POSITIVE, _EXACT] = None
    mean_square: Annotated[Decimal | None, POSITIVE, _HAS_KL] = None
    distance_sq: Annotated[Decimal | None, NONNEGATIVE, _CLOSED] = None
    lipschitz: Annotated[Decimal | None, POSITIVE, _HAS_KL] = None
    offset: Annotated[Decimal | None, NONNEGATIVE, _HAS_KL] = None
    noise_sq: Annotated[Decimal | None, NONNEGATIVE, _DRAWN] = None
    log_det: Annotated[Decimal, REAL]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """KL(q‖p), or ln(dq/dp) at the drawn weights, and its primitives."""

    kind: Annotated[str, Word(("exact", "monte-carlo", "drawn"))]
    weights_sha256: Annotated[str | None, DIGEST, _if("kind", "drawn")] = None
    delta_kl: Annotated[Decimal | None, SHARE, _if("kind", "monte-carlo")] = None
    tail: Annotated[str | None, Word(("gaussian", "theorem3")), _if("kind", "monte-carlo")] = None
    samples: Annotated[int | None, Integer(1, 10**9), _if("kind", "monte-carlo")] = None
    groups: Annotated[tuple[Group, ...], Array(1, 2000, Group)]
    nats: Annotated[Decimal, NATS]


@dataclass(frozen=True, kw_only=True)
class Bound:
    inequality: Annotated[str, Word(INEQUALITIES)]
    selected: Annotated[str, Word(("rule", "beforehand", "candidate"))]
    code: Annotated[Decimal, NATS]
    ledger: Annotated[Decimal, NATS]


@dataclass(frozen=True, kw_only=True)
class Also:
    """Information that is not a claim."""

    kind: Annotated[str, Word(ALSO_KINDS)]
    name: Annotated[str | None, Word(ALSO_NAMES), _if("kind", "inequality")] = None
    value: Annotated[Decimal | None, RATE, _if("kind", "inequality")] = None
    examples: Annotated[int | None, EXAMPLES, _if("kind", "held-out")] = None
    errors: Annotated[int | None, EXAMPLES_OR_NONE, _if("kind", "held-out")] = None
    upper: Annotated[Decimal | None, RATE, _if("kind", "held-out")] = None
    nats: Annotated[Decimal | None, NATS, _if("kind", "theorem3")] = None


@dataclass(frozen=True, kw_only=True)
class Seeds:
    draw: Annotated[str | None, DIGEST, _HAS_DRAW] = None
    risk: Annotated[str | None, DIGEST, _HAS_RISK] = None
    kl: Annotated[str | None, DIGEST, _HAS_KL] = None


@dataclass(frozen=True, kw_only=True)
class Made:
    """How the certificate was made. Nothing here supports a claim."""

    date: Annotated[str, Text(0, 40)]
    command: Annotated[str, Text(0, 2000)]
    training_command: Annotated[str, Text(0, 2000)]
    software: Annotated[dict[str, str], MAP]
    machine: Annotated[dict[str, str], MAP]
    prior: Annotated[dict[str, str], MAP]
    times: Annotated[dict[str, str], MAP]
    settings: Annotated[dict[str, str], MAP]


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate:
    """The claims, their evidence, and how the certificate was made."""

    sentence: Annotated[str, String(1, 20_000)]
    predictor: Annotated[str, Word(PREDICTORS)]
    delta: Annotated[Decimal, SHARE]
    claims: Annotated[tuple[Claim, ...], Array(1, 2001, Claim)]
    data: Annotated[Data, Data]
    model: Annotated[Model, Model]
    prior: Annotated[Prior, Prior]
    ledger: Annotated[Ledger, Ledger]
    evidence: Annotated[Evidence | None, Evidence, _NOT_FIXED] = None
    bound: Annotated[Bound, Bound]
    also: Annotated[tuple[Also, ...], Array(0, 20, Also)] = ()
    seeds: Annotated[Seeds | None, Seeds, _NOT_FIXED] = None
    made: Annotated[Made, Made]

    def __repr__(self) -> str:
        return in_five_lines(self)

    def _repr_html_(self) -> str:
        """The certificate in a notebook: the verdict, the sentence, the parts of the bound."""
        module, _, name = PICTURE.partition(":")
        return str(getattr(import_module(module), name)(self))

    @property
    def overall(self) -> Claim | None:
        """The claim on the overall error, if there is one."""
        claims = [c for c in self.claims if (c.subject, c.loss) == ("all", "zero-one")]
        return claims[0] if claims else None

    @property
    def risk_bound(self) -> float:
        """The bound on the overall error; 1.0 without such a claim."""
        return 1.0 if self.overall is None else float(self.overall.bound)

    @property
    def held_out(self) -> Also | None:
        """The errors on a test set and their upper limit, if they were counted."""
        return next((entry for entry in self.also if entry.kind == "held-out"), None)

    def to_mapping(self) -> dict[str, Any]:
        """The certificate as parsed JSON, in the order of the format."""
        return {"format": FORMAT, **_object(Certificate).write(self)}

    def to_json(self) -> str:
        """The certificate's text, the same for equal certificates."""
        text = json.dumps(self.to_mapping(), indent=1, ensure_ascii=False, allow_nan=False)
        return _PAIR.sub(r"[\1, \2]", printable_json(text)) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Certificate:
        """Read a certificate; CertificateError if it is not of the format's shape."""
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CertificateError(f"not a certificate: {error}") from error
        return cls.from_mapping(record)

    @classmethod
    def from_mapping(cls, record: Any) -> Certificate:
        """The inverse of `to_mapping`."""
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise CertificateError(f"not a certificate of the format {FORMAT}")
        rest = {name: value for name, value in record.items() if name != "format"}
        certificate: Certificate = _kind(cls).read(rest, "", rest)
        fixed = certificate.predictor == "fixed"
        kinds: tuple[str, ...] = ("none", "learned") if fixed else _KINDS[1:]
        Word(kinds).read(certificate.prior.kind, "prior.kind", rest)
        if certificate.evidence is not None:
            drawn = certificate.predictor == "draw"
            kinds = ("drawn",) if drawn else ("exact", "monte-carlo")
            Word(kinds).read(certificate.evidence.kind, "evidence.kind", rest)
        return certificate

    @classmethod
    def load(cls, path: Path | str) -> Certificate:
        """Read a certificate from a file."""
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise CertificateError(f"cannot read {path}: {error.strerror}") from error
        return cls.from_json(content)

    def save(self, path: Path | str) -> None:
        """Write the certificate to a file atomically."""
        content = self.to_json().encode()
        write_whole(Path(path), lambda stream: stream.write(content))


# A pair of counts on three lines, printed on one. No JSON string contains a line break.
_PAIR = re.compile(r"\[\n +(\d+),\n +(\d+)\n +\]")


def _kind(annotation: Any) -> Any:
    """The kind of an annotation: a dataclass, also inside an array, is an object."""
    if isinstance(annotation, type):
        return _object(annotation)
    if isinstance(annotation, Array):
        return Array(annotation.least, annotation.most, _kind(annotation.of))
    return annotation


@dataclass(frozen=True)
class _Field:
    attribute: str
    kind: Any
    only_if: Callable[[Json, Json], bool] | None

    @property
    def name(self) -> str:
        return self.attribute.rstrip("_")


class _Object:
    """A dataclass as a kind: its fields in order, each present exactly if its condition holds."""

    def __init__(self, cls: type[Any]) -> None:
        self.cls = cls
        hints = typing.get_type_hints(cls, include_extras=True)
        self.fields = []
        for field in fields(cls):
            _, kind, *condition = typing.get_args(hints[field.name])
            only_if = condition[0].holds if condition else None
            self.fields.append(_Field(field.name, _kind(kind), only_if))

    def read(self, value: Json, place: str, root: Json) -> Any:
        if not isinstance(value, dict):
            refuse(place, "an object")
        before = f"{place}." if place else ""
        found = {}
        for field in self.fields:
            if field.only_if is not None and not field.only_if(root, value):
                continue
            if field.name not in value:
                raise CertificateError(f"not a certificate: {before}{field.name} is missing")
            found[field.attribute] = field.kind.read(value[field.name], before + field.name, root)
        for name in value:
            if name.rstrip("_") != name or not {name, f"{name}_"} & set(found):
                refuse(f"{before}{name}", "left out: it is unknown, or has no place here")
        return self.cls(**found)

    def write(self, value: Any) -> Json:
        written = {}
        for field in self.fields:
            own = getattr(value, field.attribute)
            if own is not None:
                written[field.name] = field.kind.write(own)
        return written

    def schema(self) -> Json:
        written = (self.cls.__doc__ or "").strip()
        generated = written.startswith(f"{self.cls.__name__}(")  # written by `dataclass`
        return {
            "description": self.cls.__name__ if generated else written,
            "type": "object",
            "properties": {field.name: field.kind.schema() for field in self.fields},
            "required": [field.name for field in self.fields if field.only_if is None],
            "additionalProperties": False,
        }


@functools.cache
def _object(cls: type[Any]) -> _Object:
    """The kind of a dataclass; to evaluate its annotations takes longer than to read or write."""
    return _Object(cls)


def schema() -> dict[str, Any]:
    """The JSON Schema of the format: kinds and fields, without the conditions between them."""
    described = _object(Certificate).schema()
    described["properties"] = {"format": {"enum": [FORMAT]}, **described["properties"]}
    described["required"] = ["format", *described["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": FORMAT,
        "title": "pacbound risk certificate, format 2",
        **described,
        "description": "The shape only; whether the claims hold is for a checker to say.",
    }


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
