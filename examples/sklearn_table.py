"""A certificate beside the cross-validated error, on tables that scikit-learn ships.

Run it with: python examples/sklearn_table.py
"""

from __future__ import annotations

from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import cross_val_score

from pacbound.sklearn import PacBayesClassifier

print(f"{'table':15}{'examples':>10}{'bound':>9}{'its network':>13}{'5-fold error':>14}")
for load in (load_breast_cancer, load_digits):
    X, y = load(return_X_y=True)
    classifier = PacBayesClassifier(posterior="k-linear", delta=0.05)
    classifier.fit(X, y)
    certificate = classifier.certificate_
    folds = cross_val_score(PacBayesClassifier(posterior="k-linear"), X, y, cv=5)
    bound, own = certificate.risk_bound, certificate.claims[0].empirical
    name = load.__name__.removeprefix("load_")
    print(f"{name:15}{len(y):10d}{bound:9.1%}{own:13.1%}{1 - folds.mean():14.1%}")
    print(f"  {certificate.sentence}")
