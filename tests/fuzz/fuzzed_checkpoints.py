"""What becomes of mutated checkpoints: they are refused in one line, or read as what they were."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import random
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
import torch
from fuzzed_certificates import SLOW, Outcome
from mutations import damaged_bytes

from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.predictors.issuing import posterior_of
from pacbound.recipes import recipe
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.loop import train

__all__ = ["fuzz_checkpoints", "tiny_checkpoints", "tiny_dataset"]

FIELDS = {"smoothing": 0, "hidden": [2], "hidden_bias": 0, "epochs": 1, "batch": 20, "data": "tiny"}


class _Stopped(Exception):
    pass


def tiny_dataset() -> Dataset:
    """Forty examples of three features in two classes."""
    draw = np.random.default_rng(0)
    inputs = draw.standard_normal((40, 3)).astype(np.float32)
    return Dataset("tiny", inputs, (inputs[:, 0] > 0).astype(np.int64), None, None, 2)


def tiny_checkpoints(folder: Path) -> list[Path]:
    """One of each posterior, one of a learned prior, one that is not finished."""
    settings, data, paths = recipe("mlp-600", FIELDS), tiny_dataset(), []
    changes: dict[str, dict[str, object]] = {
        "diag": {"posterior": "diag"},
        "k-linear": {"posterior": "k-linear"},
        "k-nonlinear": {"posterior": "k-nonlinear", "flow_hidden": (2,), "flow_steps": 1},
        "learned": {"posterior": "diag", "prior_fraction": 0.5, "prior_epochs": 1},
    }
    for name, changed in changes.items():
        paths.append(folder / f"{name}.pt")
        train(dataclasses.replace(settings, **changed), data, paths[-1])

    def stop(record: object) -> None:
        raise _Stopped

    paths.append(folder / "unfinished.pt")
    with contextlib.suppress(_Stopped):
        train(dataclasses.replace(settings, epochs=2), data, paths[-1], on_epoch=stop)
    return paths


def _mutant(sources: list[bytes], draw: random.Random) -> bytes:
    """Bytes of the file, or of one record of the zip, which is then a whole zip again."""
    source = draw.choice(sources)
    if draw.random() < 0.3:
        return damaged_bytes(source, draw)
    with zipfile.ZipFile(io.BytesIO(source)) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    names = list(records)
    pickled = names[0]
    name = pickled if draw.random() < 0.7 else draw.choice(names)
    kind = draw.randrange(8)
    if kind <= 4:
        records[name] = _damaged_pickle(records[name], draw)
    elif kind == 5:
        del records[name]
    elif kind == 6:
        records[draw.choice(("../" * 9 + "tmp/x", "/etc/x", "a/../b", name + "/"))] = b"x"
    else:
        records[name] = records[draw.choice(names)]
    target = io.BytesIO()
    packing = zipfile.ZIP_DEFLATED if draw.random() < 0.1 else zipfile.ZIP_STORED
    with zipfile.ZipFile(target, "w", packing) as archive:
        for name, content in records.items():
            archive.writestr(name, content)
    return target.getvalue()


def _damaged_pickle(content: bytes, draw: random.Random) -> bytes:
    """Opcodes, names and numbers exchanged; or any bytes."""
    if draw.random() < 0.4:
        return damaged_bytes(content, draw)
    exchanged = (
        (b"collections\nOrderedDict", draw.choice((b"builtins\nbytearray", b"os\nsystem"))),
        (b"torch\nFloatStorage", draw.choice((b"torch\nDoubleStorage", b"torch\nload"))),
        (b"torch._utils\n_rebuild_tensor_v2", b"torch._utils\n_rebuild_sparse_tensor"),
        (b"K\x02", draw.choice((b"K\x00", b"K\xff", b"M\xff\xff", b"J\xff\xff\xff\x7f"))),
        (b"K\x02", b"\x8a\x08" + b"\xff" * 7 + b"\x7f"),
        (b"K\x01", draw.choice((b"K\x00", b"J\xff\xff\xff\xff", b"N", b"\x88"))),
        (b"q", draw.choice((b"h", b"r", b"j", b"R", b"b", b"Q", b"0", b"2"))),
        (b"\x86", draw.choice((b"\x85", b"\x87", b"t", b"R"))),
    )
    old, new = draw.choice(exchanged)
    found = [i for i in range(len(content)) if content.startswith(old, i)]
    for at in sorted(draw.sample(found, min(len(found), draw.choice((1, 1, 3)))), reverse=True):
        content = content[:at] + new + content[at + len(old) :]
    return content


def fuzz_checkpoints(count: int, seed: int = 0) -> Outcome:
    """Read so many mutants; what is read is put into its network too."""
    outcome, draw, data = Outcome(), random.Random(seed), tiny_dataset()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = [path.read_bytes() for path in tiny_checkpoints(folder)]
        path = folder / "mutant.pt"
        for number in range(count):
            path.write_bytes(_mutant(sources, draw))
            start = time.process_time()
            try:
                posterior_of(Checkpoint.load(path), data)
                kind = "read, and of its network"
            except PacboundError as error:
                kind = "refused"
                if "\n" in str(error) or len(str(error)) > 700:
                    outcome.complaints.append(f"{number}: not one line: {str(error)[:200]!r}")
            except Exception as error:  # the very thing that is looked for
                kind = "crash"
                outcome.complaints.append(f"{number}: {type(error).__name__}: {error}")
            seconds = time.process_time() - start
            outcome.counts[kind] += 1
            outcome.slowest = max(outcome.slowest, seconds)
            if seconds > SLOW:
                outcome.complaints.append(f"{number}: {seconds:.1f} s")
        left = sorted(
            path.name for path in folder.iterdir() if path.suffix not in (".pt", ".jsonl")
        )
        if left:
            outcome.complaints.append(f"files were written: {left}")
    return outcome
