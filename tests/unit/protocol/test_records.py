"""Batches there and back, what other clients' builders make of the same records, and damage."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.compression import Codec, DecompressionLimit, compress
from protocol.record_batch import (
    HEADER_SIZE,
    CorruptBatch,
    TimestampType,
    crc_is_valid,
    crc_of,
    produced_batch_fault,
    read_header,
)
from protocol.records import Record, RecordBatchBuilder, iterate_records
from tests.batches import build_batch

RECORDS = [
    Record(0, 1_000, b"key", b"value"),
    Record(1, 1_700_000_000_000, None, b""),
    Record(2, 999, b"", None, (("header", b"x"), ("", None), ("héader", b""))),
    Record(3, -1, b"k" * 100, b"v" * 10_000),
]


def with_right_crc(batch: bytearray) -> bytearray:
    struct.pack_into(">I", batch, 17, crc_of(batch, 0, len(batch)))
    return batch


def batch_of_body(body: bytes, count: int, codec: int = 0, last_delta: int = 10) -> bytearray:
    """A batch whose records are these bytes, whatever they are."""
    batch = build_batch([], last_offset=last_delta)
    batch += body
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">h", batch, 21, codec)
    struct.pack_into(">i", batch, 57, count)
    return with_right_crc(batch)


# --- there and back ------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", list(Codec))
def test_there_and_back(codec: Codec) -> None:
    batch = build_batch(RECORDS, compression=codec)
    header = read_header(batch)
    assert crc_is_valid(batch, 0, header)
    assert produced_batch_fault(header) is None
    assert header.size_in_bytes == len(batch)
    assert header.compression == codec
    assert (header.record_count, header.last_offset) == (4, 3)
    assert (header.base_timestamp, header.max_timestamp) == (1_000, 1_700_000_000_000)
    assert list(iterate_records(batch)) == RECORDS
    assert list(iterate_records(memoryview(b"ab" + batch), 2)) == RECORDS


def test_header_fields() -> None:
    batch = build_batch(
        [Record(-1, 5, b"k", b"v")],
        base_offset=100,
        producer_id=2**40,
        producer_epoch=3,
        base_sequence=9,
        is_transactional=True,
        is_control=True,
        leader_epoch=12,
    )
    header = read_header(batch)
    assert (header.base_offset, header.next_offset) == (100, 101)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (2**40, 3, 9)
    assert header.is_transactional and header.is_control
    assert header.partition_leader_epoch == 12
    assert [record.offset for record in iterate_records(batch)] == [100]


def test_log_append_time_is_every_records_timestamp() -> None:
    batch = build_batch(
        RECORDS, timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=2_000_000
    )
    assert {record.timestamp for record in iterate_records(batch)} == {2_000_000}


def test_offsets_with_gaps_keep_what_the_batch_covered() -> None:
    kept = [Record(12, 50, b"a", b"1"), Record(15, 40, b"b", b"2")]
    batch = build_batch(kept, base_offset=10, last_offset=19)
    header = read_header(batch)
    assert (header.base_offset, header.last_offset, header.record_count) == (10, 19, 2)
    assert list(iterate_records(batch)) == kept


def test_a_batch_that_compaction_emptied() -> None:
    batch = build_batch(
        [], base_offset=10, last_offset=19, max_timestamp=77, compression=Codec.ZSTD, producer_id=1
    )
    header = read_header(batch)
    assert len(batch) == HEADER_SIZE
    assert (header.record_count, header.last_offset, header.max_timestamp) == (0, 19, 77)
    assert header.compression == 0, "there is nothing that could be unpacked"
    assert list(iterate_records(batch)) == []


def test_delete_horizon_is_the_base_of_timestamps() -> None:
    batch = build_batch(RECORDS, delete_horizon_ms=123_456)
    assert read_header(batch).delete_horizon_ms == 123_456
    assert list(iterate_records(batch)) == RECORDS


def test_builder_counts_its_records_and_their_offsets() -> None:
    builder = RecordBatchBuilder(base_offset=5)
    assert builder.record_count == 0
    for count in (1, 2):
        builder.append(b"k", b"v", 0)
        assert builder.record_count == count
    assert [record.offset for record in iterate_records(builder.build())] == [5, 6]


def test_builder_refuses_offsets_that_go_back() -> None:
    builder = RecordBatchBuilder(base_offset=5)
    with pytest.raises(ValueError, match="offset 4"):
        builder.append(b"k", b"v", 0, offset=4)
    builder.append(b"k", b"v", 0, offset=7)
    with pytest.raises(ValueError, match="offset 7"):
        builder.append(b"k", b"v", 0, offset=7)
    with pytest.raises(ValueError, match="covers"):
        builder.build(last_offset=6)
    with pytest.raises(ValueError, match="covers"):
        RecordBatchBuilder().build()


def test_header_keys_that_are_not_utf8_survive() -> None:
    (before,) = iterate_records(batch_of_body(b"\x16\0\0\0\x01\x01\x02\x04\xff\xfe\x02y", 1))
    assert before.headers == (("\udcff\udcfe", b"y"),)
    (after,) = iterate_records(build_batch([before]))
    assert after.headers == before.headers


nullable = st.none() | st.binary(max_size=200)
int64 = st.integers(-(2**62), 2**62)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(int64, nullable, nullable, st.lists(st.tuples(st.text(), nullable), max_size=3)),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from(list(Codec)),
    st.integers(0, 2**50),
)
def test_any_records(parts: list[Any], codec: Codec, base: int) -> None:
    records = [
        Record(base + index, timestamp, key, value, tuple(headers))
        for index, (timestamp, key, value, headers) in enumerate(parts)
    ]
    batch = build_batch(records, base_offset=base, compression=codec)
    assert list(iterate_records(batch)) == records


# --- other clients' builders ---------------------------------------------------------------------


def _foreign_builders() -> list[Any]:
    from aiokafka.record.default_records import DefaultRecordBatchBuilder as Aiokafka
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPython

    return [Aiokafka, KafkaPython]


@pytest.mark.parametrize("builder_class", _foreign_builders())
def test_the_same_bytes_as_other_clients_write(builder_class: Any) -> None:
    theirs = builder_class(
        magic=2,
        compression_type=0,
        is_transactional=1,
        producer_id=5,
        producer_epoch=1,
        base_sequence=3,
        batch_size=100_000,
    )
    for record in RECORDS:
        headers = list(record.headers)
        theirs.append(record.offset, record.timestamp, record.key, record.value, headers)
    ours = build_batch(
        RECORDS, producer_id=5, producer_epoch=1, base_sequence=3, is_transactional=True
    )
    foreign = bytearray(theirs.build())
    # They leave the leader epoch, which the leader overwrites, to chance (0 or -1).
    foreign[12:16] = ours[12:16]
    assert foreign == ours


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_compressed_there_and_back_with_aiokafka(codec: Codec) -> None:
    from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

    theirs = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=int(codec),
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=100_000,
    )
    for record in RECORDS:
        headers = list(record.headers)
        theirs.append(record.offset, record.timestamp, record.key, record.value, headers)
    assert list(iterate_records(bytes(theirs.build()))) == RECORDS

    read = list(DefaultRecordBatch(bytes(build_batch(RECORDS, compression=codec))))
    assert [(r.offset, r.timestamp, r.key, r.value) for r in read] == [r[:4] for r in RECORDS]


# --- damage --------------------------------------------------------------------------------------

GOOD_RECORD = b"\x0e\0\0\0\x02k\x00\x00"
"""Length 7: attributes, timestamp delta 0, offset delta 0, key "k", value empty, no headers."""


def test_the_good_record_is_one() -> None:
    assert list(iterate_records(batch_of_body(GOOD_RECORD, 1))) == [Record(0, -1, b"k", b"")]


@pytest.mark.parametrize(
    ("body", "count"),
    [
        pytest.param(GOOD_RECORD, 0, id="a record that is not counted"),
        pytest.param(GOOD_RECORD, 2, id="fewer records than counted"),
        pytest.param(GOOD_RECORD, -1, id="negative count"),
        pytest.param(GOOD_RECORD, 2**31 - 1, id="huge count"),
        pytest.param(GOOD_RECORD + b"\0", 1, id="trailing byte"),
        pytest.param(GOOD_RECORD * 2, 2, id="same offset twice"),
        pytest.param(b"", 1, id="no bytes"),
        pytest.param(b"\x0e\0\0\x01\x02k\x00\x00", 1, id="negative offset delta"),
        pytest.param(b"\x0e\0\0\x16\x02k\x00\x00", 1, id="offset delta over the header's"),
        pytest.param(b"\x0c\0\0\0\x02k\x00\x00", 1, id="record length too small"),
        pytest.param(b"\x10\0\0\0\x02k\x00\x00", 1, id="record length over the end"),
        pytest.param(b"\x10\0\0\0\x02k\x00\x00\x00", 1, id="byte after the last header"),
        pytest.param(b"\x01" + GOOD_RECORD, 1, id="record length -1"),
        pytest.param(b"\x0e\0\0\0\x03k\x00\x00", 1, id="key length -2"),
        pytest.param(b"\x0e\0\0\0\x0ek\x00\x00", 1, id="key length over the record"),
        pytest.param(b"\x0e\0\0\0\x02k\x04\x00", 1, id="value length over the record"),
        pytest.param(b"\x0e\0\0\0\x02k\x00\x02", 1, id="header that is not there"),
        pytest.param(b"\x0e\0\0\0\x02k\x00\x01", 1, id="header count -1"),
        pytest.param(b"\x12\0\0\0\x02k\x00\x02\x01\x00", 1, id="header key null"),
        pytest.param(b"\x16\0\0\0\x02k\x00\xfe\xff\xff\x0f\0", 1, id="huge header count"),
        pytest.param(b"\xff\xff\xff\xff\xff\x01", 1, id="varint of six bytes"),
        pytest.param(b"\xff\xff\xff\xff\x1f", 1, id="varint over 32 bits"),
        pytest.param(b"\x80", 1, id="varint cut off"),
        pytest.param(b"\x20\0" + b"\xff" * 9 + b"\x03\0\x02k\0\0", 1, id="varlong over 64 bits"),
        pytest.param(b"\x20\0" + b"\xff" * 9 + b"\x01\0\x02k\0\0", 1, id="timestamp over 64 bits"),
    ],
)
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_damaged_records(body: bytes, count: int, codec: Codec) -> None:
    with pytest.raises(CorruptBatch):
        list(iterate_records(batch_of_body(compress(codec, body), count, codec)))


def test_records_before_the_damage_are_given() -> None:
    walk = iterate_records(batch_of_body(GOOD_RECORD + b"\x80", 2))
    assert next(walk).key == b"k"
    with pytest.raises(CorruptBatch):
        next(walk)


def test_a_body_that_unpacks_to_too_much() -> None:
    batch = build_batch([Record(-1, 0, None, bytes(100_000))], compression=Codec.ZSTD)
    assert len(list(iterate_records(batch, limit_bytes=200_000))) == 1
    with pytest.raises(DecompressionLimit):
        iterate_records(batch, limit_bytes=50_000)


@pytest.mark.parametrize("codec", list(Codec))
def test_random_damage_raises_nothing_but_corrupt_batch(codec: Codec) -> None:
    rng = random.Random(int(codec))
    good = build_batch(RECORDS, compression=codec)
    for _ in range(400):
        batch = bytearray(good)
        for _ in range(rng.choice([1, 1, 2, 8])):
            # The length stays: a batch is cut out of a request by it.
            position = rng.choice([*range(8), *range(12, min(len(batch), 300))])
            batch[position] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        try:
            for record in iterate_records(with_right_crc(batch), limit_bytes=1_000_000):
                assert -(2**63) <= record.timestamp < 2**63
        except CorruptBatch:
            continue
