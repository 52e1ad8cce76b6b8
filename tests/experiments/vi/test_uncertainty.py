"""The published figures of uncertainty, against the predictions they are made from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pacbound.experiments.vi.corruption import CORRUPTIONS, STRENGTHS
from pacbound.experiments.vi.page import uncertainty_figures, uncertainty_table
from pacbound.experiments.vi.probing import Probes, save_probes
from pacbound.experiments.vi.uncertainty import uncertainty
from pacbound.predict.evaluation import evaluate
from pacbound.predict.examples import Examples
from pacbound.predict.metrics import Entropies, entropy
from pacbound.predict.predictor import Prediction

GENERATOR = np.random.default_rng(0)


def predicted(n: int, sharpness: float) -> Prediction:
    probabilities = GENERATOR.dirichlet(np.full(5, sharpness), n)
    return Prediction(probabilities, Entropies.of(probabilities, 0.8 * entropy(probabilities)), 10)


def labelled(prediction: Prediction, right: float) -> Examples:
    """Labels that are those predicted with the given probability."""
    best = prediction.probabilities.argmax(1)
    n = len(best)
    labels = np.where(GENERATOR.random(n) < right, best, (best + 1) % 5)
    return Examples(np.zeros((n, 4, 4), np.uint8), labels, "made", "test")


TEST = predicted(400, 0.2)
EXAMPLES = labelled(TEST, 0.8)
FEW = Examples(EXAMPLES.inputs[:100], EXAMPLES.labels[:100], "made", "test")
OTHER = predicted(50, 2.0)
CORRUPTED = {
    (kind, strength): predicted(100, 0.5) for kind in CORRUPTIONS for strength in STRENGTHS
}
PROBES = Probes((OTHER, labelled(OTHER, 0.5)), CORRUPTED, FEW)


def test_figures() -> None:
    found = json.loads(json.dumps(uncertainty(TEST, EXAMPLES, PROBES)))
    wrong = TEST.probabilities.argmax(1) != EXAMPLES.labels
    assert found["abstention"][-1] == {"coverage": 1.0, "error": pytest.approx(wrong.mean())}
    surest = np.argsort(TEST.entropies.total)[:200]
    half = next(part for part in found["abstention"] if part["coverage"] == 0.5)
    assert half["error"] == pytest.approx(wrong[surest].mean())
    higher = OTHER.entropies.total[:, None] > TEST.entropies.total
    assert found["other"]["auroc_total"] == pytest.approx(higher.mean())
    assert len(found["corrupted"]) == len(CORRUPTIONS) * len(STRENGTHS)
    part = found["corrupted"][1]
    prediction = CORRUPTED[part["kind"], part["strength"]]
    assert part["error"] == pytest.approx((prediction.probabilities.argmax(1) != FEW.labels).mean())


def test_without_other_data() -> None:
    assert "other" not in uncertainty(TEST, EXAMPLES, Probes(None, {}, FEW))


def test_the_archive_holds_all_predictions(tmp_path: Path) -> None:
    save_probes(tmp_path / "predictions.npz", TEST, EXAMPLES, PROBES)
    with np.load(tmp_path / "predictions.npz") as arrays:
        assert arrays["test_probabilities"] == pytest.approx(TEST.probabilities, abs=1e-6)
        assert np.array_equal(arrays["blur-2_labels"], FEW.labels)
        assert arrays["other_entropy"] == pytest.approx(OTHER.entropies.total, abs=1e-6)


def test_page_and_figure(tmp_path: Path) -> None:
    """A network with two cells that have measured their uncertainty, and an older one."""
    record = {
        "evaluation": evaluate(TEST, EXAMPLES).to_mapping(),
        "uncertainty": uncertainty(TEST, EXAMPLES, PROBES),
        "settings": {"recipe": "vi-lenet-5", "posterior": "diag"},
        "curve": [{"epoch": 1, "risk": 0.4}, {"epoch": 2, "risk": 0.1}, {"epoch": 3, "risk": 0.0}],
    }
    for posterior in ("diag", "k-linear"):
        settings = {"recipe": "vi-lenet-5", "posterior": posterior}
        text = json.dumps(record | {"settings": settings})
        (tmp_path / f"lenet-5-{posterior}.json").write_text(text, encoding="utf-8")
    older = {"settings": {"recipe": "vi-lenet-5", "posterior": "point"}}
    (tmp_path / "lenet-5-point.json").write_text(json.dumps(older), encoding="utf-8")
    rows = uncertainty_table(tmp_path).splitlines()[2:]
    assert [row.split(" |")[0] for row in rows] == ["| lenet-5, diag", "| lenet-5, k-linear"]
    assert uncertainty_figures(tmp_path, tmp_path) == [tmp_path / "uncertainty-lenet-5.svg"]
    assert b"k-linear" in (tmp_path / "uncertainty-lenet-5.svg").read_bytes()
