"""Writes pacbound/certificate/vectors: python tests/certificate/write_vectors.py

The files are the same on every machine; a test compares them with what is written here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from building import to_bytes
from forged_vectors import forged_vectors
from good_vectors import good_vectors

FOLDER = Path(__file__).parents[2] / "pacbound/certificate/vectors"
INDEX = "vectors.json"
LIMIT = 4 * 2**20


def vector_files() -> dict[str, bytes]:
    """The content of every file of the folder but README.md."""
    good = good_vectors()
    files: dict[str, bytes] = {}
    index: list[dict[str, Any]] = []
    for name, record in good.items():
        file = f"accepted-{name}.json"
        files[file] = to_bytes(record)
        index.append({"file": file, "expected": "accepted"})
    largest = "accepted-fixed-estimator.json"
    spaces = LIMIT - len(files[largest])
    index.append({"file": largest, "spaces": spaces, "expected": "accepted"})
    for name, forged in forged_vectors(good).items():
        file = f"{name}.json"
        files[file] = forged.content
        entry: dict[str, Any] = {"file": file}
        if forged.spaces:
            entry["spaces"] = forged.spaces
        made_from = f"accepted-{forged.base}.json"
        index.append(entry | {"expected": forged.number, "made_from": made_from})
    lines = ",\n".join(json.dumps(entry) for entry in index)
    files[INDEX] = f"[\n{lines}\n]\n".encode()
    return files


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    files = vector_files()
    for old in FOLDER.glob("*.json"):
        if old.name not in files:
            old.unlink()
    for name, content in files.items():
        (FOLDER / name).write_bytes(content)
    print(f"{len(files) - 1} files and {INDEX} in {FOLDER}")


if __name__ == "__main__":
    main()
