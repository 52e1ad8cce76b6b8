"""A user's own module: what is refused, by name and in one line, and what a copy is made for."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from pacbound.errors import PacboundError
from pacbound.networks.factory import module_from
from pacbound.networks.initializers import INITIALIZERS, prior_center
from pacbound.networks.own import prepared, refuse_wide, structure_digest
from pacbound.networks.probe import probe_places, refuse_misbehaviour


class Bare(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.temperature = nn.Parameter(torch.ones(()))


class Statistics(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.register_buffer("mean", torch.zeros(3))


class Remembering(nn.InstanceNorm1d):
    """A normalisation that carries examples along."""

    def __init__(self) -> None:
        super().__init__(3)
        self.register_buffer("examples", torch.zeros(4, 3))


class Activated(nn.BatchNorm1d):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).relu()  # type: ignore[no-any-return]


class Extra(nn.Linear):
    def get_extra_state(self) -> object:
        return {"seen": 3}

    def set_extra_state(self, state: object) -> None:
        return


class Rotary(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.register_buffer("turns", torch.ones(3, dtype=torch.complex64))


def mean_of_examples() -> nn.Module:
    layer = nn.InstanceNorm1d(3)
    layer.register_buffer("mean", torch.zeros(3))
    return inside(layer)


def frozen() -> nn.Module:
    module = nn.Sequential(nn.Linear(3, 3))
    module[0].weight.requires_grad_(False)
    return module


def hooked() -> nn.Module:
    module = nn.Sequential(nn.Linear(3, 3))
    module[0].register_forward_hook(lambda layer, args, output: output * 2)
    return module


def inside(layer: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(3, 3), nn.ModuleDict({"part": layer}))


REFUSED: dict[str, tuple[Callable[[], nn.Module], list[str]]] = {
    "batch norm 1d": (lambda: inside(nn.BatchNorm1d(3)), ["1.part", "BatchNorm1d", "statistics"]),
    "batch norm 2d": (
        lambda: inside(nn.BatchNorm2d(3)),
        ["BatchNorm2d", "GroupNorm", "priors.Learned", "priors.elsewhere"],
    ),
    "batch norm 3d": (lambda: inside(nn.BatchNorm3d(3)), ["BatchNorm3d", "data"]),
    "without affine": (lambda: inside(nn.BatchNorm2d(3, affine=False)), ["BatchNorm2d"]),
    "of the batch alone": (
        lambda: inside(nn.BatchNorm2d(3, track_running_stats=False)),
        ["BatchNorm2d"],
    ),
    "sync": (lambda: inside(nn.SyncBatchNorm(3)), ["SyncBatchNorm"]),
    "lazy batch norm": (lambda: inside(nn.LazyBatchNorm1d()), ["LazyBatchNorm1d"]),
    "instance norm": (
        lambda: inside(nn.InstanceNorm2d(3, track_running_stats=True)),
        ["InstanceNorm2d", "track_running_stats=False"],
    ),
    "examples in a norm": (lambda: inside(Remembering()), ["buffer 'examples'"]),
    "a mean in a norm": (mean_of_examples, ["buffer 'mean'"]),
    "a norm with code": (lambda: inside(Activated(3)), ["Activated", "code of its own"]),
    "extra state": (lambda: inside(Extra(3, 3)), ["Extra", "get_extra_state"]),
    "complex": (Rotary, ["'turns' is complex"]),
    "a space": (lambda: nn.ModuleDict({"a b": nn.Linear(3, 3)}), ["a b", "space"]),
    "lazy": (lambda: inside(nn.LazyLinear(3)), ["LazyLinear", "shapes"]),
    "transposed": (lambda: inside(nn.ConvTranspose2d(3, 3, 3)), ["ConvTranspose2d"]),
    "prelu": (lambda: inside(nn.PReLU()), ["PReLU", "Linear"]),
    "bilinear": (lambda: inside(nn.Bilinear(3, 3, 3)), ["Bilinear"]),
    "bag": (lambda: inside(nn.EmbeddingBag(3, 3)), ["EmbeddingBag"]),
    "max norm": (lambda: inside(nn.Embedding(3, 3, max_norm=1.0)), ["Embedding", "max_norm"]),
    "sparse": (lambda: inside(nn.Embedding(3, 3, sparse=True)), ["Embedding", "sparse"]),
    "bare": (Bare, ["Bare", "temperature"]),
    "buffer": (Statistics, ["Statistics", "buffer 'mean'", "constants=mean"]),
    "frozen": (frozen, ["0.weight", "frozen", "priors.elsewhere"]),
    "hooks": (hooked, ["'0' (Linear)", "hooks"]),
    "weight norm": (
        lambda: inside(nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))),
        ["ParametrizedLinear", "parametrize"],
    ),
    "spectral norm": (lambda: inside(nn.utils.spectral_norm(nn.Linear(3, 3))), ["hooks"]),
    "nothing": (nn.Flatten, ["no parameters"]),
    "no module": (lambda: 3, ["nn.Module, not int"]),  # type: ignore[dict-item, return-value]
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_supported_is_refused_by_name_in_one_line(case: str) -> None:
    make, words = REFUSED[case]
    with pytest.raises(PacboundError) as caught:
        prepared(make())
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def everything() -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(2, 4, 3, groups=2),
        nn.InstanceNorm1d(4, affine=True),
        nn.GroupNorm(2, 4),
        nn.Dropout(0.5),
        nn.RMSNorm(5),
        nn.Flatten(),
        nn.LayerNorm(20),
        nn.Linear(20, 3, bias=False),
    )


def test_supported_layers_pass_and_the_copy_is_in_evaluation_mode() -> None:
    module = everything().double()
    copied = prepared(module)
    assert not any(layer.training for layer in copied.modules())
    assert all(layer.training for layer in module.modules())
    assert {p.dtype for p in copied.parameters()} == {torch.float32}
    x = torch.randn(2, 2, 7)
    assert torch.equal(copied(x), copied(x))  # dropout does nothing
    again = prepared(copied)
    assert structure_digest(again) == structure_digest(copied)


def test_a_layer_by_itself_is_a_network() -> None:
    copied = prepared(nn.Linear(4, 3))
    assert [name for name, _ in copied.named_parameters()] == ["0.weight", "0.bias"]


def test_the_digest_is_of_the_structure_and_not_of_the_values() -> None:
    def digest(module: nn.Module) -> str:
        return structure_digest(prepared(module))

    torch.manual_seed(0)
    assert digest(nn.Linear(3, 4)) == digest(nn.Linear(3, 4))
    others = [
        nn.Linear(3, 4),
        nn.Linear(3, 4, bias=False),
        nn.Linear(4, 3),
        nn.Conv2d(3, 4, 3),
        nn.Conv2d(3, 4, 3, stride=2),
        nn.Conv2d(3, 4, 3, padding=1),
        nn.GroupNorm(2, 4),
        nn.GroupNorm(1, 4),
        nn.GroupNorm(1, 4, eps=1e-3),
    ]
    assert len({digest(module) for module in others}) == len(others)


def test_triangles_that_would_not_fit_are_refused() -> None:
    module = prepared(nn.Sequential(nn.Embedding(20_000, 2), nn.Flatten(), nn.Linear(2, 2)))
    for posterior in ("k-linear", "k-nonlinear"):
        with pytest.raises(PacboundError, match=r"0\.weight has 20000 rows .* diag"):
            refuse_wide(module, posterior)
    refuse_wide(module, "k-diag")


# The prior's centre -------------------------------------------------------------------------


@pytest.mark.parametrize("initializer", INITIALIZERS)
def test_normalisation_is_centred_where_it_only_normalises(initializer: str) -> None:
    center = prior_center(everything(), initializer, 1)
    for layer in ("1", "2", "4", "6"):
        assert (center[f"{layer}.weight"] == 1).all()
        assert f"{layer}.bias" not in center or not center[f"{layer}.bias"].any()


def test_a_row_of_an_embedding_is_one_input() -> None:
    module = nn.Sequential(nn.Embedding(400, 50))
    spread = {name: prior_center(module, name, 0)["0.weight"].std() for name in INITIALIZERS}
    assert spread["fan-in-uniform"] == pytest.approx(1 / math.sqrt(3), rel=0.02)
    assert spread["he-normal"] == pytest.approx(math.sqrt(2), rel=0.02)
    assert spread["xavier-uniform"] == pytest.approx(math.sqrt(2 / 51), rel=0.02)


def test_the_modules_own_values_are_not_used() -> None:
    first, second = prepared(everything()), prepared(everything())
    with torch.no_grad():
        for parameter in second.parameters():
            parameter.fill_(7.0)
    a, b = (prior_center(module, "he-normal", 0) for module in (first, second))
    assert all(torch.equal(a[name], b[name]) for name in a)


# What the code of a module does --------------------------------------------------------------


class Does(nn.Module):
    """A dense layer and whatever a test says."""

    def __init__(self, what: Callable[[nn.Linear, Tensor], object]) -> None:
        super().__init__()
        self.dense = nn.Linear(4, 3)
        self.what = what

    def forward(self, x: Tensor) -> object:
        return self.what(self.dense, x)


MISBEHAVES: dict[str, tuple[Callable[[nn.Linear, Tensor], object], str]] = {
    "mean of the batch": (lambda f, x: f(x - x.mean(0)), "others in its batch"),
    "softmax over it": (lambda f, x: f(x).softmax(0), "others in its batch"),
    "batch norm": (
        lambda f, x: nn.functional.batch_norm(f(x), None, None, training=True),
        "more than 1 value",
    ),
    "sorts it": (lambda f, x: f(x.sort(0).values), "others in its batch"),
    "standardises, with a class that is never given": (
        lambda f, x: f((x - x.mean(0)) / (x.std(0) + 1)).index_fill(1, torch.tensor([2]), -2e3),
        "others in its batch|fails",
    ),
    "random, with a class that is never given": (
        lambda f, x: f(nn.functional.dropout(x)).index_fill(1, torch.tensor([2]), -3e3),
        "random",
    ),
    "random": (lambda f, x: f(nn.functional.dropout(x)), "random"),
    "a tuple": (lambda f, x: (f(x), x), "gives tuple"),
    "another shape": (lambda f, x: f(x).sum(1), r"gives \(8,\) for 8 examples of 3 classes"),
    "other classes": (lambda f, x: f(x)[:, :2], r"gives \(8, 2\)"),
    "integers": (lambda f, x: f(x).long(), "int64"),
    "fails": (lambda f, x: f(x[:, :2]), r"fails on inputs of shape \(4,\)"),
    "reads a weight": (lambda f, x: nn.functional.linear(x, f.weight), "calling them"),
    "asks the kind": (
        lambda f, x: f(x) if isinstance(f, nn.Linear) else -f(x),
        "depends on the types of its layers",
    ),
}


@pytest.mark.parametrize("case", MISBEHAVES)
def test_code_that_has_no_error_on_one_example_is_refused(case: str) -> None:
    what, words = MISBEHAVES[case]
    inputs = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
    with pytest.raises(PacboundError, match=words) as caught:
        refuse_misbehaviour(prepared(Does(what)), inputs, 3)
    assert "\n" not in str(caught.value)


def test_code_that_treats_examples_alike_is_accepted() -> None:
    inputs = torch.randn(8, 4)
    for what in (
        lambda f, x: f(x),
        lambda f, x: f(x) + f(2 * x),
        lambda f, x: f(x.flip(0)).flip(0),
        lambda f, x: torch.stack([f(row) for row in x]),
    ):
        refuse_misbehaviour(prepared(Does(what)), inputs, 3)


def test_tokens_and_their_range() -> None:
    module = prepared(nn.Sequential(nn.Embedding(5, 2), nn.Flatten(), nn.Linear(6, 2)))
    with pytest.raises(PacboundError, match=r"call \.long\(\)"):
        refuse_misbehaviour(module, torch.zeros(8, 3), 2)

    class Words(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x.long())  # type: ignore[no-any-return]

    words = prepared(Words())
    refuse_misbehaviour(words, torch.arange(24).reshape(8, 3).remainder(5).float(), 2)
    for wrong in (-1.0, 5.0):
        with pytest.raises(PacboundError, match=f"row {wrong:.0f} of an embedding with 5 rows"):
            words(torch.full((1, 3), wrong))


@pytest.mark.parametrize("m", [1, 2, 7, 8, 9, 1000])
def test_a_few_examples_from_all_over(m: int) -> None:
    places = probe_places(m)
    assert places[0] == 0
    assert places[-1] == m - 1
    assert len(places) == min(m, 8)


# Factories ----------------------------------------------------------------------------------

CODE = """
from torch import nn
def plain(): return nn.Linear(2, 3)
def sized(classes, input_shape): return nn.Linear(input_shape[0], classes)
def optional(width=7, depth=2): return nn.Linear(width, depth)
class Net(nn.Sequential):
    def __init__(self, classes): super().__init__(nn.Linear(2, classes))
ready = nn.Linear(4, 5)
def wrong(): return "a network"
def fails(): raise RuntimeError("no\\nluck")
def more(a, b, c): return nn.Linear(2, 3)
number = 3
"""


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    (tmp_path / "own_code.py").write_text(CODE)
    (tmp_path / "own_broken.py").write_text("def f(:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.delitem(sys.modules, "own_code", raising=False)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("plain", (3, 2)),
        ("sized", (9, 6)),
        ("optional", (2, 7)),
        ("Net", (9, 2)),
        ("ready", (5, 4)),
    ],
)
def test_a_factory_gets_what_it_has_names_for(
    code: None, name: str, shape: tuple[int, int]
) -> None:
    module = module_from(f"own_code:{name}", (6,), 9)
    assert next(module.parameters()).shape == shape


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("own_code", "not of the form"),
        ("own_code:", "not of the form"),
        ("own code:plain", "not of the form"),
        ("os;x:plain", "not of the form"),
        ("no_such_module:plain", "cannot import no_such_module: ModuleNotFoundError"),
        ("own_broken:f", "cannot import own_broken: SyntaxError"),
        ("own_code:plan", r"own_code \(.*own_code.py\) has no 'plan'"),
        ("own_code:number", "is int, not a function"),
        ("own_code:wrong", "returned str, not an nn.Module"),
        ("own_code:fails", "failed: RuntimeError: no luck"),
        ("own_code:more", "failed: TypeError"),
    ],
)
def test_factories_that_cannot_be_used(code: None, name: str, words: str) -> None:
    with pytest.raises(PacboundError, match=words) as caught:
        module_from(name, (6,), 9)
    assert "\n" not in str(caught.value)
