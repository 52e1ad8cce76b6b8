"""Names, paths, and what is neither; and the real MNIST."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from pacbound.data import catalogue, fetch, load
from pacbound.errors import PacboundError


def test_every_set_in_the_catalogue_is_complete():
    assert {"mnist", "fashion-mnist"} <= set(catalogue())
    for name, entry in catalogue().items():
        assert entry.name == name
        assert entry.sources and entry.files
        assert all(len(file.sha256) == 64 and file.size > 0 for file in entry.files)


def test_an_unknown_name_gets_the_nearest_one():
    for lookup in (load, fetch):
        with pytest.raises(PacboundError, match="unknown data set 'mnits'; did you mean 'mnist'"):
            lookup("mnits")


@pytest.mark.parametrize("path", ["missing.npz", "data/missing", "./mnist"])
def test_what_looks_like_a_path_is_reported_as_one(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PacboundError, match=f"no file {path}"):
        load(path)


def test_a_name_is_fetched_and_assembled(cache, courier, tiny_entry, tiny_files, monkeypatch):
    monkeypatch.setitem(catalogue(), "tiny", tiny_entry(courier(tiny_files)))
    tiny = load("tiny")
    assert (tiny.name, tiny.m, tiny.classes, tiny.input_shape) == ("tiny", 6, 3, (3, 2))
    assert np.array_equal(tiny.train_labels, [0, 1, 2, 0, 1, 2])
    assert len(tiny.test_labels) == 4


def test_loading_data_needs_no_torch():
    code = "import sys, pacbound.data; pacbound.data.catalogue(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=os.environ).returncode == 0


def test_the_real_mnist():
    # From the cache, or over the network the first time.
    mnist = load("mnist")
    assert mnist.train_inputs.shape == (60_000, 28, 28)
    assert mnist.train_inputs.dtype == np.uint8
    assert mnist.test_inputs.shape == (10_000, 28, 28)
    counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(mnist.train_labels).tolist() == counts
    assert np.bincount(mnist.test_labels)[0] == 980
    # The number that stands in every MNIST certificate.
    assert mnist.sha256 == "a2bf0e75fd8e32a92974868a6e7e58dc0f795c72c859675d75810d9d557396de"
    assert load("mnist").sha256 == mnist.sha256
