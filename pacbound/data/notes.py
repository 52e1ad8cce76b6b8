"""Notes on data that can be used, but perhaps not as they were meant."""

from __future__ import annotations

import warnings

__all__ = ["DataNote", "note"]


class DataNote(UserWarning):
    """How data are used, where that may be a surprise."""


def note(text: str) -> None:
    """Tell the user, once for each text."""
    warnings.warn(text, DataNote, stacklevel=2)
