"""E-mails as bytes: the text without headers, copies once, and the group of each."""

from __future__ import annotations

import numpy as np
import pytest

from pacbound.data import load
from pacbound.data.sets.spam_assassin import _assemble, _joined, mail_text
from pacbound.data.sources import SourceFailed
from pacbound.errors import DataError

HEAD = "From a@b\nX-Spam-Status: No\nSubject: Hello\n there\nContent-Type: text/html\n"


@pytest.mark.parametrize(
    ("mail", "text"),
    [
        (f"{HEAD}\nbody  with\n\nspaces", "Hello there body with spaces"),
        (f"{HEAD}\n<p>one<br/>two</p><!-- no --><STYLE>p {{}}</style>", "Hello there one two"),
        (f"{HEAD}\n&lt;3 &amp; more", "Hello there <3 & more"),
        (f"{HEAD}Content-Transfer-Encoding: Quoted-Printable\n\na=\nb =3D c", "Hello there ab = c"),
        (f"{HEAD}Content-Transfer-Encoding: base64\n\naGkgeW91\n", "Hello there hi you"),
        (f"{HEAD}Content-Transfer-Encoding: base64\n\nx", "Hello there x"),
        ("no headers at all", ""),
        ("A: b\n\nSubject: not this one", "Subject: not this one"),
    ],
)
def test_the_text_is_subject_and_body(mail: str, text: str) -> None:
    assert mail_text(mail.encode()) == text
    assert mail_text(mail.replace("\n", "\r\n").encode()) == text


def test_other_encodings_and_zeros() -> None:
    assert mail_text(b"Subject: caf\xe9\n\nna\xefve \0 text") == "café naïve text"


def mails() -> dict[str, bytes]:
    return {
        "package/data/easy-ham-1/1.a.txt": b"Subject: one\nDate: 1\n\nbody",
        "package/data/easy-ham-1/1.a.json": b"{}",
        "package/data/easy-ham-1/2.b.txt": b"Subject: one\nDate: 2\n\n body\n",
        "package/data/spam-2/1.c.txt": b"Subject: two\n\n" + "é".encode() * 2000,
        "package/data/spam-2/2.d.txt": b"Subject: one\n\nbody",
    }


def test_equal_texts_are_kept_once_without_a_look_at_the_label() -> None:
    data = _assemble(_joined(mails()))
    assert data.groups == ("easy-ham-1", "spam-2")
    assert data.train_labels.tolist() == [0, 1]
    texts = [bytes(row).rstrip(b"\0").decode() for row in data.train_inputs]
    assert texts[0] == "one body"
    assert texts[1] == "two " + "é" * 1022  # 2048 bytes, and no half character
    assert data.train_inputs.shape == (2, 2048) and data.duplicates == 0


def test_the_order_in_the_package_has_no_effect() -> None:
    backwards = dict(reversed(mails().items()))
    assert _joined(backwards) == _joined(mails())


def test_another_package_is_refused() -> None:
    with pytest.raises(SourceFailed, match="no mails"):
        _joined({"package/data/file_list.json": b"[]"})
    with pytest.raises(DataError, match="unknown group ham"):
        _assemble(_joined({"x/ham/1.txt": b"A: b\n\nc"}))


def test_the_real_corpus() -> None:
    # From the cache, or over the network the first time.
    data = load("spam-assassin")
    assert data.m == 5911 and data.duplicates == 0
    names, counts = np.unique(data.groups, return_counts=True)
    published = {"easy-ham-1": 2500, "easy-ham-2": 1400, "hard-ham-1": 250}
    published |= {"spam-1": 500, "spam-2": 1396}  # before equal texts are dropped
    assert all(0.94 * published[n] < c <= published[n] for n, c in zip(names, counts, strict=True))
    assert np.array_equal(data.train_labels == 1, [g.startswith("spam") for g in data.groups])
