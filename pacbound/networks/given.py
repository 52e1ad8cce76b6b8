"""A module that the user gives: it has its own layers (`own.py` says which it may have)."""

from __future__ import annotations

from pacbound.networks.network import Network

__all__ = ["GIVEN"]


def _flaw(hidden: tuple[int, ...]) -> str | None:
    return "is not for a module of your own: it has its layers" if hidden else None


GIVEN = Network("module", build=None, flaw=_flaw)
