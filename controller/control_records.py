"""Control records of the metadata log and of snapshots, and the batches that carry them.

A control record's key is its version and type (two int16); its value is a message of
`protocol.messages.consumer_protocol`. They speak of the quorum itself, never of topics or brokers.

Follows KIP-595, KIP-630 (snapshots), KIP-853 (voters in the log) and Kafka's `ControlRecordType`,
`ControlRecordUtils`.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import Any

from controller.metadata_records import MetadataRecordError
from protocol.messages.consumer_protocol import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeMessageVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from protocol.primitives import MessageBuffer
from protocol.records import Record, RecordBatchBuilder

_KEY = Struct(">hh")


class ControlType(IntEnum):
    """The type in a control record's key. 0 and 1 are transaction markers."""

    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


_CLASSES: dict[int, Any] = {
    ControlType.LEADER_CHANGE: LeaderChangeMessage,
    ControlType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlType.KRAFT_VERSION: KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: VotersRecord,
}


def leader_change(
    leader_id: int, voters: tuple[int, ...], granting: tuple[int, ...]
) -> LeaderChangeMessage:
    """The record that opens an epoch, for static voters."""
    return LeaderChangeMessage(
        version=0,
        leader_id=leader_id,
        voters=[LeaderChangeMessageVoter(voter) for voter in voters],
        granting_voters=[LeaderChangeMessageVoter(voter) for voter in granting],
    )


def control_batch(
    records: list[tuple[ControlType, Any]], base_offset: int, leader_epoch: int, now_ms: int
) -> bytearray:
    """A batch of control records, each in its version 0."""
    builder = RecordBatchBuilder(
        base_offset=base_offset, leader_epoch=leader_epoch, is_control=True
    )
    for kind, message in records:
        out = MessageBuffer()
        message.write(out, 0)
        builder.append(_KEY.pack(0, kind), bytes(out), now_ms)
    return builder.build()


def decode_control_record(record: Record) -> tuple[ControlType, Any]:
    """The type and message of a control record. Raises MetadataRecordError where it is unknown."""
    if record.key is None or record.value is None or len(record.key) < _KEY.size:
        raise MetadataRecordError(f"control record at offset {record.offset} has no type")
    _, kind = _KEY.unpack_from(record.key)
    cls = _CLASSES.get(kind)
    if cls is None:
        raise MetadataRecordError(f"unknown control record type {kind} at offset {record.offset}")
    # Each of these messages begins with the version it was written in.
    view = memoryview(record.value)
    version = int.from_bytes(view[:2], "big", signed=True)
    if not cls_knows(cls, version):
        raise MetadataRecordError(f"{cls.__name__} has unknown version {version}")
    message, _ = cls.read(view, 0, version)
    return ControlType(kind), message


def cls_knows(cls: Any, version: int) -> bool:
    """Whether a message class can read `version`."""
    low: int = cls.MIN_VERSION
    high: int = cls.MAX_VERSION
    return low <= version <= high
