"""The cells of the table of variational inference."""

from __future__ import annotations

from pathlib import Path

from pacbound.experiments.tables.pool import Pool, Watcher
from pacbound.experiments.tables.selection import Selection
from pacbound.experiments.vi.table import TABLE


def test_the_forecast_counts_an_inherited_training_once(tmp_path: Path) -> None:
    cells = TABLE.cells(Selection(networks=["vgg-16"], posteriors=["k-linear", "k-nonlinear"]))
    pool = Pool(cells, tmp_path, workers=1, threads=1)
    pool.survey(Watcher())
    for cell in cells:
        pool.costs.add_probe(cell.kind, dict.fromkeys(cell.work(), 60.0))
    linear, flows = (cell.settings for cell in cells)
    assert flows.linear_epochs == linear.epochs
    evaluations = 2
    assert pool.seconds_left() == 60.0 * (linear.epochs + flows.epochs + evaluations)
