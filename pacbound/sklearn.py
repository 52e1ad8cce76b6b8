"""A scikit-learn classifier with a certificate of its own error."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pacbound.api import StochasticModule
from pacbound.certificate.format import Certificate
from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.fixed.classes import cells_of
from pacbound.networks.columns import ColumnScaling
from pacbound.priors.scaling import Scaling, set_aside
from pacbound.recipes import Settings, recipe
from pacbound.recipes.commands import GIVEN
from pacbound.training.networks import network_inputs

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "pacbound.sklearn needs a package: pip install 'pacbound[sklearn]'"
    ) from error

__all__ = ["PacBayesClassifier"]

PREDICTORS = (None, "fixed", "draw")  # one network each
SCALED_BY = 0.1  # the share of examples that scales the columns without a learned prior


class PacBayesClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One network, and a bound on its error on new examples.

    `predict` and `predict_proba` use exactly the network that the certificate covers. The defaults
    are those of `pacbound train table`: the same table has the same certificate.

    Half of the examples (`prior_fraction`), selected pseudo-randomly, learn a prior: they scale the
    columns, choose the network on a validation share of their own, and train it. The certificate
    counts the other half, which has no influence on this network.
    In a Pipeline, a step before this estimator that learns from the examples (a scaler, a feature
    selection, a target encoding) sees all of them, and the certificate would not be valid.

    Arguments:
        posterior: diag, k-diag, k-linear or k-nonlinear.
        delta: The probability that the certificate is wrong.
        hidden: Sizes of the hidden layers; () for a linear classifier. None to choose them on the
            prior's part together with the epochs and the learning rate, if none of these is given.
        initializer: The initializer of the prior's centre; None for zeros, or for fan-in-uniform if
            there are hidden layers.
        objective: The bound to minimise.
        prior_fraction: The share of examples that the prior is trained on, one of 0.5, 0.7, 0.6, ….
            The certificate does not count them. 0 for a prior without data.
        epochs: Passes over the examples. With a learned prior, passes of the prior; the posterior
            then only follows it. None for the recipe's own, as for the next two.
        batch: Examples per step.
        learning_rate: The learning rate of the first steps.
        predictor: fixed, the centre of a learned prior, or draw, one network drawn from the
            posterior; None for fixed with a learned prior and draw without. Choose it beforehand.
        scale_share: A share of examples to set aside, which are used for nothing but means and
            standard deviations of the columns; 0 for none. None to scale by the prior's part, or
            by a tenth without a learned prior.
        prior_seed: The seed of the prior's centre; seed k costs 2 ln(k + 1) nats.
        seed: The seed of training.
        candidates: The number of settings of the estimator that were listed before the first was
            fitted to these examples, and compared on them: GridSearchCV's number of candidates.
        looks: The number of results on these examples that led to a change of the settings.
        certificates: The number of fitted estimators to choose from by their certificates.
        copies: `independent` declares that equal examples are independent draws. Otherwise more
            than 1 % of exact copies are refused.

    Attributes:
        classes_: The labels, taken as known beforehand.
        certificate_: The certificate. Its `risk_bound` bounds the error.
        network_: The certified network, an nn.Module, in float64.
    """

    def __init__(
        self,
        posterior: str = "k-linear",
        delta: float = 0.05,
        hidden: Sequence[int] | None = None,
        initializer: str | None = None,
        objective: str = "kl-inverse",
        prior_fraction: float = 0.5,
        epochs: int | None = None,
        batch: int | None = None,
        learning_rate: float | None = None,
        predictor: str | None = None,
        scale_share: float | None = None,
        prior_seed: int = 0,
        seed: int = 0,
        candidates: int = 1,
        looks: int = 0,
        certificates: int = 1,
        copies: str = "counted",
    ) -> None:
        self.posterior = posterior
        self.delta = delta
        self.hidden = hidden
        self.initializer = initializer
        self.objective = objective
        self.prior_fraction = prior_fraction
        self.epochs = epochs
        self.batch = batch
        self.learning_rate = learning_rate
        self.predictor = predictor
        self.scale_share = scale_share
        self.prior_seed = prior_seed
        self.seed = seed
        self.candidates = candidates
        self.looks = looks
        self.certificates = certificates
        self.copies = copies

    def fit(self, X: Any, y: Any) -> PacBayesClassifier:
        """Train on the examples, and certify the network that predicts from now on."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self._warn_of_search()
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("PacBayesClassifier needs examples of two classes; these are 1 class")
        if self.predictor not in PREDICTORS:
            raise ValueError(f"predictor must be fixed, draw or None, not {self.predictor!r}")
        share = self.scale_share
        if share is None and not self.prior_fraction:
            share = SCALED_BY
        if share is not None and not 0 <= share < 1:
            raise ValueError(f"scale_share must be at least 0 and below 1, not {share}")
        self._scaling: Scaling | None = None
        rest = np.arange(len(X))
        if share is not None:
            aside, rest = set_aside(X, labels, share)
            self._scaling = Scaling.of(X[aside], X.shape[1])
        try:
            self._fit(self._seen(X[rest]), labels[rest], len(X) - len(rest))
        except PacboundError as error:
            raise ValueError(str(error)) from error
        return self

    def _warn_of_search(self) -> None:
        """Warn if the candidates of a search were compared on these examples but not declared."""
        compared = _candidates_of_search()
        if compared > self.candidates:
            warnings.warn(
                f"{compared} candidates were compared on these examples, and the certificate of "
                f"the best one declares {self.candidates}: give "
                f"PacBayesClassifier(candidates={compared}) to the search, or fit the search to "
                "other examples",
                UserWarning,
                stacklevel=3,
            )

    def _fit(self, inputs: NDArray[np.float32], labels: NDArray[Any], aside: int) -> None:
        name = f"table, scaled by {aside} others" if aside else "table"
        names = tuple(cells_of(self.classes_, "y"))
        data = Dataset(
            name,
            inputs,
            labels.astype(np.int64),
            None,
            None,
            len(names),
            class_names=names if len(set(names)) == len(names) else (),
        )
        net = StochasticModule(self._chosen())
        net.fit(data, progress=False)
        self.certificate_: Certificate = net.certify(
            data,
            repr(float(self.delta)),
            predictor=self.predictor or ("fixed" if self.prior_fraction else "draw"),
            candidates=self.candidates,
            looks=self.looks,
            certificates=self.certificates,
            copies=self.copies,
            command="pacbound.sklearn",
        )
        self.network_ = net.covered(self.certificate_).network.double()
        self._settings = net.settings
        scaling = self._scaling or next(
            layer for layer in self.network_.modules() if isinstance(layer, ColumnScaling)
        )
        self.center_, self.scale_ = map(np.asarray, (scaling.center, scaling.scale))

    def _chosen(self) -> Settings:
        hidden = None if self.hidden is None else list(self.hidden)
        initializer = self.initializer or ("fan-in-uniform" if hidden else None)
        of_the_prior = "prior_" if self.prior_fraction else ""
        wanted = {
            "hidden": hidden,
            "initializer": initializer,
            f"{of_the_prior}epochs": self.epochs,
            f"{of_the_prior}batch": self.batch,
            f"{of_the_prior}learning_rate": self.learning_rate,
            "prior_scaling": None if self._scaling is None else "none",
        }
        return recipe(
            "table",
            {
                "data": GIVEN,
                "posterior": self.posterior,
                "objective": self.objective,
                "prior_fraction": self.prior_fraction,
                **{name: value for name, value in wanted.items() if value is not None},
                "prior_seed": self.prior_seed,
                "seed": self.seed,
            },
        )

    def _seen(self, X: NDArray[np.float64]) -> NDArray[np.float32]:
        """The data set's inputs for examples: a map that does not depend on a counted example."""
        if self._scaling is not None:
            return self._scaling(X)
        with np.errstate(over="ignore"):
            seen: NDArray[np.float32] = X.astype(np.float32)
        if not np.isfinite(seen).all():
            raise ValueError("X has values that are too large for float32; divide them")
        return seen

    @torch.inference_mode()
    def _logits(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        # In float64, so that the batch size makes no difference. Ties within float32 rounding were
        # counted as errors.
        inputs = network_inputs(self._settings, self._seen(X)).double()
        logits: NDArray[np.float64] = self.network_(inputs).numpy()
        return logits

    def predict(self, X: Any) -> NDArray[Any]:
        """The classes predicted by the certified network."""
        chosen: NDArray[Any] = self._logits(X).argmax(1)
        return np.asarray(self.classes_[chosen])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The certified network's probabilities of `classes_`; they are not certified."""
        probabilities: NDArray[np.float64] = torch.from_numpy(self._logits(X)).softmax(1).numpy()
        return probabilities


def _candidates_of_search() -> int:
    """The number of candidates that a search compared before this refit; 0 without a search."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "_fit_and_score":
            return 0  # one of the compared fits
        if isinstance(frame.f_locals.get("self"), BaseSearchCV) and frame.f_code.co_name == "fit":
            results = frame.f_locals.get("results") or {}
            return len(results.get("params", []))
        frame = frame.f_back
    return 0
