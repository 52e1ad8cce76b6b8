"""PNG pictures: every filter undone, and damaged or foreign pictures refused."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacbound.data.png import decode_png
from pacbound.data.sources import SourceFailed

PICTURE = np.random.default_rng(0).integers(0, 256, (7, 5, 3)).astype(np.uint8)
RGB = (8, 2, 0, 0, 0)


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def made(packed, size=(5, 7), kind=RGB, pieces=1):
    step = -(-len(packed) // pieces)
    data = [chunk(b"IDAT", packed[i : i + step]) for i in range(0, len(packed), step)]
    header = chunk(b"IHDR", struct.pack(">2I5B", *size, *kind))
    return (
        b"\x89PNG\r\n\x1a\n" + header + chunk(b"tEXt", b"") + b"".join(data) + chunk(b"IEND", b"")
    )


def encode(picture, filters, pieces=1):
    """The picture as the format's text defines its filters, byte by byte."""
    height, width, _ = picture.shape
    value = lambda r, c, k: int(picture[r, c, k]) if r >= 0 and c >= 0 else 0  # noqa: E731
    raw = bytearray()
    for r in range(height):
        raw.append(filters[r])
        for c in range(width):
            for k in range(3):
                a, b, p = value(r, c - 1, k), value(r - 1, c, k), value(r - 1, c - 1, k)
                near = [abs(a + b - p - v) for v in (a, b, p)]
                paeth = a if near[0] == min(near) else b if near[1] == min(near) else p
                predicted = (0, a, b, (a + b) // 2, paeth)[filters[r]]
                raw.append((value(r, c, k) - predicted) % 256)
    return made(zlib.compress(bytes(raw)), (width, height), pieces=pieces)


@given(st.lists(st.integers(0, 4), min_size=7, max_size=7), st.integers(1, 5))
def test_decoding_undoes_every_filter(filters, pieces):
    assert np.array_equal(decode_png(encode(PICTURE, filters, pieces), "made", 35), PICTURE)


def test_every_truncation_and_every_flipped_byte_is_noticed():
    whole = encode(PICTURE, [4] * 7)
    for place in range(len(whole)):
        with pytest.raises(SourceFailed, match="made"):
            decode_png(whole[:place], "made", 35)
        with pytest.raises(SourceFailed, match="made"):
            decode_png(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :], "made", 35)


LINES = b"\0" * 7 * 16


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not a PNG"),
        (b"\x89PNG\r\n\x1a\n" + chunk(b"IEND", b""), "not a PNG"),
        (made(zlib.compress(LINES), kind=(8, 6, 0, 0, 0)), "8-bit RGB"),
        (made(zlib.compress(LINES), kind=(8, 2, 0, 0, 1)), "8-bit RGB"),
        (made(zlib.compress(LINES), size=(0, 7)), "8-bit RGB"),
        (made(zlib.compress(LINES), size=(2**31, 2**31)), "too large"),
        (made(zlib.compress(LINES[:-1])), "7 lines of 5 pixels"),
        (made(zlib.compress(LINES + b"\0"), pieces=4), "7 lines of 5 pixels"),
        (made(zlib.compress(bytes(10**6)), pieces=4), "7 lines of 5 pixels"),
        (made(zlib.compress(LINES)[:-1]), "7 lines of 5 pixels"),
        (made(b"noise"), "is damaged"),
        (made(zlib.compress(b"\5" + LINES[1:])), "no filter 5"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_such_a_picture_is_refused(content, complaint):
    with pytest.raises(SourceFailed, match=f"made .*{complaint}"):
        decode_png(content, "made", 35)


def test_a_picture_of_more_pixels_than_asked_for_is_given_up():
    with pytest.raises(SourceFailed, match="too large: 7 rows of 5 pixels"):
        decode_png(made(zlib.compress(LINES)), "made", 34)
