"""From batch to batch by their headers."""

from __future__ import annotations

import pytest

from console.segments.files import header_walk
from console.segments.files.header_walk import batch_around, walk
from protocol.record_batch import CorruptBatch
from protocol.records import Record
from tests.batches import build_batch
from tests.unit.console.segments.segments_fixture import batches, reader


def test_every_batch_is_met_and_large_bodies_are_passed_over() -> None:
    large = [build_batch([Record(-1, 5, b"k", bytes(300_000))], base_offset=one) for one in (0, 1)]
    small = batches(2, 2000, 1)
    data = b"".join([*large, *small])
    got = []

    def read(size: int, position: int) -> bytes:
        got.append(size)
        return data[position : position + size]

    found = [one.header.base_offset for one in walk(read, len(data), 0)]
    assert found == list(range(2002))
    assert sum(got) < len(data) - 550_000, "bodies were not read"
    assert len(got) < 10, "many small headers come by one read"


@pytest.mark.parametrize("cut", [1, 40, 61, 70])
def test_a_batch_that_is_being_written_ends_the_walk(cut: int) -> None:
    whole = b"".join(batches(0, 2))
    data = whole + bytes(batches(6, 1)[0][:cut])
    assert len(list(walk(reader(data), len(data), 0))) == 2


def test_room_that_was_not_used_ends_it_and_damage_is_told() -> None:
    whole = b"".join(batches(0, 2))
    data = whole + bytes(5000)
    assert len(list(walk(reader(data), len(data), 0))) == 2
    damaged = whole + b"\1" * 200
    with pytest.raises(CorruptBatch):
        list(walk(reader(damaged), len(damaged), 0))


def test_the_batch_around_a_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = batches(0, 4)
    data, size = b"".join(parts), len(parts[0])
    read = reader(data)
    for position, base in ((0, 0), (size - 1, 0), (size, 3), (3 * size + 5, 9)):
        found = batch_around(read, len(data), 0, position)
        assert found is not None and found.header.base_offset == base
    assert batch_around(read, len(data), 0, 4 * size) is None
    monkeypatch.setattr(header_walk, "HEADERS_MAX", 1)
    with pytest.raises(CorruptBatch, match="the index has no entry"):
        batch_around(read, len(data), 0, 3 * size)
