"""Kinds of priors: which one settings describe, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import pacbound.certificate
from pacbound.bounds import codes
from pacbound.certificate.format import Certificate
from pacbound.priors import PRIORS, kind_of, prior_of
from pacbound.recipes import Settings

VECTORS = sorted((Path(pacbound.certificate.__file__).parent / "vectors").glob("accepted-*.json"))


def test_settings_describe_one_kind(tiny_settings: Settings) -> None:
    for fraction, name in ((0.0, "initialised"), (0.5, "learned")):
        settings = replace(tiny_settings, prior_fraction=fraction)
        assert [kind.name for kind in PRIORS.values() if kind.is_of(settings)] == [name]
        assert kind_of(settings).name == name
        assert kind_of(settings).learns == (fraction > 0)


def test_kinds_that_saw_data_say_so() -> None:
    for kind in PRIORS.values():
        assert not (kind.is_free_of_data and kind.learns)
        assert (kind.name in codes.PAYING_FOR_RECIPES) == kind.is_free_of_data


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_notes_are_in_the_sentence(path: Path) -> None:
    certificate = Certificate.load(path)
    kind = prior_of(certificate)
    assert all(note in certificate.sentence for note in kind.notes(certificate))
    assert len(kind.declarations(certificate)) == len(kind.notes(certificate))
    assert bool(kind.notes(certificate)) != kind.is_free_of_data
    assert kind.origin(certificate)
