"""A real Dask cluster: the same certificate, and a worker killed in the middle only delays it."""

from __future__ import annotations

import dataclasses
import os
import signal
from decimal import Decimal
from pathlib import Path

import pytest
from counting_work import Squares
from distributed import Client

from pacbound.certificate.format import Certificate
from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.predictors.chunks import Sampler
from pacbound.predictors.issuing import Request, certify
from pacbound.recipes import Settings
from pacbound.training.loop import train
from pacbound.workers.cluster import DaskCluster
from pacbound.workers.local import LocalProcesses
from pacbound.workers.scheduler import lost


def same(first: Certificate, second: Certificate) -> bool:
    """To the last digit, apart from when and how it was made."""
    return dataclasses.replace(first, made=second.made) == second


@pytest.mark.parametrize("posterior", ["k-linear", "k-nonlinear"])
def test_the_certificate_is_the_same_everywhere(
    posterior: str,
    tiny_settings: Settings,
    tiny_data: Dataset,
    tmp_path: Path,
    address: str,
    warm_workers: None,
) -> None:
    settings = dataclasses.replace(tiny_settings, posterior=posterior)
    path = tmp_path / "net.pt"
    train(settings, tiny_data, path)
    request = Request(Decimal("0.035"), draws=6000, weights=200, samples=200)
    alone = certify(path, tiny_data, request)
    with LocalProcesses(2, here=0.0) as processes:
        assert same(certify(path, tiny_data, request, Sampler(processes)), alone)
    with DaskCluster(address) as cluster:
        assert same(certify(path, tiny_data, request, Sampler(cluster)), alone)


def test_a_killed_worker_only_delays(address: str) -> None:
    results: dict[int, int] = {}
    with Client(address) as client, DaskCluster(address) as cluster:
        victim = next(iter(client.run(os.getpid).values()))
        for number, (square, _) in cluster.results(Squares(100, seconds=0.05), range(100)):
            if len(results) == 10:
                os.kill(victim, signal.SIGKILL)
            results[number] = square
    assert results == {number: number**2 for number in range(100)}


def test_all_workers_killed_at_once_only_delay(address: str) -> None:
    results: dict[int, int] = {}
    with Client(address) as client, DaskCluster(address) as cluster:
        for number, (square, _) in cluster.results(Squares(100, seconds=0.05), range(100)):
            if len(results) == 10:
                for victim in client.run(os.getpid).values():
                    os.kill(victim, signal.SIGKILL)
            results[number] = square
    assert results == {number: number**2 for number in range(100)}


@pytest.mark.parametrize(
    ("fault", "error"), [("refuse", PacboundError), ("break", ZeroDivisionError)]
)
def test_an_error_in_the_work_is_told(fault: str, error: type[Exception], address: str) -> None:
    with DaskCluster(address) as cluster, pytest.raises(error):
        list(cluster.results(Squares(20, fault=fault), range(20)))


def test_no_scheduler_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacbound.workers.scheduler.PATIENCE", 0.5)
    with pytest.raises(PacboundError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        DaskCluster("tcp://127.0.0.1:9")
    with pytest.raises(PacboundError, match="no Dask scheduler"):
        DaskCluster("nonsense://x")


def test_a_client_that_closed_itself_is_told_as_a_lost_scheduler(address: str) -> None:
    client = Client(address, set_as_default=False)
    assert f"lost the Dask scheduler at {address};" in str(lost(client))
    client.close()
    assert "lost the Dask scheduler; the same command continues" in str(lost(client))


def test_other_versions_are_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacbound.workers.scheduler.__version__", "another")  # here, not there
    with pytest.raises(
        PacboundError, match=r"a worker of the Dask cluster has pacbound \S+, torch"
    ):
        DaskCluster(address)
