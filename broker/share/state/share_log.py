"""The records of `__share_group_state`: snapshots of a share-partition's state, and updates.

Owns only the format. A key has the record's type, group, topic id and partition. A snapshot has the
whole state, an update what a write changed. Follows Kafka's `ShareCoordinatorRecordHelpers` and
`ShareCoordinatorRecordSerde` (KIP-932).
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Sequence
from functools import lru_cache
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from broker.coordinator.coordinator_log import Record
from broker.share.record_state import RecordState
from broker.share.state_batches import StateBatch
from protocol.errors import ProtocolError
from protocol.messages.share_records import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareSnapshotValueStateBatch,
    ShareUpdateKey,
    ShareUpdateValue,
    ShareUpdateValueStateBatch,
)
from protocol.primitives import MessageBuffer, uuid_to_string

SHARE_TOPIC = "__share_group_state"

UNINITIALIZED = -1
"""A start offset or a count that no leader has written yet."""

_TYPE = Struct(">h")
_SNAPSHOT, _UPDATE = ShareSnapshotKey.API_KEY, ShareUpdateKey.API_KEY
_VERSION = 0
_CACHED_KEYS = 1_024

_INTEGER = re.compile(r"[+-]?\d+")
_STANDARD = str.maketrans("-_", "+/")
_BLANK = "".join(map(chr, range(33)))
_UUID_BYTES = 16
_UUID_TEXT_MAX = 24


class SharePartitionKey(NamedTuple):
    """A partition of a topic, for a share group."""

    group_id: str
    topic_id: bytes
    partition: int

    @property
    def text(self) -> str:
        """The text that chooses the partition of `__share_group_state`, also in FindCoordinator."""
        return f"{self.group_id}:{uuid_to_string(self.topic_id)}:{self.partition}"


def key_of(text: str) -> SharePartitionKey | None:
    """Return the share-partition of a text `group:topicId:partition`; None if it is no such text.
    A group's id may contain colons. Reads what Kafka's `SharePartitionKey` reads."""
    parts = text.rstrip(":").rsplit(":", 2)
    if len(parts) < 3 or not parts[0].strip(_BLANK) or not _INTEGER.fullmatch(parts[2]):
        return None
    try:
        topic_id = a2b_base64(_padded(parts[1]).translate(_STANDARD), strict_mode=True)
        partition = int(parts[2])
    except ValueError:
        return None
    if len(topic_id) != _UUID_BYTES or not -(2**31) <= partition < 2**31:
        return None
    return SharePartitionKey(parts[0], topic_id, partition)


def _padded(base64: str) -> str:
    """Return a text in base64 with its padding, which may be left out. Raises ValueError if the
    text is too long for a UUID or has letters of another alphabet."""
    if len(base64) > _UUID_TEXT_MAX or not base64.isascii() or "+" in base64 or "/" in base64:
        raise ValueError("no UUID in base64url")
    return base64 if base64.endswith("=") else base64 + "=" * (-len(base64) % 4)


class Snapshot(NamedTuple):
    """The whole state of a share-partition."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    final_count: int
    created_ms: int
    written_ms: int
    batches: Sequence[StateBatch] = ()


class Update(NamedTuple):
    """The state that a write changed."""

    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    final_count: int
    batches: Sequence[StateBatch] = ()


@lru_cache(_CACHED_KEYS)
def _key(record_type: int, key: SharePartitionKey) -> bytes:
    """Return the key of a share-partition's records of a type."""
    out = MessageBuffer()
    out += _TYPE.pack(record_type)
    ShareSnapshotKey(*key).write(out, _VERSION)
    return bytes(out)


def snapshot_record(key: SharePartitionKey, snapshot: Snapshot) -> Record:
    """Return the record of a snapshot."""
    batches = [ShareSnapshotValueStateBatch(*batch) for batch in snapshot.batches]
    value = ShareSnapshotValue(
        snapshot_epoch=snapshot.snapshot_epoch,
        state_epoch=snapshot.state_epoch,
        leader_epoch=snapshot.leader_epoch,
        start_offset=snapshot.start_offset,
        delivery_complete_count=snapshot.final_count,
        create_timestamp=snapshot.created_ms,
        write_timestamp=snapshot.written_ms,
        state_batches=batches,
    )
    return _key(_SNAPSHOT, key), _bytes(value)


def update_record(key: SharePartitionKey, update: Update) -> Record:
    """Return the record of an update."""
    batches = [ShareUpdateValueStateBatch(*batch) for batch in update.batches]
    value = ShareUpdateValue(
        snapshot_epoch=update.snapshot_epoch,
        leader_epoch=update.leader_epoch,
        start_offset=update.start_offset,
        delivery_complete_count=update.final_count,
        state_batches=batches,
    )
    return _key(_UPDATE, key), _bytes(value)


def tombstone(key: SharePartitionKey) -> Record:
    """Return the record that deletes a share-partition's state."""
    return _key(_SNAPSHOT, key), None


def _bytes(value: ShareSnapshotValue | ShareUpdateValue) -> bytes:
    out = MessageBuffer()
    out += _TYPE.pack(_VERSION)
    value.write(out, _VERSION)
    return bytes(out)


def read_share_record(
    key: bytes, value: bytes | None
) -> tuple[SharePartitionKey, Snapshot | Update | None] | None:
    """Parse a record: return the share-partition, and a snapshot, an update, or None for a
    tombstone.

    Return None for a record of an unknown type. Raises ProtocolError if the bytes do not fit their
    type.
    """
    try:
        (record_type,) = _TYPE.unpack_from(key)
        if record_type not in (_SNAPSHOT, _UPDATE):
            return None
        parsed = ShareSnapshotKey.read(memoryview(key), _TYPE.size, _VERSION)[0]
        partition = SharePartitionKey(parsed.group_id, parsed.topic_id, parsed.partition)
        if value is None:
            return partition, None
        return partition, (_snapshot if record_type == _SNAPSHOT else _update)(value)
    except StructError as error:
        raise ProtocolError(f"record of {SHARE_TOPIC} too short: {error}") from None
    except ValueError as error:
        raise ProtocolError(f"record of {SHARE_TOPIC} with an unknown state: {error}") from None


def _body(data: bytes) -> memoryview:
    """Return a value without its version. Raises ProtocolError if the version is unknown."""
    (version,) = _TYPE.unpack_from(data)
    if version != _VERSION:
        raise ProtocolError(f"record value of {SHARE_TOPIC} in unknown version {version}")
    return memoryview(data)


def _snapshot(data: bytes) -> Snapshot:
    value = ShareSnapshotValue.read(_body(data), _TYPE.size, _VERSION)[0]
    return Snapshot(
        value.snapshot_epoch,
        value.state_epoch,
        value.leader_epoch,
        value.start_offset,
        value.delivery_complete_count,
        value.create_timestamp,
        value.write_timestamp,
        [_batch(batch) for batch in value.state_batches],
    )


def _update(data: bytes) -> Update:
    value = ShareUpdateValue.read(_body(data), _TYPE.size, _VERSION)[0]
    return Update(
        value.snapshot_epoch,
        value.leader_epoch,
        value.start_offset,
        value.delivery_complete_count,
        [_batch(batch) for batch in value.state_batches],
    )


def _batch(batch: ShareSnapshotValueStateBatch | ShareUpdateValueStateBatch) -> StateBatch:
    """Return a batch of a record. Raises ValueError if its state is unknown."""
    state = RecordState(batch.delivery_state)
    return StateBatch(batch.first_offset, batch.last_offset, state, batch.delivery_count)
