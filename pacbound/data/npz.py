"""A user's own data: an `.npz` file with x, y and perhaps x_test, y_test."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data.arrays import dataset_of
from pacbound.data.dataset import Dataset
from pacbound.errors import BadInput

__all__ = ["read_arrays", "read_npz"]

_UNREADABLE = (OSError, ValueError, EOFError, RuntimeError, MemoryError, zlib.error)


def read_npz(path: Path) -> Dataset:
    """The data set in the file: x (m, …), y (m,) and perhaps x_test, y_test."""
    arrays = read_arrays(path, ("x", "y"), ("x_test", "y_test"))
    if ("x_test" in arrays) != ("y_test" in arrays):
        raise BadInput(f"{path} has only one of x_test and y_test; give both, or neither")
    return dataset_of(path.stem, arrays, where=str(path))


def read_arrays(
    path: Path, needed: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, NDArray[Any]]:
    """The arrays that the file must have, and those it may have."""
    how = f"numpy.savez(FILE, {', '.join(f'{key}=…' for key in needed)})"
    try:
        with path.open("rb") as stream:
            # Pickled objects could run code, so they are refused.
            file = np.load(stream, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise BadInput(f"{path} is a single array; save it with {how}")
            arrays = {key: file[key] for key in (*needed, *optional) if key in file}
    except (*_UNREADABLE, zipfile.BadZipFile) as error:
        raise BadInput(f"cannot read {path} as .npz: {error}; save it with numpy.savez") from error
    for key, array in arrays.items():
        if not isinstance(array, np.ndarray):  # a member that is no array comes as bytes
            raise BadInput(f"{path}: {key} is not an array; save it with numpy.savez")
    for key in needed:
        if key not in arrays:
            raise BadInput(f"{path} has no array '{key}'; save it with {how}")
    return arrays
