"""The WordPiece tokenizer of BERT models without capitals (Devlin et al. 2019)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

__all__ = ["WordPiece"]

LONGEST_WORD = 100  # characters; a longer word is unknown
CJK = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)


class WordPiece:
    """Texts to the numbers of their word pieces.

    Arguments:
        vocabulary: One piece per line; the number of a piece is that of its line.
    """

    def __init__(self, vocabulary: str) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary.split("\n"))}
        self.unknown = self._numbers["[UNK]"]
        self.begin, self.end = self._numbers["[CLS]"], self._numbers["[SEP]"]

    def encode(self, text: str, longest: int) -> list[int]:
        """At most `longest` numbers, the marks of begin and end included."""
        found: list[int] = []
        for word in _words(text):
            found += self._pieces(word)
            if len(found) > longest - 2:
                break
        return [self.begin, *found[: longest - 2], self.end]

    def _pieces(self, word: str) -> list[int]:
        """The longest known piece, then the longest one after it, and so on."""
        if len(word) > LONGEST_WORD:
            return [self.unknown]
        found, first = [], 0
        while first < len(word):
            for last in range(len(word), first, -1):
                piece = word[first:last] if not first else f"##{word[first:last]}"
                if piece in self._numbers:
                    found.append(self._numbers[piece])
                    first = last
                    break
            else:
                return [self.unknown]
        return found


def _words(text: str) -> Iterator[str]:
    """Words in small letters without accents; every mark of punctuation by itself."""
    word: list[str] = []
    for character in _plain(text):
        if character.isspace() or _is_single(character):
            if word:
                yield "".join(word)
                word = []
            if not character.isspace():
                yield character
        else:
            word.append(character)
    if word:
        yield "".join(word)


def _plain(text: str) -> str:
    cleaned = "".join(_cleaned(character) for character in text)
    split = unicodedata.normalize("NFD", cleaned)
    return "".join(x for x in split if unicodedata.category(x) != "Mn").lower()


def _cleaned(character: str) -> str:
    if character in "\t\n\r" or unicodedata.category(character) == "Zs":
        return " "
    if character in "\0\ufffd" or unicodedata.category(character)[0] == "C":
        return ""
    return character


def _is_single(character: str) -> bool:
    """Whether a character is a word by itself: punctuation, symbols of ASCII, and ideographs."""
    code = ord(character)
    if code < 128:
        return not character.isalnum()
    if any(first <= code <= last for first, last in CJK):
        return True
    return unicodedata.category(character).startswith("P")
