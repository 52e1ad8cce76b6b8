"""What rounding depends on: the processor, its instructions, the libraries and the threads.

Sums of floats depend on their order. Libraries choose it by the instructions they find.
Measured with torch 2.13.0 on an AMD EPYC with AVX-512: see `tests/training/test_replay.py`.
"""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

import torch

__all__ = ["LONGEST_RECORD", "OVERRIDES", "is_machine_record", "machine_record"]

# Variables that change the instructions or the order of sums in a library.
OVERRIDES = (
    "ATEN_CPU_CAPABILITY",
    "ONEDNN_MAX_CPU_ISA",
    "DNNL_MAX_CPU_ISA",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_CBWR",
)
FLAGS = ("avx2", "avx512f", "avx512_bf16", "amx_tile", "amx_bf16")
LONGEST_RECORD = 2000  # characters of one value, as in a certificate
BUILDS = {"mkl": r"Math Kernel Library Version (.*)", "onednn": r"MKL-DNN (v.*)"}


def machine_record(threads: int) -> dict[str, str]:
    """What the bits of a training depend on, in words. Equal descriptions imply equal bits."""
    about = _cpu_info()
    has = about.get("flags", about.get("Features", "")).split()
    config = torch.__config__.show()
    builds = {name: re.search(pattern, config) for name, pattern in BUILDS.items()}
    return {
        "processor": about.get("model name", platform.processor()) or platform.machine(),
        "family": " ".join(about.get(key, "-") for key in ("vendor_id", "cpu family", "model")),
        "instructions": " ".join(flag for flag in FLAGS if flag in has) or "-",
        "capability": torch.backends.cpu.get_cpu_capability(),
        "torch": str(torch.__version__),
        **{name: found[1].strip() if found else "-" for name, found in builds.items()},
        "threads": str(threads),
        **{name: os.environ.get(name, "-") for name in OVERRIDES},
    }


def is_machine_record(record: object) -> bool:
    """Whether a value read from a file can be a description of a machine."""
    return (
        isinstance(record, dict)
        and len(record) <= 100
        and all(type(x) is str and len(x) <= LONGEST_RECORD for x in (*record, *record.values()))
    )


def _cpu_info() -> dict[str, str]:
    """The first processor's entries, if the system provides them."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    pairs = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}
