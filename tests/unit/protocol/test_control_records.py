"""Keys of control records and the marker that ends a transaction in a partition."""

from __future__ import annotations

import pytest

from protocol.control_records import (
    ControlRecordType,
    build_transaction_marker,
    control_record_key,
    control_record_type,
    transaction_marker_epoch,
)
from protocol.record_batch import CorruptBatch, crc_is_valid, read_header
from protocol.records import iterate_records


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


@pytest.mark.parametrize("value", [None, b"", b"\0\0\0\0\0", b"\xff\xff\0\0\0\0"])
def test_marker_values_that_are_none(value: bytes | None) -> None:
    with pytest.raises(CorruptBatch):
        transaction_marker_epoch(value)
