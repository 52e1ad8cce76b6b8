"""Tensors, arrays and modules hidden in plain attributes of a user's module.

The posterior and the prior do not include such a value, and it could be computed from data: a
list of the training labels would make any network perfect.
"""

from __future__ import annotations

import array
import functools
import logging
import types
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

__all__ = ["hidden_state"]

LARGEST = 10_000  # values reachable from an attribute; more are data, not options
HARMLESS = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    type,
    range,
    torch.dtype,
    torch.device,
    torch.Generator,
    np.dtype,
    np.generic,
    types.ModuleType,
    types.BuiltinFunctionType,
    logging.Logger,
)
CARRIERS = (
    Tensor,
    nn.Module,
    np.ndarray,
    torch.UntypedStorage,
    torch.TypedStorage,
    array.array,
    bytearray,
    memoryview,
)
ARRAY_PROTOCOLS = ("__array__", "__array_interface__", "__dlpack__")
OF_EVERY_MODULE = {*vars(nn.Module()), "_compiled_call_impl"}
OF_RECURRENT = {"_flat_weights", "_flat_weight_refs"}  # torch fills them from the parameters

Found = tuple[str, Any]  # the location of a value, and the value


def hidden_state(layer: nn.Module, registered: Set[int]) -> str | None:
    """A tensor, array or module reachable from a layer's plain attributes, and its location.

    The search covers attributes of the layer itself and of the user's classes, and the contents of
    their containers, objects and functions.

    Arguments:
        registered: The ids of the network's own modules, whose methods may be attributes.
    """
    waiting = list(_attributes(layer))
    seen: set[int] = set()
    kept = []  # keeps the values alive, so that no id is reused
    while waiting:
        where, value = waiting.pop()
        if isinstance(value, HARMLESS) or id(value) in seen:
            continue
        seen.add(id(value))
        kept.append(value)
        if _carries_numbers(value):
            return f"'{where}' holds a {type(value).__name__}"
        inside = list(_inside(where, value, registered))
        if len(seen) + len(waiting) + len(inside) > LARGEST:
            return f"'{where}' leads to more than {LARGEST} values"
        waiting += inside
    return None


def _attributes(layer: nn.Module) -> Iterator[Found]:
    known = OF_EVERY_MODULE | (OF_RECURRENT if isinstance(layer, nn.RNNBase) else set())
    yield from ((name, value) for name, value in vars(layer).items() if name not in known)
    for kind in type(layer).__mro__:
        if kind is object or kind.__module__.partition(".")[0] == "torch":
            continue
        members = ((name, value) for name, value in vars(kind).items())
        yield from (found for found in members if not found[0].startswith("__"))


def _carries_numbers(value: Any) -> bool:
    if isinstance(value, CARRIERS):
        return True
    return any(hasattr(type(value), name) for name in ARRAY_PROTOCOLS)


def _inside(where: str, value: Any, registered: Set[int]) -> Iterator[Found]:
    """The contents of a value: elements, attributes, and a function's closure."""
    if isinstance(value, bytes):
        if len(value) > LARGEST:
            yield f"{where}", memoryview(value)
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield f"{where}[{_short(key)}]", entry
            yield f"a key of {where}", key
    elif isinstance(value, Sequence):
        yield from ((f"{where}[{place}]", entry) for place, entry in enumerate(value))
    elif isinstance(value, Set):
        yield from ((f"an element of {where}", entry) for entry in value)
    elif isinstance(value, functools.partial):
        yield f"{where}.func", value.func
        yield f"{where}.args", value.args
        yield f"{where}.keywords", value.keywords
    elif isinstance(value, staticmethod | classmethod | types.MethodType):
        yield where, value.__func__
        # A method of the network's own modules is copied with them. A function is not copied: its
        # closure would hold the original, with the user's trained weights.
        if isinstance(value, types.MethodType) and id(value.__self__) not in registered:
            yield f"{where}.__self__", value.__self__
    elif isinstance(value, property):
        yield from ((where, part) for part in (value.fget, value.fset) if part is not None)
    elif isinstance(value, types.FunctionType):
        yield from _of_function(where, value)
        return
    # Containers of user-defined classes have attributes too.
    yield from (
        (f"{where}.{name}", entry) for name, entry in getattr(value, "__dict__", {}).items()
    )
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            if isinstance(name, str) and name not in ("__dict__", "__weakref__"):
                own = f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") else name
                yield f"{where}.{name}", getattr(value, own, None)


def _of_function(where: str, function: types.FunctionType) -> Iterator[Found]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"{where}, {name}", cell.cell_contents
        except ValueError:  # an empty cell
            continue
    yield f"the defaults of {where}", function.__defaults__
    yield f"the defaults of {where}", function.__kwdefaults__
    yield from ((f"{where}.{name}", entry) for name, entry in vars(function).items())


def _short(key: Any) -> str:
    return repr(key)[:30] if isinstance(key, str | int | float | bool) else type(key).__name__
