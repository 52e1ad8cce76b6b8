"""Errors that the user can fix. The command line shows each as one line, with exit code 2.

Every error is a `PacboundError`. Those about a value that was passed are also a `ValueError`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = [
    "CertificateError",
    "CheckpointError",
    "DataError",
    "FileError",
    "MissingDependency",
    "ModuleError",
    "MonitorError",
    "OutOfMemory",
    "PacboundError",
    "PolicyError",
    "ResultError",
    "SettingError",
    "TrainingDiverged",
    "UnknownName",
    "WorkerError",
    "by_caller",
    "called_by_command",
    "unknown_name",
]

_from_a_command: ContextVar[bool] = ContextVar("from_a_command", default=False)


class PacboundError(Exception):
    """An input cannot be used. The message says what is wrong, where, and what to do."""


class SettingError(PacboundError, ValueError):
    """A setting, option or argument has a value that is not allowed."""


class UnknownName(SettingError):
    """A name is not on its list. The message suggests the nearest one."""


class DataError(PacboundError, ValueError):
    """Data is missing, damaged, or of the wrong shape or type."""


class ModuleError(PacboundError, ValueError):
    """A module cannot be made stochastic, or does not fit the data."""


class FileError(PacboundError):
    """A file cannot be read or written."""


class CheckpointError(PacboundError):
    """A checkpoint is damaged or unfinished, or belongs to other settings or data."""


class CertificateError(PacboundError):
    """A file is not a certificate of this format, or its claim cannot be checked."""


class MonitorError(PacboundError):
    """The state of a monitor is damaged, or of another certificate or other outcomes."""


class PolicyError(PacboundError, ValueError):
    """A policy cannot be read: an unknown rule, a value of the wrong kind, a missing baseline."""


class ResultError(PacboundError):
    """The result of an experiment's cell is damaged or belongs to other settings."""


class TrainingDiverged(PacboundError):
    """The objective became infinite or NaN."""


class WorkerError(PacboundError):
    """Worker processes, or processes that train together, failed."""


class OutOfMemory(PacboundError):
    """The work needs more memory than is available."""


class MissingDependency(PacboundError, ImportError):
    """An optional package is not installed. The message says how to install it."""


def unknown_name(kind: str, name: str, valid: Iterable[str]) -> UnknownName:
    """The error for an unknown name, with the nearest known name."""
    names = sorted(valid)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"choose from: {', '.join(names)}"
    return UnknownName(f"unknown {kind} '{name}'; {hint}")


@contextmanager
def called_by_command() -> Iterator[None]:
    """While this is open, messages name the options of the command line."""
    token = _from_a_command.set(True)
    try:
        yield
    finally:
        _from_a_command.reset(token)


def by_caller(command: str, python: str) -> str:
    """What the caller has to write: an option of the command line, or an argument in Python.

    Example:
        >>> by_caller("--copies independent", 'copies="independent"')
        'copies="independent"'
    """
    return command if _from_a_command.get() else python
