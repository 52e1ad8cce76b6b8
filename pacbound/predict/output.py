"""Predictions as a file: `.csv` and `.jsonl` with a line for each row, or `.npz` with arrays."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data.rows import Kind
from pacbound.errors import SettingError
from pacbound.files import ensure_writable, write_whole
from pacbound.predict.examples import Examples
from pacbound.predict.predictor import Prediction
from pacbound.predictors.applied import Applied

__all__ = ["applied_lines", "averaged_lines", "ensure_predictable", "save_lines"]

Line = dict[str, Any]


def ensure_predictable(path: Path, *read: str | os.PathLike[str] | None) -> None:
    """Refuse a file that cannot be written, before any work.

    Arguments:
        read: What the same command reads, which it must not replace.
    """
    ensure_writable(path, *read)
    if path.suffix.lower() not in (*_WRITERS, ".npz"):
        raise SettingError(f"cannot write predictions to {path}: give .csv, .jsonl or .npz")


def averaged_lines(prediction: Prediction, kind: Kind, examples: Examples) -> list[Line]:
    """The class, the averaged probabilities and the entropies of every row."""
    found, entropies = prediction.probabilities, prediction.entropies
    lines = []
    for row, chances in enumerate(found):
        line: Line = {"row": row + 1, "prediction": kind.name_of(int(chances.argmax()))}
        line |= {f"p_{kind.name_of(k)}": _short(p) for k, p in enumerate(chances)}
        line |= {"entropy": _short(entropies.total[row])}
        line |= {"epistemic": _short(entropies.epistemic[row])}
        lines.append(line | _label(kind, examples, row))
    return lines


def applied_lines(applied: Applied, kind: Kind, examples: Examples) -> list[Line]:
    """The class that the certified predictor gives to every row; None where it abstains."""
    lines = []
    for row, number in enumerate(applied.classes.tolist()):
        name = kind.name_of(number) if applied.answered[row] else None
        line: Line = {"row": row + 1, "prediction": name}
        if applied.shares is not None:
            line["share"] = _short(applied.shares[row])
        lines.append(line | _label(kind, examples, row))
    return lines


def _label(kind: Kind, examples: Examples, row: int) -> Line:
    return {"label": kind.name_of(int(examples.labels[row]))} if examples.labelled else {}


def _short(number: float) -> float:
    return float(f"{number:.6g}")


def save_lines(
    path: Path, lines: Sequence[Line], arrays: Mapping[str, NDArray[Any]], kind: Kind
) -> None:
    """Write the lines, or the arrays as `.npz`."""
    if (writer := _WRITERS.get(path.suffix.lower())) is not None:
        content = writer(lines).encode()
        write_whole(path, lambda stream: stream.write(content))
        return
    named = dict(arrays)
    if kind.class_names:
        named["class_names"] = np.array(kind.class_names)
    write_whole(path, lambda stream: np.savez(stream, **named))  # type: ignore[arg-type]


def _as_csv(lines: Sequence[Line]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return stream.getvalue()


def _as_json_lines(lines: Sequence[Line]) -> str:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


_WRITERS: Mapping[str, Callable[[Sequence[Line]], str]] = {
    ".csv": _as_csv,
    ".jsonl": _as_json_lines,
}
