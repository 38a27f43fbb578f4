"""The records of `__consumer_offsets` that Ottla writes and reads: groups and their offsets.

A key begins with two bytes for the record type, a value with two bytes for its version (Kafka's
`GroupCoordinatorRecordHelpers` and `GroupCoordinatorRecordSerde`). Ottla writes type 1
(OffsetCommit), type 2 (GroupMetadata), types 3, 5 to 8 and 16 (consumer groups, KIP-848), and types
10 to 15 (share groups, KIP-932). It also reads type 0, the offset commits of old brokers, and type
4, which brokers before 4.1 wrote. Records of other types (a Kafka's streams groups) stay in the log
as they are; their values are never read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from struct import Struct
from struct import error as StructError
from typing import Any, TypeAlias

from protocol.errors import ProtocolError
from protocol.messages.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)
from protocol.primitives import ZERO_UUID, MessageBuffer

LEGACY_OFFSET_COMMIT = 0
OFFSET_COMMIT = 1
GROUP_METADATA = 2

GROUP_METADATA_VERSION = 3
OFFSET_COMMIT_VERSION = 3
OFFSET_COMMIT_VERSION_WITH_EXPIRY = 1
OFFSET_COMMIT_VERSION_WITH_TOPIC_ID = 4

OTHER_TYPES = {
    9: "ShareGroupPartitionMetadata",
    17: "StreamsGroupMetadata",
    18: "StreamsGroupPartitionMetadata",
    19: "StreamsGroupMemberMetadata",
    20: "StreamsGroupTargetAssignmentMetadata",
    21: "StreamsGroupTargetAssignmentMember",
    22: "StreamsGroupCurrentMemberAssignment",
    23: "StreamsGroupTopology",
}
"""The names of Kafka's record types that Ottla keeps but never reads, by the number in the key."""

_TYPE = Struct(">h")


@dataclass(frozen=True, slots=True)
class OtherRecord:
    """A record of a type that Ottla keeps without reading it."""

    type: int

    @property
    def name(self) -> str:
        """The name of the type in Kafka, or its number."""
        return OTHER_TYPES.get(self.type, f"type {self.type}")


ConsumerGroupKey: TypeAlias = (
    ConsumerGroupMetadataKey
    | ConsumerGroupPartitionMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
    | ConsumerGroupRegularExpressionKey
)
"""The keys of a consumer group's records; all of them have a `group_id`."""

ConsumerGroupValue: TypeAlias = (
    ConsumerGroupMetadataValue
    | ConsumerGroupPartitionMetadataValue
    | ConsumerGroupMemberMetadataValue
    | ConsumerGroupTargetAssignmentMetadataValue
    | ConsumerGroupTargetAssignmentMemberValue
    | ConsumerGroupCurrentMemberAssignmentValue
    | ConsumerGroupRegularExpressionValue
)

ShareGroupKey: TypeAlias = (
    ShareGroupCurrentMemberAssignmentKey
    | ShareGroupMemberMetadataKey
    | ShareGroupMetadataKey
    | ShareGroupStatePartitionMetadataKey
    | ShareGroupTargetAssignmentMemberKey
    | ShareGroupTargetAssignmentMetadataKey
)
"""The keys of a share group's records; all of them have a `group_id`."""

ShareGroupValue: TypeAlias = (
    ShareGroupCurrentMemberAssignmentValue
    | ShareGroupMemberMetadataValue
    | ShareGroupMetadataValue
    | ShareGroupStatePartitionMetadataValue
    | ShareGroupTargetAssignmentMemberValue
    | ShareGroupTargetAssignmentMetadataValue
)

GroupRecord = (
    tuple[OffsetCommitKey, OffsetCommitValue | None]
    | tuple[GroupMetadataKey, GroupMetadataValue | None]
    | tuple[ConsumerGroupKey, ConsumerGroupValue | None]
    | tuple[ShareGroupKey, ShareGroupValue | None]
    | OtherRecord
)

_PLAIN: Mapping[int, tuple[Any, Any]] = {
    key.API_KEY: (key, value)
    for key, value in (
        (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
        (ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
        (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
        (ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
        (ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
        (ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
        (ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
        (ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue),
        (ShareGroupMetadataKey, ShareGroupMetadataValue),
        (ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue),
        (ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue),
        (ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue),
        (ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue),
    )
}
"""The classes of keys and values, by type, of the records whose only version is 0."""


def record(
    key: ConsumerGroupKey | ShareGroupKey, value: ConsumerGroupValue | ShareGroupValue
) -> tuple[bytes, bytes]:
    """Return the key and value of a record of a type whose only version is 0."""
    out = MessageBuffer()
    out += _TYPE.pack(0)
    value.write(out, 0)
    return _key_bytes(key), bytes(out)


def tombstone(key: ConsumerGroupKey | ShareGroupKey) -> tuple[bytes, None]:
    """Return the tombstone for the record with `key`: the key's bytes, and None."""
    return _key_bytes(key), None


def _key_bytes(
    key: ConsumerGroupKey | ShareGroupKey | GroupMetadataKey | OffsetCommitKey,
) -> bytes:
    """Return the bytes of a record's key, with its type."""
    out = MessageBuffer()
    out += _TYPE.pack(key.API_KEY)
    key.write(out, 0)
    return bytes(out)


def group_metadata_key(group_id: str) -> bytes:
    """Return the key of a group's metadata record."""
    return _key_bytes(GroupMetadataKey(group_id))


def group_metadata_record(group_id: str, value: GroupMetadataValue) -> tuple[bytes, bytes]:
    """Return the record of a classic group's generation, with its members and assignments."""
    out = MessageBuffer()
    out += _TYPE.pack(GROUP_METADATA_VERSION)
    value.write(out, GROUP_METADATA_VERSION)
    return group_metadata_key(group_id), bytes(out)


def group_tombstone(group_id: str) -> tuple[bytes, None]:
    """Return the tombstone for a classic group."""
    return group_metadata_key(group_id), None


def offset_commit_key(group_id: str, topic: str, partition: int) -> bytes:
    """Return the key of a committed offset's record."""
    return _key_bytes(OffsetCommitKey(group_id, topic, partition))


def offset_commit_record(
    group_id: str, topic: str, partition: int, value: OffsetCommitValue
) -> tuple[bytes, bytes]:
    """Return the record of a committed offset.

    Its version depends on the value: 1 if it has an expiry, else 4 if it has a topic id, else 3.
    """
    if value.expire_timestamp != -1:
        version = OFFSET_COMMIT_VERSION_WITH_EXPIRY
    elif value.topic_id != ZERO_UUID:
        version = OFFSET_COMMIT_VERSION_WITH_TOPIC_ID
    else:
        version = OFFSET_COMMIT_VERSION
    out = MessageBuffer()
    out += _TYPE.pack(version)
    value.write(out, version)
    return offset_commit_key(group_id, topic, partition), bytes(out)


def offset_tombstone(group_id: str, topic: str, partition: int) -> tuple[bytes, None]:
    """Return the tombstone for a committed offset."""
    return offset_commit_key(group_id, topic, partition), None


def read_group_record(key: bytes, value: bytes | None) -> GroupRecord:
    """Return the parsed key and value of a record of the log; a value of None is a tombstone.

    Return an OtherRecord for a type that Ottla does not read. Raises ProtocolError if the bytes do
    not fit the type.
    """
    try:
        return _read_record(key, value)
    except (StructError, IndexError) as error:
        raise ProtocolError(f"record of __consumer_offsets too short: {error}") from None


def _read_record(key: bytes, value: bytes | None) -> GroupRecord:
    """Return the key and the value of a record; None as value is a tombstone.

    OtherRecord: this version does not know the type. Raises ProtocolError for an unknown version,
    struct.error or IndexError if bytes are missing.
    """
    view = memoryview(key)
    (record_type,) = _TYPE.unpack_from(key)
    if record_type == GROUP_METADATA:
        group_key, _ = GroupMetadataKey.read(view, 2, 0)
        if value is None:
            return group_key, None
        version = _value_version(value, GroupMetadataValue.MAX_VERSION)
        return group_key, GroupMetadataValue.read(memoryview(value), 2, version)[0]
    if record_type == OFFSET_COMMIT:
        offset_key, _ = OffsetCommitKey.read(view, 2, 0)
        if value is None:
            return offset_key, None
        version = _value_version(value, OffsetCommitValue.MAX_VERSION)
        return offset_key, OffsetCommitValue.read(memoryview(value), 2, version)[0]
    if record_type == LEGACY_OFFSET_COMMIT:
        return _read_legacy(view, value)
    plain = _PLAIN.get(record_type)
    if plain is None:
        return OtherRecord(record_type)
    key_class, value_class = plain
    plain_key, _ = key_class.read(view, 2, 0)
    if value is None:
        return plain_key, None
    version = _value_version(value, value_class.MAX_VERSION)
    return plain_key, value_class.read(memoryview(value), 2, version)[0]


def _read_legacy(
    key: memoryview, value: bytes | None
) -> tuple[OffsetCommitKey, OffsetCommitValue | None]:
    """Return an offset commit of the oldest key version in the current form.

    None as its value is a tombstone.
    """
    legacy, _ = LegacyOffsetCommitKey.read(key, 2, 0)
    current = OffsetCommitKey(legacy.group, legacy.topic, legacy.partition)
    if value is None:
        return current, None
    version = _value_version(value, LegacyOffsetCommitValue.MAX_VERSION)
    old, _ = LegacyOffsetCommitValue.read(memoryview(value), 2, version)
    return current, OffsetCommitValue(
        offset=old.offset, metadata=old.metadata, commit_timestamp=old.commit_timestamp
    )


def _value_version(value: bytes, latest: int) -> int:
    """Return the version of a value. Raises ProtocolError if it is above `latest` or negative."""
    version: int = _TYPE.unpack_from(value)[0]
    if not 0 <= version <= latest:
        raise ProtocolError(f"record value of __consumer_offsets in unknown version {version}")
    return version
