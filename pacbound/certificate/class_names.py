"""The names of classes in a certificate: `made.settings.classes`, in the order of their numbers.

A name with a comma makes the text a JSON array. Otherwise names are separated by ", ". Names that a
certificate cannot hold are only counted: "(3 names)".
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from pacbound.printable import LONGEST, recordable

__all__ = ["SETTING", "names_in", "recorded_names"]

SETTING = "classes"


def recorded_names(names: Sequence[str]) -> dict[str, str]:
    """The names as a setting of a certificate; nothing if classes are plain numbers.

    Example:
        >>> recorded_names(["cat", "dog"])
        {'classes': 'cat, dog'}
    """
    if not names:
        return {}
    text = ", ".join(names)
    if "," in "".join(names):
        text = json.dumps(list(names), ensure_ascii=False)
    fits = len(text) <= LONGEST and text == recordable(text)
    return {SETTING: text if fits else f"({len(names)} names)"}


def names_in(recorded: str) -> list[str]:
    """The names in a recorded text. It may come from anywhere, so they may be any texts."""
    try:
        found = json.loads(recorded)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        return recorded.split(", ")
    return found if all(isinstance(name, str) for name in found) else []
