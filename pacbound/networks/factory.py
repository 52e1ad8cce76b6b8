"""A user's module, given by the name of its factory: `package.module:factory`."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from torch import nn

from pacbound.errors import ModuleError

__all__ = ["FACTORY_NAME", "module_from"]

FACTORY_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def module_from(name: str, input_shape: Sequence[int], classes: int) -> nn.Module:
    """Import `package.module:factory`, also from the current folder, and call the factory.

    The factory receives `input_shape` and `classes` if it has parameters of these names. It may
    also be a class, or an existing module. Importing runs the user's code, so the name must come
    from the user, never from a file.
    """
    if not FACTORY_NAME.fullmatch(name):
        raise ModuleError(f"'{name}' is not of the form package.module:factory")
    package, _, attribute = name.partition(":")
    factory = _imported(package, attribute)
    if isinstance(factory, nn.Module):
        return factory
    if not callable(factory):
        raise ModuleError(f"{name} is {type(factory).__name__}, not a function that makes a module")
    offered = {"input_shape": tuple(input_shape), "classes": classes}
    try:
        made = factory(**{key: offered[key] for key in offered if key in _parameters(factory)})
    except Exception as error:  # user code may raise anything
        raise ModuleError(f"{name} failed: {_words(error)}") from error
    if not isinstance(made, nn.Module):
        raise ModuleError(f"{name} returned {type(made).__name__}, not an nn.Module")
    return made


def _imported(package: str, attribute: str) -> Any:
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)  # last, so that no file there shadows an installed package
    try:
        found: Any = importlib.import_module(package)
    except Exception as error:  # user code may raise anything
        raise ModuleError(f"cannot import {package}: {_words(error)}") from error
    place = getattr(found, "__file__", None) or "its package"
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ModuleError(f"{package} ({place}) has no '{attribute}'")
        found = getattr(found, part)
    return found


def _parameters(factory: Any) -> Sequence[str]:
    try:
        return list(inspect.signature(factory).parameters)
    except (TypeError, ValueError):  # callables written in C
        return []


def _words(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
