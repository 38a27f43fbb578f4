"""Offsets of open transactions: by producer, by key, by group."""

from __future__ import annotations

from broker.groups.committed_offset import CommittedOffset
from broker.groups.pending_offsets import PendingOffsets

A, B, OTHER = ("g", "t", 0), ("g", "u", 1), ("h", "t", 0)


def at(record_offset: int) -> CommittedOffset:
    return CommittedOffset(record_offset, -1, "", 0, -1, bytes(16), record_offset)


def test_a_transaction_ends_with_the_last_it_set() -> None:
    pending = PendingOffsets()
    pending.put(7, A, at(0))
    pending.put(7, OTHER, at(1))
    pending.put(7, A, at(2))
    pending.put(8, B, at(3))
    assert pending.take(7) == {A: at(2), OTHER: at(1)}
    assert pending.take(7) == {}
    assert not pending.is_pending(A) and pending.is_pending(B)
    assert pending.has_open_transaction("g") and not pending.has_open_transaction("h")


def test_a_partition_is_pending_until_the_last_of_its_transactions_ends() -> None:
    pending = PendingOffsets()
    pending.put(7, A, at(0))
    pending.put(8, A, at(1))
    pending.take(8)
    assert pending.is_pending(A)
    pending.take(7)
    assert not pending.is_pending(A)
    assert not pending.has_open_transaction("g")


def test_a_tombstone_takes_a_partition_out_of_all_transactions() -> None:
    pending = PendingOffsets()
    pending.put(7, A, at(0))
    pending.put(8, A, at(1))
    pending.put(8, B, at(2))
    pending.remove(A)
    pending.remove(A)
    assert not pending.is_pending(A)
    assert pending.keys("g") == [B]
    assert pending.take(7) == {}
    pending.remove(B)
    assert not pending.has_open_transaction("g"), "nothing is left of a group without offsets"
    assert pending.take(8) == {}


def test_what_there_is_of_a_group_and_of_a_topic() -> None:
    pending = PendingOffsets()
    for producer_id, key in ((7, A), (8, B), (8, OTHER), (9, A)):
        pending.put(producer_id, key, at(0))
    assert pending.keys("g") == [A, B]
    assert pending.keys("x") == []
    assert pending.group_ids() == ["g", "h"]
