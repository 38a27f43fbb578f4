"""What a leader refuses, with Kafka's codes, and what it writes over."""

from __future__ import annotations

from dataclasses import replace
from struct import pack_into
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.compression import Codec
from protocol.errors import ErrorCode
from protocol.record_batch import TimestampType, crc_is_valid, crc_of, read_header
from protocol.records import iterate_records
from storage.log.log_append_info import AppendOrigin
from storage.log.log_validator import Validated, header_check_suffices, split_batches, validate
from storage.log.refusal import AppendRefusal
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, batch

PLAIN = LogConfig()
OWN_TIME = LogConfig(message_timestamp_type="LogAppendTime")


def check(
    records: memoryview,
    config: LogConfig = PLAIN,
    origin: AppendOrigin = AppendOrigin.CLIENT,
    now_ms: int = NOW_MS,
) -> Validated | AppendRefusal:
    return validate(records, config, origin, now_ms, "topic-0")


def with_field(form: str, position: int, *values: int) -> memoryview:
    """A batch with fields changed and a right checksum."""
    data = batch(b"value", b"other")
    pack_into(form, data, position, *values)
    pack_into(">I", data, 17, crc_of(data, 0, len(data)))
    return data


def refused(records: memoryview, config: LogConfig = PLAIN) -> AppendRefusal:
    found = check(records, config)
    assert isinstance(found, AppendRefusal), found
    return found


def test_a_plain_batch_passes_as_it_is() -> None:
    sent = batch(b"a", b"b", compression=Codec.GZIP)
    before = bytes(sent)
    found = check(sent)
    assert isinstance(found, Validated)
    assert bytes(found.records) == before
    assert (found.batches[0][0], found.log_append_time) == (0, -1)


@pytest.mark.parametrize(
    ("records", "error"),
    [
        pytest.param(lambda: with_field(">q", 0, 5), ErrorCode.INVALID_RECORD, id="base offset"),
        pytest.param(lambda: with_field(">b", 16, 1), ErrorCode.INVALID_RECORD, id="magic 1"),
        pytest.param(
            lambda: with_field(">h", 21, 5), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, id="codec 5"
        ),
        pytest.param(lambda: with_field(">h", 21, 0x20), ErrorCode.INVALID_RECORD, id="control"),
        pytest.param(lambda: with_field(">i", 23, 5), ErrorCode.INVALID_RECORD, id="delta"),
        pytest.param(lambda: with_field(">i", 57, 1), ErrorCode.INVALID_RECORD, id="count"),
        pytest.param(
            lambda: with_field(">iqqqhii", 23, 9999, NOW_MS, NOW_MS, -1, -1, -1, 10_000),
            ErrorCode.INVALID_RECORD,
            id="more records than bytes",
        ),
        pytest.param(lambda: with_field(">i", 57, -1), ErrorCode.INVALID_RECORD, id="count < 0"),
        pytest.param(lambda: with_field(">q", 43, 7), ErrorCode.INVALID_RECORD, id="no sequence"),
        pytest.param(lambda: with_field(">i", 8, 20), ErrorCode.CORRUPT_MESSAGE, id="short length"),
        pytest.param(lambda: with_field(">i", 8, 500), ErrorCode.INVALID_RECORD, id="long length"),
        pytest.param(lambda: batch()[:-1], ErrorCode.INVALID_RECORD, id="cut off"),
        pytest.param(lambda: memoryview(b""), ErrorCode.INVALID_RECORD, id="empty"),
        pytest.param(lambda: memoryview(bytearray(100)), ErrorCode.CORRUPT_MESSAGE, id="zeros"),
    ],
)
def test_headers_that_contradict_are_refused(records: Any, error: ErrorCode) -> None:
    assert refused(records()).error is error


def test_every_flipped_bit_behind_the_checksum_is_noticed() -> None:
    sent = bytes(batch(b"value"))
    for at in range(17, len(sent)):
        damaged = bytearray(sent)
        damaged[at] ^= 4
        assert refused(memoryview(damaged)).error in (
            ErrorCode.CORRUPT_MESSAGE,
            ErrorCode.INVALID_RECORD,
        )


def test_a_partition_gets_one_batch() -> None:
    two = memoryview(bytearray(bytes(batch()) * 2))
    assert refused(two).error is ErrorCode.INVALID_RECORD
    assert isinstance(check(two, origin=AppendOrigin.COORDINATOR), Validated)


def test_a_partial_batch_after_the_first_is_left_out() -> None:
    sent = bytes(batch(b"value"))
    found = check(memoryview(bytearray(sent + sent[:40])))
    assert isinstance(found, Validated) and len(found.records) == len(sent)


def test_size_is_bounded_by_the_topic() -> None:
    size = len(batch(b"value"))
    assert isinstance(check(batch(b"value"), LogConfig(max_message_bytes=size)), Validated)
    found = refused(batch(b"value"), LogConfig(max_message_bytes=size - 1))
    assert found.error is ErrorCode.MESSAGE_TOO_LARGE
    assert str(size) in found.message and str(size - 1) in found.message
    raft = check(batch(), LogConfig(max_message_bytes=1), AppendOrigin.RAFT_LEADER)
    assert isinstance(raft, Validated)


def test_the_future_is_bounded_on_the_header() -> None:
    hour = 3_600_000
    assert isinstance(check(batch(timestamp=NOW_MS + hour)), Validated)
    found = refused(batch(timestamp=NOW_MS + hour + 1))
    assert found.error is ErrorCode.INVALID_TIMESTAMP
    assert found.record_errors[0][0] == 0
    wider = LogConfig(message_timestamp_after_max_ms=hour + 1)
    assert isinstance(check(batch(timestamp=NOW_MS + hour + 1), wider), Validated)
    assert isinstance(check(batch(timestamp=NOW_MS + 9 * hour), OWN_TIME), Validated)


def test_the_past_is_bounded_where_the_topic_says_so() -> None:
    config = LogConfig(message_timestamp_before_max_ms=1000)
    assert isinstance(check(batch(timestamp=NOW_MS - 1000), config), Validated)
    found = refused(batch(b"a", b"b", timestamp=NOW_MS - 1001), config)
    assert found.error is ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in found.record_errors] == [0, 1]
    assert isinstance(check(batch(timestamp=-1), config), Validated), "without a timestamp"


def test_our_time_replaces_the_clients() -> None:
    found = check(batch(b"a", b"b", timestamp=5), OWN_TIME)
    assert isinstance(found, Validated)
    header = found.batches[0][1]
    assert (header.timestamp_type, header.max_timestamp) == (TimestampType.LOG_APPEND_TIME, NOW_MS)
    assert found.log_append_time == NOW_MS
    assert crc_is_valid(found.records, 0, header)
    assert [record.timestamp for record in iterate_records(found.records)] == [NOW_MS, NOW_MS]


def test_a_client_may_not_claim_our_time() -> None:
    claim = {"timestamp_type": TimestampType.LOG_APPEND_TIME}
    assert refused(batch(**claim), OWN_TIME).error is ErrorCode.INVALID_TIMESTAMP
    found = check(batch(**claim))
    assert isinstance(found, Validated)
    header = read_header(found.records)
    assert header.timestamp_type is TimestampType.CREATE_TIME
    assert crc_is_valid(found.records, 0, header)


def test_a_topics_codec_is_enforced_and_the_same_codec_left_alone() -> None:
    config = LogConfig(compression_type="zstd")
    packed = bytes(batch(b"v" * 99, compression=Codec.ZSTD))
    found = check(memoryview(bytearray(packed)), config)
    assert isinstance(found, Validated) and bytes(found.records) == packed
    found = check(batch(b"v" * 99), config)
    assert isinstance(found, Validated)
    assert read_header(found.records).compression == Codec.ZSTD
    assert [record.value for record in iterate_records(found.records)] == [b"v" * 99]


def test_a_repacked_batch_has_to_fit_too() -> None:
    config = LogConfig(compression_type="uncompressed", max_message_bytes=500)
    packed = batch(b"v" * 1000, compression=Codec.GZIP)
    assert len(packed) < 500
    assert refused(packed, config).error is ErrorCode.MESSAGE_TOO_LARGE


def test_the_brokers_own_batches_are_not_bound_by_the_topics_wishes() -> None:
    config = LogConfig(cleanup_policy=("compact",), compression_type="gzip")
    for origin in (AppendOrigin.COORDINATOR, AppendOrigin.RAFT_LEADER):
        sent = batch(b"no key", timestamp=NOW_MS + 10**10, is_control=True, base_offset=4)
        found = check(sent, config, origin)
        assert isinstance(found, Validated)
        assert read_header(found.records).compression == Codec.NONE


@pytest.mark.parametrize("codec", Codec)
def test_a_large_record_of_a_compressed_batch_is_refused(codec: Codec) -> None:
    size = 4 + 2 + 300 + 1  # attributes, deltas and no key; the value; no headers
    sent = batch(b"v" * 300, b"v" * 300, compression=codec)
    for config in (PLAIN, replace(PLAIN, max_decompressed_message_bytes=size)):
        assert isinstance(check(memoryview(bytearray(sent)), config), Validated)
    config = replace(PLAIN, max_decompressed_message_bytes=size - 1)
    if codec is Codec.NONE:
        assert isinstance(check(sent, config), Validated)
        return
    refusal = refused(sent, config)
    assert (refusal.error, refusal.record_errors) == (ErrorCode.INVALID_RECORD, [])
    assert refusal.message == (
        f"Invalid record size: {size} exceeds the configured maximum record size of {size - 1}."
    )
    assert refusal.names_log_start


@pytest.mark.parametrize(
    "config",
    [
        replace(PLAIN, max_decompressed_message_bytes=2**31 - 10),
        replace(PLAIN, cleanup_policy=("compact", "delete")),
        replace(PLAIN, compression_type="gzip"),
        replace(PLAIN, message_timestamp_before_max_ms=5),
        OWN_TIME,
    ],
)
def test_which_topics_have_to_look(config: LogConfig) -> None:
    assert header_check_suffices(PLAIN)
    assert not header_check_suffices(config)


@given(data=st.binary(max_size=300))
def test_no_bytes_raise(data: bytes) -> None:
    found = split_batches(memoryview(data), AppendOrigin.CLIENT)
    assert isinstance(found, (list, AppendRefusal))


@given(at=st.integers(0, 70), value=st.integers(0, 255), compacted=st.booleans())
def test_no_changed_byte_raises(at: int, value: int, compacted: bool) -> None:
    data = batch(b"value" * 5, compression=Codec.GZIP)
    data[at] = value
    pack_into(">I", data, 17, crc_of(data, 0, len(data)))
    config = replace(PLAIN, cleanup_policy=("compact",)) if compacted else PLAIN
    assert isinstance(check(data, config), (Validated, AppendRefusal))
