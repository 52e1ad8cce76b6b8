"""The tokenizer, against a plain reading of its definition."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from pacbound.extractors.wordpiece import WordPiece

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "##a", "a", "b", "##b", "!"]
PIECES += ["$", "5", ".", "##0", "0", "東", "cafe", "word", "##s", "-"]
TOKENIZER = WordPiece("\n".join(PIECES))


def pieces(text: str, longest: int = 256) -> list[str]:
    return [PIECES[number] for number in TOKENIZER.encode(text, longest)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("Unaffable!", ["un", "##aff", "##able", "!"]),
        ("CAFÉ café", ["cafe", "cafe"]),
        ("$5.00", ["$", "5", ".", "0", "##0"]),
        ("words-word", ["word", "##s", "-", "word"]),
        ("a東b", ["a", "東", "b"]),
        ("a\x00b\u200b a\tb\n", ["a", "##b", "a", "b"]),
        ("zzz a", ["[UNK]", "a"]),
        ("abz a", ["[UNK]", "a"]),  # a word is unknown as a whole
        ("a" * 101, ["[UNK]"]),
    ],
)
def test_known_cases(text: str, found: list[str]) -> None:
    assert pieces(text) == ["[CLS]", *found, "[SEP]"]


def test_long_texts_are_cut() -> None:
    assert pieces("a b " * 50, 5) == ["[CLS]", "a", "b", "a", "[SEP]"]
    assert pieces("unaffable", 4) == ["[CLS]", "un", "##aff", "[SEP]"]


@given(st.text("abun!$0s ", max_size=40))
def test_the_longest_piece_comes_first(text: str) -> None:
    """Every way to cut a word is tried; among them the first piece is longest, then the next."""

    def cuts(word: str, first: bool = True) -> list[list[str]]:
        if not word:
            return [[]]
        found = []
        for last in range(len(word), 0, -1):
            piece = word[:last] if first else f"##{word[:last]}"
            if piece in PIECES:
                found += [[piece, *rest] for rest in cuts(word[last:], False)]
                break  # greedy: no second choice
        return found

    expected = []
    for word in "".join(f" {x} " if x in "!$" else x for x in text).split():
        expected += cuts(word)[0] if cuts(word) else ["[UNK]"]
    assert pieces(text, 1000) == ["[CLS]", *expected, "[SEP]"]
