from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from broker.transactions.transaction_log import (
    read_transaction_record,
    transaction_key,
    transaction_record,
    transaction_tombstone,
)
from broker.transactions.transaction_metadata import TransactionMetadata, created
from broker.transactions.transaction_state import TransactionState
from protocol.errors import ProtocolError
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
