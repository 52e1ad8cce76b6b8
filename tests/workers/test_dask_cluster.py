"""A real Dask cluster: the same certificate, and a worker killed in the middle only delays it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from counting_work import Squares

from pacbound.errors import BadInput
from pacbound.workers.cluster import DaskCluster

START = "import sys; from distributed.cli.{0} import main; main()"


def _start(what: str, *options: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    return subprocess.Popen(
        [sys.executable, "-c", START.format(what), *options],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
