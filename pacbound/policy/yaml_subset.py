"""The part of YAML that policies are written in, read with the standard library alone.

A gate that installs nothing cannot use a YAML library. Policies need little: mappings by
indentation or in { }, lists in [ ] or with dashes, numbers, texts, comments. Everything else is
refused, also texts that YAML would read as something else (yes, null, 010, 2024-01-01), so that
every YAML reader agrees on what a policy says.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TypeAlias

from pacbound.errors import PolicyError

__all__ = ["Node", "parse"]

Node: TypeAlias = "dict[str, Node] | list[Node] | Decimal | str"

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", re.ASCII)
_PLAIN = re.compile(r"/?(\.{1,2}/)*[A-Za-z_][\w./+ -]*", re.ASCII)
_DIGEST = re.compile(r"(?=[0-9]*[a-f])(?![0-9]*e[0-9]*$)[0-9a-f]{64}")
_DOUBLE, _SINGLE = re.compile(r'"([^"\\]*)"'), re.compile(r"'([^']*)'")
_RESERVED = {"y", "n", "yes", "no", "true", "false", "on", "off", "null"}


class _Line:
    """A line with its number, its indentation, and what is left to read of it."""

    def __init__(self, number: int, text: str) -> None:
        self.number, self.rest = number, text.strip(" ")
        self.indent = len(text) - len(text.lstrip(" "))
        if self.rest.startswith("#"):
            self.rest = ""
        if not text.isprintable():
            self.refuse("a tab or another control character: indent with spaces")

    def refuse(self, words: str) -> None:
        raise PolicyError(f"line {self.number}: {words}")

    def skip(self) -> None:
        """Leave out spaces, and a comment after them."""
        self.rest = "" if re.match(" +#", self.rest) else self.rest.lstrip(" ")

    def take(self, sign: str) -> bool:
        """Whether a sign of a flow collection comes next; it is read."""
        found = self.rest.startswith(sign)
        if found:
            self.rest = self.rest[1:]
            self.skip()
        return found

    def ended(self) -> None:
        if self.rest:
            self.refuse(f"'{self.rest[:30]}' is unexpected here")

    def scalar(self, stops: str) -> Decimal | str:
        """A number or a text, up to one of the signs that end it."""
        for quoted in (_DOUBLE, _SINGLE):
            if found := quoted.match(self.rest):
                self.rest = self.rest[found.end() :]
                self.skip()
                return found[1]
        end = re.search(rf"{stops}| #|$", self.rest)
        assert end is not None
        text, self.rest = self.rest[: end.start()].rstrip(" "), self.rest[end.start() :]
        self.skip()
        if _NUMBER.fullmatch(text):
            return Decimal(text)
        readable = _PLAIN.fullmatch(text) or _DIGEST.fullmatch(text)
        if not readable or text.lower() in _RESERVED:
            self.refuse(f"'{text[:40]}' cannot be read: put texts in quotes, and 5 % is 0.05")
        return text

    def key(self) -> str:
        """The name before a colon."""
        name = self.scalar(r":( |$)")
        if not (self.rest == ":" or self.rest.startswith(": ")):
            self.refuse(f"a rule and a colon are expected, such as max_risk: 0.05, not '{name}'")
        self.rest = self.rest[1:]
        self.skip()
        if isinstance(name, Decimal) and name != name.to_integral_value():
            self.refuse(f"{name} is not a name")
        return str(name)

    def value(self, stops: str = r"$") -> Node:
        """A scalar, or a list or a mapping in brackets."""
        if self.take("["):
            items: list[Node] = []
            while not self.take("]"):
                items.append(self.value(r"[],{}[]|:( |$)"))
                if not self.take(",") and not self.rest.startswith("]"):
                    self.refuse("a list in [ ] must end on its line")
            return items
        if self.take("{"):
            pairs: dict[str, Node] = {}
            while not self.take("}"):
                self.put(pairs, self.key(), self.value(r"[],{}[]|:( |$)"))
                if not self.take(",") and not self.rest.startswith("}"):
                    self.refuse("a mapping in { } must end on its line")
            return pairs
        return self.scalar(stops)

    def put(self, pairs: dict[str, Node], name: str, value: Node) -> None:
        if name in pairs:
            self.refuse(f"{name} is there twice")
        pairs[name] = value


def parse(text: str) -> dict[str, Node]:
    """The mapping that a policy consists of. PolicyError names the line that cannot be read.

    Example:
        >>> parse('max_risk: 0.05  # five per cent')
        {'max_risk': Decimal('0.05')}
    """
    lines = [_Line(number, line) for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1)]
    lines = [line for line in lines if line.rest]
    if not lines:
        return {}
    try:
        found, end = _mapping(lines, 0, lines[0].indent)
    except RecursionError:
        raise PolicyError("brackets or indentations are nested too deeply") from None
    if end < len(lines):
        lines[end].refuse("the indentation fits no line above")
    return found


def _mapping(lines: list[_Line], start: int, indent: int) -> tuple[dict[str, Node], int]:
    """The entries at an indentation, and where they end."""
    pairs: dict[str, Node] = {}
    place = start
    while place < len(lines) and lines[place].indent == indent:
        line = lines[place]
        name = line.key()
        place += 1
        value: Node
        if line.rest:
            value = line.value()
            line.ended()
        else:
            value, place = _block(lines, place, line)
        line.put(pairs, name, value)
    if place < len(lines) and lines[place].indent > indent:
        lines[place].refuse("the indentation fits no line above")
    return pairs, place


def _block(lines: list[_Line], place: int, parent: _Line) -> tuple[Node, int]:
    """What stands below a name: a mapping, or a list with dashes."""
    inner = lines[place].indent if place < len(lines) else -1
    dashes = inner >= parent.indent and lines[place].rest.startswith("- ")
    if not dashes and inner <= parent.indent:
        parent.refuse("nothing follows the colon")
    if not dashes:
        return _mapping(lines, place, inner)
    items: list[Node] = []
    while place < len(lines) and lines[place].indent == inner:
        line = lines[place]
        if not line.rest.startswith("- "):
            break
        line.take("-")
        items.append(line.value())
        line.ended()
        place += 1
    return items, place
