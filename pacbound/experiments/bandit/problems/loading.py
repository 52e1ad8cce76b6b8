"""Load any problem: by name, or by the path of an `.npz` file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from pacbound.data.fetching import Fetched, obtain
from pacbound.data.sources import Progress
from pacbound.errors import DataError, unknown_name
from pacbound.experiments.bandit.problem import Problem
from pacbound.experiments.bandit.problems import (
    adult,
    covertype,
    financial,
    jester,
    mushroom,
    statlog,
)
from pacbound.experiments.bandit.problems.entry import RawEntry
from pacbound.experiments.bandit.problems.own import own_problem
from pacbound.experiments.bandit.problems.streams import Streams, streams_of

__all__ = ["fetch_files", "load_problem", "problem_files", "problem_names"]

_MAKERS: dict[str, Callable[[Mapping[str, bytes], Streams], Problem]] = {
    "mushroom": mushroom.mushroom,
    "statlog": statlog.statlog,
    "covertype": covertype.covertype,
    "financial": financial.financial,
    "jester": jester.jester,
    "adult": adult.adult,
}
_FILES = {
    module.ENTRY.name: module.ENTRY
    for module in (adult, covertype, financial, jester, mushroom, statlog)
}


def problem_names() -> tuple[str, ...]:
    """The named problems, in the order of the published tables."""
    return tuple(_MAKERS)


def problem_files() -> dict[str, RawEntry]:
    """The files of every named problem."""
    return _FILES


def fetch_files(name: str, progress: Progress | None = None) -> Fetched:
    """Ensure that the files of a problem are in the cache."""
    return obtain(_FILES[name], progress)


def load_problem(
    name_or_path: str,
    seed: int = 0,
    *,
    steps: int | None = None,
    progress: Progress | None = None,
) -> Problem:
    """The problem of this name, downloaded if the cache lacks its files, or the one in this file.

    The seed determines contexts, rewards and their order. With `steps` the stream is truncated: it
    is the start of the same stream, prepared (z-scored) like the whole one.
    """
    problem = _whole(name_or_path, seed, progress)
    if steps is None:
        return problem
    if not 1 <= steps <= problem.steps:
        raise DataError(f"{problem.name} has 1 to {problem.steps} steps, not {steps}")
    return Problem(
        problem.name,
        problem.contexts[:steps].copy(),  # a view would keep the whole stream in memory
        problem.rewards[:steps].copy(),
        problem.optimal[:steps].copy(),
    )


def _whole(name_or_path: str, seed: int, progress: Progress | None) -> Problem:
    if name_or_path in _MAKERS:
        streams = streams_of(name_or_path, seed)
        return _MAKERS[name_or_path](fetch_files(name_or_path, progress).contents, streams)
    path = Path(name_or_path).expanduser()
    if path.is_file():
        return own_problem(path, seed)
    if "/" in name_or_path or os.sep in name_or_path or path.suffix:
        raise DataError(
            f"no file {name_or_path}; give an .npz file or one of: {', '.join(_MAKERS)}"
        )
    raise unknown_name("bandit problem", name_or_path, _MAKERS)
