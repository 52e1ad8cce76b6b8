"""Make text from a file safe to show: one line, without terminal control characters.

Others write certificates, checkpoints, logs, tables and file names. An escape sequence in them
could clear the screen or overwrite earlier output. A line break could add a line that looks like a
verdict. A change of the writing direction could reverse one.
"""

from __future__ import annotations

import json

__all__ = ["LONGEST", "printable", "printable_json", "recordable"]

LONGEST = 2000  # characters of a text


def printable(text: str, longest: int = LONGEST) -> str:
    """One line without control characters, truncated if it is long.

    Example:
        >>> printable("a\\x00b" + "c" * 9, longest=5)
        'a\ufffdbcc … (12 characters in the file)'
    """
    shown = "".join(x if x.isprintable() else "\N{REPLACEMENT CHARACTER}" for x in text[:longest])
    return shown if len(text) <= longest else f"{shown} … ({len(text)} characters in the file)"


def recordable(text: str, longest: int = LONGEST) -> str:
    """Text as a certificate may record it: printable, and without the quotes of the sentence.

    Example:
        >>> recordable("of “mine”\\n", longest=9)
        'of "mine"'
    """
    shown = "".join(x if x.isprintable() else "\N{REPLACEMENT CHARACTER}" for x in text[:longest])
    return shown.replace("“", '"').replace("”", '"')


def printable_json(text: str) -> str:
    """The same JSON, with every unprintable character escaped.

    Example:
        >>> print(printable_json('{"name": "≤ \\x9b2J"}'))
        {"name": "≤ \\u009b2J"}
    """
    # Outside its strings, JSON has no other unprintable characters than line breaks.
    return "\n".join(
        line
        if line.isprintable()  # nearly all are
        else "".join(x if x.isprintable() else json.dumps(x)[1:-1] for x in line)
        for line in text.split("\n")
    )
