"""One predictor on every example: which examples it gets wrong, and which it answers.

Whatever rounding might change counts against the predictor. A near tie is an error and a member of
every tied class. A confidence too close to the threshold to call is answered, an error among the
answered, and abstained (SPEC.md, section 5). Only NumPy is needed: files of predictions are judged
without torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pacbound.errors import SettingError
from pacbound.networks.near_ties import TIE

__all__ = ["Judged", "Outputs", "confidences"]

ROUNDING = 1e-6  # of a probability: float32 softmax, and the digits of a file

Booleans = NDArray[np.bool_]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Judged:
    """The results of one predictor on every example.

    The classes that an example may be predicted as are pairs (rows[i], classes[i]), in the order of
    the rows. An example without a prediction is in no pair. One that is certainly right has one
    possible class, its label: rounding cannot make it a correct member of another predicted class.
    """

    wrong: Booleans  # (n,): not certainly right
    rows: Places  # (k,)
    classes: Places  # (k,)
    count: int  # the number of classes
    answered: Booleans  # (n,): not certainly abstained
    abstained: Booleans  # (n,): not certainly answered

    @classmethod
    def of(cls, scores: Any, labels: Any) -> Self:
        """Judge scores (n, classes): a label's score must exceed all others beyond rounding."""
        values, truth = np.asarray(scores), np.asarray(labels)
        everyone = np.arange(len(truth))
        own = np.zeros(values.shape, bool)
        own[everyone, truth] = True
        with np.errstate(invalid="ignore"):  # NaN and infinity compare as errors
            slack = TIE * np.abs(values).max(1)
            others = np.where(own, -np.inf, values).max(1)
            wrong = ~(values[everyone, truth] - others > slack)
            possible = ~(values < (values.max(1) - slack)[:, None])
        rows, classes = np.nonzero(np.where(wrong[:, None], possible, own))
        always = np.ones(len(truth), bool)
        return cls(wrong, rows, classes, values.shape[1], always, ~always)

    @classmethod
    def of_classes(cls, predicted: Places, labels: Places, count: int) -> Self:
        """Judge predicted classes (n,); a negative number is no prediction, an error."""
        rows = np.flatnonzero(predicted >= 0)
        always = np.ones(len(labels), bool)
        return cls(predicted != labels, rows, predicted[rows], count, always, ~always)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The results on several parts of the examples, in their order."""
        first = np.cumsum([0, *(len(part.wrong) for part in parts[:-1])])
        return cls(
            np.concatenate([part.wrong for part in parts]),
            np.concatenate([part.rows + at for part, at in zip(parts, first, strict=True)]),
            np.concatenate([part.classes for part in parts]),
            parts[0].count,
            np.concatenate([part.answered for part in parts]),
            np.concatenate([part.abstained for part in parts]),
        )

    @property
    def possible(self) -> Booleans:
        """The classes that each example may be predicted as, (n, classes)."""
        found = np.zeros((len(self.wrong), self.count), bool)
        found[self.rows, self.classes] = True
        return found

    @property
    def unclear(self) -> Booleans:
        """Which confidences are too close to the threshold to call, (n,)."""
        return self.answered & self.abstained

    @property
    def tied(self) -> Booleans:
        """Which examples have several possible classes, (n,)."""
        return np.bincount(self.rows, minlength=len(self.wrong)) > 1


@dataclass(frozen=True, eq=False)
class Outputs:
    """The outputs of a predictor for n examples.

    Arguments:
        classes: The predicted classes, (n,), negative where there is none; None if the scores
            decide.
        scores: Logits or probabilities, (n, classes); None if only classes are known.
        are_probabilities: Whether the scores are probabilities.
        confidence: The confidence of each prediction, (n,), if there are no scores.
    """

    count: int  # the number of classes
    classes: Places | None = None
    scores: NDArray[Any] | None = None
    are_probabilities: bool = False
    confidence: NDArray[np.float64] | None = None

    def judged(self, labels: Places, answer_above: str = "") -> Judged:
        """The results on labelled examples.

        Arguments:
            answer_above: The threshold of the confidence; empty for a predictor that always
                answers.
        """
        if self.scores is not None:
            judged = Judged.of(self.scores, labels)
        else:
            assert self.classes is not None
            judged = Judged.of_classes(self.classes, labels, self.count)
        if not answer_above:
            return judged
        low, high = self.confidence_range()
        threshold = float(Decimal(answer_above))
        kept = judged.wrong, judged.rows, judged.classes, judged.count
        return Judged(*kept, high > threshold, ~(low > threshold))

    def confidence_range(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lowest and the highest confidence that rounding allows, each (n,)."""
        if self.scores is not None and not self.are_probabilities:
            return confidences(self.scores)
        if self.scores is not None:
            at = np.asarray(self.scores, np.float64).max(1)
        elif self.confidence is not None:
            at = self.confidence
        else:
            raise SettingError(
                "a predictor that abstains needs confidences: give probabilities, not classes alone"
            )
        return _widened(at, np.full(len(at), TIE))


def confidences(logits: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The lowest and the highest largest softmax of each row that rounding allows.

    As for near ties, differences of logits may be off by `TIE` times the largest absolute logit.
    """
    values = np.asarray(logits, np.float64)
    with np.errstate(invalid="ignore"):
        shifted = np.exp(values - values.max(1, keepdims=True))
        at = 1 / shifted.sum(1)
        return _widened(at, TIE * np.abs(values).max(1))


def _widened(
    at: NDArray[np.float64], nats: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The confidences whose log-odds differ by at most `nats`, and a little more; NaN may be any.

    If every difference of logits changes by at most e, the odds (1 − p)/p of the largest
    probability change by a factor between exp(−e) and exp(e).
    """
    with np.errstate(invalid="ignore", over="ignore"):
        low = at / (at + (1 - at) * np.exp(nats)) - ROUNDING
        high = at / (at + (1 - at) * np.exp(-nats)) + ROUNDING
    return np.where(np.isnan(low), -1.0, low), np.where(np.isnan(high), 2.0, high)
