"""What the docs say that `torch.load(weights_only=True)` takes, and that the reader refuses."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from test_hostile_files import repacked, saved

from pacbound.errors import PacboundError
from pacbound.training.tensor_file import read_tensors

SIZE = 1 << 22  # bytes that a file of a few kilobytes asks for: any number would do
FOUR = {"w": torch.arange(4.0)}


class Bytes:
    def __reduce__(self) -> tuple[Any, ...]:
        return bytearray, (SIZE,)


def inflated() -> bytes:
    """A record of zeros, which its pickle describes rightly."""
    whole = saved({"w": torch.zeros(SIZE // 4)})
    return repacked(whole, lambda records: None, zipfile.ZIP_DEFLATED)


def claiming(old: bytes, new: bytes) -> bytes:
    """A file whose pickle says something else of four numbers."""

    def change(records: dict[str, bytes]) -> None:
        name = next(iter(records))
        assert records[name].count(old) == 1
        records[name] = records[name].replace(old, new)

    return repacked(saved(FOUR), change)


TAKEN = {
    "bytearray": lambda: saved({"w": Bytes()}),
    "stride 0": lambda: saved({"w": torch.zeros(1).expand(1 << 40)}),
    "inflated": inflated,
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_torch_takes_is_refused(name: str, tmp_path: Path) -> None:
    content = TAKEN[name]()
    assert len(content) < SIZE / 100
    taken = torch.load(io.BytesIO(content), weights_only=True)["w"]
    asked = len(taken) if name == "bytearray" else taken.numel() * taken.element_size()
    assert asked >= SIZE
    path = tmp_path / "a.pt"
    path.write_bytes(content)
    with pytest.raises(PacboundError, match=r"a\.pt is not a file"):
        read_tensors(path, "file")


@pytest.mark.parametrize(
    ("old", "new"), [(b"K\x04tq", b"M\xe8\x03tq"), (b"K\x04\x85", b"M\xe8\x03\x85")]
)
def test_sizes_that_are_not_there_are_refused(old: bytes, new: bytes, tmp_path: Path) -> None:
    """The pinned torch refuses these too: of a storage and of a tensor in it."""
    path = tmp_path / "a.pt"
    path.write_bytes(claiming(old, new))
    with pytest.raises(PacboundError, match=r"a\.pt is not a file"):
        read_tensors(path, "file")
    path.write_bytes(saved(FOUR))
    assert torch.equal(read_tensors(path, "file")["w"], FOUR["w"])
