"""Ask what a thing can do, not what it is called: names are compared in their own files alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pacbound
from pacbound.bounds import codes
from pacbound.bounds.inequalities import INEQUALITIES
from pacbound.bounds.limits import LIMITS
from pacbound.bounds.tails import TAILS
from pacbound.certificate import checker, format
from pacbound.networks.registry import NETWORKS
from pacbound.posteriors import POSTERIORS
from pacbound.predictors import PREDICTORS
from pacbound.priors import PRIORS

PACKAGE = Path(pacbound.__file__).parent
CLI = PACKAGE.parent / "cli" / "pacbound_cli"
SOURCES = sorted([*PACKAGE.rglob("*.py"), *CLI.rglob("*.py")])

# Ordinary words: they are names only where something of this kind is compared with them.
ORDINARY = {"draw", "elsewhere", "fixed", "initialised", "learned", "module", "none", "point"}
SUBJECTS = {"kind", "network", "networks", "posterior", "predictor"}
NAMES = {*POSTERIORS, *PREDICTORS, *NETWORKS, *PRIORS}
NO_PRIOR = "none"  # which is also the name of what many settings are not
# The format and the checkers have frozen lists of their own.
FROZEN = {"certificate/format.py", "certificate/checker.py"}


def texts(node: ast.expr) -> Iterator[str]:
    """The string literals of one side of a comparison."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        for part in node.elts:
            yield from texts(part)


def subjects(node: ast.AST) -> set[str]:
    """The names and attributes that one side of a comparison is made of."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            found.add(part.attr)
        if isinstance(part, ast.Name):
            found.add(part.id)
    return found


def comparisons(tree: ast.AST) -> Iterator[tuple[int, list[ast.expr]]]:
    """The sides of every comparison and of every case of a match."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            yield node.lineno, [node.left, *node.comparators]
        if isinstance(node, ast.Match):
            for case in node.cases:
                values = [p.value for p in ast.walk(case.pattern) if isinstance(p, ast.MatchValue)]
                yield node.lineno, [node.subject, *values]


def compared(source: str) -> list[tuple[int, str]]:
    """The lines of a source that compare something with a name, and that name."""
    found = []
    for line, sides in comparisons(ast.parse(source)):
        about = set().union(*map(subjects, sides))
        for text in (text for side in sides for text in texts(side)):
            if text not in NAMES or (text == NO_PRIOR and "prior" not in about):
                continue
            if text not in ORDINARY or about & SUBJECTS:
                found.append((line, text))
    return found


def test_the_test_sees_comparisons() -> None:
    for source in (
        'x == "k-linear"',
        'x in ("gibbs", "other")',
        'a if certificate.predictor != "fixed" else b',
        'match settings.network:\n    case "module":\n        pass',
        'prior.kind == "learned"',
    ):
        assert compared(source), source
    for source in ('mode == "fixed"', 'word in ("none", "deskew")', 'name = "k-linear"'):
        assert not compared(source), source


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE.parent))
def test_no_name_is_compared_outside_its_own_file(path: Path) -> None:
    place = path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else CLI).as_posix()
    if place in FROZEN:
        return
    own = path.stem.replace("_", "-")
    found = [(line, name) for line, name in compared(path.read_text("utf-8")) if name != own]
    assert not found


def test_the_issuer_and_the_format_have_the_same_lists() -> None:
    """Written twice on purpose: what is registered here must be in SPEC.md before it is issued."""
    selectable = [name for (_, name), each in INEQUALITIES.items() if each.is_selectable]
    assert set(selectable) == set(format.INEQUALITIES)
    assert {name for _, name in INEQUALITIES} == set(format.ALSO_NAMES)
    assert list(PREDICTORS) == list(format.PREDICTORS)
    assert [name for name, each in PREDICTORS.items() if each.sampled] == list(format.SAMPLED)
    assert [name for name, kind in POSTERIORS.items() if kind.has_noise] == list(format.POSTERIORS)
    assert set(NETWORKS) <= set(codes.NETWORKS)
    assert set(codes.TUPLES) < set(PRIORS)
    for lists, name in ((LIMITS, "limit_by"), (TAILS, "tail")):
        words = [word for word in lists if f'"{word}"' not in Path(checker.__file__).read_text()]
        assert not words, name


def test_sampled_and_counted_predictors_are_told_apart() -> None:
    for predictor in PREDICTORS.values():
        assert (predictor.name in format.COUNTED) == (not predictor.sampled)
        assert predictor.sampled or predictor.factor == predictor.networks == 1
        assert predictor.options.startswith("--predictor ")
    assert [each.name for each in PREDICTORS.values() if each.is_default] == ["gibbs"]
    assert [each.name for each in PREDICTORS.values() if each.exports_network] == [
        "draw",
        "fixed",
    ]
