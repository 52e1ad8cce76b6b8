"""Text that comes from a file, as it may be shown: one line, and nothing that steers a terminal.

Certificates, checkpoints, logs, tables and the names of files are written by others. An escape
sequence in them could clear a screen or write over what was said before, a line's end could add a
line that looks like a verdict, and a change of the writing direction could turn one around.
"""

from __future__ import annotations

import json

__all__ = ["LONGEST", "printable", "printable_json", "recordable"]

LONGEST = 2000  # characters of any one text


def printable(text: str, longest: int = LONGEST) -> str:
    """One line without control characters, cut where it is long.

    Example:
        >>> printable("a\\x00b" + "c" * 9, longest=5)
        'a\ufffdbcc … (12 characters in the file)'
    """
    shown = "".join(x if x.isprintable() else "\N{REPLACEMENT CHARACTER}" for x in text[:longest])
    return shown if len(text) <= longest else f"{shown} … ({len(text)} characters in the file)"


def recordable(text: str, longest: int = LONGEST) -> str:
    """A text as a certificate may record it: printable, and without the sentence's own quotes.

    Example:
        >>> recordable("of “mine”\\n", longest=9)
        'of "mine"'
    """
    shown = "".join(x if x.isprintable() else "\N{REPLACEMENT CHARACTER}" for x in text[:longest])
    return shown.replace("“", '"').replace("”", '"')


def printable_json(text: str) -> str:
    """The same JSON, with every character that is not printable written by its number.

    Example:
        >>> print(printable_json('{"name": "≤ \\x9b2J"}'))
        {"name": "≤ \\u009b2J"}
    """
    # Outside of its texts, JSON has no other such character than the ends of its lines.
    return "".join(x if x.isprintable() or x == "\n" else json.dumps(x)[1:-1] for x in text)
