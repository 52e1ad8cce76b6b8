"""What hides in plain attributes of a user's module is refused; options are not."""

from __future__ import annotations

import array
import collections
import dataclasses
import enum
import functools
import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from pacbound.errors import PacboundError
from pacbound.networks.own import prepared


@dataclasses.dataclass
class Record:
    name: str
    content: Any


@dataclasses.dataclass(slots=True)
class Slots:
    content: Any


class Holder:
    def __init__(self, content: Any) -> None:
        self.content = content


class Private:
    __slots__ = ("__content",)

    def __init__(self, content: Any) -> None:
        self.__content = content


class OwnList(list):  # type: ignore[type-arg]
    pass


class Pair(tuple):  # type: ignore[type-arg]
    pass


class Kind(enum.Enum):
    PLAIN = 1


class Net(nn.Module):
    def __init__(self, **attributes: Any) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 3)
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)  # type: ignore[no-any-return]


T = torch.ones(2)


def closure(value: Any) -> Any:
    return lambda x: x + value


def default(x: Any, table: Any = T) -> Any:
    return x + table


def marked(x: Any) -> Any:
    return x


marked.table = torch.ones(2)  # type: ignore[attr-defined]


def own_list() -> OwnList:
    made = OwnList([1])
    made.extra = torch.ones(2)  # type: ignore[attr-defined]
    return made


HIDING: dict[str, tuple[Any, str]] = {
    "tensor": (T, "'kept' holds a Tensor"),
    "array": (np.ones(2), "'kept' holds a ndarray"),
    "array of objects": (np.array([None]), "ndarray"),
    "python's array": (array.array("d", [1.0]), "array"),
    "bytearray": (bytearray(b"1"), "bytearray"),
    "long bytes": (bytes(20_000), "memoryview"),
    "storage": (T.untyped_storage(), "UntypedStorage"),
    "tuple": ((1, T), r"'kept\[1\]' holds a Tensor"),
    "list": ([[], [1, [T]]], r"'kept\[1\]\[1\]\[0\]' holds a Tensor"),
    "dict": ({"a": {"b": np.ones(1)}}, r"'kept\['a'\]\['b'\]' holds a ndarray"),
    "key": ({T: 1}, "key"),
    "set": ({T}, "an element of kept"),
    "frozen set": (frozenset([T]), "an element"),
    "deque": (collections.deque([T]), "Tensor"),
    "default dict": (collections.defaultdict(list, a=[T]), "Tensor"),
    "named tuple": (collections.namedtuple("P", "x y")(1, T), "Tensor"),
    "dataclass": (Record("r", T), "'kept.content' holds a Tensor"),
    "slots": (Slots([T]), r"'kept.content\[0\]' holds a Tensor"),
    "private slot": (Private(T), "__content"),
    "object": (Holder(Holder((Holder(T),))), r"'kept.content.content\[0\].content'"),
    "attribute of a list": (own_list(), "kept.extra"),
    "partial": (functools.partial(torch.add, T), "kept.args"),
    "partial's keyword": (functools.partial(torch.add, other=T), "kept.keywords"),
    "closure": (closure(T), "'kept, value' holds a Tensor"),
    "default": (default, "the defaults of kept"),
    "function's attribute": (marked, "kept.table"),
    "method of another": (Holder(T).__init__, "Tensor"),  # type: ignore[misc]
    "module in a list": ([nn.Linear(3, 3)], r"'kept\[0\]' holds a Linear"),
    "module in a dict": ({"a": nn.Linear(3, 3)}, "Linear"),
    "module in an object": (Holder(nn.Linear(3, 3)), "Linear"),
    "many numbers": ([float(i) for i in range(20_000)], "more than 10000 values"),
    "deep": (functools.reduce(lambda inner, _: [inner], range(500), T), "Tensor"),
}


@pytest.mark.parametrize("case", HIDING)
@pytest.mark.parametrize("nested", [False, True])
def test_what_hides_is_refused_in_one_line(case: str, nested: bool) -> None:
    value, words = HIDING[case]
    module = Net(kept=value)
    with pytest.raises(PacboundError, match=words) as refusal:
        prepared(nn.Sequential(nn.Linear(3, 3), module) if nested else module)
    assert "\n" not in str(refusal.value)
    assert "compute constants in forward" in str(refusal.value)
    assert ("layer '1' (Net)" if nested else "the module (Net)") in str(refusal.value)


def test_a_parameter_that_is_not_registered_is_refused() -> None:
    module = Net()
    module.__dict__["table"] = nn.Parameter(T)
    with pytest.raises(PacboundError, match="'table' holds a Parameter"):
        prepared(module)


def test_a_class_is_looked_through_too() -> None:
    class Shared(Net):
        table = (1, T)

    with pytest.raises(PacboundError, match=r"'table\[1\]' holds a Tensor"):
        prepared(Shared())

    class Default(Net):
        def forward(self, x: Tensor, shift: Tensor = T) -> Tensor:
            return super().forward(x) + shift

    with pytest.raises(PacboundError, match="the defaults of forward"):
        prepared(Default())

    class Computed(Net):
        @property
        def table(self, value: Tensor = T) -> Tensor:
            return value

    with pytest.raises(PacboundError, match="the defaults of table"):
        prepared(Computed())


def test_a_layer_of_torch_with_an_attribute_is_looked_through() -> None:
    module = nn.Sequential(nn.Linear(3, 3))
    module[0].table = [T]
    with pytest.raises(PacboundError, match=r"layer '0' \(Linear\): its attribute 'table\[0\]'"):
        prepared(module)


HARMLESS: dict[str, Any] = {
    "numbers": (1, 2.5, True, None, 3j, math.inf),
    "texts": ["a", b"short", Path("x")],
    "function": functional.relu,
    "lambda": lambda x: x * 2,
    "closure over a number": closure(3.0),
    "builtin": torch.relu,
    "class": nn.Linear,
    "list of classes": [nn.Linear, dict],
    "dtype": torch.float32,
    "device": torch.device("cpu"),
    "size": torch.Size([1, 2]),
    "numpy": (np.dtype("f4"), np.float64(0.5), np.int64(3)),
    "enum": Kind.PLAIN,
    "config": {"width": 3, "blocks": [1, 2, [3]], "norm": {"eps": 1e-5}},
    "dataclass": Record("r", (1, 2)),
    "object": Holder({"a": Holder(1)}),
    "range": range(10**9),
    "partial": functools.partial(functional.leaky_relu, negative_slope=0.2),
    "logger": logging.getLogger("x"),
}


@pytest.mark.parametrize("case", HARMLESS)
def test_options_pass(case: str) -> None:
    prepared(Net(kept=HARMLESS[case]))


def test_cycles_and_methods_of_the_module_itself_pass() -> None:
    module = Net()
    ring: list[Any] = [1]
    ring.append(ring)
    module.ring = ring
    module.method = module.forward
    copied = prepared(module)
    assert copied.method.__self__ is copied


@pytest.mark.parametrize("part", ["", "inner", "inner.weight"])
def test_a_function_that_closes_over_the_module_is_refused(part: str) -> None:
    """A copy of the module has the same function, which still calls the trained original."""
    module = Net()
    module.own = closure(functools.reduce(getattr, part.split(".") if part else [], module))
    with pytest.raises(PacboundError, match="'own, value' holds a"):
        prepared(module)


def test_layers_of_torch_pass() -> None:
    prepared(
        nn.Sequential(
            nn.Conv2d(1, 2, 3, padding="same", padding_mode="circular"),
            nn.MaxPool2d(2),
            nn.Upsample(scale_factor=2.0),
            nn.AdaptiveAvgPool2d((1, 1)),
            nn.Flatten(),
            nn.LayerNorm(2),
            nn.GELU(),
            nn.Linear(2, 2),
            nn.Softmax(dim=1),
        )
    )
