"""`controller.metadata.control_records`: bytes as Apache Kafka wrote them, and back."""

from __future__ import annotations

import pytest

from controller.metadata.control_records import control_batch, decode_control_record, leader_change
from controller.metadata.records import MetadataRecordError
from protocol.control_records import ControlRecordType
from protocol.messages.consumer_protocol import SnapshotHeaderRecord
from protocol.record_batch import read_header
from protocol.records import Record, iterate_records


def test_a_snapshot_header_byte_for_byte() -> None:
    """The first batch of a bootstrap.checkpoint of Apache Kafka."""
    kafka = bytes.fromhex(
        "0000000000000000" "00000047" "00000000" "02" "09b98809" "0020" "00000000"
        "000001a1fe1c7ae9" "000001a1fe1c7ae9" "ffffffffffffffff" "ffff" "ffffffff" "00000001"
        "2a000000080000000316" "0000" "0000000000000000" "00" "00"
    )  # fmt: skip
    header = (ControlRecordType.SNAPSHOT_HEADER, SnapshotHeaderRecord(0, 0))
    assert control_batch([header], 0, 0, 0x1A1FE1C7AE9) == kafka


def test_leader_change() -> None:
    message = leader_change(1, (1, 2, 3), (1, 3))
    batch = control_batch([(ControlRecordType.LEADER_CHANGE, message)], 7, 4, 99)
    header = read_header(batch)
    assert (header.base_offset, header.partition_leader_epoch) == (7, 4)
    assert header.is_control
    (record,) = iterate_records(batch)
    assert decode_control_record(record) == (ControlRecordType.LEADER_CHANGE, message)


def test_the_value_of_a_single_voter_has_kafka_s_size() -> None:
    message = leader_change(1, (1,), (1,))
    (record,) = iterate_records(
        control_batch([(ControlRecordType.LEADER_CHANGE, message)], 0, 1, 0)
    )
    assert (len(record.key or b""), len(record.value or b"")) == (4, 19)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b""),
        (b"\0\0", b""),
        (b"\0\0\0\x63", b"\0\0"),
        (b"\0\0\0\x02", None),
        (b"\0\0\0\x02", b"\0\x63"),
    ],
)
def test_what_is_unknown_is_refused(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(MetadataRecordError):
        decode_control_record(Record(0, 0, key, value))


@pytest.mark.parametrize("cut", [3, 10])
def test_a_value_that_is_cut_off_is_refused(cut: int) -> None:
    """A fetched snapshot may hold one: it is asked for again, and nobody stops."""
    batch = control_batch(
        [(ControlRecordType.SNAPSHOT_HEADER, SnapshotHeaderRecord(0, 0))], 0, 0, 0
    )
    (record,) = iterate_records(batch)
    assert record.value is not None
    with pytest.raises(MetadataRecordError, match="cut off"):
        decode_control_record(record._replace(value=record.value[:cut]))
