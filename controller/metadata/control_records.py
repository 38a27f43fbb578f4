"""Control records of the metadata log and of snapshots, and the batches that carry them.

A control record's key is its version and type (two int16); its value is a message of
`protocol.messages.consumer_protocol`. They describe the quorum itself, never topics or brokers.

Follows KIP-595, KIP-630 (snapshots), KIP-853 (voters in the log) and Kafka's `ControlRecordType`,
`ControlRecordUtils`.
"""

from __future__ import annotations

from struct import error as struct_error
from typing import Any

from controller.metadata.records import MetadataRecordError
from protocol.control_records import (
    ControlRecordType,
    control_record_key,
    control_record_type,
)
from protocol.errors import ProtocolError
from protocol.messages.consumer_protocol import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeMessageVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from protocol.primitives import MessageBuffer
from protocol.record_batch import CorruptBatch
from protocol.records import Record, RecordBatchBuilder

_CLASSES: dict[ControlRecordType | None, Any] = {
    ControlRecordType.LEADER_CHANGE: LeaderChangeMessage,
    ControlRecordType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlRecordType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlRecordType.KRAFT_VERSION: KRaftVersionRecord,
    ControlRecordType.KRAFT_VOTERS: VotersRecord,
}


def leader_change(
    leader_id: int, voters: tuple[int, ...], granting: tuple[int, ...]
) -> LeaderChangeMessage:
    """Return the LeaderChangeMessage of version 0: the first record of an epoch in a quorum with
    static voters. `granting` has the voters that voted for the leader."""
    return LeaderChangeMessage(
        version=0,
        leader_id=leader_id,
        voters=[LeaderChangeMessageVoter(voter) for voter in voters],
        granting_voters=[LeaderChangeMessageVoter(voter) for voter in granting],
    )


def control_batch(
    records: list[tuple[ControlRecordType, Any]], base_offset: int, leader_epoch: int, now_ms: int
) -> bytearray:
    """Return a batch of control records, each with its message in version 0 and the timestamp
    `now_ms`."""
    builder = RecordBatchBuilder(
        base_offset=base_offset, leader_epoch=leader_epoch, is_control=True
    )
    for kind, message in records:
        out = MessageBuffer()
        message.write(out, 0)
        builder.append(control_record_key(kind), bytes(out), now_ms)
    return builder.build()


def decode_control_record(record: Record) -> tuple[ControlRecordType, Any]:
    """Return the type and the message of a control record.

    Raises MetadataRecordError for an unknown type or version, and for truncated bytes.
    """
    try:
        kind = control_record_type(record.key)
    except CorruptBatch as error:
        raise MetadataRecordError(f"control record at offset {record.offset}: {error}") from error
    if kind not in _CLASSES or record.value is None:
        raise MetadataRecordError(f"unknown control record at offset {record.offset}")
    assert kind is not None
    cls = _CLASSES[kind]
    # Each of these messages begins with the version it was written in.
    view = memoryview(record.value)
    version = int.from_bytes(view[:2], "big", signed=True)
    if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
        raise MetadataRecordError(f"{cls.__name__} has unknown version {version}")
    try:
        message, _ = cls.read(view, 0, version)
    except (ProtocolError, IndexError, ValueError, struct_error) as error:
        raise MetadataRecordError(f"{cls.__name__} at offset {record.offset} is cut off") from error
    return kind, message
