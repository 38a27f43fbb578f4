"""Records read and dropped by position, held against the reader that decodes everything."""

from __future__ import annotations

import random

import pytest

from protocol.record_batch import (
    CorruptBatch,
    RecordTooLarge,
    TimestampType,
    crc_is_valid,
    read_header,
)
from protocol.records import Record, iterate_records
from storage.cleaning.offset_map import OffsetMap
from storage.cleaning.record_filter import body_of, choose_records, empty_batch, index_keys, rebuild
from tests.batches import build_batch

NOW_MS = 1_700_000_000_000


def records(chance: random.Random, count: int) -> list[Record]:
    found = []
    offset = 0
    for _ in range(count):
        offset += chance.choice([1, 1, 1, 3, 200])
        key = chance.choice([None, b"", b"a", b"b", b"k" * 70, chance.randbytes(300)])
        value = chance.choice([None, b"", b"v", chance.randbytes(90), chance.randbytes(20_000)])
        headers = chance.choice([(), (("h", None),), (("h", b"x" * 200), ("i", b""))])
        found.append(
            Record(offset, NOW_MS + chance.randrange(-(2**34), 2**34), key, value, headers)
        )
    return found


@pytest.mark.parametrize("codec", range(5))
def test_a_record_above_the_limit_is_refused_if_it_is_compressed(codec: int) -> None:
    given = [Record(0, NOW_MS, b"a", b"v" * 300), Record(1, NOW_MS, b"b", b"v" * 400)]
    batch = bytes(build_batch(given, compression=codec))
    header = read_header(batch)
    assert body_of(batch, 0, header, 408) == body_of(batch, 0, header)
    if codec:
        with pytest.raises(RecordTooLarge, match="size: 408 exceeds .* of 407[.]"):
            body_of(batch, 0, header, 407)
    else:
        assert body_of(batch, 0, header, 407) == body_of(batch, 0, header)


@pytest.mark.parametrize("seed", range(40))
def test_as_the_decoding_reader_has_it(seed: int) -> None:
    chance = random.Random(seed)
    given = records(chance, chance.choice([1, 3, 40, 200]))
    batch = bytes(build_batch(given, compression=chance.choice([0, 0, 1, 2, 3, 4])))
    header = read_header(batch)
    body, first, end = body_of(batch, 0, header)
    offsets = OffsetMap(1 << 20, 1)
    index_keys(body, first, end, header, 5, offsets)
    last = {one.key: one.offset for one in given if one.key is not None and one.offset >= 5}
    assert {key: offsets.get(key) for key in last} == last
    assert len(offsets.by_key) == len(last)

    offsets.latest_offset = header.last_offset
    expired = chance.random() < 0.5
    kept, tombstones, keyless = choose_records(body, first, end, header, offsets, expired)
    stay = [
        one
        for one in given
        if one.key is not None
        and one.offset >= last.get(one.key, -1)
        and not (expired and one.value is None)
    ]
    assert keyless == sum(one.key is None for one in given)
    assert tombstones == any(one.value is None for one in stay)
    if not stay:
        assert kept == []
        return
    for horizon in (None, NOW_MS + 5, 0, 2**42):
        new = rebuild(body, kept, header, horizon)
        got = read_header(new)
        assert crc_is_valid(new, 0, got)
        assert list(iterate_records(new)) == stay
        assert (got.base_offset, got.last_offset) == (header.base_offset, header.last_offset)
        assert got.max_timestamp == max(one.timestamp for one in stay)
        assert got.compression == header.compression
        assert got.delete_horizon_ms == horizon


def test_what_lies_beyond_the_map_stays_whatever_it_is() -> None:
    given = [Record(n, NOW_MS, key, None) for n, key in enumerate([b"a", None, b"a", None])]
    batch = bytes(build_batch(given))
    header = read_header(batch)
    body, first, end = body_of(batch, 0, header)
    offsets = OffsetMap(1 << 20, 1)
    offsets.by_key[b"a"], offsets.latest_offset = 9, 1
    kept, tombstones, keyless = choose_records(body, first, end, header, offsets, True)
    assert (len(kept), tombstones, keyless) == (2, True, 1)


def test_append_time_and_the_producer_stay_and_an_empty_batch_has_neither_codec_nor_horizon() -> (
    None
):
    batch = bytes(
        build_batch(
            [Record(-1, NOW_MS, b"a", b"1"), Record(-1, NOW_MS + 9, b"b", b"2")],
            base_offset=100,
            compression=4,
            timestamp_type=TimestampType.LOG_APPEND_TIME,
            max_timestamp=NOW_MS + 77,
            producer_id=5,
            producer_epoch=2,
            base_sequence=40,
            leader_epoch=6,
        )
    )
    header = read_header(batch)
    body, first, end = body_of(memoryview(batch), 0, header)
    offsets = OffsetMap(1 << 20, 1)
    offsets.by_key[b"a"], offsets.latest_offset = 200, 200
    kept, _, _ = choose_records(body, first, end, header, offsets, False)
    new = read_header(rebuild(body, kept, header, None))
    same = ("producer_id", "producer_epoch", "base_sequence", "partition_leader_epoch",
            "max_timestamp", "attributes", "base_offset", "last_offset_delta")  # fmt: skip
    assert [getattr(new, one) for one in same] == [getattr(header, one) for one in same]
    assert (new.record_count, new.last_sequence) == (1, 41)
    empty = empty_batch(header)
    got = read_header(empty)
    assert crc_is_valid(empty, 0, got) and len(empty) == 61
    assert (got.compression, got.record_count, got.base_timestamp) == (0, 0, -1)
    assert (got.last_offset, got.last_sequence, got.max_timestamp) == (101, 41, NOW_MS + 77)


def test_no_length_is_trusted() -> None:
    """Every byte of the records changed in some ways: a refusal, or something within bounds."""
    batch = bytes(build_batch([Record(-1, NOW_MS, b"key", b"value" * 20, (("h", b"x"),))] * 3))
    refused = 0
    for at in range(61, len(batch)):
        for byte in (0, 1, 0x7F, 0x80, 0xFF):
            damaged = batch[:at] + bytes([byte]) + batch[at + 1 :]
            header = read_header(damaged)
            for work in (index_keys, choose_records):
                body, first, end = body_of(damaged, 0, header)
                offsets = OffsetMap(1 << 20, 1)
                try:
                    if work is index_keys:
                        index_keys(body, first, end, header, 0, offsets)
                    else:
                        kept = choose_records(body, first, end, header, offsets, False)[0]
                        assert all(61 <= start < stop <= len(damaged) for start, stop in kept)
                except CorruptBatch:
                    refused += 1
    assert refused > 50
    header = read_header(batch)._replace(record_count=2)
    with pytest.raises(CorruptBatch):
        index_keys(batch, 61, len(batch), header, 0, OffsetMap(1 << 20, 1))
