"""Small made data in the place of what the pages' examples use, under the same names."""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import pacbound
from pacbound.certificate import checker
from pacbound.data import catalogue
from pacbound.data.entry import CanonicalFile
from pacbound.data.idx import IMAGES_LABELS, encode_idx
from pacbound.data.sets import fashion_mnist, mnist

M, TEST_M, CLASSES = 600, 100, 10

FACTORY = """from torch import nn


def factory(input_shape, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(input_shape[0] * input_shape[1], classes))
"""


def images(count: int, seed: int, side: int = 28) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images whose class is a pattern of grey squares, with noise."""
    patterns = np.random.default_rng(0).integers(0, 2, (CLASSES, side // 4, side // 4)) * 180
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, CLASSES, count).astype(np.uint8)
    noise = generator.integers(0, 40, (count, side, side))
    return (patterns.repeat(4, 1).repeat(4, 2)[labels] + noise).astype(np.uint8), labels


def replace_images(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `mnist` and `fashion-mnist` be made images in a cache of their own."""
    monkeypatch.setenv("PACBOUND_DATA", str(folder))
    for seed, module in enumerate((mnist, fashion_mnist)):
        entry = module.ENTRY
        arrays = [*images(M, seed), *images(TEST_M, seed + 10)]
        contents = {
            name: encode_idx(array) for name, array in zip(IMAGES_LABELS, arrays, strict=True)
        }
        files = []
        for name, content in contents.items():
            path = folder / entry.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            files.append(CanonicalFile(name, len(content), hashlib.sha256(content).hexdigest()))
        made = dataclasses.replace(entry, m=M, test_m=TEST_M, files=tuple(files), sources=())
        monkeypatch.setattr(module, "ENTRY", made)
    catalogue.cache_clear()


def put_files(folder: Path) -> None:
    """The files that a reader is taken to have: data, a module, and the checker in a clone."""
    vectors = Path("pacbound/certificate/vectors")
    name = "accepted-spec-b-gibbs.json"
    (folder / vectors).mkdir(parents=True)
    (folder / vectors / name).write_bytes((Path(__file__).parents[2] / vectors / name).read_bytes())
    put_outcomes(folder)
    x, y = images(M, seed=3, side=8)
    np.savez(folder / "mine.npz", x=x, y=y)
    generator = np.random.default_rng(4)
    species = np.repeat(["iris", "rosa", "viola"], 60)
    columns = generator.normal(np.repeat(np.arange(3), 60)[:, None], 0.3, (180, 2))
    rows = [f"{a:.3f},{b:.3f},{name}" for (a, b), name in zip(columns, species, strict=True)]
    (folder / "plants.csv").write_text("\n".join(["length,width,species", *rows]) + "\n")
    (folder / "new.csv").write_text("width,length\n0.2,1.5\n")
    contexts = generator.standard_normal((320, 4))
    best = (contexts @ generator.standard_normal((4, 3))).argmax(1)
    np.savez(folder / "bandit.npz", contexts=contexts, rewards=np.eye(3)[best])
    put_log(folder / "log.csv")
    put_predictions(folder)
    (folder / "package").mkdir()
    (folder / "package" / "module.py").write_text(FACTORY)
    put_features(folder / "cifar-10-lite2.npz", CLASSES)
    put_features(folder / "spam-assassin-minilm.npz", 2)
    weights = nn.Sequential(nn.Flatten(), nn.Linear(64, CLASSES)).state_dict()
    torch.save(weights, folder / "pretrained.pt")
    clone = folder / "path" / "to" / "pacbound" / "certificate"
    clone.mkdir(parents=True)
    shutil.copy(checker.__file__, clone / "checker.py")
    shutil.copy(checker.__file__, folder / "checker.py")
    for name in ("__init__.py", "errors.py", "printable.py", "policy"):
        part = Path(pacbound.__file__).parent / name
        (shutil.copytree if part.is_dir() else shutil.copy)(part, clone.parent / name)


def put_log(path: Path) -> None:
    """A policy that explores, and learned nothing from the context."""
    generator = np.random.default_rng(9)
    visits = generator.standard_normal((400, 2))
    shown = generator.random(400) < 0.8
    clicks = generator.random(400) < np.where(shown == (visits[:, 0] > 0), 0.8, 0.2)
    rows = [
        f"{a:.3f},{b:.3f},{'new' if new else 'old'},{int(click)},{0.8 if new else 0.2}"
        for (a, b), new, click in zip(visits, shown, clicks, strict=True)
    ]
    header = "age,visits,action,reward,propensity"
    path.write_text("\n".join([header, *rows]) + "\n")


def put_outcomes(folder: Path) -> None:
    """The certificate of one network, and outcomes before and after a shift."""
    name = Path("pacbound/certificate/vectors/accepted-draw-learned-binomial.json")
    (folder / "deployed.json").write_bytes((Path(__file__).parents[2] / name).read_bytes())
    generator = np.random.default_rng(8)
    for file, risk in (("outcomes", 0.004), ("today", 0.004), ("shifted", 0.05)):
        label = generator.integers(0, CLASSES, 2000)
        answer = (label + (generator.random(2000) < risk)) % CLASSES
        rows = [f"{y},{z}" for y, z in zip(label.tolist(), answer.tolist(), strict=True)]
        (folder / f"{file}.csv").write_text("\n".join(["label,prediction", *rows]) + "\n")


def put_predictions(folder: Path) -> None:
    """Classes by name, and probabilities of three classes in two files."""
    generator = np.random.default_rng(8)
    labels = generator.integers(0, 3, 800)
    logits = generator.normal(size=(800, 3)) + 4 * np.eye(3)[labels]
    table = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    animals, guesses = np.array(["cat", "dog", "owl"]), table.argmax(1)
    rows = [f"a{k},{animals[labels[k]]},{animals[guesses[k]]},g{k % 2}" for k in range(800)]
    header = "id,label,prediction,group"
    (folder / "predictions.csv").write_text("\n".join([header, *rows]) + "\n")
    lines = [
        ",".join([f"a{k}", str(labels[k]), *(f"{p:.6f}" for p in table[k])]) for k in range(800)
    ]
    for name, part in (("probabilities", lines[:400]), ("calibration", lines[400:])):
        text = "\n".join(["id,label,p_0,p_1,p_2", *part]) + "\n"
        (folder / f"{name}.csv").write_text(text)


def put_features(path: Path, classes: int) -> None:
    """Features of a frozen extractor, as `pacbound features` writes them."""
    generator = np.random.default_rng(9)
    y = generator.integers(0, classes, 300)
    x = generator.normal(np.eye(classes, 12)[y], 0.2).astype(np.float32)
    named = {"extractor_sha256": np.array("0" * 64), "extractor_origin": np.array("elsewhere")}
    np.savez(path, x=x, y=y, **named)


def names() -> dict[str, Any]:
    """What the Python examples take for granted: a module, data for it, and a table."""
    x, y = images(M, seed=5, side=8)
    pixels, digits = images(TEST_M, seed=6)
    table = np.random.default_rng(7).normal(y[:150, None] % 2, 0.3, (150, 3))
    return {
        "module": nn.Sequential(nn.Flatten(), nn.Linear(64, CLASSES)),
        "data": (x, y.astype(np.int64)),
        "loader": DataLoader(TensorDataset(torch.from_numpy(x), torch.from_numpy(y).long()), 100),
        "m": M,
        "images": pixels,
        "labels": digits,
        "answers": digits,
        "X": table,
        "y": y[:150] % 2,
        "X_new": table[:5],
    }
