"""Decoders of the records in the cluster's own topics: `__consumer_offsets`, `__transaction_state`
and `__cluster_metadata`.

The form is that of Kafka's `kafka-dump-log` with its decoders: keys are objects of a type and data,
values of a version and data, metadata of a type, version and data. Fields that a version lacks are
shown with their defaults. A record that cannot be read is shown undecoded, because dump-log also
serves to look at damaged files. Secrets are not shown (`client.records.metadata_records`).

Owns the choice of a decoder for a topic. Reads no file.

Follows Kafka's `OffsetsMessageParser`, `TransactionLogMessageParser` and
`ClusterMetadataLogMessageParser`.
"""

from __future__ import annotations

import re
from base64 import b64encode
from struct import Struct
from struct import error as StructError
from types import ModuleType
from typing import Any

from broker.groups.group_records import GROUP_METADATA
from client.records.metadata_records import replacement_text
from controller.metadata.records import MetadataRecordError, decode_record, record_name
from protocol import primitives as p
from protocol.errors import ProtocolError
from protocol.message import Message
from protocol.messages import group_records, transaction_records
from protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from protocol.records import Record
from storage.dump_log import Decode, Decoded

OFFSETS, TRANSACTIONS, METADATA, NONE = "offsets", "transactions", "metadata", "none"
DECODERS = (OFFSETS, TRANSACTIONS, METADATA, NONE)
_OF_TOPIC = {
    "__consumer_offsets": OFFSETS,
    "__transaction_state": TRANSACTIONS,
    "__cluster_metadata": METADATA,
}
_TYPE = Struct(">h")
_UNREADABLE = (ProtocolError, StructError, IndexError, ValueError)
_NOT_UUIDS = frozenset({"assignment", "metadata", "subscription", "user_data"})
"""The byte fields that are no UUIDs, even if they have 16 bytes."""
_CONSUMER = "consumer"


def decoder_of(folder: str, file: str) -> str:
    """Return the name of the decoder for a file, by its name and its partition folder's name; NONE
    for topics that have none."""
    topic = folder.partition(".")[0].rpartition("-")[0]
    if topic in _OF_TOPIC:
        return _OF_TOPIC[topic]
    return METADATA if file.endswith(".checkpoint") else NONE


def decode_by(name: str) -> Decode:
    """Return the decoder with a name of DECODERS.

    Each decoder hides secrets of the metadata, because a segment may have been copied elsewhere.
    """
    return {
        OFFSETS: _keyed(group_records),
        TRANSACTIONS: _keyed(transaction_records),
        METADATA: _decode_metadata,
        NONE: _without_secrets,
    }[name]


def _without_secrets(record: Record) -> Decoded | None:
    """Return the text that replaces a metadata record with a secret. None for other records, which
    are shown as they are."""
    hidden = _replacement_text(record)
    return None if hidden is None else Decoded(None, hidden)


def _replacement_text(record: Record) -> str | None:
    """Return the text that replaces a metadata record, which has no key; None: show the record."""
    return (
        replacement_text(record.value) if record.key is None and record.value is not None else None
    )


# --- metadata ------------------------------------------------------------------------------------


def _decode_metadata(record: Record) -> Decoded | None:
    """Return a record of `__cluster_metadata` decoded, or the text that replaces it; None if it
    cannot be read."""
    if record.value is None or record.key is not None:
        return None
    hidden = _replacement_text(record)
    if hidden is not None:
        return Decoded(None, hidden)
    try:
        message = decode_record(record.value)
        _, pos = p.read_uvarint(memoryview(record.value), 0)
        _, pos = p.read_uvarint(memoryview(record.value), pos)
        version, _ = p.read_uvarint(memoryview(record.value), pos)
    except (MetadataRecordError, *_UNREADABLE):
        return None
    data = plain(message)
    name = kafka_name(record_name(message))
    return Decoded(None, {"type": name, "version": version, "data": data})


def kafka_name(name: str) -> str:
    """Return the name in Kafka's `MetadataRecordType`: `TopicRecord` becomes `TOPIC_RECORD`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()


# --- groups and transactions ---------------------------------------------------------------------


def _keyed(module: ModuleType) -> Decode:
    """Return a decoder of records whose keys begin with a type, and whose values with a version.

    `module` has the message classes of keys and values, by type (API_KEY).
    """
    classes: dict[tuple[int, bool], Any] = {}
    for name, cls in vars(module).items():
        if isinstance(cls, type) and hasattr(cls, "API_KEY"):
            classes[cls.API_KEY, name.endswith("Key")] = cls

    def decode(record: Record) -> Decoded | None:
        """Return a record decoded by the type in its key, None if it cannot be read. A record
        without a key is handled by `_without_secrets`."""
        if record.key is None:
            return _without_secrets(record)
        try:
            return _decode_pair(classes, record.key, record.value)
        except _UNREADABLE:
            return None

    return decode


def _decode_pair(
    classes: dict[tuple[int, bool], Any], key: bytes, value: bytes | None
) -> Decoded | None:
    """Return a key and its value decoded; None if the key's type is unknown.

    A value of an unknown version stays bytes. Raises an error of `_UNREADABLE` if the bytes are cut
    off.
    """
    (kind,) = _TYPE.unpack_from(key)
    cls = classes.get((kind, True))
    if cls is None:
        return None
    name, _ = cls.read(memoryview(key), 2, 0)
    shown_key = {"type": str(kind), "data": plain(name)}
    if value is None:
        return Decoded(shown_key, None)
    value_class = classes[kind, False]
    (version,) = _TYPE.unpack_from(value)
    if not value_class.MIN_VERSION <= version <= value_class.MAX_VERSION:
        return Decoded(shown_key, value)
    message, _ = value_class.read(memoryview(value), 2, version)
    data = fields_of(message)
    if kind == GROUP_METADATA and message.protocol_type == _CONSUMER:
        data["members"] = [_with_topics(member) for member in message.members]
    return Decoded(shown_key, {"version": str(version), "data": data})


def _with_topics(member: group_records.MemberMetadata) -> dict[str, object]:
    """Return the fields of a classic consumer group's member, with its subscription and assignment
    decoded."""
    subscription = _embedded(ConsumerProtocolSubscription, member.subscription)
    assignment = _embedded(ConsumerProtocolAssignment, member.assignment)
    return fields_of(member) | {"subscription": subscription, "assignment": assignment}


def _embedded(
    cls: type[ConsumerProtocolSubscription | ConsumerProtocolAssignment], data: bytes
) -> object:
    """Return a member's subscription or assignment decoded, else in base64; None if it is empty."""
    if not data:
        return None
    try:
        (version,) = _TYPE.unpack_from(data)
        message, _ = cls.read(memoryview(data), 2, min(version, cls.MAX_VERSION))
    except _UNREADABLE:
        return b64encode(data).decode()
    return plain(message)


# --- messages as plain values --------------------------------------------------------------------


def plain(value: object, name: str = "") -> object:
    """Return a message converted to dicts, lists and plain values, with the field names of Kafka's
    JSON.

    `name` is the field that has the value. Bytes become text: a UUID or base64.
    """
    if isinstance(value, Message):
        return fields_of(value)
    if isinstance(value, list):
        return [plain(item, name) for item in value]
    if isinstance(value, bytes | memoryview):
        data = bytes(value)
        is_id = name not in _NOT_UUIDS and len(data) == len(p.ZERO_UUID)
        return p.uuid_to_string(data) if is_id else b64encode(data).decode()
    return value


def fields_of(message: Message) -> dict[str, object]:
    """Return the fields of a message as plain values, by their names in Kafka's JSON."""
    return {_camel(name): plain(getattr(message, name), name) for name in message.__slots__}


def _camel(name: str) -> str:
    """Return a field's name in Kafka's JSON: `group_id` becomes `groupId`."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)
