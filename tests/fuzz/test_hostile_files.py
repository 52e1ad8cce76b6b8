"""Hostile files, each in a process of its own with little memory and little time."""

from __future__ import annotations

import io
import json
import os
import pickle
import resource
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fuzzed_checkpoints import tiny_checkpoints, tiny_dataset

ROOT = Path(__file__).parents[2]
CHECKER = ROOT / "pacbound/certificate/checker.py"
VECTORS = ROOT / "pacbound/certificate/vectors"
TEXT = (VECTORS / "accepted-gibbs-mnist-size.json").read_text(encoding="utf-8")
GIB = 1 << 30
SECONDS = 600  # of the clock: a busy machine is not a fault; CPU time is limited to 20 seconds


def limited(*arguments: str, memory: int) -> subprocess.CompletedProcess[str]:
    """A run with at most so much memory, 20 seconds of CPU and no way to write a large file."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 24, 1 << 24))

    paths = {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'cli'}", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        preexec_fn=limit,
        env=os.environ | paths,
        stdin=subprocess.DEVNULL,
    )


MANY = """
import json, sys
from click.testing import CliRunner
from pacbound_cli import cli
for arguments in json.load(open(sys.argv[1])):
    done = CliRunner().invoke(cli, arguments)
    crash = done.exception is not None and not isinstance(done.exception, SystemExit)
    said = repr(done.exception) if crash else done.stderr
    print(json.dumps([done.exit_code if not crash else "crash", done.stdout, said]), flush=True)
"""


def pacbound(
    folder: Path, commands: list[list[str]], memory: int = 4 * GIB
) -> list[tuple[int, str, str]]:
    """Exit code, output and error of many commands, in one process: starting takes longest."""
    (folder / "commands").write_text(json.dumps(commands))
    done = limited("-c", MANY, str(folder / "commands"), memory=memory)
    assert done.returncode == 0, done.stderr[-1000:]
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def with_field(path: str, value: str) -> str:
    """The certificate with one number written otherwise."""
    record: Any = json.loads(TEXT)
    holder, (*names, last) = record, path.split(".")
    for name in names:
        holder = holder[int(name) if name.isdecimal() else name]
    place: Any = int(last) if last.isdecimal() else last
    assert isinstance(holder, list) or place in holder
    holder[place] = "HERE"
    return json.dumps(record).replace('"HERE"', value)


CERTIFICATES = {
    "huge exponent": with_field("claims.0.bound", "1e999999999"),
    "tiny exponent": with_field("claims.0.bound", "1e-999999999"),
    "negative exponent": with_field("evidence.nats", "-1e999999999"),
    "million digits": with_field("ledger.user.candidates", "1" * 10**6),
    "million decimals": with_field("delta", '"0.' + "1" * 10**6 + '"'),
    "nested a thousand": with_field("made.settings", "[" * 1000 + "]" * 1000),
    "nested a hundred thousand": with_field("made.settings", "[" * 10**5 + "]" * 10**5),
    "unclosed": "[" * 10**6,
    "m": with_field("data.m", str(10**18)),
    "draws": with_field("claims.0.draws", str(10**30)),
    "grid index": with_field("prior.variances.0.index", str(10**9)),
    "larger grid index": with_field("prior.variances.0.index", str(10**15)),
    "candidates": with_field("ledger.user.candidates", str(10**9)),
    "looks": with_field("ledger.user.looks", str(10**6)),
    "histogram": with_field("claims.0", json.dumps({"histogram": [[1, 1]] * 3 * 10**5})),
    "long text": with_field("data.name", json.dumps("x" * 3 * 2**20)),
    "longer text": with_field("data.name", json.dumps("x" * 5 * 2**20)),
    "surrogates": with_field("data.name", r'"\ud800\u001b[2J"'),
    "surrogate field": TEXT.replace('"looks"', r'"\ud800"', 1),
    "held out": with_field("also.0", f'{{"examples": {10**15}, "errors": 400000, "upper": 1}}'),
    "empty": "",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every hostile certificate, and what is no plain file."""
    folder = tmp_path_factory.mktemp("hostile")
    for name, text in CERTIFICATES.items():
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    with (folder / "gigabyte of zeros.json").open("wb") as stream:
        stream.truncate(GIB)
    os.mkfifo(folder / "fifo.json")
    (folder / "folder.json").mkdir()
    return folder


def files(folder: Path) -> list[str]:
    return [*sorted(str(path) for path in folder.iterdir()), "/dev/zero", "/nowhere.json"]


def test_the_checker_alone_answers_every_hostile_file_in_a_line(folder: Path) -> None:
    done = limited("-I", "-S", str(CHECKER), *files(folder), memory=GIB // 2)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr, len(lines)) == (2, "", len(files(folder)))
    for line, path in zip(lines, files(folder), strict=True):
        assert line.startswith(f"REJECTED {path}: "), line[:200]
        assert line.isprintable()
        assert len(line) < 500


def test_verify_answers_them_too(folder: Path, tmp_path: Path) -> None:
    good = str(VECTORS / "accepted-gibbs-mnist-size.json")
    others = ("/dev/zero", "fifo.json", "folder.json")
    commands = [["verify", *files(folder)], ["verify", *files(folder), "--json"]]
    commands += [["verify", good, "--checkpoint", str(folder / name)] for name in others]
    answers = pacbound(tmp_path, commands)
    assert [code for code, _, _ in answers] == [2] * len(commands)
    assert [said for _, _, said in answers[:2]] == ["", ""]
    assert len(json.loads(answers[1][1])) == len(files(folder))
    assert all("is not a regular file" in said for _, _, said in answers[2:])


@pytest.mark.parametrize("command", ["explain", "report"])
def test_explain_and_report_never_crash(folder: Path, tmp_path: Path, command: str) -> None:
    page = ["-o", str(tmp_path / "page.html")] if command == "report" else []
    commands = [[command, path, *page] for path in files(folder) if "folder" not in path]
    for (code, _, said), (_, path, *_) in zip(pacbound(tmp_path, commands), commands, strict=True):
        assert code in (0, 1, 2), (path, said[-500:])
        assert len(said.splitlines()) <= 1, path


# Checkpoints


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    data = tiny_dataset()
    np.savez(folder / "tiny.npz", x=data.train_inputs, y=data.train_labels)
    path = tiny_checkpoints(folder)[1]
    content = torch.load(path, weights_only=True)
    content["settings"]["data"] = str(folder / "tiny.npz")
    torch.save(content, path)
    return path


class RunsCode:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch /tmp/pacbound-was-here",)


class TakesMemory:
    def __reduce__(self) -> tuple[Any, ...]:
        return bytearray, (1 << 40,)


def saved(content: Any) -> bytes:
    stream = io.BytesIO()
    torch.save(content, stream)
    return stream.getvalue()


def repacked(
    content: bytes, change: Callable[[dict[str, bytes]], None], packing: int = zipfile.ZIP_STORED
) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    change(records)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", packing) as archive:
        for name, record in records.items():
            archive.writestr(name, record)
    return target.getvalue()


def hostile_checkpoints(path: Path) -> dict[str, bytes]:
    plain, content = path.read_bytes(), torch.load(path, weights_only=True)

    def setting(**changes: Any) -> bytes:
        return saved(content | {"settings": content["settings"] | changes})

    def in_pickle(old: bytes, new: bytes) -> bytes:
        def change(records: dict[str, bytes]) -> None:
            name = next(iter(records))
            assert old in records[name]
            records[name] = records[name].replace(old, new, 1)

        return repacked(plain, change)

    def bomb(records: dict[str, bytes]) -> None:
        records["archive/data/0"] = bytes(1 << 28)

    def keyed(key: bytes) -> bytes:
        """With a dictionary that has this, as the pickle makes it, for a key."""
        whole = pickle.PROTO + b"\x02" + pickle.EMPTY_DICT + key + pickle.NONE + pickle.SETITEM
        return repacked(plain, lambda x: x.update({next(iter(x)): whole + pickle.STOP}))

    shared = pickle.EMPTY_TUPLE + b"".join(
        pickle.BINPUT + bytes([n]) + pickle.BINGET + bytes([n]) + pickle.TUPLE2 for n in range(200)
    )
    twice = [1]
    for _ in range(60):
        twice = [twice, twice]
    whole = torch.zeros(1).expand(1 << 40)
    return {
        "runs code": saved(content | {"epoch": RunsCode()}),
        "takes memory": saved(content | {"epoch": TakesMemory()}),
        "old format": pickle.dumps({"format": RunsCode()}),
        "bomb": repacked(plain, bomb, zipfile.ZIP_DEFLATED),
        "stride 0": saved(content | {"posterior": {"w": whole}}),
        "a list in itself": saved(content | {"training": twice}),
        "a key of shared tuples": keyed(shared),
        "a key of nested tuples": keyed(pickle.EMPTY_TUPLE + pickle.TUPLE1 * 10**6),
        "nested tuples": keyed(b"K\x01" + pickle.EMPTY_TUPLE + pickle.TUPLE1 * 10**6),
        "absurd storage": in_pickle(b"tq", b"J\xff\xff\xff\x7ftq"),
        "outside": repacked(plain, lambda records: records.update({"../../x": b"x"})),
        "truncated": plain[: len(plain) // 2],
        "zeros": bytes(1 << 20),
        "width": setting(hidden=[10**9]),
        "wider": setting(hidden=[10**15]),
        "widest": setting(hidden=[10**30]),
        "deep": setting(hidden=[1] * 10**5),
        "flow": setting(posterior="k-nonlinear", flow_hidden=[10**9], flow_steps=2),
        "many flows": setting(posterior="k-nonlinear", flow_steps=10**9),
        "a long text": setting(recipe="x" * 10**6, hidden=["y" * 10**6]),
        "shape": saved(content | {"data": content["data"] | {"input_shape": [10**9, 10**9]}}),
        "classes": saved(content | {"data": content["data"] | {"classes": 10**12}}),
    }


def refused(folder: Path, commands: list[list[str]]) -> None:
    answers = pacbound(folder, commands)
    for (code, _, said), command in zip(answers, commands, strict=True):
        assert code == 2, (command, said[-500:])
        assert len(said.strip().splitlines()) == 1, (command, said[-500:])
        assert len(said) < 1000, (command, said[:500])
    assert not Path("/tmp/pacbound-was-here").exists()


def test_hostile_checkpoints_are_refused_before_memory_is_taken(
    checkpoint: Path, tmp_path: Path
) -> None:
    before, paths = sorted(tmp_path.parent.iterdir()), []
    for name, content in hostile_checkpoints(checkpoint).items():
        paths.append(tmp_path / f"{name}.pt")
        paths[-1].write_bytes(content)
    os.mkfifo(tmp_path / "fifo.pt")
    with (tmp_path / "gigabyte.pt").open("wb") as stream:
        stream.truncate(GIB)
    paths += [tmp_path / "fifo.pt", tmp_path / "gigabyte.pt", tmp_path, Path("/dev/zero")]
    refused(tmp_path, [["certify", str(path), "-o", str(tmp_path / "out.json")] for path in paths])
    assert not (tmp_path / "out.json").exists()
    assert sorted(tmp_path.parent.iterdir()) == before


# Data


def npy(shape: tuple[int, ...], kind: str, content: bytes = b"") -> bytes:
    header = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def npz(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return stream.getvalue()


LABELS = npy((4,), "<i8", np.arange(4).tobytes())
DATA = {
    "absurd shape.npz": npz(x=npy((10**12, 10**6), "<f4"), y=LABELS),
    "overflow.npz": npz(x=npy((2**40, 2**40), "<f4"), y=LABELS),
    "negative.npz": npz(x=npy((-4, 1), "<f4"), y=LABELS),
    "objects.npz": npz(x=npy((4, 1), "|O", pickle.dumps(RunsCode())), y=LABELS),
    "no zip.npz": b"PK\x03\x04" + bytes(1000),
    "columns.csv": b",".join(b"a%d" % i for i in range(300_000)) + b"\n",
    "names.csv": b",".join(b"a%d" % i for i in range(90_000)) + b",a0\n",
    "zero bytes.csv": b"a,b\n\x00,1\n2,0\n",
    "a field.csv": b"a,b\n" + b"1" * 10**6 + b",1\n",
    "quote.csv": b'a,b\n"' + b"1" * 10**6,
    "metadata.parquet": b"PAR1" + b"\xff" * 100 + struct.pack("<I", 2**31 - 1) + b"PAR1",
    "empty.parquet": b"PAR1PAR1",
}


def test_hostile_data_is_refused_before_memory_is_taken(tmp_path: Path) -> None:
    commands = []
    for name, content in DATA.items():
        (tmp_path / name).write_bytes(content)
        label = ["--label", "b"] if not name.endswith(".npz") else []
        out = str(tmp_path / "out.pt")
        commands.append(["train", "mlp-600", "--data", str(tmp_path / name), *label, "-o", out])
    refused(tmp_path, commands)
