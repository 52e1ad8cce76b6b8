"""Recipes: their protocols, what differs for a posterior, and settings that are refused."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from pacbound.errors import PacboundError
from pacbound.experiments.pac_bayes.table import PAPER as NETWORKS
from pacbound.posteriors import POSTERIORS
from pacbound.recipes import Settings, parse_override, recipe, recipe_names, recipe_text
from pacbound.training.run import phases_of

NOISY = [name for name, kind in POSTERIORS.items() if kind.has_noise]

FILES: dict[str, dict[str, Any]] = {n: yaml.safe_load(recipe_text(n)) for n in recipe_names()}
# A learned prior is not the paper's: a recipe of one has our own protocol alone.
WHOLE = [n for n, values in FILES.items() if "base" not in values and "protocols" in values]
# Blocks are not the paper's either: such a recipe says that it has no protocol of the paper.


def offers_paper(name: str) -> bool:
    values = FILES[name]
    if "protocols" in values or "base" not in values:
        return "paper" in values.get("protocols", {})
    return offers_paper(values["base"])


OFFERED = [
    (name, protocol)
    for name in FILES
    for protocol in ("ours", "paper")
    if protocol == "ours" or offers_paper(name)
]
LISTS = ("posteriors", "protocols", "learned", "candidates")  # in a file, beside its settings
recipes = pytest.mark.parametrize("name", FILES)
whole_recipes = pytest.mark.parametrize("name", WHOLE)

# What the paper says of its own experiments, in settings.
PAPER = {
    "input_scale": 1.0,
    "smoothing": 0.0,
    "alignment": "none",
    "hidden_bias": 0.0,
    "variance_groups": "network",
    "prior_variance": "trained",
    "objective": "catoni-trained",
    "initial_scale": (0.05,),
    "epochs": 300,
    "weight_draws": 1,
    "learning_rate": 0.002,
    "flow_learning_rate": 0.002,
    "schedule": "constant",
    "warm_start_epochs": 0,
    "linear_epochs": 0,
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("posterior", NOISY)
def test_the_papers_protocol_is_the_papers_for_every_posterior(name: str, posterior: str) -> None:
    """What our own protocol does differently for a posterior does not leak into it."""
    settings = recipe(name, {"protocol": "paper", "posterior": posterior})
    assert {key: getattr(settings, key) for key in PAPER} == PAPER
    assert (settings.protocol, settings.posterior) == ("paper", posterior)


@pytest.mark.parametrize(
    ("name", "diag", "k_linear", "k_nonlinear"),
    [
        ("vi-lenet-5", 0.0005, 0.0005, 0.0005),
        ("vi-lenet-5-cifar5", 0.0003, 0.0003, 0.0005),
        ("vi-vgg-16", 0.0005, 0.0005, 0.001),
        ("vi-vgg-16-augmented", 0.0005, 0.0005, 0.0005),
    ],
)
def test_the_appendix_has_these_rates_for_variational_inference(
    name: str, diag: float, k_linear: float, k_nonlinear: float
) -> None:
    for posterior, rate in (("diag", diag), ("k-linear", k_linear), ("k-nonlinear", k_nonlinear)):
        settings = recipe(name, {"protocol": "paper", "posterior": posterior})
        assert phases_of(settings)[-1].learning_rate == rate
        assert (settings.warm_start_epochs, settings.epochs) == (10, 200)


@whole_recipes
def test_protocols_differ_in_nothing_but_what_they_list(name: str) -> None:
    listed = FILES[name]["protocols"]["paper"]
    ours, paper = (recipe(name, {"protocol": p}).to_mapping() for p in ("ours", "paper"))
    assert {key for key in ours if ours[key] != paper[key]} <= {*listed, "protocol"}


@recipes
def test_our_own_protocol_is_the_default(name: str) -> None:
    assert recipe(name) == recipe(name, {"protocol": "ours"})
    assert recipe(name).protocol == "ours"


@whole_recipes
def test_what_differs_for_a_posterior_holds_in_our_own_protocol(name: str) -> None:
    for posterior, values in FILES[name]["posteriors"].items():
        settings = recipe(name, {"posterior": posterior})
        assert {key: getattr(settings, key) for key in values} == values


@pytest.mark.parametrize("name", [name for name in FILES if "learned" in FILES[name]])
def test_around_a_learned_prior_a_recipe_has_the_settings_for_it(name: str) -> None:
    values = {key: value for key, value in FILES[name]["learned"].items() if key != "posteriors"}
    fraction = FILES[name].get("prior_fraction", 0.5)
    settings = recipe(name, {"prior_fraction": fraction})
    assert {key: getattr(settings, key) for key in values if key != "initial_scale"} == {
        key: value for key, value in values.items() if key != "initial_scale"
    }
    assert recipe(name, {"prior_fraction": fraction, "epochs": 99}).epochs == 99  # it has less say
    if "prior_fraction" not in FILES[name]:  # and none without such a prior, or in the paper's
        assert recipe(name).prior_fraction == 0
        assert recipe(name).learning_rate != settings.learning_rate
        paper = {"prior_fraction": fraction, "protocol": "paper"}
        assert (
            recipe(name, paper).learning_rate == recipe(name, {"protocol": "paper"}).learning_rate
        )


@pytest.mark.parametrize("name", [name for name in FILES if "base" in FILES[name]])
def test_a_recipe_with_a_base_differs_from_it_in_what_it_lists(name: str) -> None:
    own = {**FILES[name]}
    base = own.pop("base")
    listed = {key: own[key] for key in own if key not in LISTS}
    listed |= own.get("learned", {})
    mine, theirs = recipe(name).everything(), recipe(base, listed).everything()
    differing = {key for key in mine if mine[key] != theirs[key]} - {"recipe"}
    # Where it says what differs for a posterior, what its base says of that is no longer so.
    if "posteriors" in own:
        whole = FILES[base] if "posteriors" in FILES[base] else {"posteriors": {}}
        for said in (own, whole):
            differing -= {key for values in said["posteriors"].values() for key in values}
    assert not differing


@pytest.mark.parametrize("protocol", ["ours", "paper"])
def test_an_override_is_stronger_than_recipe_posterior_and_protocol(protocol: str) -> None:
    given = {"protocol": protocol, "posterior": "k-nonlinear", "epochs": 3, "linear_epochs": 2}
    settings = recipe("mlp-600", given)
    assert (settings.epochs, settings.linear_epochs) == (3, 2)


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ("papper", "unknown protocol 'papper'; did you mean 'paper'"),
        ("our", "unknown protocol 'our'; did you mean 'ours'"),
        (None, "unknown protocol 'None'"),
        (["paper"], "unknown protocol"),
        ({"paper": 1}, "unknown protocol"),
    ],
)
def test_an_unknown_protocol_is_refused(protocol: Any, words: str) -> None:
    with pytest.raises(PacboundError, match=words):
        recipe("mlp-600", {"protocol": protocol})


@pytest.mark.parametrize(
    ("text", "scales"),
    [
        ("0.1", (0.1,)),
        ("1", (1.0,)),
        ("[0.1]", (0.1,)),
        ("[0.1, 0.03, 1]", (0.1, 0.03, 1.0)),
    ],
)
def test_an_initial_scale_is_one_number_or_one_for_each_layer(
    text: str, scales: tuple[float, ...]
) -> None:
    settings = recipe("mlp-600", dict([parse_override(f"initial_scale={text}")]))
    assert settings.initial_scale == scales
    assert all(type(scale) is float for scale in settings.initial_scale)
    assert Settings.from_mapping(settings.to_mapping()) == settings


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("initial_scale", []),
        ("initial_scale", 0),
        ("initial_scale", [0.1, -0.1]),
        ("initial_scale", [0.1, True]),
        ("initial_scale", [[0.1]]),
        ("initial_scale", "wide"),
        ("initial_scale", None),
        ("weight_draws", 0),
        ("weight_draws", 1.5),
        ("weight_draws", True),
        ("alignment", "deskewed"),
        ("alignment", None),
        ("hidden_bias", float("nan")),
        ("hidden_bias", "low"),
        ("hidden_bias", 1e9),
        ("posterior", ["diag"]),
    ],
)
def test_a_setting_out_of_its_range_is_refused_in_one_line(key: str, value: Any) -> None:
    with pytest.raises(PacboundError, match=f"setting {key} must be") as caught:
        recipe("mlp-600", {key: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "protocol"), OFFERED)
@pytest.mark.parametrize("posterior", NOISY)
def test_every_recipe_can_be_paid_for_and_has_scales_that_fit(
    name: str, protocol: str, posterior: str
) -> None:
    from pacbound.priors.choices import prior_choices

    settings = recipe(name, {"protocol": protocol, "posterior": posterior})
    assert prior_choices(settings)
    layers = len(settings.hidden) + 1
    assert len(settings.initial_scale) in (1, layers)
