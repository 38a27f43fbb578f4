"""The checks that decode: keys, times, codecs, and Kafka's words for their refusals."""

from __future__ import annotations

import pytest

from protocol.compression import Codec
from protocol.errors import ErrorCode
from protocol.record_batch import HEADER_SIZE, TimestampType, crc_is_valid, read_header
from protocol.records import Record, build_batch, iterate_records
from storage.log_config import LogConfig
from storage.record_validation import (
    decode_and_check,
    must_decode,
    rebuild_batch,
    target_codec,
)
from storage.refusal import Refusal
from tests.unit.storage.harness import NOW_MS, batch, keyed_batch

COMPACTED = LogConfig(cleanup_policy=("compact",))


def refused(records: memoryview, config: LogConfig) -> Refusal:
    found = decode_and_check(records, config, NOW_MS, "topic-0")
    assert isinstance(found, Refusal)
    return found


def test_keys_are_wanted_in_a_compacted_topic() -> None:
    good = keyed_batch((b"k", b"v"), (b"", None))
    assert isinstance(decode_and_check(good, COMPACTED, NOW_MS, "topic-0"), list)
    found = refused(keyed_batch((b"k", b"v"), (None, b"v")), COMPACTED)
    words = "Compacted topic cannot accept message without key in topic partition topic-0"
    assert (found.error, found.record_errors) == (ErrorCode.INVALID_RECORD, [(1, words)])
    assert found.message == (
        "One or more records have been rejected due to 1 record errors in total, and only showing "
        f"the first three errors at most: [RecordError(batchIndex=1, message='{words}')]"
    )


def test_three_errors_are_shown_and_all_are_told() -> None:
    found = refused(keyed_batch(*[(None, b"v")] * 5), COMPACTED)
    assert len(found.record_errors) == 5
    assert "5 record errors" in found.message
    assert found.message.count("RecordError(") == 3


def test_times_out_of_range() -> None:
    config = LogConfig(message_timestamp_before_max_ms=10, message_timestamp_after_max_ms=20)
    stamps = [NOW_MS - 10, NOW_MS - 11, NOW_MS + 20, NOW_MS + 21, -1]
    sent = memoryview(build_batch([Record(-1, stamp, b"k", b"v") for stamp in stamps]))
    found = refused(sent, config)
    assert found.error is ErrorCode.INVALID_TIMESTAMP
    assert found.message == "One or more records have been rejected due to invalid timestamp"
    assert found.record_errors == [
        (
            1,
            f"Timestamp {NOW_MS - 11} of message with offset 1 is out of range. "
            f"The timestamp should be within [{NOW_MS - 10}, {NOW_MS + 20}]",
        ),
        (
            3,
            f"Timestamp {NOW_MS + 21} of message with offset 3 is out of range. "
            f"The timestamp should be within [{NOW_MS - 10}, {NOW_MS + 20}]",
        ),
    ]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.SNAPPY, Codec.ZSTD])
def test_a_body_that_cannot_be_decoded_is_refused(codec: Codec) -> None:
    sent = keyed_batch((b"k", b"v" * 50), compression=codec)
    for at in range(HEADER_SIZE, len(sent), 3):
        damaged = memoryview(bytearray(sent))
        damaged[at] ^= 0xFF
        found = decode_and_check(damaged, COMPACTED, NOW_MS, "topic-0")
        assert isinstance(found, list) or found.error is ErrorCode.INVALID_RECORD


def test_when_records_are_looked_at() -> None:
    plain, gzipped = read_header(batch()), read_header(batch(b"v" * 99, compression=Codec.GZIP))
    assert not must_decode(LogConfig(), gzipped)
    assert must_decode(COMPACTED, plain)
    assert must_decode(LogConfig(compression_type="gzip"), plain)
    assert not must_decode(LogConfig(compression_type="gzip"), gzipped)
    assert must_decode(LogConfig(compression_type="uncompressed"), gzipped)
    past = LogConfig(message_timestamp_before_max_ms=5)
    assert must_decode(past, plain)
    own = LogConfig(message_timestamp_before_max_ms=5, message_timestamp_type="LogAppendTime")
    assert not must_decode(own, plain)


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("producer", Codec.LZ4),
        ("uncompressed", Codec.NONE),
        ("gzip", Codec.GZIP),
        ("snappy", Codec.SNAPPY),
        ("lz4", Codec.LZ4),
        ("zstd", Codec.ZSTD),
    ],
)
def test_a_batch_is_built_anew_under_the_topics_codec(name: str, codec: Codec) -> None:
    config = LogConfig(compression_type=name)
    sent = keyed_batch(
        (b"a", b"v" * 300),
        (b"b", None),
        compression=Codec.LZ4,
        producer_id=9,
        producer_epoch=2,
        base_sequence=5,
        is_transactional=True,
    )
    header = read_header(sent)
    assert target_codec(config, header) == codec
    records = list(iterate_records(sent))
    built = rebuild_batch(records, header, config, NOW_MS)
    new = read_header(built)
    assert crc_is_valid(built, 0, new)
    assert (new.compression, new.timestamp_type) == (codec, TimestampType.CREATE_TIME)
    kept = ("base_offset", "last_offset_delta", "base_timestamp", "max_timestamp", "producer_id")
    kept += ("producer_epoch", "base_sequence", "record_count", "is_transactional")
    assert [getattr(new, field) for field in kept] == [getattr(header, field) for field in kept]
    assert list(iterate_records(built)) == records
    assert not built.readonly


def test_a_batch_built_anew_carries_our_time_where_the_topic_wants_it() -> None:
    config = LogConfig(compression_type="gzip", message_timestamp_type="LogAppendTime")
    sent = batch(b"v", timestamp=5)
    built = rebuild_batch(list(iterate_records(sent)), read_header(sent), config, NOW_MS)
    assert [record.timestamp for record in iterate_records(built)] == [NOW_MS]
