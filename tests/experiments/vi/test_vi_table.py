"""The cells of the table of variational inference."""

from __future__ import annotations

from pathlib import Path

from pacbound.experiments.tables.epoch_log import EpochLog
from pacbound.experiments.tables.pool import Pool, Watcher
from pacbound.experiments.tables.selection import Selection
from pacbound.experiments.vi.cell import MEMORY, _most_memory
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


def test_the_memory_is_the_most_of_all_processes_that_trained(tmp_path: Path) -> None:
    log = EpochLog(tmp_path / MEMORY, "bytes")
    for epoch, peak in ((1, 2**50), (2, 2**51), (3, 1)):
        log.append(epoch, peak)
    assert _most_memory(tmp_path) == 2**51
