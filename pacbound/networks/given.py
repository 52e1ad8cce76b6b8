"""A module given by the user, with its own layers (see `own.py` for the supported ones)."""

from __future__ import annotations

from pacbound.networks.network import Network

__all__ = ["GIVEN"]


def _flaw(hidden: tuple[int, ...]) -> str | None:
    return "is not for a module of your own, which has its own layers" if hidden else None


GIVEN = Network("module", build=None, flaw=_flaw, is_observed=True)
