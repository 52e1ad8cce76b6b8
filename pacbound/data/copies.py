"""Exact copies among the examples: counted, and refused above a limit."""

from __future__ import annotations

from pacbound.data.dataset import Dataset
from pacbound.errors import DataError, by_caller

__all__ = ["ALLOWED_PERCENT", "refuse_copies"]

ALLOWED_PERCENT = 1  # duplicates among all examples, without a declaration


def refuse_copies(data: Dataset, independent: bool = False) -> None:
    """Refuse more than 1 % of exact duplicates, unless they are declared independent.

    A bound needs independent examples. Copied rows (oversampled, joined twice) are not independent:
    a predictor that memorises one copy is right on all others.

    Arguments:
        data: The whole data set: the prior's part and the counted examples.
        independent: The user declares that equal examples are independent draws. This can be true
            if inputs have few values.
    """
    if not independent and 100 * data.duplicates > ALLOWED_PERCENT * data.m:
        way = by_caller("--copies independent", "copies='independent'")
        share = 100 * data.duplicates / data.m
        raise DataError(
            f"{data.duplicates} of the {data.m} examples of {data.name} ({share:.1f} %) are exact "
            f"copies of others: remove copied rows, or declare with {way} that equal examples are "
            "independent draws"
        )
