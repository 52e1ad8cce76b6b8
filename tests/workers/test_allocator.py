"""Freed memory is kept while chunks are done."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import pytest

COUNT = """
import json, resource, torch
from pacbound.memory import keeping_memory

def faults():
    for _ in range(10):  # those that are needed in any case
        torch.zeros(1 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        torch.zeros(1 << 20)  # 4 MiB, 1024 pages
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = faults()
with keeping_memory():
    inside = faults()
print(json.dumps([before, inside]))
"""


def page_faults(**variables: str) -> list[int]:
    done = subprocess.run(
        [sys.executable, "-c", COUNT],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        check=True,
        capture_output=True,
        text=True,
    )
    found: list[int] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is about glibc")
def test_tensors_are_made_of_memory_that_is_there() -> None:
    before, inside = page_faults(MALLOC_TRIM_THRESHOLD_="65536")
    assert inside < before / 5
    page_faults(MALLOC_TRIM_THRESHOLD_="no number")  # nothing breaks
