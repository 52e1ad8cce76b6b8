"""A user's own file: what is accepted, and one clear line for everything else."""

from __future__ import annotations

import pickle
import warnings
import zipfile

import numpy as np
import pytest

from pacbound.data import as_floats, load
from pacbound.data.notes import DataNote
from pacbound.errors import PacboundError

X = np.linspace(0, 1, 12).reshape(4, 3)
Y = np.array([0, 1, 2, 1])


def save(folder, **arrays):
    path = folder / "mine.npz"
    np.savez(path, **arrays)
    return str(path)


def test_training_examples_alone(tmp_path):
    mine = load(save(tmp_path, x=X, y=Y))
    assert (mine.name, mine.m, mine.classes, mine.input_shape) == ("mine", 4, 3, (3,))
    assert mine.train_inputs.dtype == np.float32
    assert mine.train_labels.dtype == np.int64
    assert mine.test_inputs is None and mine.test_labels is None


def test_with_test_examples(tmp_path):
    mine = load(save(tmp_path, x=X, y=Y.astype(np.uint8), x_test=X[:2], y_test=Y[:2]))
    assert np.array_equal(mine.test_inputs, X[:2].astype(np.float32))
    assert np.array_equal(mine.test_labels, [0, 1])


def test_pixels_stay_bytes_and_compressed_files_are_read(tmp_path):
    path = tmp_path / "pixels.npz"
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 3, 4)
    np.savez_compressed(path, x=pixels, y=Y, unrelated=np.zeros(3))
    mine = load(str(path))
    assert mine.train_inputs.dtype == np.uint8
    assert np.array_equal(mine.train_inputs, pixels)


def test_the_digest_does_not_depend_on_the_type_it_was_saved_in(tmp_path):
    exact = np.array([[0.5], [0.25], [1.0], [0.0]])
    wide = load(save(tmp_path, x=exact, y=Y)).sha256
    assert load(save(tmp_path, x=exact.astype(np.float16), y=Y.astype(np.int8))).sha256 == wide
    assert load(save(tmp_path, x=exact.astype(">f4"), y=Y.astype(">i2"))).sha256 == wide


@pytest.mark.parametrize("dtype", [np.int64, np.int16, np.uint16, bool])
def test_whole_numbers_are_never_scaled_and_a_note_says_so(tmp_path, dtype):
    tokens = np.array([[0, 1], [1, 0], [5, 300], [7, 2]]).astype(dtype)
    with pytest.warns(DataNote, match="without scaling") as told:
        mine = load(save(tmp_path, x=tokens, y=Y))
    assert len(told) == 1 and np.array_equal(mine.train_inputs, tokens)
    assert mine.train_inputs.dtype == as_floats(mine.train_inputs).dtype == np.float32
    assert np.array_equal(as_floats(mine.train_inputs), tokens)


@pytest.mark.parametrize(("value", "how"), [(0.5, "exactly"), (0.1, "rounded")])
def test_float64_is_told(tmp_path, value, how):
    with pytest.warns(DataNote, match=f"x is float64; it is used as float32, {how}"):
        load(save(tmp_path, x=np.full((4, 1), value), y=Y))


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.arange(1, 11), r"labels 1 to 10, so there are 11 classes, .* subtract 1 if the first"),
        (np.array([0, 1, 3]), r"4 classes, and class 2 has no example; .* without gaps"),
        (np.array([3, 5]), r"6 classes, and 4 of them have no example; subtract 3"),
    ],
)
def test_classes_without_an_example_are_told(tmp_path, labels, words):
    inputs = np.zeros((len(labels), 2), np.float32)
    with pytest.warns(DataNote, match=words):
        assert load(save(tmp_path, x=inputs, y=labels)).classes == labels.max() + 1


def test_what_needs_no_note_gets_none(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(save(tmp_path, x=X.astype(np.float32), y=Y))


def with_value(value):
    spoilt = X.copy()
    spoilt[2, 1] = value
    return spoilt


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({"x": X}, "no array 'y'"),
        ({"y": Y}, "no array 'x'"),
        ({"x": X, "y": Y, "x_test": X}, "only one of x_test and y_test"),
        ({"x": with_value(np.nan), "y": Y}, r"x\[2, 1\] is nan"),
        ({"x": with_value(-np.inf), "y": Y}, r"x\[2, 1\] is -inf"),
        ({"x": with_value(1e300), "y": Y}, r"x\[2, 1\] is 1e\+300"),
        ({"x": X, "y": Y, "x_test": with_value(np.nan), "y_test": Y}, r"x_test\[2, 1\]"),
        ({"x": X[:, 0], "y": Y}, r"x has shape \(4,\)"),
        ({"x": np.zeros((0, 3)), "y": np.zeros(0, int)}, r"x has shape \(0, 3\)"),
        ({"x": np.zeros((4, 0)), "y": Y}, r"x has shape \(4, 0\)"),
        ({"x": X, "y": Y[:, None]}, r"y has shape \(4, 1\)"),
        ({"x": X, "y": Y[:3]}, "4 examples and y 3 labels"),
        ({"x": X, "y": Y + 0.5}, "y is float64; give integer labels"),
        ({"x": X, "y": Y == 1}, "y is bool"),
        ({"x": X, "y": Y.astype(str)}, "integer labels"),
        ({"x": X, "y": Y - 1}, "label -1"),
        ({"x": X, "y": Y * 10**9}, "label 2000000000"),
        ({"x": X, "y": Y.astype(np.uint64) * 2**62}, "label 9223372036854775808"),
        ({"x": X, "y": Y * 0 + 1}, "single class 1"),
        ({"x": with_value(2**24 + 1).astype(int), "y": Y}, r"x\[2, 1\] is 16777217"),
        ({"x": with_value(-(2**24) - 1).astype(int), "y": Y}, r"x\[2, 1\] is -16777217"),
        ({"x": X + 1j, "y": Y}, "x is complex128"),
        ({"x": X, "y": Y, "x_test": X, "y_test": Y + 1}, "y_test holds label 3, y only 0 to 2"),
        ({"x": X, "y": Y, "x_test": X[:, :2], "y_test": Y}, "the same shape"),
        ({"x": X, "y": Y, "x_test": X.astype(np.uint8), "y_test": Y}, "one type"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(tmp_path, arrays, complaint):
    with pytest.raises(PacboundError, match=complaint) as refusal:
        load(save(tmp_path, **arrays))
    assert "\n" not in str(refusal.value)
    assert "mine.npz" in str(refusal.value)


def test_every_truncation_is_refused(tmp_path):
    path = tmp_path / "mine.npz"
    np.savez_compressed(path, x=X, y=Y)
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(PacboundError, match=r"mine\.npz"):
            load(str(path))


def test_every_flipped_byte_of_the_content_is_noticed_or_harmless(tmp_path):
    path = tmp_path / "mine.npz"
    np.savez_compressed(path, x=X, y=Y)
    whole = path.read_bytes()
    expected = load(str(path)).sha256
    for place in range(0, len(whole), 5):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            found = load(str(path)).sha256
        except PacboundError:
            continue
        assert found == expected


class Trap:
    """Creates a file when unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_is_refused_and_does_not_run(tmp_path):
    trap = np.array([Trap(tmp_path / "sprung")], dtype=object)
    with pytest.raises(PacboundError, match=r"mine\.npz"):
        load(save(tmp_path, x=trap, y=Y))
    (tmp_path / "mine.npz").write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    with pytest.raises(PacboundError, match=r"mine\.npz"):
        load(str(tmp_path / "mine.npz"))
    assert not (tmp_path / "sprung").exists()


def test_other_files_are_refused(tmp_path):
    single = tmp_path / "single.npy"
    np.save(single, X)
    with pytest.raises(PacboundError, match="single array"):
        load(str(single))
    odd = tmp_path / "odd.npz"
    with zipfile.ZipFile(odd, "w") as archive:
        archive.writestr("x", "not an array")
        archive.writestr("y", "neither")
    with pytest.raises(PacboundError, match="x is not an array"):
        load(str(odd))
    with zipfile.ZipFile(odd, "w") as archive:
        header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 9)}"
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + bytes([len(header), 0]) + header.encode())
    with pytest.raises(PacboundError, match=r"odd\.npz"):
        load(str(odd))
