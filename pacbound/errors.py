"""Errors that are the user's to fix: shown as one line, exit code 2."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["BadInput", "CertificateError", "unknown_name"]


class BadInput(Exception):
    """What was given cannot be used. The message says what, where, and what to do."""


class CertificateError(BadInput):
    """A text is not a certificate of this format."""


def unknown_name(kind: str, name: str, valid: Iterable[str]) -> BadInput:
    """The error for a name that is not in a list, with the nearest name that is."""
    names = sorted(valid)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"choose from: {', '.join(names)}"
    return BadInput(f"unknown {kind} '{name}'; {hint}")
