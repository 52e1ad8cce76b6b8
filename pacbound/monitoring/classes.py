"""Classes in outcomes: the names that a certificate records, or numbers from 0."""

from __future__ import annotations

import re
from collections.abc import Callable

from pacbound.certificate.class_names import SETTING, names_in
from pacbound.certificate.format import Certificate

__all__ = ["class_reader", "whole"]

TRUTHS = {"False": 0, "false": 0, "True": 1, "true": 1}  # as files write them
HINT = "for a class that the certificate does not know, give the column error instead"


def whole(text: str) -> int | None:
    """The whole number in a text, also as floats and truths are written: 3, -1, 3.0, True."""
    found = re.fullmatch(r"(-?[0-9]{1,18})(\.0+)?", text, re.ASCII)
    return TRUTHS.get(text) if found is None else int(found[1])


def class_reader(certificate: Certificate) -> Callable[[str], int]:
    """How to read the number of a class; ValueError says what is expected.

    A class that has a name is known by its name alone: the number 1 could be a name as well.
    """
    classes = certificate.data.classes
    recorded = certificate.made.settings.get(SETTING)
    if recorded is None:
        return _numbers(classes)
    names = [name.strip() for name in names_in(recorded)]
    if not len(set(names)) == len(names) == classes:
        return _refusal(
            f"a known class: the certificate does not hold the names of its {classes} classes "
            f"(made.settings.{SETTING}); give the column error instead"
        )
    return _named({name: number for number, name in enumerate(names)})


def _numbers(classes: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = whole(text)
        if number is None or not 0 <= number < classes:
            raise ValueError(
                f"a class from 0 to {classes - 1} (the certificate records no names of classes, so "
                f"they are numbers from 0; {HINT})"
            )
        return number

    return read


def _named(names: dict[str, int]) -> Callable[[str], int]:
    # Only if all are whole numbers can 3.0 mean the name 3; among codes, 250.0 may be another.
    numeric = all(re.fullmatch("0|-?[1-9][0-9]{0,17}", name) for name in names)
    shown = ", ".join(list(names)[:5]) + (", …" if len(names) > 5 else "")

    def read(text: str) -> int:
        number = whole(text) if numeric else None
        found = names.get(text if number is None else str(number))
        if found is None:
            raise ValueError(f"one of the certificate's classes ({shown}; {HINT})")
        return found

    return read


def _refusal(expected: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        raise ValueError(expected)

    return read
