"""What the records of the cluster's own topics mean: `__consumer_offsets`, `__transaction_state`
and `__cluster_metadata`.

The form is that of Kafka's `kafka-dump-log` with its decoders: keys are objects of a type and data,
values of a version and data, metadata of a type, version and data. Fields that a version has not
are shown with their defaults. A record that cannot be read is left as it is: dump-log is for
damage, too. Secrets are not shown (`client.records.metadata_records`).

Owns which topic has which decoder. Reads no file.

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
from client.records.metadata_records import in_words
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
"""Fields of bytes; all others of the cluster's own records are ids of 16 bytes."""
_CONSUMER = "consumer"


def decoder_of(folder: str, file: str) -> str:
    """Which decoder fits a file, by the name of its partition's folder."""
    topic = folder.partition(".")[0].rpartition("-")[0]
    if topic in _OF_TOPIC:
        return _OF_TOPIC[topic]
    return METADATA if file.endswith(".checkpoint") else NONE


def decode_by(name: str) -> Decode:
    """One of DECODERS. Secrets are hidden by each, since a segment may lie anywhere."""
    return {
        OFFSETS: _keyed(group_records),
        TRANSACTIONS: _keyed(transaction_records),
        METADATA: _metadata,
        NONE: _without_secrets,
    }[name]


def _without_secrets(record: Record) -> Decoded | None:
    hidden = _in_words(record)
    return None if hidden is None else Decoded(None, hidden)


def _in_words(record: Record) -> str | None:
    """Metadata records have no key."""
    return in_words(record.value) if record.key is None and record.value is not None else None


# --- metadata ------------------------------------------------------------------------------------


def _metadata(record: Record) -> Decoded | None:
    if record.value is None or record.key is not None:
        return None
    hidden = _in_words(record)
    if hidden is not None:
        return Decoded(None, hidden)
    try:
        found = decode_record(record.value)
        _, pos = p.read_uvarint(memoryview(record.value), 0)
        _, pos = p.read_uvarint(memoryview(record.value), pos)
        version, _ = p.read_uvarint(memoryview(record.value), pos)
    except (MetadataRecordError, *_UNREADABLE):
        return None
    data = plain(found)
    name = kafka_name(record_name(found))
    return Decoded(None, {"type": name, "version": version, "data": data})


def kafka_name(name: str) -> str:
    """`TopicRecord` → `TOPIC_RECORD`, as Kafka's `MetadataRecordType` has it."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()


# --- groups and transactions ---------------------------------------------------------------------


def _keyed(module: ModuleType) -> Decode:
    """The decoder of a topic whose keys begin with the type and whose values with the version."""
    classes: dict[tuple[int, bool], Any] = {}
    for name, cls in vars(module).items():
        if isinstance(cls, type) and hasattr(cls, "API_KEY"):
            classes[cls.API_KEY, name.endswith("Key")] = cls

    def decode(record: Record) -> Decoded | None:
        if record.key is None:
            return _without_secrets(record)
        try:
            return _decoded(classes, record.key, record.value)
        except _UNREADABLE:
            return None

    return decode


def _decoded(
    classes: dict[tuple[int, bool], Any], key: bytes, value: bytes | None
) -> Decoded | None:
    (kind,) = _TYPE.unpack_from(key)
    cls = classes.get((kind, True))
    if cls is None:
        return None
    name, _ = cls.read(memoryview(key), 2, 0)
    shown_key = {"type": str(kind), "data": plain(name)}
    if value is None:
        return Decoded(shown_key, None)
    of_value = classes[kind, False]
    (version,) = _TYPE.unpack_from(value)
    if not of_value.MIN_VERSION <= version <= of_value.MAX_VERSION:
        return Decoded(shown_key, value)
    found, _ = of_value.read(memoryview(value), 2, version)
    data = fields_of(found)
    if kind == GROUP_METADATA and found.protocol_type == _CONSUMER:
        data["members"] = [_with_topics(one) for one in found.members]
    return Decoded(shown_key, {"version": str(version), "data": data})


def _with_topics(member: group_records.MemberMetadata) -> dict[str, object]:
    subscription = _embedded(ConsumerProtocolSubscription, member.subscription)
    assignment = _embedded(ConsumerProtocolAssignment, member.assignment)
    return fields_of(member) | {"subscription": subscription, "assignment": assignment}


def _embedded(
    cls: type[ConsumerProtocolSubscription | ConsumerProtocolAssignment], data: bytes
) -> object:
    """What consumers send each other through the group: their topics, and their partitions."""
    if not data:
        return None
    try:
        (version,) = _TYPE.unpack_from(data)
        found, _ = cls.read(memoryview(data), 2, min(version, cls.MAX_VERSION))
    except _UNREADABLE:
        return b64encode(data).decode()
    return plain(found)


# --- messages as plain values --------------------------------------------------------------------


def plain(value: object, name: str = "") -> object:
    """A message as dicts, lists and plain values, its fields named as in Kafka's JSON."""
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
    """Its fields by their names in Kafka's JSON."""
    return {_camel(one): plain(getattr(message, one), one) for one in message.__slots__}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(one.capitalize() for one in others)
