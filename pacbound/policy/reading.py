"""A policy: rules for all certificates, and rules for some by the name of their file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Any

from pacbound.certificate.checker import check_file
from pacbound.errors import PolicyError, unknown_name
from pacbound.policy.rules import RULES, Baseline
from pacbound.policy.yaml_subset import Node, parse

__all__ = ["Policy", "read_policy"]

FILES = "files"  # the key of rules for some certificates
MOST_BYTES = 2**20

Values = dict[str, Any]  # of rules, by name


@dataclass(frozen=True)
class Policy:
    """Rules for all certificates, and further ones by pattern, in order."""

    path: str
    rules: Values
    files: dict[str, Values]

    def rules_for(self, certificate: str | os.PathLike[str]) -> Values:
        """The rules of a certificate: a pattern replaces rules of the same name before it."""
        found = dict(self.rules)
        for pattern, rules in self.files.items():
            if self.matches(certificate, pattern):
                found |= rules
        return found

    @staticmethod
    def matches(certificate: str | os.PathLike[str], pattern: str) -> bool:
        """Whether a pattern is for a certificate, by its name or the end of its path."""
        return PurePath(os.path.abspath(certificate)).match(pattern)


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy. PolicyError says in one line what is wrong, and names the nearest rule."""
    name = os.fspath(path)
    if os.path.exists(name) and not os.path.isfile(name):
        raise PolicyError(f"{name} cannot be read: it is not a regular file")
    try:
        with open(name, "rb") as stream:
            content = stream.read(MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise PolicyError(f"{name} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise PolicyError(f"{name} cannot be read: it is not UTF-8") from error
    if len(content) > MOST_BYTES:
        raise PolicyError(f"{name} cannot be read: it is over a megabyte")
    try:
        return _policy(name, parse(text))
    except PolicyError as error:
        raise PolicyError(f"{name}: {error}") from error


def _policy(name: str, found: dict[str, Node]) -> Policy:
    if not found:
        raise PolicyError("it has no rules; pacbound policy writes a first one")
    folder = Path(name).parent
    files = found.pop(FILES, None)
    if files is not None and (not isinstance(files, dict) or not files):
        raise PolicyError(f"{FILES} must be a mapping of patterns to rules")
    by_pattern = {}
    for pattern, rules in (files or {}).items():
        if not PurePath(pattern).name:  # such as "" and "."
            raise PolicyError(f"{FILES}: '{pattern}' is not a pattern for names of files")
        if not isinstance(rules, dict) or not rules:
            raise PolicyError(f"{FILES}: '{pattern}' must be a mapping of rules")
        by_pattern[pattern] = _values(rules, f"'{pattern}': ", folder, RULES)
    return Policy(name, _values(found, "", folder, [*RULES, FILES]), by_pattern)


def _values(found: dict[str, Node], where: str, folder: Path, known: Any) -> Values:
    values = {}
    for name, node in found.items():
        if name not in RULES:
            raise PolicyError(f"{where}{unknown_name('rule', name, known)}")
        try:
            values[name] = _baseline(node, folder) if name == "baseline" else RULES[name].read(node)
        except PolicyError as error:
            raise PolicyError(f"{where}{name} {error}") from error
    return values


def _baseline(node: Node, folder: Path) -> Baseline:
    """A certificate by its path relative to the policy; it is checked like any other."""
    pairs = node if isinstance(node, dict) else {"certificate": node}
    for name in pairs:
        if name not in ("certificate", "margin"):
            raise PolicyError(f"has an {unknown_name('entry', name, ('certificate', 'margin'))}")
    path, margin = pairs.get("certificate"), pairs.get("margin", Decimal(0))
    if not isinstance(path, str):
        raise PolicyError("must be the path of a certificate, or {certificate: PATH, margin: X}")
    if not isinstance(margin, Decimal) or not 0 <= margin <= 1:
        raise PolicyError("must have a margin from 0 to 1")
    verdict = check_file(str(folder / path))
    if verdict.certificate is None:
        raise PolicyError(f"{path} is rejected: {f'{verdict.check} {verdict.reason}'.strip()}")
    return Baseline(path, str(folder / path), verdict.certificate, margin)
