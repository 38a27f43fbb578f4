"""When a transaction's batches and its marker may go."""

from __future__ import annotations

from log_format.transaction_index import AbortedTxn
from protocol.control_records import ControlRecordType
from protocol.record_batch import RecordBatchHeader, read_header
from protocol.records import Record
from storage.cleaning.cleaned_transactions import CleanedTransactions
from tests.batches import build_batch

ABORT, COMMIT = ControlRecordType.ABORT, ControlRecordType.COMMIT
ABORTED = AbortedTxn(7, 10, 20, 15)


def header(offset: int, producer: int = 7, *, control: bool = False) -> RecordBatchHeader:
    return read_header(
        build_batch(
            [Record(-1, 0, b"k", b"v")],
            base_offset=offset,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=-1 if control else 0,
            is_transactional=True,
            is_control=control,
        )
    )


def test_an_aborted_transaction_goes_and_its_marker_after_it() -> None:
    first = CleanedTransactions([ABORTED])
    assert first.advance_data(header(10)) and first.advance_data(header(12))
    assert not first.advance_data(header(13, producer=8))
    assert not first.advance_control(header(20, control=True), ABORT)
    assert first.take_kept() == [ABORTED]
    assert not first.advance_data(header(21)), "the next one of the producer"
    second = CleanedTransactions([ABORTED])
    assert second.advance_control(header(20, control=True), ABORT)
    assert second.take_kept() == []


def test_a_commit_marker_stays_as_long_as_there_is_a_batch_before_it() -> None:
    walk = CleanedTransactions([])
    assert not walk.advance_data(header(1))
    assert not walk.advance_control(header(2, control=True), COMMIT)
    assert walk.advance_control(header(3, control=True), COMMIT)
    assert walk.advance_control(header(4, producer=9, control=True), COMMIT)


def test_a_walk_that_begins_later_does_not_open_what_ended_before() -> None:
    walk = CleanedTransactions([ABORTED])
    assert not walk.advance_data(header(21))


def test_an_emptied_marker_is_over_and_other_control_batches_never_are() -> None:
    walk = CleanedTransactions([])
    empty = header(1, control=True)._replace(record_count=0)
    assert walk.advance_control(empty, None)
    assert not walk.advance_control(header(2, control=True), ControlRecordType.LEADER_CHANGE)
