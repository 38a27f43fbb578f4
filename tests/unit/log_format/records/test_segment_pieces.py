from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from log_format.damage import DamagedLog, LogError, OldFormat
from log_format.records import segment_pieces
from log_format.records.segment_pieces import crc32c_function, pieces, sound_batch_in
from protocol.records import Record
from tests.batches import build_batch

CRC = crc32c_function()
BATCHES = [
    bytes(build_batch([Record(at, 0, None, b"v" * (at * 40))], base_offset=at)) for at in range(9)
]
DATA = b"".join(BATCHES)


def bases(data: bytes, start: int = 0, end: int | None = None, least: int = 0) -> Iterator[int]:
    """Of all batches, until one is refused."""

    def read(size: int, position: int) -> bytes:
        return data[position : position + size]

    for piece in pieces("0.log", read, start, len(data) if end is None else end, CRC, least):
        yield from piece.headers["base_offset"].tolist()


def refused(data: bytes, start: int = 0, end: int | None = None) -> tuple[list[int], DamagedLog]:
    found = []
    with pytest.raises(DamagedLog) as raised:
        for base in bases(data, start, end):
            found.append(base)
    return found, raised.value


@pytest.mark.parametrize("room", [1, 61, 100, 1000, 4 << 20])
def test_steps_of_any_size(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    monkeypatch.setattr(segment_pieces, "PIECE_BYTES", room)
    assert list(bases(DATA)) == list(range(9))
    start, end = len(b"".join(BATCHES[:2])), len(b"".join(BATCHES[:6]))
    assert list(bases(DATA, start, end)) == [2, 3, 4, 5]


@pytest.mark.parametrize("room", [100, 4 << 20])
def test_what_is_sound_comes_before_the_damage(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    monkeypatch.setattr(segment_pieces, "PIECE_BYTES", room)
    at = len(b"".join(BATCHES[:5]))
    for place, byte, why in (
        (10, 0xFF, "has"),
        (16, 3, "none that is known"),
        (22, 7, "codec"),
        (23, 0x80, "last offset"),
        (70, 0xFF, "CRC-32C"),
        (7, 1, "does not follow"),
    ):
        data = bytearray(DATA)
        data[at + place] = byte
        found, damage = refused(bytes(data))
        assert (found, damage.position) == ([0, 1, 2, 3, 4], at) and why in damage.why


def test_a_cut_batch() -> None:
    for cut in (1, 50, len(BATCHES[-1]) - 1):
        found, damage = refused(DATA[:-cut])
        assert found == list(range(8)) and damage.position == len(DATA) - len(BATCHES[-1])
    found, _ = refused(DATA, 0, len(DATA) - 1)
    assert found == list(range(8))


def test_older_formats_are_named_not_called_damage() -> None:
    old = bytes(8) + (22).to_bytes(4, "big") + bytes(4) + b"\x01" + bytes(17)
    for data in (old, old * 10):
        found, damage = refused(data)
        assert isinstance(damage, OldFormat) and damage.magic == 1 and found == []


def test_offsets_begin_where_the_segment_does() -> None:
    assert list(bases(DATA, least=0)) == list(range(9))
    with pytest.raises(DamagedLog, match="does not follow"):
        list(bases(DATA, least=1))


def test_sound_batches_behind_damage_are_found() -> None:
    assert sound_batch_in(b"\xff" * 100 + DATA, CRC, 0) == 100
    assert sound_batch_in(b"\xff" * 100 + BATCHES[3], CRC, 4) is None
    assert sound_batch_in(DATA[1 : len(BATCHES[0])], CRC, 0) is None
    assert sound_batch_in(b"\x02" * 5000, CRC, 0) is None
    assert sound_batch_in(b"", CRC, 0) is None
    assert sound_batch_in(BATCHES[5][:-1] + b"\1", CRC, 0) is None
    assert sound_batch_in(BATCHES[5][:-1] + b"\1", None, 0) == 0


def test_it_is_crc_32c() -> None:
    assert CRC(memoryview(b"123456789")) == 0xE3069283


def test_without_the_package_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "crc32c", None)
    with pytest.raises(LogError, match="check.crcs=false"):
        crc32c_function()
