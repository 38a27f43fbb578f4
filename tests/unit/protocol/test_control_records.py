"""Keys of control records and the marker that ends a transaction in a partition."""

from __future__ import annotations

import random

import pytest

from protocol.control_records import (
    ControlRecordType,
    build_transaction_marker,
    control_record_key,
    control_record_type,
    read_transaction_marker,
    transaction_marker_epoch,
)
from protocol.record_batch import CorruptBatch, crc_is_valid, read_header
from protocol.records import RecordBatchBuilder, iterate_records


@pytest.mark.parametrize("record_type", list(ControlRecordType))
def test_keys_there_and_back(record_type: ControlRecordType) -> None:
    key = control_record_key(record_type)
    assert key == b"\0\0\0" + bytes([record_type])
    assert control_record_type(key) is record_type


def test_keys_of_a_newer_release() -> None:
    assert control_record_type(b"\0\0\0\x63") is None
    assert control_record_type(b"\0\x01\0\x01more") is ControlRecordType.COMMIT


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\xff\xff\0\x01"])
def test_keys_that_are_none(key: bytes | None) -> None:
    with pytest.raises(CorruptBatch):
        control_record_type(key)


def test_transaction_marker() -> None:
    batch = build_transaction_marker(
        ControlRecordType.COMMIT,
        producer_id=7,
        producer_epoch=2,
        coordinator_epoch=11,
        timestamp_ms=1_000,
        leader_epoch=5,
    )
    header = read_header(batch)
    assert header.is_control and header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, -1)
    assert (header.record_count, header.partition_leader_epoch) == (1, 5)
    assert crc_is_valid(batch, 0, header)
    (record,) = iterate_records(batch)
    assert control_record_type(record.key) is ControlRecordType.COMMIT
    assert transaction_marker_epoch(record.value) == 11
    assert record.value == b"\0\0\0\0\0\x0b"


@pytest.mark.parametrize("kind", [ControlRecordType.ABORT, ControlRecordType.COMMIT])
def test_a_marker_is_what_the_builder_would_make(kind: ControlRecordType) -> None:
    chance = random.Random(1)
    for _ in range(50):
        producer_id, timestamp = chance.getrandbits(60), chance.getrandbits(45)
        epoch, coordinator_epoch = chance.getrandbits(15), chance.getrandbits(31)
        builder = RecordBatchBuilder(
            base_offset=chance.getrandbits(40),
            producer_id=producer_id,
            producer_epoch=epoch,
            is_transactional=True,
            is_control=True,
            leader_epoch=chance.getrandbits(20),
        )
        value = b"\0\0" + coordinator_epoch.to_bytes(4, "big")
        builder.append(control_record_key(kind), value, timestamp)
        expected = builder.build()
        header = read_header(expected)
        assert expected == build_transaction_marker(
            kind,
            producer_id=producer_id,
            producer_epoch=epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp_ms=timestamp,
            leader_epoch=header.partition_leader_epoch,
            base_offset=header.base_offset,
        )
        assert read_transaction_marker(expected) == (kind, coordinator_epoch)


def test_a_control_batch_without_a_marker_says_none() -> None:
    empty = bytearray(RecordBatchBuilder(is_control=True).build(last_offset=0))
    assert read_transaction_marker(empty) is None
    leader = RecordBatchBuilder(is_control=True)
    leader.append(control_record_key(ControlRecordType.LEADER_CHANGE), b"", 1)
    assert read_transaction_marker(leader.build()) is None


@pytest.mark.parametrize("value", [None, b"", b"\0\0\0\0\0", b"\xff\xff\0\0\0\0"])
def test_marker_values_that_are_none(value: bytes | None) -> None:
    with pytest.raises(CorruptBatch):
        transaction_marker_epoch(value)
