from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.transactions.transaction_log import (
    by_topic,
    read_transaction_record,
    transaction_key,
    transaction_record,
    transaction_tombstone,
)
from broker.transactions.transaction_metadata import TransactionMetadata, created
from broker.transactions.transaction_state import TransactionState
from ground.topic_partition import TopicPartition
from protocol.errors import ProtocolError
from protocol.messages.transaction_records import PartitionsSchema, TransactionLogValue
from protocol.primitives import MessageBuffer
from tests.unit.broker.transactions.desk import A0, A1, B0

FULL = TransactionMetadata(
    producer_id=8,
    producer_epoch=32_767,
    timeout_ms=60_000,
    state=TransactionState.PREPARE_COMMIT,
    previous_producer_id=7,
    next_producer_id=9,
    partitions={A0: None, B0: None, A1: None},
    start_ms=100,
    updated_ms=200,
    client_version=2,
)


def test_a_version_comes_back_as_it_was_written() -> None:
    key, value = transaction_record("t", FULL, 2)
    assert value[:2] == b"\0\1"
    assert read_transaction_record(key, value) == ("t", FULL)


def test_before_transaction_version_1_nothing_is_written_that_old_brokers_cannot_read() -> None:
    key, value = transaction_record("t", FULL, 0)
    assert value[:2] == b"\0\0"
    known = replace(FULL, previous_producer_id=-1, next_producer_id=-1, client_version=0)
    assert read_transaction_record(key, value) == ("t", known)


def test_the_bytes_are_kafkas() -> None:
    assert transaction_key("tx") == b"\0\0" + b"\0\2tx"
    empty = replace(created(5, 60_000, 77), producer_epoch=0)
    body = struct.pack(">hqhib", 1, 5, 0, 60_000, 0) + b"\0" + struct.pack(">qq", 77, -1) + b"\0"
    assert transaction_record("tx", empty, 2) == (transaction_key("tx"), body)


_IDS = st.integers(-1, 2**63 - 1)
_PARTITIONS = st.lists(
    st.builds(TopicPartition, st.text(max_size=200), st.integers(0, 2**31 - 1)), max_size=200
)


@given(
    st.builds(
        TransactionMetadata,
        producer_id=_IDS,
        producer_epoch=st.integers(-1, 32_767),
        timeout_ms=st.integers(0, 2**31 - 1),
        state=st.sampled_from([one for one in TransactionState if one.status < 6]),
        previous_producer_id=_IDS,
        next_producer_id=_IDS,
        partitions=st.builds(dict.fromkeys, _PARTITIONS),
        start_ms=_IDS,
        updated_ms=_IDS,
        client_version=st.integers(0, 2),
    )
)
def test_what_is_packed_by_hand_is_what_the_message_writes(metadata: TransactionMetadata) -> None:
    empty = metadata.state is TransactionState.EMPTY
    message = TransactionLogValue(
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=metadata.state.status,
        transaction_partitions=None
        if empty
        else [PartitionsSchema(*topic) for topic in by_topic(metadata).items()],
        transaction_last_update_timestamp_ms=metadata.updated_ms,
        transaction_start_timestamp_ms=metadata.start_ms,
        previous_producer_id=metadata.previous_producer_id,
        next_producer_id=metadata.next_producer_id,
        client_transaction_version=metadata.client_version,
    )
    out = MessageBuffer()
    message.write(out, 1)
    key, value = transaction_record("t", metadata, 2)
    assert value == b"\0\1" + bytes(out)
    replayed = replace(metadata, partitions={}) if empty else metadata
    assert read_transaction_record(key, value) == ("t", replayed)


def test_a_tombstone() -> None:
    assert read_transaction_record(*transaction_tombstone("t")) == ("t", None)


def test_a_record_of_a_later_kind_is_left_alone() -> None:
    assert read_transaction_record(b"\0\1whatever", b"") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"\0", b""),
        (b"\0\0\0\5t", b""),
        (transaction_key("t"), b"\0\2" + bytes(40)),
        (transaction_key("t"), b"\0\0\0"),
        (transaction_key("t"), struct.pack(">hqhib", 0, 5, 0, 1, 9) + bytes(20)),
    ],
)
def test_bytes_that_are_no_such_record(key: bytes, value: bytes) -> None:
    with pytest.raises(ProtocolError):
        read_transaction_record(key, value)
