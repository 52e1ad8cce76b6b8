"""The choices of a prior, and what they cost."""

from __future__ import annotations

import pytest

from pacbound.bounds.codes import RECIPES, default_choices
from pacbound.priors import kind_of
from pacbound.priors.choices import prior_choices
from pacbound.recipes import recipe

PRICED = [name for name in RECIPES if not name.startswith("vi-")]  # those are not certified


@pytest.mark.parametrize("name", PRICED)
def test_a_recipe_has_the_choices_that_its_price_is_for(name: str) -> None:
    """A recipe that changed alone would pay 8 nats for its own fraction."""
    settings = recipe(name, {})
    assert prior_choices(settings) == default_choices(kind_of(settings).name, name)
