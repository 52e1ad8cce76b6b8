"""Kinds of values in a certificate: how each is read, written and described (SPEC.md, "Kinds").

A value is read from parsed JSON; its place is named in errors. Decimals become `Decimal`, which
keeps the digits as written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn, Protocol, TypeAlias

from pacbound.errors import CertificateError
from pacbound.printable import printable

__all__ = [
    "DIGEST",
    "DIGEST_OR_EMPTY",
    "MAP",
    "NATS",
    "NONNEGATIVE",
    "POSITIVE",
    "RATE",
    "REAL",
    "SHARE",
    "THRESHOLD",
    "Array",
    "Integer",
    "Kind",
    "Number",
    "OnlyIf",
    "String",
    "Text",
    "Word",
    "refuse",
]

Json: TypeAlias = Any


def refuse(place: str, expected: str) -> NoReturn:
    raise CertificateError(f"not a certificate: {printable(place, 200)} must be {expected}")


class Kind(Protocol):
    """A kind of value."""

    def read(self, value: Json, place: str, root: Json) -> Any:
        """The Python value; CertificateError if it is of another kind."""

    def write(self, value: Any) -> Json:
        """The inverse of `read`."""

    def schema(self) -> Json:
        """A JSON Schema of the kind."""


class _AsItIs:
    """Kinds whose Python value equals the JSON value."""

    def write(self, value: Any) -> Json:
        return value


@dataclass(frozen=True)
class OnlyIf:
    """The field exists if and only if this holds for the certificate and the field's object."""

    holds: Callable[[Json, Json], bool]


@dataclass(frozen=True)
class Integer(_AsItIs):
    least: int
    most: int

    def read(self, value: Json, place: str, root: Json) -> int:
        if type(value) is not int or not self.least <= value <= self.most:
            refuse(place, f"an integer from {self.least} to {self.most}")
        return value

    def schema(self) -> Json:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True)
class Number:
    """A decimal, written as a string."""

    grammar: str
    description: str
    fits: Callable[[Decimal], bool] = lambda value: True

    def read(self, value: Json, place: str, root: Json) -> Decimal:
        if not isinstance(value, str) or not re.fullmatch(self.grammar, value, re.ASCII):
            refuse(place, self.description)
        number = Decimal(value)
        if (number == 0 and value.startswith("-")) or not self.fits(number):
            refuse(place, self.description)
        return number

    def write(self, value: Decimal) -> str:
        return format(value, "f")

    def schema(self) -> Json:
        pattern = f"^({self.grammar})$".replace("(?:", "(")
        return {"type": "string", "pattern": pattern, "description": self.description}


_DIGITS = r"(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,30})?"
REAL = Number("-?" + _DIGITS, "a decimal in a string")
NONNEGATIVE = Number(_DIGITS, "a decimal of 0 or more, in a string")
POSITIVE = Number(_DIGITS, "a decimal above 0, in a string", lambda x: x > 0)
SHARE = Number(_DIGITS, "a decimal above 0 and below 0.5, in a string", lambda x: 0 < 2 * x < 1)
RATE = Number(r"0\.[0-9]{10}|1\.0{10}", "a decimal from 0 to 1 with 10 places, in a string")
NATS = Number(r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{6}", "a decimal with 6 places, in a string")

_UNPRINTABLE = (
    "\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u201c\u201d\u2028-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
_NOT_TEXT = re.compile(f"[{_UNPRINTABLE}]")


@dataclass(frozen=True)
class String(_AsItIs):
    least: int
    most: int

    def read(self, value: Json, place: str, root: Json) -> str:
        if not isinstance(value, str) or not self.least <= len(value) <= self.most:
            refuse(place, f"a text of {self.least} to {self.most} characters")
        return value

    def schema(self) -> Json:
        return {"type": "string", "minLength": self.least, "maxLength": self.most}


class Text(String):
    """A string without control characters and without the sentence's quotation marks."""

    def read(self, value: Json, place: str, root: Json) -> str:
        text = super().read(value, place, root)
        if _NOT_TEXT.search(text):
            refuse(place, "a text of printable characters")
        return text


@dataclass(frozen=True)
class Pattern(_AsItIs):
    """A string that matches a pattern."""

    grammar: str
    description: str

    def read(self, value: Json, place: str, root: Json) -> str:
        if not isinstance(value, str) or not re.fullmatch(self.grammar, value, re.ASCII):
            refuse(place, self.description)
        return value

    def schema(self) -> Json:
        return {
            "type": "string",
            "pattern": f"^({self.grammar})$",
            "description": self.description,
        }


DIGEST = Pattern("[0-9a-f]{64}", "a SHA-256 of 64 hexadecimal digits")
DIGEST_OR_EMPTY = Pattern("([0-9a-f]{64})?", "a SHA-256 of 64 hexadecimal digits, or empty")
THRESHOLD = Pattern(r"(0(\.[0-9]{1,30})?|1(\.0{1,30})?)?", "a decimal from 0 to 1, or empty")


@dataclass(frozen=True)
class Word(_AsItIs):
    words: tuple[str, ...]

    def read(self, value: Json, place: str, root: Json) -> str:
        if not isinstance(value, str) or value not in self.words:
            refuse(place, f"one of {', '.join(self.words)}")
        return value

    def schema(self) -> Json:
        return {"enum": list(self.words)}


@dataclass(frozen=True)
class Array:
    """A list of values of one kind, as a tuple."""

    least: int
    most: int
    of: Any  # a Kind

    def read(self, value: Json, place: str, root: Json) -> tuple[Any, ...]:
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            refuse(place, f"an array of {self.least} to {self.most}")
        return tuple(self.of.read(item, f"{place}[{i}]", root) for i, item in enumerate(value))

    def write(self, value: Any) -> Json:
        return [self.of.write(item) for item in value]

    def schema(self) -> Json:
        return {
            "type": "array",
            "minItems": self.least,
            "maxItems": self.most,
            "items": self.of.schema(),
        }


_NAME = r"[A-Za-z0-9][A-Za-z0-9 _.:/+-]{0,59}"
_VALUE = Text(0, 2000)


class _Map:
    """Texts under arbitrary names."""

    def read(self, value: Json, place: str, root: Json) -> dict[str, str]:
        if not isinstance(value, dict) or len(value) > 300:
            refuse(place, "an object of at most 300 texts")
        for name in value:
            if not re.fullmatch(_NAME, name, re.ASCII):
                refuse(place, "an object with short names of letters and digits")
        return {name: _VALUE.read(text, f"{place}.{name}", root) for name, text in value.items()}

    def write(self, value: dict[str, str]) -> Json:
        return dict(value)

    def schema(self) -> Json:
        return {
            "type": "object",
            "maxProperties": 300,
            "propertyNames": {"pattern": f"^{_NAME}$"},
            "additionalProperties": _VALUE.schema(),
        }


MAP = _Map()
