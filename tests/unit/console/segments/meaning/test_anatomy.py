"""Each byte belongs to one field, and each field says what it is."""

from __future__ import annotations

import pytest

from console.segments.meaning import anatomy
from console.segments.meaning.anatomy import (
    Field,
    attribute_bits,
    header_fields,
    record_fields,
)
from protocol.compression import Codec
from protocol.record_batch import (
    HEADER_SIZE,
    CorruptBatch,
    RecordBatchHeader,
    TimestampType,
    read_header,
)
from protocol.records import Record
from tests.batches import build_batch


def fields_of(
    record: Record,
    *,
    base_offset: int = 40,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
) -> tuple[list[Field], bytes, RecordBatchHeader]:
    first = Record(-1, 1000, b"", b"")
    batch = build_batch(
        [first, record],
        base_offset=base_offset,
        timestamp_type=timestamp_type,
        max_timestamp=7777 if timestamp_type else None,
    )
    header, body = read_header(batch), bytes(batch[HEADER_SIZE:])
    start = body[0] // 2 + 1
    return record_fields(body, start, header), body[start:], header


def check_side_by_side(fields: list[Field], size: int) -> None:
    assert fields[0].start == 0 and fields[-1].end == size
    for one, following in zip(fields, fields[1:], strict=False):
        assert one.end == following.start and one.start < one.end


def test_a_header() -> None:
    batch = build_batch(
        [Record(-1, 1000, b"k", b"v"), Record(-1, 1005, b"k", b"v")],
        base_offset=40,
        compression=Codec.LZ4,
        producer_id=9,
        producer_epoch=2,
        base_sequence=5,
        leader_epoch=3,
        is_transactional=True,
    )
    fields = header_fields(batch, read_header(batch))
    check_side_by_side(fields, HEADER_SIZE)
    values = {one.name: one.value for one in fields}
    assert values["baseOffset"] == 40 and values["producerId"] == 9 and values["magic"] == 2
    assert values["partitionLeaderEpoch"] == 3 and values["recordsCount"] == 2
    named = {one.name: one for one in fields}
    assert named["lastOffsetDelta"].meaning == "last offset 40 + 1 = 41"
    assert named["batchLength"].meaning.endswith(f"= {len(batch)} bytes in total")
    assert named["maxTimestamp"].time_ms == 1005 and named["baseSequence"].meaning.endswith("6")
    bits = {one.name: one.value for one in named["attributes"].bits}
    assert bits["compression"] == "lz4" and bits["isTransactional"] == "yes"
    assert bits["timestampType"] == "CreateTime" and bits["hasDeleteHorizon"] == "no"


def test_a_header_after_compaction() -> None:
    batch = build_batch(
        [Record(43, 1000, b"k", None)], base_offset=40, last_offset=47, delete_horizon_ms=9000
    )
    named = {one.name: one for one in header_fields(batch, read_header(batch))}
    assert named["recordsCount"].meaning == "compaction removed 7 of 8 records"
    assert named["baseTimestamp"].time_ms == 9000
    assert named["baseTimestamp"].meaning == "the delete horizon of the batch"
    assert named["producerId"].meaning.startswith("none")


def test_bits_cover_all_sixteen() -> None:
    for attributes in (0, 0x7F, -1, 5):
        raw = "".join(one.raw for one in reversed(attribute_bits(attributes)))
        assert raw == f"{attributes & 0xFFFF:016b}"
    assert attribute_bits(5)[0].value == "unknown (5)"


@pytest.mark.parametrize(
    "record",
    [
        Record(-1, 1300, b"key", b"value" * 100, (("trace", b"1"), ("none", None))),
        Record(-1, 1000, None, None),
        Record(-1, 900, b"", b""),
        Record(-1, 10**12, b"k", b"v", (("", b""),)),
    ],
)
def test_a_record(record: Record) -> None:
    fields, data, _ = fields_of(record)
    check_side_by_side(fields, len(data))
    named = {one.name: one for one in fields}
    assert named["length"].value == len(data) - named["length"].end
    assert named["offsetDelta"].meaning == "offset 40 + 1 = 41"
    assert named["timestampDelta"].time_ms == record.timestamp
    for name, content in (("key", record.key), ("value", record.value)):
        assert named[f"{name}Length"].value == (-1 if content is None else len(content))
        if content:
            assert data[named[name].start : named[name].end] == content
    keys = [data[one.start : one.end].decode() for one in fields if one.name == "headerKey"]
    assert keys == [key for key, _ in record.headers if key]


def test_a_varint_shows_what_its_bytes_hold() -> None:
    fields, data, _ = fields_of(Record(-1, 1300, b"key", b"v"))
    delta = next(one for one in fields if one.name == "timestampDelta")
    raw = data[delta.start : delta.end]
    assert (delta.value, delta.zigzag, raw) == (300, 600, b"\xd8\x04")
    null = fields_of(Record(-1, 1000, None, b"v"))[0][4]
    assert (null.name, null.value, null.zigzag) == ("keyLength", -1, 1)


def test_with_log_append_time_the_batch_says_the_time() -> None:
    fields, _, _ = fields_of(
        Record(-1, 1300, b"k", b"v"), timestamp_type=TimestampType.LOG_APPEND_TIME
    )
    delta = next(one for one in fields if one.name == "timestampDelta")
    assert delta.time_ms == 7777 and delta.meaning.endswith("which replaces it")


def test_very_many_headers_are_one_range_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anatomy, "HEADERS_SHOWN_MAX", 2)
    fields, data, _ = fields_of(Record(-1, 1000, b"k", b"v", (("a", b"1"),) * 5))
    check_side_by_side(fields, len(data))
    assert fields[-1].name == "headers" and fields[-1].meaning == "3 more headers"


@pytest.mark.parametrize("cut", [1, 4, 6, 8])
def test_bytes_that_end_too_early_are_damage(cut: int) -> None:
    _, data, header = fields_of(Record(-1, 1000, b"key", b"v"))
    with pytest.raises(CorruptBatch):
        record_fields(data[:cut], 0, header)
