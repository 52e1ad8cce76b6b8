"""The certificate, format 1, as frozen dataclasses that mirror its JSON."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pacbound.certificate import checker
from pacbound.errors import BadInput
from pacbound.files import write_whole

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
    "ExactKL",
    "HeldOut",
    "KLGroup",
    "Made",
    "Model",
    "PerExampleRisk",
    "Prior",
    "Seeds",
    "Variance",
]

T = TypeVar("T")


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
    kind: str
    initializer: str
    seed: int
    sha256: str


@dataclass(frozen=True)
class Variance:
    """A prior variance c·exp(−index/b) and the layers that share it."""

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
    center: Center
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
class PerExampleRisk:
    sampler: str
    draws: int
    errors: int
    limit: str
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
    """Other bounds from the same figures: for information, not part of the claim."""

    mcallester: float
    maurer: float
    pinsker: float
    catoni: Catoni
    held_out: HeldOut | None


@dataclass(frozen=True)
class Seeds:
    derivation: str
    risk: str


@dataclass(frozen=True)
class Made:
    pacbound: str
    python: str
    torch: str
    date: str
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
    kl: ExactKL
    risk: PerExampleRisk
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
        return text + "\n"

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

    def save(self, path: Path) -> None:
        """Write the certificate to a file, whole or not at all."""
        content = self.to_json().encode()
        write_whole(path, lambda stream: stream.write(content))


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
        options = typing.get_args(hint)
        if value is None and type(None) in options:
            return None
        if type(value) in options:
            return value
        return _value(options[0], value, path)
    if typing.get_origin(hint) is tuple and isinstance(value, list | tuple):
        return tuple(_value(typing.get_args(hint)[0], item, path) for item in value)
    if hint is float and type(value) is int:
        return value
    if type(value) is not (typing.get_origin(hint) or hint):
        raise BadInput(f"not a certificate: {path} is of the wrong kind")
    return value
