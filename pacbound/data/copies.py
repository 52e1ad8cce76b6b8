"""Exact copies among the examples: counted, and refused beyond what chance explains."""

from __future__ import annotations

from pacbound.data.dataset import Dataset
from pacbound.errors import DataError

__all__ = ["ALLOWED_PERCENT", "refuse_copies"]

ALLOWED_PERCENT = 1  # of duplicates among all examples, without a declaration


def refuse_copies(data: Dataset, independent: bool = False) -> None:
    """Refuse more than 1 % of exact duplicates, unless they are declared to be independent.

    A bound needs independent examples. Rows that were copied (oversampled, joined twice) are not:
    a predictor that learned one copy by heart is right on all others.

    Arguments:
        data: The whole data set: the prior's part and the counted examples.
        independent: The user declares that equal examples are independent draws, as they can be
            where inputs have few values.
    """
    if not independent and 100 * data.duplicates > ALLOWED_PERCENT * data.m:
        share = 100 * data.duplicates / data.m
        raise DataError(
            f"{data.duplicates} of the {data.m} examples of {data.name} ({share:.1f} %) are exact "
            "copies of others: remove copied rows, or declare with --copies independent that equal "
            "examples are independent draws"
        )
