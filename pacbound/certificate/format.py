"""The certificate, format 1, as frozen dataclasses that mirror its JSON."""

from __future__ import annotations

import dataclasses
import json
import re
import types
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pacbound.certificate import checker
from pacbound.errors import BadInput
from pacbound.files import write_whole
from pacbound.printable import printable_json

__all__ = [
    "Also",
    "Bound",
    "Budget",
    "Catoni",
    "Center",
    "Certificate",
    "Choice",
    "Claim",
    "Data",
    "DrawnGroup",
    "DrawnRatio",
    "ExactKL",
    "HeldOut",
    "KLGroup",
    "LearnedCenter",
    "Made",
    "Model",
    "MonteCarloGroup",
    "MonteCarloKL",
    "PerExampleRisk",
    "PerWeightsRisk",
    "Prior",
    "Seeds",
    "Tail",
    "Variance",
    "WholeSetRisk",
]

T = TypeVar("T")

# A pair of counts on three lines, to be printed on one; no text in JSON has a line's end in it.
_PAIR = re.compile(r"\[\n +(\d+),\n +(\d+)\n +\]")


@dataclass(frozen=True)
class Claim:
    risk_bound: float
    delta: float
    loss: str = "zero-one"
    predictor: str = "gibbs"
    sentence: str = ""


@dataclass(frozen=True)
class Budget:
    """The shares of delta; as printed decimals they add up to it exactly."""

    pac_bayes: float
    risk: float
    kl: float


@dataclass(frozen=True)
class Data:
    name: str
    m: int
    classes: int
    sha256: str


@dataclass(frozen=True)
class Model:
    recipe: str
    posterior: str
    parameters: int
    checkpoint_sha256: str


@dataclass(frozen=True)
class Center:
    """A random initialisation."""

    kind: str
    initializer: str
    seed: int
    sha256: str


@dataclass(frozen=True)
class LearnedCenter:
    """A network trained on a part of the examples, which the certificate does not count.

    `examples_sha256` is the digest of that part, `errors` those of the centre itself on the
    examples that are counted, and `training` says how it was trained.
    """

    kind: str
    examples: int
    learned_from: int
    split_seed: int
    split_sha256: str
    examples_sha256: str
    errors: int
    training: dict[str, Any]
    sha256: str


@dataclass(frozen=True)
class Variance:
    """A prior variance c·exp(−index/b) and the layers that share it.

    The index is 0 where a learned prior brought the variance with it, for nothing.
    """

    layers: tuple[str, ...]
    parameters: int
    b: int
    c: float
    index: int
    value: float


@dataclass(frozen=True)
class Choice:
    """A knob of the prior: `value` is number `index` of its declared list."""

    name: str
    index: int
    value: str | int | float

    @classmethod
    def of(cls, name: str, value: str | int | float) -> Choice:
        """The choice with its index looked up; BadInput if the value is not declared."""
        try:
            return cls(**checker.choice(name, value))
        except ValueError as error:
            raise BadInput(f"{error}, so a prior with it cannot be paid for") from error


@dataclass(frozen=True)
class Prior:
    center: Center | LearnedCenter
    variances: tuple[Variance, ...]
    choices: tuple[Choice, ...]
    trials: int


@dataclass(frozen=True)
class KLGroup:
    """Tr Σ, ‖M − Θ0‖² and ln|det| of the layers that share one prior variance."""

    trace: float
    distance_sq: float
    log_det: float


@dataclass(frozen=True)
class ExactKL:
    method: str
    upper: float
    groups: tuple[KLGroup, ...]


@dataclass(frozen=True)
class MonteCarloGroup:
    """What the samples of the layers that share one prior variance say of E‖W − Θ0‖².

    The mean square is (1/K) Σ‖W_k − Θ0‖², the Lipschitz constant that of the map from standard
    normals to W, and the offset ‖W(0) − Θ0‖. None of them depends on the prior variance.
    """

    mean_square: float
    lipschitz: float
    offset: float
    log_det: float


@dataclass(frozen=True)
class Tail:
    """What one tail adds to the KL at the mean squares, in nats, and the KL with it."""

    correction: float
    upper: float


@dataclass(frozen=True)
class MonteCarloKL:
    """A KL from K samples; `upper` is that of the chosen tail, both being reported.

    With G groups each limit has a share budget.kl/G, so that every prior variance may be chosen
    afterwards. `shared`: the same weight samples serve KL and risk, which is valid because delta
    is split by a union bound, and that needs no independence.
    """

    method: str
    tail: str
    samples: int
    shared: bool
    upper: float
    groups: tuple[MonteCarloGroup, ...]
    gaussian: Tail
    theorem3: Tail


@dataclass(frozen=True)
class DrawnGroup:
    """‖w − Θ0‖² of the drawn weights, ‖ε‖² of the noise they came from, and ln|det|."""

    distance_sq: float
    noise_sq: float
    log_det: float


@dataclass(frozen=True)
class DrawnRatio:
    """ln(dq/dp) at the weights that were drawn, in the place of a KL; it may be negative."""

    method: str
    upper: float
    groups: tuple[DrawnGroup, ...]


@dataclass(frozen=True)
class PerExampleRisk:
    """Every draw is one example under weights of its own.

    For a vote by the tandem loss, an error is here, and in the next, one of two networks at once.
    """

    sampler: str
    draws: int
    errors: int
    limit: str
    upper: float


@dataclass(frozen=True)
class PerWeightsRisk:
    """Every draw is one weight sample on a batch of its own: `times` had so many `errors`."""

    sampler: str
    draws: int
    batch: int
    limit: str
    counts: tuple[tuple[int, int], ...]
    upper: float


@dataclass(frozen=True)
class WholeSetRisk:
    """The errors of one drawn network on all m examples; the digest is that of its weights."""

    sampler: str
    errors: int
    weights_sha256: str
    upper: float


@dataclass(frozen=True)
class Bound:
    inequality: str
    complexity: float
    value: float


@dataclass(frozen=True)
class Catoni:
    beta_index: int
    value: float


@dataclass(frozen=True)
class HeldOut:
    n: int
    errors: int
    upper: float


@dataclass(frozen=True)
class Also:
    """Other bounds from the same figures: for information, not part of the claim.

    All but the last speak of the Gibbs predictor alone, and are null for any other.
    """

    mcallester: float | None
    maurer: float | None
    pinsker: float | None
    catoni: Catoni | None
    held_out: HeldOut | None


@dataclass(frozen=True)
class Seeds:
    derivation: str
    risk: str
    kl: str | None = None


@dataclass(frozen=True)
class Made:
    pacbound: str
    python: str
    torch: str
    date: str
    training_command: str
    training_seconds: float | None
    command: str
    seconds: float
    settings: dict[str, Any]


@dataclass(frozen=True)
class Certificate:
    claim: Claim
    budget: Budget
    data: Data
    model: Model
    prior: Prior
    kl: ExactKL | MonteCarloKL | DrawnRatio
    risk: PerExampleRisk | PerWeightsRisk | WholeSetRisk
    bound: Bound
    also: Also
    seeds: Seeds
    made: Made

    def in_words(self) -> Certificate:
        """The same certificate, its sentence written from its numbers."""
        words = checker.sentence(self.to_mapping())
        return dataclasses.replace(self, claim=dataclasses.replace(self.claim, sentence=words))

    def to_mapping(self) -> dict[str, Any]:
        """The certificate as plain dicts and lists, in the order of the format."""
        return {"format": checker.FORMAT, **dataclasses.asdict(self)}

    def to_json(self) -> str:
        """The certificate's text; floats are printed so that they round-trip."""
        text = json.dumps(self.to_mapping(), indent=1, ensure_ascii=False, allow_nan=False)
        return _PAIR.sub(r"[\1, \2]", printable_json(text)) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Certificate:
        """Read a certificate's shape. Whether its claim holds is for the checker to say."""
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"not a certificate: {error}") from error
        return cls.from_mapping(record)

    @classmethod
    def from_mapping(cls, record: Any) -> Certificate:
        """The inverse of `to_mapping`; BadInput for any other shape."""
        if not isinstance(record, dict) or record.get("format") != checker.FORMAT:
            raise BadInput(f"not a certificate of the format {checker.FORMAT}")
        return _build(cls, {name: record[name] for name in record if name != "format"}, "")

    def save(self, path: Path | str) -> None:
        """Write the certificate to a file, whole or not at all."""
        content = self.to_json().encode()
        write_whole(Path(path), lambda stream: stream.write(content))


# Which dataclass each value of a field in checker.VARIANTS selects.
_VARIANTS: dict[str, type[Any]] = {
    "initialization": Center,
    "learned": LearnedCenter,
    "exact": ExactKL,
    "monte-carlo": MonteCarloKL,
    "drawn": DrawnRatio,
    "per-example": PerExampleRisk,
    "per-weights": PerWeightsRisk,
    "whole-set": WholeSetRisk,
}


def _build(cls: type[T], record: Any, path: str) -> T:
    hints = typing.get_type_hints(cls)
    if not isinstance(record, dict):
        raise BadInput(f"not a certificate: {path} must be an object")
    for name in [*hints, *record]:
        if name not in record or name not in hints:
            state = "unknown" if name in record else "missing"
            raise BadInput(f"not a certificate: the field {path}{name} is {state}")
    return cls(**{name: _value(hints[name], record[name], path + name) for name in hints})


def _value(hint: Any, value: Any, path: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return _build(typing.cast(type[Any], hint), value, f"{path}.")
    if isinstance(hint, types.UnionType):
        return _value(_option(typing.get_args(hint), value, path), value, path)
    if typing.get_origin(hint) is tuple and isinstance(value, list | tuple):
        kinds = typing.get_args(hint)
        kinds = kinds[:1] * len(value) if kinds[-1] is ... else kinds
        if len(kinds) == len(value):
            return tuple(_value(*pair, path) for pair in zip(kinds, value, strict=True))
    elif (hint is float and type(value) is int) or type(value) is (typing.get_origin(hint) or hint):
        return value
    raise BadInput(f"not a certificate: {path} is of the wrong kind")


def _option(options: tuple[Any, ...], value: Any, path: str) -> Any:
    """The one of a union's types that a value is to be read as."""
    if all(map(dataclasses.is_dataclass, options)):
        selector = checker.VARIANTS[path.rpartition(".")[2]]
        name = value.get(selector) if isinstance(value, dict) else None
        option = _VARIANTS.get(name) if isinstance(name, str) else None
        if option not in options:
            raise BadInput(f"not a certificate: {path}.{selector} is not known")
        return option
    return type(value) if type(value) in options else options[0]
