"""The v2 header: where its fields lie, which damage it notices, what a leader writes over."""

from __future__ import annotations

import struct

import pytest

from protocol.errors import ErrorCode
from protocol.record_batch import (
    HEADER,
    HEADER_SIZE,
    CorruptBatch,
    InvalidBatch,
    TimestampType,
    TruncatedBatch,
    UnknownCodec,
    UnsupportedMagic,
    crc_is_valid,
    crc_of,
    iterate_batches,
    patch_base_offset_and_epoch,
    patch_log_append_time,
    produced_batch_fault,
    read_header,
)

BODY = b"0123456789" * 5


def batch(body: bytes = BODY, **changes: int) -> bytearray:
    """A batch with a right CRC whose header fields can be changed by name."""
    fields = {
        "base_offset": 0,
        "batch_length": 49 + len(body),
        "partition_leader_epoch": -1,
        "magic": 2,
        "crc": 0,
        "attributes": 0,
        "last_offset_delta": 2,
        "base_timestamp": 1_000,
        "max_timestamp": 1_005,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": -1,
        "record_count": 3,
    }
    fields.update(changes)
    out = bytearray(HEADER.pack(*fields.values())) + body
    if "crc" not in changes:
        struct.pack_into(">I", out, 17, crc_of(out, 0, len(out)))
    return out


def test_fields_and_derived_values() -> None:
    header = read_header(
        batch(
            base_offset=40,
            partition_leader_epoch=7,
            attributes=0b111_0011 & ~0x40,
            producer_id=9,
            producer_epoch=3,
            base_sequence=2**31 - 2,
        )
    )
    assert (header.base_offset, header.last_offset, header.next_offset) == (40, 42, 43)
    assert header.size_in_bytes == HEADER_SIZE + len(BODY)
    assert header.compression == 3
    assert header.is_transactional and header.is_control and header.has_producer_id
    assert header.timestamp_type is TimestampType.CREATE_TIME
    assert header.delete_horizon_ms is None
    assert header.last_sequence == 0, "sequences wrap from 2^31-1 to 0"


def test_a_batch_without_producer() -> None:
    header = read_header(batch())
    assert not header.has_producer_id
    assert header.last_sequence == -1
    assert not header.is_transactional and not header.is_control


def test_delete_horizon_lies_in_the_base_timestamp() -> None:
    assert read_header(batch(attributes=0x40)).delete_horizon_ms == 1_000


def test_position_and_memoryview() -> None:
    buf = b"??" + batch(base_offset=5)
    assert read_header(memoryview(buf), 2).base_offset == 5


def test_a_header_alone_when_the_rest_is_said_to_exist() -> None:
    whole = batch()
    assert read_header(whole[:HEADER_SIZE], 0, len(whole)).record_count == 3
    with pytest.raises(TruncatedBatch):
        read_header(whole[:HEADER_SIZE], 0, len(whole) - 1)


@pytest.mark.parametrize("size", [0, 1, 11, 12, 16, 17, 60, HEADER_SIZE, HEADER_SIZE + 49])
def test_truncated(size: int) -> None:
    with pytest.raises(TruncatedBatch):
        read_header(batch()[:size])


@pytest.mark.parametrize("magic", [-1, 0, 1, 3])
def test_other_magic_is_named(magic: int) -> None:
    with pytest.raises(UnsupportedMagic) as refused:
        read_header(batch(magic=magic))
    assert refused.value.magic == magic


@pytest.mark.parametrize("magic", [0, 1])
def test_a_whole_old_message_shorter_than_a_v2_header_is_old_not_truncated(magic: int) -> None:
    old = struct.pack(">qiIbb", 0, 22, 0, magic, 0) + bytes(16)
    with pytest.raises(UnsupportedMagic):
        read_header(old)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"batch_length": 48}, CorruptBatch),
        ({"batch_length": 0}, CorruptBatch),
        ({"batch_length": -1}, CorruptBatch),
        ({"batch_length": -(2**31)}, CorruptBatch),
        ({"attributes": 5}, UnknownCodec),
        ({"attributes": 7}, UnknownCodec),
        ({"last_offset_delta": -1}, InvalidBatch),
        ({"last_offset_delta": -(2**31)}, InvalidBatch),
    ],
)
def test_damage_is_not_mistaken_for_truncation(
    changes: dict[str, int], kind: type[CorruptBatch]
) -> None:
    with pytest.raises(CorruptBatch) as raised:
        read_header(batch(**changes))
    assert type(raised.value) is kind


@pytest.mark.parametrize("size", [12, 17, 60])
def test_a_short_length_is_damage_however_few_bytes_follow(size: int) -> None:
    with pytest.raises(CorruptBatch) as raised:
        read_header(batch(batch_length=13)[:size])
    assert type(raised.value) is CorruptBatch


def test_damage_carries_what_kafka_answers() -> None:
    assert CorruptBatch().error_code is ErrorCode.CORRUPT_MESSAGE
    assert TruncatedBatch().error_code is ErrorCode.INVALID_RECORD
    assert UnsupportedMagic(1).error_code is ErrorCode.INVALID_RECORD
    assert UnsupportedMagic(3).error_code is ErrorCode.CORRUPT_MESSAGE


def test_a_huge_length_is_truncation_and_allocates_nothing() -> None:
    with pytest.raises(TruncatedBatch):
        read_header(batch(batch_length=2**31 - 1))


def test_iterate_gives_positions() -> None:
    buf = batch(base_offset=0) + batch(b"", base_offset=3) + batch(base_offset=6)
    found = [(pos, header.base_offset) for pos, header in iterate_batches(buf)]
    assert found == [(0, 0), (111, 3), (172, 6)]


def test_iterate_and_a_cut_tail() -> None:
    buf = batch() + batch(base_offset=3)[:-1]
    assert [pos for pos, _ in iterate_batches(buf, allow_partial_tail=True)] == [0]
    walk = iterate_batches(buf)
    assert next(walk)[0] == 0
    with pytest.raises(TruncatedBatch):
        next(walk)


def test_iterate_does_not_hide_damage_as_a_tail() -> None:
    buf = batch() + batch(batch_length=3)
    with pytest.raises(CorruptBatch):
        list(iterate_batches(buf, allow_partial_tail=True))


def test_crc_covers_every_byte_from_the_attributes_on() -> None:
    good = batch()
    header = read_header(good)
    assert crc_is_valid(good, 0, header)
    for index in range(21, len(good)):
        bad = bytearray(good)
        bad[index] ^= 1
        assert not crc_is_valid(bad, 0, header), index


def test_crc_of_one_batch_among_others() -> None:
    buf = batch() + batch(b"other", base_offset=3)
    assert all(crc_is_valid(memoryview(buf), pos, header) for pos, header in iterate_batches(buf))


def test_leader_writes_offset_and_epoch_in_place() -> None:
    buf = bytearray(b"ab") + batch()
    patch_base_offset_and_epoch(memoryview(buf), 2, 2**40, 17)
    header = read_header(buf, 2)
    assert (header.base_offset, header.partition_leader_epoch) == (2**40, 17)
    assert crc_is_valid(buf, 2, header)
    assert buf[:2] == b"ab" and buf[-50:] == BODY


def test_log_append_time_changes_flag_timestamp_and_crc() -> None:
    buf = bytearray(b"ab") + batch(attributes=0x13)
    patch_log_append_time(memoryview(buf), 2, 5_000)
    header = read_header(buf, 2)
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert (header.max_timestamp, header.base_timestamp) == (5_000, 1_000)
    assert header.compression == 3 and header.is_transactional
    assert crc_is_valid(buf, 2, header)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"record_count": 0, "last_offset_delta": 0}, "offset range"),
        ({"record_count": 2}, "offset range"),
        ({"record_count": -1}, "offset range"),
        ({"attributes": 0x20}, "control"),
        ({"record_count": 8, "last_offset_delta": 7}, "do not go into"),
        ({"record_count": 2**31 - 1, "last_offset_delta": 2**31 - 2, "attributes": 2}, "go into"),
        ({"producer_id": 4, "producer_epoch": 0}, "sequence"),
    ],
)
def test_what_a_client_may_not_send(changes: dict[str, int], part: str) -> None:
    fault = produced_batch_fault(read_header(batch(**changes)))
    assert fault is not None and part in fault


def test_a_client_batch_without_fault() -> None:
    assert produced_batch_fault(read_header(batch())) is None
    assert produced_batch_fault(read_header(batch(record_count=7, last_offset_delta=6))) is None
    idempotent = batch(producer_id=4, producer_epoch=0, base_sequence=0)
    assert produced_batch_fault(read_header(idempotent)) is None
