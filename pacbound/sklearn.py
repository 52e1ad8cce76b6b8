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


class PacBayesClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One network drawn from a posterior, and a bound on its error on new examples.

    `predict` and `predict_proba` use exactly the network that the certificate covers.

    Inputs must not be scaled by statistics of the examples that the certificate counts. So a share
    of the examples is set aside, pseudo-randomly. Their means and standard deviations scale all
    inputs, which then go through arcsinh. These examples are used for nothing else.
    In a Pipeline, a step before this estimator that learns from the examples (a scaler, a feature
    selection, a target encoding) sees all of them, and the certificate would not be valid.

    Arguments:
        posterior: diag, k-diag, k-linear or k-nonlinear.
        delta: The probability that the certificate is wrong.
        hidden: Sizes of the hidden layers; none for a linear classifier.
        initializer: The initializer of the prior's centre; None for zeros, or for fan-in-uniform if
            there are hidden layers.
        objective: The bound to minimise.
        prior_fraction: The share of examples that the prior is trained on, one of 0.5, 0.7, 0.6, ….
            The certificate does not count them. 0 for a prior without data.
        epochs: Passes over the examples. With a learned prior, passes of the prior; the posterior
            then only follows it.
        batch: Examples per step.
        learning_rate: The learning rate of the first steps.
        scale_share: The share of examples to scale by; 0 for arcsinh alone.
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
        network_: The drawn network, an nn.Module, in float64.
    """

    def __init__(
        self,
        posterior: str = "k-linear",
        delta: float = 0.05,
        hidden: Sequence[int] = (),
        initializer: str | None = None,
        objective: str = "kl-inverse",
        prior_fraction: float = 0.5,
        epochs: int = 60,
        batch: int = 64,
        learning_rate: float = 0.02,
        scale_share: float = 0.1,
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
        self.scale_share = scale_share
        self.prior_seed = prior_seed
        self.seed = seed
        self.candidates = candidates
        self.looks = looks
        self.certificates = certificates
        self.copies = copies

    def fit(self, X: Any, y: Any) -> PacBayesClassifier:
        """Train on the examples, draw the network, and certify it."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self._warn_of_search()
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("PacBayesClassifier needs examples of two classes; these are 1 class")
        if not 0 <= self.scale_share < 1:
            raise ValueError(f"scale_share must be at least 0 and below 1, not {self.scale_share}")
        aside, rest = set_aside(X, labels, self.scale_share)
        scaling = Scaling.of(X[aside], X.shape[1])
        self.center_, self.scale_ = scaling.center, scaling.scale
        try:
            self._fit(rest, self._seen(X[rest]), labels[rest], len(aside))
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

    def _fit(
        self, rest: NDArray[Any], inputs: NDArray[np.float32], labels: NDArray[Any], aside: int
    ) -> None:
        scaled = f"scaled by {aside} others" if aside else "arcsinh"
        data = Dataset(
            f"table, {scaled}", inputs, labels.astype(np.int64), None, None, len(self.classes_)
        )
        net = StochasticModule(self._chosen())
        net.fit(data, progress=False)
        self.certificate_: Certificate = net.certify(
            data,
            repr(float(self.delta)),
            predictor="draw",
            candidates=self.candidates,
            looks=self.looks,
            certificates=self.certificates,
            copies=self.copies,
            command="pacbound.sklearn",
        )
        self.network_ = net.draw(data).network.double()
        self._settings = net.settings

    def _chosen(self) -> Settings:
        plain = "fan-in-uniform" if len(self.hidden) else "zeros"
        optimiser = {
            "epochs": self.epochs,
            "batch": self.batch,
            "learning_rate": self.learning_rate,
        }
        if self.prior_fraction:
            optimiser = {f"prior_{name}": value for name, value in optimiser.items()}
        return recipe(
            "table",
            {
                "data": GIVEN,
                "posterior": self.posterior,
                "objective": self.objective,
                "hidden": list(self.hidden),
                "initializer": self.initializer or plain,
                "prior_fraction": self.prior_fraction,
                **optimiser,
                "prior_seed": self.prior_seed,
                "seed": self.seed,
            },
        )

    def _seen(self, X: NDArray[np.float64]) -> NDArray[np.float32]:
        """The network's inputs for examples: a map that does not depend on any counted example."""
        return Scaling(self.center_, self.scale_)(X)

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
