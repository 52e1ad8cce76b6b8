"""Features: the extractor's own, whatever stops the work, and never those of another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pacbound.data import Dataset, load
from pacbound.errors import DataError, FileError, ModuleError, SettingError
from pacbound.extractors import WithExtractor, extract, remove_chunks, save_features
from pacbound.networks.digests import module_digest

ORIGIN = "other images, 2020"
BATCH = 3  # 60 examples to a chunk


class Extractor(nn.Module):
    """Batch normalisation and a hidden layer, in training mode as users may leave it."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.norm = nn.BatchNorm1d(6)
        self.layer = nn.Linear(6, 4)
        self.norm.running_mean += torch.arange(6.0)
        self.calls = 0

    def forward(self, inputs: Tensor) -> Tensor:
        self.calls += 1
        return torch.tanh(self.layer(self.norm(inputs.flatten(1))))


class Mates(nn.Module):
    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.flatten(1) - inputs.flatten(1).mean(0)


class Odd(nn.Module):
    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result

    def forward(self, inputs: Tensor) -> Any:
        return self.result(inputs)


@pytest.fixture
def pixels() -> Dataset:
    generator = np.random.default_rng(0)
    x = generator.integers(0, 256, (200, 2, 3)).astype(np.uint8)
    y = generator.integers(0, 3, 200)
    return Dataset("pixels", x[:130], y[:130], x[130:], y[130:], 3, groups=("a", "b") * 65)


def test_features_are_those_of_the_extractor_in_evaluation_mode(pixels, tmp_path) -> None:
    extractor = Extractor()
    made = extract(extractor, pixels, ORIGIN, tmp_path / "chunks", BATCH).data
    with torch.inference_mode():
        for ours, theirs in (
            (made.train_inputs, pixels.train_inputs),
            (made.test_inputs, pixels.test_inputs),
        ):
            one_by_one = [extractor(torch.tensor(row[None]).float() / 255) for row in theirs]
            assert np.allclose(ours, torch.cat(one_by_one).numpy(), atol=1e-6)
    assert made.train_inputs.dtype == np.float32 and made.input_shape == (4,)
    assert np.array_equal(made.train_labels, pixels.train_labels)
    assert (made.extractor_sha256, made.extractor_origin) == (module_digest(extractor), ORIGIN)


def test_the_file_is_read_with_its_extractor(pixels, tmp_path) -> None:
    made = extract(Extractor(), pixels, ORIGIN, tmp_path / "chunks", BATCH).data
    save_features(made, tmp_path / "features.npz")
    read = load(str(tmp_path / "features.npz"))
    assert read.sha256 == made.sha256
    assert np.array_equal(read.test_inputs, made.test_inputs)
    assert (read.extractor_sha256, read.extractor_origin) == (made.extractor_sha256, ORIGIN)
    part = read.part(np.arange(5))
    assert part.extractor_sha256 == made.extractor_sha256
    with np.load(tmp_path / "features.npz") as arrays:
        assert arrays["groups"].tolist() == list(pixels.groups)


def test_stopped_work_continues_and_gives_the_same(pixels, tmp_path) -> None:
    whole = extract(Extractor(), pixels, ORIGIN, tmp_path / "whole", BATCH).data

    def stop(done: int, total: int) -> None:
        assert total == 200
        if done >= 60:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract(Extractor(), pixels, ORIGIN, tmp_path / "chunks", BATCH, stop)
    again = extract(Extractor(), pixels, ORIGIN, tmp_path / "chunks", BATCH)
    assert again.kept == 60
    assert np.array_equal(again.data.train_inputs, whole.train_inputs)
    assert np.array_equal(again.data.test_inputs, whole.test_inputs)
    extractor = Extractor()
    finished = extract(extractor, pixels, ORIGIN, tmp_path / "chunks", BATCH)
    assert finished.kept == 200
    assert extractor.calls == 8 + 1 + 1  # the check of mates, and one batch to compare
    remove_chunks(tmp_path / "chunks")
    assert not (tmp_path / "chunks").exists()


def test_chunks_of_other_work_are_refused(pixels, tmp_path, monkeypatch) -> None:
    folder = tmp_path / "chunks"
    extract(Extractor(), pixels, ORIGIN, folder, BATCH)
    with pytest.raises(FileError, match="chunks of another extractor"):
        extract(Extractor(seed=1), pixels, ORIGIN, folder, BATCH)
    backwards = pixels.part(np.arange(130)[::-1])  # the same examples in another order
    assert backwards.sha256 == pixels.sha256
    with pytest.raises(FileError, match="chunks of other data"):
        extract(Extractor(), backwards, ORIGIN, folder, BATCH)
    with pytest.raises(FileError, match="another batch size"):
        extract(Extractor(), pixels, ORIGIN, folder, BATCH + 1)
    monkeypatch.setattr(Extractor, "forward", lambda self, x: self.layer(self.norm(x.flatten(1))))
    with pytest.raises(FileError, match="other features than the extractor computes now"):
        extract(Extractor(), pixels, ORIGIN, folder, BATCH)


def test_a_damaged_chunk_is_refused(pixels, tmp_path) -> None:
    folder = tmp_path / "chunks"
    extract(Extractor(), pixels, ORIGIN, folder, BATCH)
    path = folder / "train-00000060.npy"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(FileError, match=r"train-00000060\.npy.*delete it"):
        extract(Extractor(), pixels, ORIGIN, folder, BATCH)
    np.save(path, np.zeros((2, 4), np.float32))
    with pytest.raises(FileError, match="not a chunk of features"):
        extract(Extractor(), pixels, ORIGIN, folder, BATCH)
    (folder / "identity.json").write_text("{")
    with pytest.raises(FileError, match="identity"):
        extract(Extractor(), pixels, ORIGIN, folder, BATCH)


def test_a_folder_with_other_files_is_left_alone(pixels, tmp_path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(FileError, match="has other files"):
        extract(Extractor(), pixels, ORIGIN, tmp_path, BATCH)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


class LargeAndMates(Mates):
    """One large feature, which must not hide what the others do."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x.flatten(1)[:, :1] + 1000, super().forward(x)], 1)


@pytest.mark.parametrize("kind", [Mates, LargeAndMates])
def test_features_that_depend_on_the_batch_are_refused(kind, pixels, tmp_path) -> None:
    with pytest.raises(ModuleError, match="depend on the other inputs of its batch"):
        extract(kind(), pixels, ORIGIN, tmp_path / "chunks", BATCH)
    assert not (tmp_path / "chunks").exists()


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (lambda x: x.flatten(1) * float("nan"), "NaN or infinite"),
        (lambda x: x.flatten(1)[:1].repeat(9, 1), "one row of features for each"),
        (lambda x: x.sum((1, 2)), "one row of features for each"),
        (lambda x: x.flatten(1).long(), "no tensor of real numbers"),
        (lambda x: [x], "no tensor of real numbers"),
        (lambda x: x @ torch.ones(7, 7), "fails on inputs of shape"),
    ],
)
def test_what_is_no_extractor_is_refused(result, words, pixels, tmp_path) -> None:
    with pytest.raises(ModuleError, match=words):
        extract(Odd(result), pixels, ORIGIN, tmp_path / "chunks", BATCH)


@pytest.mark.parametrize("origin", ["", "  ", "a" * 201, "two\nlines", "“quoted”"])
def test_an_origin_must_be_one_that_a_certificate_can_show(origin, pixels, tmp_path) -> None:
    with pytest.raises(SettingError, match="origin"):
        extract(Extractor(), pixels, origin, tmp_path / "chunks", BATCH)


def test_features_of_features_are_refused(pixels, tmp_path) -> None:
    made = extract(Extractor(), pixels, ORIGIN, tmp_path / "chunks", BATCH).data
    with pytest.raises(DataError, match="are features already"):
        extract(nn.Identity(), made, ORIGIN, tmp_path / "more", BATCH)


def test_the_digest_covers_layers_options_and_every_tensor() -> None:
    digests = {module_digest(Extractor()), module_digest(Extractor(1))}
    moved = Extractor()
    moved.norm.running_var += 1
    slower = Extractor()
    slower.norm.eps = 0.1
    digests |= {module_digest(moved), module_digest(slower)}
    digests.add(module_digest(nn.Sequential(Extractor())))
    assert len(digests) == 5
    assert module_digest(Extractor()) == module_digest(Extractor())


@torch.inference_mode()
def test_extractor_and_head_are_one_network_for_raw_inputs(pixels, tmp_path) -> None:
    made = extract(Extractor(), pixels, ORIGIN, tmp_path / "chunks", BATCH).data
    head = nn.Linear(4, 3)
    both = WithExtractor(Extractor(), head, made.extractor_sha256)
    expected = head(torch.tensor(made.test_inputs))
    assert torch.allclose(both(torch.tensor(pixels.test_inputs)), expected, atol=1e-5)
    with pytest.raises(ModuleError, match="not the extractor of the features"):
        WithExtractor(Extractor(1), head, made.extractor_sha256)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({"extractor_sha256": np.array("a" * 64)}, "its origin, or neither"),
        ({"extractor_origin": np.array("here")}, "its origin, or neither"),
        (
            {"extractor_sha256": np.array("A" * 64), "extractor_origin": np.array("x")},
            "not a SHA-256",
        ),
        (
            {"extractor_sha256": np.array(["a" * 64]), "extractor_origin": np.array("x")},
            "is not a text",
        ),
        (
            {"extractor_sha256": np.array("a" * 64), "extractor_origin": np.array("x\x1b[2J")},
            "control characters",
        ),
    ],
)
def test_a_file_with_a_wrong_extractor_is_refused(texts, words, tmp_path: Path) -> None:
    path = tmp_path / "features.npz"
    np.savez(path, x=np.zeros((4, 2), np.float32), y=np.array([0, 1, 0, 1]), **texts)
    with pytest.raises(DataError, match=words):
        load(str(path))
