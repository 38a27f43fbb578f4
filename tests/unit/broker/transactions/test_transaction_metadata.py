from __future__ import annotations

from dataclasses import replace

from broker.transactions.transaction_metadata import (
    EPOCH_MAX,
    TransactionMetadata,
    created,
)
from broker.transactions.transaction_state import TransactionState
from protocol.errors import ErrorCode
from tests.unit.broker.transactions.desk import A0, A1

OPEN = TransactionMetadata(
    7, 3, 60_000, TransactionState.ONGOING, 7, partitions={A0: None}, start_ms=100, updated_ms=100
)
LAST = EPOCH_MAX - 1


def test_the_first_epoch_is_zero() -> None:
    first = created(7, 60_000, 5).with_next_epoch(60_000, None, 6)
    assert isinstance(first, TransactionMetadata)
    assert (first.producer_id, first.producer_epoch, first.last_epoch) == (7, 0, -1)
    assert first.state is TransactionState.EMPTY and first.updated_ms == 6


def test_a_producer_that_says_its_epoch_gets_the_next_and_the_same_again_on_a_retry() -> None:
    known = replace(OPEN, state=TransactionState.COMPLETE_ABORT)
    bumped = known.with_next_epoch(60_000, 3, 6)
    assert isinstance(bumped, TransactionMetadata)
    assert (bumped.producer_epoch, bumped.last_epoch) == (4, 3)
    again = bumped.with_next_epoch(60_000, 3, 7)
    assert isinstance(again, TransactionMetadata)
    assert (again.producer_epoch, again.last_epoch) == (4, 3)
    assert bumped.with_next_epoch(60_000, 2, 7) is ErrorCode.PRODUCER_FENCED
    other = bumped.with_next_epoch(60_000, None, 7)
    assert isinstance(other, TransactionMetadata)
    assert other.with_next_epoch(60_000, 3, 8) is ErrorCode.PRODUCER_FENCED


def test_a_rotation_keeps_the_epoch_before_for_a_retry() -> None:
    exhausted = replace(OPEN, state=TransactionState.EMPTY, producer_epoch=LAST)
    assert exhausted.is_epoch_exhausted
    rotated = exhausted.with_producer_id(8, 60_000, True, 6)
    assert (rotated.producer_id, rotated.previous_producer_id) == (8, 7)
    assert (rotated.producer_epoch, rotated.last_epoch) == (0, LAST)
    again = rotated.with_next_epoch(60_000, LAST, 7)
    assert isinstance(again, TransactionMetadata)
    assert (again.producer_id, again.producer_epoch) == (8, 0)


def test_a_transaction_starts_with_its_first_partition() -> None:
    empty = replace(OPEN, state=TransactionState.EMPTY, partitions={}, start_ms=-1)
    begun = empty.with_partitions([A0], 2, 500)
    assert (begun.state, begun.start_ms, begun.client_version) == (TransactionState.ONGOING, 500, 2)
    grown = begun.with_partitions([A0, A1], 2, 600)
    assert list(grown.partitions) == [A0, A1]
    assert (grown.start_ms, grown.updated_ms) == (500, 600)
    assert list(begun.partitions) == [A0], "a version never changes"


def test_an_end_keeps_the_epoch_below_version_2_and_raises_it_from_there() -> None:
    old = OPEN.decided(True, 0, -1, 200)
    assert old.state is TransactionState.PREPARE_COMMIT
    assert old.producer_epoch == 3 and old.identity_after == (7, 3)
    new = OPEN.decided(False, 2, -1, 200)
    assert new.state is TransactionState.PREPARE_ABORT
    assert (new.producer_epoch, new.last_epoch, new.identity_after) == (4, 3, (7, 4))
    assert new.start_ms == 100 and list(new.partitions) == [A0]
    done = new.completed(300)
    assert done.state is TransactionState.COMPLETE_ABORT
    assert (done.producer_id, done.producer_epoch, done.last_epoch) == (7, 4, 3)
    assert not done.partitions and done.start_ms == 100


def test_an_abort_of_nothing_starts_when_it_ends() -> None:
    resting = replace(OPEN, state=TransactionState.COMPLETE_COMMIT, partitions={})
    assert resting.decided(False, 2, -1, 900).start_ms == 900


def test_the_last_epoch_of_a_producer_id_is_for_markers_alone() -> None:
    last = replace(OPEN, producer_epoch=LAST)
    assert last.needs_producer_id_to_end(2) and not last.needs_producer_id_to_end(1)
    decided = last.decided(True, 2, 8, 200)
    assert (decided.producer_id, decided.producer_epoch) == (7, EPOCH_MAX)
    assert decided.identity_after == (8, 0)
    done = decided.completed(300)
    assert (done.producer_id, done.producer_epoch, done.next_producer_id) == (8, 0, -1)
    assert (done.previous_producer_id, done.last_epoch) == (7, LAST)


def test_a_fence_raises_the_epoch_once_whatever_the_version() -> None:
    for version, stamped, last in ((0, 0, -1), (1, 0, -1), (2, 2, 3)):
        fenced = OPEN.fenced(version, -1, 200)
        assert fenced.state is TransactionState.PREPARE_ABORT
        assert (fenced.producer_epoch, fenced.last_epoch) == (4, last)
        assert fenced.client_version == stamped
    for version in (0, 2):
        highest = replace(OPEN, producer_epoch=EPOCH_MAX).fenced(version, 8, 200)
        assert highest.producer_epoch == EPOCH_MAX
