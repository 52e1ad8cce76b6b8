"""Hostile files for the readers of pictures, R's workspaces, bandits' states and exported networks.

Each: truncated, random bytes, absurd sizes, other types and shapes, NaN. What aims at memory runs
in a process that has little.
"""

from __future__ import annotations

import json
import lzma
import random
import struct
import sys
import zlib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fuzzed_checkpoints import tiny_checkpoints, tiny_dataset
from mutations import damaged_bytes
from test_hostile_files import GIB, limited, npy, npz

from pacbound.data.png import decode_png
from pacbound.data.sources import SourceFailed
from pacbound.data.sources.apt import AptPackage
from pacbound.errors import PacboundError
from pacbound.experiments.bandit.play import UnreadableState, play
from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.problems import problem_files
from pacbound.experiments.bandit.rda import decode_data_frame
from pacbound.experiments.bandit.settings import AgentSettings
from pacbound.networks.digests import tensors_digest
from pacbound.predictors.export import description_path, export_network, load_exported
from pacbound.predictors.issuing import Request, certify

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
sys.path.insert(0, str(Path(__file__).parents[1] / "experiments/bandit"))

from test_png import PICTURE, encode
from test_rda import COLUMNS, PLAIN, workspace

DRAW = np.random.default_rng(0)
NOISE = DRAW.bytes(3000)
START = PLAIN[:19] + struct.pack(">4i", 0x402, 1, 0x40009, 1) + b"x"  # of a workspace with an x


def refused_or_read(
    read: Callable[[bytes], object], contents: list[bytes], refusal: type[Exception]
) -> int:
    """How many are refused; anything but a refusal or a result is an error of the test."""
    count = 0
    for content in contents:
        try:
            read(content)
        except refusal as error:
            count += 1
            assert "\n" not in str(error), error
            assert len(str(error)) < 600, error
    return count


def damaged(content: bytes, count: int) -> list[bytes]:
    draw = random.Random(0)
    return [b"", NOISE, *(damaged_bytes(content, draw) for _ in range(count))]


# Pictures and workspaces of R


def test_damaged_pictures() -> None:
    whole = encode(PICTURE, [4] * 7)
    contents = [*damaged(whole, 300), whole[:8] + NOISE]
    assert refused_or_read(lambda x: decode_png(x, "made", 35), contents, SourceFailed) > 250


MEMORY = """
import lzma, struct, sys, zlib
from pacbound.data.png import decode_png
from pacbound.experiments.bandit.rda import decode_data_frame
from pacbound.data.sources import SourceFailed
kind, content = sys.argv[1], open(sys.argv[2], "rb").read()
read = {"png": lambda: decode_png(content, "made", 10_240_000),
        "rda": lambda: decode_data_frame(content, "made")}[kind]
try:
    read()
except SourceFailed as error:
    print("refused", error)
"""


def chunk(kind: bytes, body: bytes) -> bytes:
    crc = struct.pack(">I", zlib.crc32(kind + body))
    return struct.pack(">I", len(body)) + kind + body + crc


def bomb(width: int, height: int, line: bytes) -> bytes:
    """A picture whose lines are all the same: of a thousandth of its size."""
    packer = zlib.compressobj()
    body = b"".join(packer.compress(line) for _ in range(height)) + packer.flush()
    header = chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def parts(kind: int, count: int) -> bytes:
    """A workspace with a list of so many parts that say nothing."""
    return lzma.compress(START + struct.pack(">2i", kind, count) + b"\0\0\0\xfe" * count, preset=0)


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        (
            "png",
            lambda: bomb(20_000, 2000, b"\4" + bytes(3 * 20_000)),
            "too large",
        ),  # pixel by pixel
        ("png", lambda: bomb(2**31 - 1, 1, b"\0" * 1000), "too large"),
        ("rda", lambda: parts(19, 15_000_000), "too many parts"),
        ("rda", lambda: parts(16, 1_000_001), "too many parts"),
        ("rda", lambda: lzma.compress(PLAIN + bytes(1 << 26), preset=0)[:-30], "not a data frame"),
    ],
    ids=["slow picture", "wide picture", "long list", "long strings", "zeros"],
)
def test_what_aims_at_memory_or_time(
    kind: str, content: Callable[[], bytes], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "hostile"
    path.write_bytes(content())
    done = limited("-c", MEMORY, kind, str(path), memory=3 * GIB // 2)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-500:]
    assert done.stdout.startswith("refused made") and words in done.stdout, done.stdout


def test_damaged_workspaces() -> None:
    draw = random.Random(0)
    contents = damaged(lzma.compress(PLAIN), 30)
    contents += [lzma.compress(damaged_bytes(PLAIN, draw), preset=0) for _ in range(150)]
    assert refused_or_read(lambda x: decode_data_frame(x, "made"), contents, SourceFailed) > 60


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "plain",
    [
        workspace([], []),
        workspace([[float("nan")] * 3], [4, 6, 7]),
        workspace([[1e300] * 3], [4, 6, 7]),
        workspace(COLUMNS, [0, -1, -(2**31)]),
        START + struct.pack(">3i", 19, 0, 254),
    ],
    ids=["no rows", "NaN", "large", "codes", "no columns"],
)
def test_tables_that_are_not_the_shuttles(plain: bytes) -> None:
    (source,) = (s for s in problem_files()["statlog"].sources if isinstance(s, AptPackage))
    (member,) = source.members
    try:
        assert source.decode({member: lzma.compress(plain)})["shuttle.trn"] == b""
    except SourceFailed as error:
        assert "\n" not in str(error)


# States of bandits


def problem() -> Problem:
    draw = np.random.default_rng(1)
    contexts = draw.standard_normal((60, 3)).astype(np.float32)
    rewards = draw.standard_normal((60, 2)).astype(np.float32)
    return Problem("made", contexts, rewards, rewards.max(1).astype(np.float64))


AGENTS = ["linear", "neural-linear", "bootstrap", "diag"]
QUICK = AgentSettings(train_every=10, minibatches=1, batch=8, hidden=4, members=2)


class _Stopped(Exception):
    pass


def state_of(agent: str, path: Path) -> dict[str, Any]:
    """The arrays of a run that was stopped halfway."""

    def stop(progress: Any) -> None:
        if progress.step >= 40:
            raise _Stopped

    with pytest.raises(_Stopped):
        play(problem(), agent, QUICK, 0, stop, path, save_every=0.0)
    with np.load(path) as arrays:
        return dict(arrays)


def odd(array: Any) -> list[Any]:
    """Other arrays for this one: of another type or shape, or with numbers that cannot be."""
    found = [array[:0] if array.ndim else array[None], array[None], np.array("x"), np.array(1)]
    if array.dtype.kind in "iuf":
        found += [array.astype(kind) for kind in (np.float16, np.complex128, np.int8)]
    if array.dtype.kind == "f":
        found += [np.full_like(array, x) for x in (np.nan, np.inf, -1, 0, 1e300)]
    if array.dtype.kind == "i":
        found += [np.full_like(array, x) for x in (-1, 2, 2**62)]
    return found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("agent", AGENTS)
def test_states_of_bandits_that_do_not_fit(agent: str, tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    arrays, refused, tried = state_of(agent, path), 0, 0
    whole = path.read_bytes()
    changes = [(name, value) for name in arrays for value in odd(arrays[name])]
    changes = random.Random(0).sample(changes, min(len(changes), 80))
    contents: list[Callable[[], object]] = [
        lambda n=name, v=value: np.savez(path, **(arrays | {n: v})) for name, value in changes
    ]
    contents += [lambda c=c: path.write_bytes(c) for c in damaged(whole, 20)]
    contents += [
        lambda: path.write_bytes(npz(identity=npy((10**12,), "<f8"))),
        lambda: path.write_bytes(npz(identity=npy((1,), "|O", b"cos\nsystem\n(S'x'\ntR."))),
        lambda: np.savez(path, **{k: v for k, v in arrays.items() if k != "arms"}),
    ]
    for write in contents:
        write()
        tried += 1
        try:
            run = play(problem(), agent, QUICK, 0, None, path, resume=True)
        except UnreadableState as error:
            refused += 1
            assert "\n" not in str(error)
        else:
            assert len(run.arms) == 60
    assert refused > 0.7 * tried


# Exported networks


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, data = tmp_path_factory.mktemp("exported"), tiny_dataset()
    checkpoint = tiny_checkpoints(folder)[0]
    certificate = certify(checkpoint, data, Request(delta=Decimal("0.05"), predictor="draw"))
    export_network(checkpoint, data, certificate, folder / "net.pt")
    return folder / "net.pt"


def put(folder: Path, weights: bytes, description: bytes) -> Path:
    target = folder / "net.pt"
    target.write_bytes(weights)
    description_path(target).write_bytes(description)
    return target


def test_damaged_exported_networks(exported: Path, tmp_path: Path) -> None:
    weights, description = exported.read_bytes(), description_path(exported).read_bytes()
    inputs = tiny_dataset().train_inputs

    def read(pair: tuple[bytes, bytes]) -> None:
        logits = load_exported(put(tmp_path, *pair))(inputs)
        assert logits.shape == (40, 2)

    pairs = [(x, description) for x in damaged(weights, 100)]
    pairs += [(weights, x) for x in damaged(description, 100)]
    refused = 0
    for pair in pairs:
        try:
            read(pair)
        except PacboundError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 100


def with_digest(description: dict[str, Any], weights: Any) -> dict[str, Any]:
    return description | {"weights_sha256": tensors_digest(weights)}


@pytest.mark.parametrize(
    "change",
    [
        {"input_shape": [10**9, 10**9]},
        {"input_shape": ["x"]},
        {"input_shape": [-3]},
        {"input_shape": []},
        {"input_shape": 3},
        {"input_shape": [[3]]},
        {"input_shape": [3.0]},
        {"classes": 10**12},
        {"classes": "2"},
        {"classes": None},
        {"settings": {"hidden": [10**9]}},
        {"settings": {"hidden": [1] * 10**5}},
        {"settings": {"input_scale": float("nan")}},
        {"settings": {"smoothing": 1e300}},
        {"settings": {"alignment": "deskew"}},
        {"settings": {"network": "module"}},
        {"settings": {"network": "lenet"}},
        {"settings": {"network": "vgg"}},
        {"settings": 1},
        {"format": 1},
        {"weights_sha256": None},
        {"dtype": "float64"},
        {"dtype": None},
        {"columns": 1},
        {"columns": ["a"] * 99},
        {"class_names": [1, 2]},
        {"class_names": "ab"},
        {"class_names": ["a"]},
    ],
    ids=lambda change: str(change)[:40],
)
def test_descriptions_that_do_not_fit(
    exported: Path, tmp_path: Path, change: dict[str, Any]
) -> None:
    description = json.loads(description_path(exported).read_bytes())
    for name, value in change.items():
        description[name] = description[name] | value if isinstance(value, dict) else value
    target = put(tmp_path, exported.read_bytes(), json.dumps(description).encode())
    with pytest.raises(PacboundError) as refusal:
        load_exported(target)(tiny_dataset().train_inputs)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 500


@pytest.mark.parametrize("kind", ["NaN", "double", "shape", "list", "names", "number", "integers"])
def test_weights_that_do_not_fit(exported: Path, tmp_path: Path, kind: str) -> None:
    weights = torch.load(exported, weights_only=True)
    name = next(iter(weights))
    changed: dict[str, Any] = {
        "NaN": weights | {name: weights[name] * torch.nan},
        "double": weights | {name: weights[name].double()},
        "shape": weights | {name: weights[name][:1]},
        "list": list(weights.values()),
        "names": {f"{k}x": v for k, v in weights.items()},
        "number": weights | {name: 1},
        "integers": weights | {name: weights[name].int()},
    }
    description = json.loads(description_path(exported).read_bytes())
    if kind not in ("list", "number"):  # whose digest a forger writes too
        description = with_digest(description, changed[kind])
    target = tmp_path / "net.pt"
    torch.save(changed[kind], target)
    description_path(target).write_text(json.dumps(description))
    with pytest.raises(PacboundError) as refusal:
        load_exported(target)
    assert "\n" not in str(refusal.value)
