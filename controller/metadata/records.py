"""Metadata records as bytes: the frame around each record of `__cluster_metadata`.

A record's value is three unsigned varints (frame version 1, the record's api key, its version) and
then the message. The key of a metadata record is null. Control records are not metadata records and
have another format (`controller.metadata.control_records`).

Owns: the frame and the list of record types. Never: knows the meaning of a record.

Follows KIP-631 and Kafka's `MetadataRecordSerde` and `AbstractApiMessageSerde`.
"""

from __future__ import annotations

from struct import error as struct_error
from typing import Any, TypeAlias

from protocol import primitives as p
from protocol.errors import ProtocolError
from protocol.messages import metadata_records as messages

MetadataRecord: TypeAlias = Any
"""An instance of a record class of `protocol.messages.metadata_records`."""

FRAME_VERSION = 1

_CLASSES: dict[int, Any] = {
    cls.API_KEY: cls
    for cls in vars(messages).values()
    if isinstance(cls, type) and hasattr(cls, "API_KEY")
}


class MetadataRecordError(Exception):
    """A metadata log or snapshot that this release cannot read. The node must stop."""


def record_name(record: MetadataRecord) -> str:
    """Return the record's class name, such as `TopicRecord`, for logs and errors."""
    return type(record).__name__


def encode_record(record: MetadataRecord, version: int) -> bytes:
    """Return `record` in its frame, as the value of a log record. `version` is the version of the
    message."""
    out = p.MessageBuffer()
    out += p.uvarint(FRAME_VERSION)
    out += p.uvarint(record.API_KEY)
    out += p.uvarint(version)
    record.write(out, version)
    return bytes(out)


def decode_record(value: bytes | memoryview) -> MetadataRecord:
    """Return the record in `value`.

    Raises MetadataRecordError for an unknown frame version, type or version, and if bytes are
    missing or left over.
    """
    view = memoryview(value)
    try:
        frame_version, pos = p.read_uvarint(view, 0)
        if frame_version != FRAME_VERSION:
            raise MetadataRecordError(f"metadata record has unknown frame version {frame_version}")
        api_key, pos = p.read_uvarint(view, pos)
        version, pos = p.read_uvarint(view, pos)
        cls = _CLASSES.get(api_key)
        if cls is None:
            raise MetadataRecordError(
                f"unknown metadata record type {api_key}: it was written by a newer release"
            )
        if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
            raise MetadataRecordError(
                f"{cls.__name__} has version {version}, versions {cls.MIN_VERSION} to "
                f"{cls.MAX_VERSION} are known"
            )
        record, pos = cls.read(view, pos, version)
    except (ProtocolError, IndexError, ValueError, struct_error) as error:
        raise MetadataRecordError(f"metadata record of {len(view)} bytes is cut off") from error
    if pos != len(view):
        raise MetadataRecordError(
            f"{cls.__name__} has {len(view) - pos} bytes more than its version {version} says"
        )
    return record
