"""The records of `__transaction_state`: a transactional id and its latest metadata.

A key begins with two bytes for the record type, a value with two bytes for its version. Value
version 0 is written while the cluster's `transaction.version` is 0, and version 1 from 1 on, with
the tagged fields of KIP-890. Each transaction writes three values. This module packs version 1 in a
quarter of the generated message's time; a test compares the bytes of both. Owns only the format,
and never writes to the log. Follows Kafka's `TransactionLog`.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from struct import error as StructError

from broker.transactions.transaction_metadata import TransactionMetadata
from broker.transactions.transaction_state import TransactionState, state_of_status
from ground.topic_partition import TopicPartition
from protocol.errors import ProtocolError
from protocol.messages.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from protocol.primitives import MessageBuffer, uvarint

TRANSACTION_TOPIC = "__transaction_state"

_TYPE = Struct(">h")
_KEY_TYPE = 0
_CACHED_KEYS = 1_024

_HEAD = Struct(">hqhib")  # value version, producer id, epoch, time-out, status
_INDEX = Struct(">i")
_TIMES = Struct(">qq")  # last update, start
_PREVIOUS_PRODUCER_ID = Struct(">bbq")  # tag, size, value; likewise the next two
_NEXT_PRODUCER_ID = Struct(">bbq")
_CLIENT_VERSION = Struct(">bbh")


@lru_cache(_CACHED_KEYS)
def transaction_key(transactional_id: str) -> bytes:
    """Return the key of a transactional id's records."""
    out = MessageBuffer()
    out += _TYPE.pack(_KEY_TYPE)
    TransactionLogKey(transactional_id).write(out, 0)
    return bytes(out)


def transaction_record(
    transactional_id: str, metadata: TransactionMetadata, transaction_version: int
) -> tuple[bytes, bytes]:
    """Return the record of an id's metadata, for the cluster's finalized `transaction.version`."""
    key = transaction_key(transactional_id)
    return key, _tagged_value(metadata) if transaction_version >= 1 else _plain_value(metadata)


def _tagged_value(metadata: TransactionMetadata) -> bytes:
    """Return the bytes of the record's value in version 1, with the tagged fields that are set."""
    state = metadata.state
    out = bytearray(
        _HEAD.pack(
            1, metadata.producer_id, metadata.producer_epoch, metadata.timeout_ms, state.status
        )
    )
    if state is TransactionState.EMPTY:
        out += b"\0"
    else:
        topics = by_topic(metadata)
        out += uvarint(len(topics) + 1)
        for topic, indexes in topics.items():
            name = topic.encode()
            out += uvarint(len(name) + 1)
            out += name
            out += uvarint(len(indexes) + 1)
            for index in indexes:
                out += _INDEX.pack(index)
            out += b"\0"
    out += _TIMES.pack(metadata.updated_ms, metadata.start_ms)
    tags = b""
    count = 0
    if metadata.previous_producer_id != -1:
        tags = _PREVIOUS_PRODUCER_ID.pack(0, 8, metadata.previous_producer_id)
        count = 1
    if metadata.next_producer_id != -1:
        tags += _NEXT_PRODUCER_ID.pack(1, 8, metadata.next_producer_id)
        count += 1
    if metadata.client_version:
        tags += _CLIENT_VERSION.pack(2, 2, metadata.client_version)
        count += 1
    out.append(count)
    out += tags
    return bytes(out)


def _plain_value(metadata: TransactionMetadata) -> bytes:
    """Return the bytes of the record's value in version 0, which has none of the tagged fields."""
    partitions: list[PartitionsSchema] | None = None
    if metadata.state is not TransactionState.EMPTY:
        partitions = [
            PartitionsSchema(topic, indexes) for topic, indexes in by_topic(metadata).items()
        ]
    value = TransactionLogValue(
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=metadata.state.status,
        transaction_partitions=partitions,
        transaction_last_update_timestamp_ms=metadata.updated_ms,
        transaction_start_timestamp_ms=metadata.start_ms,
    )
    out = MessageBuffer()
    out += _TYPE.pack(0)
    value.write(out, 0)
    return bytes(out)


def transaction_tombstone(transactional_id: str) -> tuple[bytes, None]:
    """Return the tombstone that deletes a transactional id."""
    return transaction_key(transactional_id), None


def by_topic(metadata: TransactionMetadata) -> dict[str, list[int]]:
    """Return the partitions of a transaction, by topic."""
    topics: dict[str, list[int]] = {}
    for topic, index in metadata.partitions:
        topics.setdefault(topic, []).append(index)
    return topics


def read_transaction_record(
    key: bytes, value: bytes | None
) -> tuple[str, TransactionMetadata | None] | None:
    """Parse a record: return an id and its metadata, which is None for a tombstone.

    Return None for a record of an unknown type. Raises ProtocolError if the bytes do not fit their
    type.
    """
    try:
        (record_type,) = _TYPE.unpack_from(key)
        if record_type != _KEY_TYPE:
            return None
        name = TransactionLogKey.read(memoryview(key), 2, 0)[0].transactional_id
        return name, None if value is None else _read_value(value)
    except StructError as error:
        raise ProtocolError(f"record of {TRANSACTION_TOPIC} too short: {error}") from None


def _read_value(data: bytes) -> TransactionMetadata:
    """Return the transaction of a record's value.

    Raises ProtocolError if its version or its state is unknown, struct.error if it has no version.
    """
    (version,) = _TYPE.unpack_from(data)
    if not 0 <= version <= TransactionLogValue.MAX_VERSION:
        raise ProtocolError(f"record value of {TRANSACTION_TOPIC} in unknown version {version}")
    value = TransactionLogValue.read(memoryview(data), 2, version)[0]
    state = state_of_status(value.transaction_status)
    if state is None:
        raise ProtocolError(f"unknown transaction status {value.transaction_status}")
    return TransactionMetadata(
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        partitions={
            TopicPartition(entry.topic, index): None
            for entry in value.transaction_partitions or []
            for index in entry.partition_ids
        },
        start_ms=value.transaction_start_timestamp_ms,
        updated_ms=value.transaction_last_update_timestamp_ms,
        client_version=value.client_transaction_version,
    )
