"""The subset of YAML: what it accepts, PyYAML reads alike; what it does not know, it refuses."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pacbound.errors import PolicyError
from pacbound.policy.yaml_subset import Node, parse


def plain(node: Any) -> Any:
    """A node as PyYAML reads it, with texts for names."""
    if isinstance(node, dict):
        return {str(name): plain(value) for name, value in node.items()}
    if isinstance(node, list):
        return [plain(item) for item in node]
    return float(node) if isinstance(node, Decimal | int | float) else node


def agrees(text: str) -> bool:
    """Whether a text is accepted; if so, PyYAML must read the same."""
    try:
        found = parse(text)
    except PolicyError:
        return False
    assert plain(found) == plain(yaml.safe_load(text) or {}), text
    return True


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment\n\n",
        "a: 1",
        "a: 0.050  # five",
        "a: -1.5",
        "a: some words/and.path",
        "a: ../released/a b.json",
        "a: /absolute/path.json",
        'a: "quoted # no comment: [x]"',
        "a: 'single'",
        "a: [b, 'c d', 0.5, [1]]",
        "a: []",
        "a: {}",
        'a: {3: 0.2, "x y": [1, 2], z: {w: 1}}',
        "a:\n  b: 1\n  c:\n    d: 2\ne: 3",
        "a:\n- b\n- c\nd: 1",
        "a:\n  - b\n  - 0.5\nd: 1",
        "'*.json':\n  a: 1\r\n  b: 2",
        f"a: {'ab12' * 16}",
        f"a: {'1b12' * 16}",
        f"a: {'12' * 32}",
        '  a: 1\n  "b": 2\n',
        "a: b-c+d_e\nf_g: h",
    ],
)
def test_policies_read_as_yaml(text: str) -> None:
    assert agrees(text)


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "a:",
        "a: [1",
        "a: [1, 2",
        "a: [1 2",
        "a: {b: 1",
        "a: {b}",
        "a: yes",
        "a: No",
        "a: TRUE",
        "a: null",
        "a: ~",
        "a: 010",
        "a: 1_000",
        "a: 0x1f",
        "a: .5",
        "a: 5.",
        "a: 1e-3",
        "a: 12:30",
        "a: 2024-01-01",
        "a: 5 %",
        "a: *alias",
        "a: &anchor 1",
        "a: !!str 1",
        "a: |\n  text",
        "a: >\n  text",
        "a: b: c",
        "a: b #",
        "a:1",
        "? a: 1",
        "- a",
        "---\na: 1",
        "%YAML 1.1\n---\na: 1",
        "<<: {a: 1}",
        "a: 1\na: 2",
        "a: {b: 1, b: 2}",
        "a: 1\n  b: 2",
        "a:\n   b: 1\n  c: 2",
        "a:\n    b: 1\n   ",
        "\ta: 1",
        "a:\t1",
        "a: x\x00y",
        "a: 'x'y",
        "a: 'it''s'",
        'a: "\\n"',
        "a: 1.5: 2",
        "1.5: 2",
        "a:\n- 1\n-2",
        "a:\n- b\n  - c",
        "a:\n  - b\n c: 1",
        "é: 1",
        "a: [b: 1]",
    ],
)
def test_everything_else_is_refused_with_its_line(text: str) -> None:
    if text in ("a: b #", "a:\n    b: 1\n   "):
        assert agrees(text)  # a comment without words, and a line of spaces
        return
    with pytest.raises(PolicyError, match=r"^line \d+: ") as refused:
        parse(text)
    assert "\n" not in str(refused.value)


SIGNS = [
    *("a", "b", "max", ": ", ":", "\n", "\n  ", "\n    ", "- ", "-", "[", "]", "{", "}", ", ", ","),
    *("#", " #", " ", "'", '"', "0", "1", "0.5", ".", "*", "&", "!", "%", "|", ">", "yes", "e"),
    *("~", "_", "/", "\r", "?", "@", "`", "=", "é", "null"),
]


@settings(max_examples=1500, deadline=None)
@given(st.lists(st.sampled_from(SIGNS), max_size=14).map("".join))
def test_whatever_is_accepted_yaml_reads_alike(text: str) -> None:
    agrees(text)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Mappings such as policies are."""
    words = st.from_regex(r"[a-z]{1,3}-[a-z]{1,3}", fullmatch=True)
    numbers = st.decimals("0.001", 100, places=3).map(float)
    scalars = st.one_of(words, numbers)
    values = st.one_of(scalars, st.lists(scalars, max_size=3), st.dictionaries(words, scalars))
    found = draw(st.dictionaries(words, values, min_size=1, max_size=4))
    nested: dict[str, Any] = draw(st.dictionaries(words, st.just(found), max_size=2))
    return found | nested


@given(documents())
def test_what_pyyaml_writes_is_read(document: dict[str, Any]) -> None:
    text = yaml.safe_dump(copied(document), default_flow_style=False, width=10**6)
    found: Node = parse(text)
    assert plain(found) == plain(document)


def copied(node: Any) -> Any:
    """No part twice, which PyYAML would write once and refer to."""
    if isinstance(node, dict):
        return {name: copied(value) for name, value in node.items()}
    return [copied(item) for item in node] if isinstance(node, list) else node
