"""R's data frames, written here as R writes them."""

from __future__ import annotations

import lzma
import struct

import numpy as np
import pytest

from pacbound.data.sources import SourceFailed
from pacbound.data.sources.apt import AptPackage
from pacbound.experiments.bandit.problems import problem_files
from pacbound.experiments.bandit.rda import Factor, decode_data_frame

STATES = ["Bpv.Close", "Bpv.Open", "Bypass", "Fpv.Close", "Fpv.Open", "High", "Rad.Flow"]


class Writer:
    """The serialisation of R, section 1.8 of "R Internals"."""

    def __init__(self):
        self.symbols = []

    def number(self, value):
        return struct.pack(">i", value)

    def text(self, value):
        return self.number(0x40009) + self.number(len(value)) + value.encode()

    def symbol(self, name):
        if name in self.symbols:
            return self.number(255 | (self.symbols.index(name) + 1) << 8)
        self.symbols.append(name)
        return self.number(1) + self.text(name)

    def pairs(self, **items):
        content = [self.number(0x402) + self.symbol(key) + item() for key, item in items.items()]
        return b"".join(content) + self.number(254)

    def strings(self, values):
        return self.number(16) + self.number(len(values)) + b"".join(map(self.text, values))

    def factor(self, codes, levels):
        return (
            self.number(0x30D)
            + self.number(len(codes))
            + struct.pack(f">{len(codes)}i", *codes)
            + self.pairs(
                levels=lambda: self.strings(levels), **{"class": lambda: self.strings(["factor"])}
            )
        )

    def reals(self, values):
        return self.number(14) + self.number(len(values)) + struct.pack(f">{len(values)}d", *values)

    def frame(self, columns, codes, levels):
        return (
            self.number(0x313)
            + self.number(len(columns) + 1)
            + b"".join(map(self.reals, columns))
            + self.factor(codes, levels)
            + self.pairs(
                names=lambda: self.strings([f"V{i}" for i in range(len(columns))] + ["Class"]),
                **{"class": lambda: self.strings(["data.frame"])},
            )
        )

    def workspace(self, frame):
        versions = b"".join(map(self.number, (2, 0x2_0A01, 0x2_0300)))
        return b"RDX2\nX\n" + versions + self.pairs(Shuttle=frame)


def workspace(columns, codes, levels=STATES):
    writer = Writer()
    return writer.workspace(lambda: writer.frame(columns, codes, levels))


COLUMNS = [[50.0, 55.0, -53.0], [21.0, 0.0, 0.5]]
PLAIN = workspace(COLUMNS, [4, 6, 7])


def test_columns_come_back():
    first, second, factor = decode_data_frame(lzma.compress(PLAIN), "toy")
    assert np.array_equal([first, second], COLUMNS)
    assert isinstance(factor, Factor)
    assert factor.codes.tolist() == [4, 6, 7] and factor.levels == tuple(STATES)


def test_every_truncation_is_refused():
    for length in range(len(PLAIN)):
        with pytest.raises(SourceFailed, match=r"^toy is not a"):
            decode_data_frame(lzma.compress(PLAIN[:length], preset=0), "toy")
    packed = lzma.compress(PLAIN)
    for length in range(0, len(packed), 7):
        with pytest.raises(SourceFailed, match=r"^toy is not a"):
            decode_data_frame(packed[:length], "toy")


def test_a_changed_byte_gives_columns_or_a_refusal():
    for place in range(len(PLAIN)):
        changed = PLAIN[:place] + bytes([PLAIN[place] ^ 0xFF]) + PLAIN[place + 1 :]
        try:
            columns = decode_data_frame(lzma.compress(changed, preset=0), "toy")
        except SourceFailed:
            continue
        assert isinstance(columns, list)


def test_what_nests_without_end_is_refused():
    nested = struct.pack(">2i", 19, 1) * 100_000
    plain = PLAIN[:19] + struct.pack(">3i", 0x402, 1, 0x40009) + struct.pack(">i", 1) + b"x"
    with pytest.raises(SourceFailed, match="nested too deeply"):
        decode_data_frame(lzma.compress(plain + nested, preset=0), "toy")


def shuttle(plain):
    (source,) = (s for s in problem_files()["statlog"].sources if isinstance(s, AptPackage))
    (member,) = source.members
    return source.decode({member: lzma.compress(plain)})["shuttle.trn"]


def test_the_shuttle_gets_its_class_numbers_back():
    plain = workspace([[50.0, 55.0, -53.0], [21.0, 0.0, 1.0]], [4, 6, 7])
    assert shuttle(plain) == b"50 21 2\n55 0 4\n-53 1 1\n"
    every = workspace([[0.0] * 7], range(1, 8))
    assert shuttle(every) == b"0 6\n0 7\n0 5\n0 2\n0 3\n0 4\n0 1\n"


@pytest.mark.parametrize(
    "plain",
    [
        workspace(COLUMNS, [4, 6, 7], [*STATES[:-1], "Unheard"]),
        workspace(COLUMNS, [4, 6, 99]),
        workspace(COLUMNS, [4, 6]),
    ],
)
def test_what_is_not_the_shuttle_is_refused(plain):
    with pytest.raises(SourceFailed, match=r"is not the shuttle's data"):
        shuttle(plain)
