"""`controller.metadata.records`: the frame, byte for byte, and what is wrong with a bad one."""

from __future__ import annotations

import pytest

from controller.metadata.records import (
    MetadataRecordError,
    decode_record,
    encode_record,
    record_name,
)
from protocol.messages import metadata_records as m


def test_bytes_as_kafka_writes_them() -> None:
    """The first record of a bootstrap.checkpoint of Apache Kafka."""
    data = bytes.fromhex("010c00") + b"\x11metadata.version" + bytes.fromhex("001e00")
    assert encode_record(m.FeatureLevelRecord("metadata.version", 30), 0) == data
    assert decode_record(data) == m.FeatureLevelRecord("metadata.version", 30)


@pytest.mark.parametrize(
    "record",
    [
        m.TopicRecord("foo", bytes(range(16))),
        m.PartitionRecord(1, bytes(16), [1, 2], [1], [], [], 1, 0, 3, 4, [bytes(16)] * 2, [2]),
        m.PartitionChangeRecord(1, bytes(16), isr=[1], leader=1),
        m.ConfigRecord(2, "foo", "retention.ms", None),
        m.NoOpRecord(),
    ],
)
def test_round_trip(record: object) -> None:
    version = 2 if record_name(record).startswith("Partition") else 0
    assert decode_record(memoryview(encode_record(record, version))) == record


def test_unknown_type_names_it() -> None:
    with pytest.raises(MetadataRecordError, match="unknown metadata record type 999"):
        decode_record(b"\x01\xe7\x07\x00")


def test_unknown_version_names_it() -> None:
    with pytest.raises(MetadataRecordError, match="TopicRecord has version 9, versions 0 to 0"):
        decode_record(b"\x01\x02\x09")


def test_unknown_frame() -> None:
    with pytest.raises(MetadataRecordError, match="frame version 2"):
        decode_record(b"\x02\x02\x00")


def test_every_cut_is_refused() -> None:
    data = encode_record(m.ConfigRecord(2, "foo", "retention.ms", "5"), 0)
    for size in range(len(data)):
        with pytest.raises(MetadataRecordError):
            decode_record(data[:size])


def test_bytes_that_follow_are_refused() -> None:
    data = encode_record(m.NoOpRecord(), 0)
    with pytest.raises(MetadataRecordError, match="1 bytes more"):
        decode_record(data + b"\0")
