"""Sequences, epochs, duplicates, wraps, expiry; transactions, their markers, their verification."""

from __future__ import annotations

from typing import Any

import pytest

from log_format.transaction_index import AbortedTxn
from protocol.control_records import ControlRecordType, EndTransactionMarker
from protocol.errors import ErrorCode
from protocol.record_batch import RecordBatchHeader, read_header
from storage.log.producer_rules import ProducerRules
from storage.log.producer_state import ProducerStateEntry, ProducerStateManager
from storage.log.verification_state import VerificationGuard
from tests.unit.storage.harness import NOW_MS, batch

SEQUENCE_MAX = 2**31 - 1
COMMIT = EndTransactionMarker(ControlRecordType.COMMIT, 4)
ABORT = EndTransactionMarker(ControlRecordType.ABORT, 4)


def header(
    sequence: int, count: int = 1, epoch: int = 0, pid: int = 7, **fields: Any
) -> RecordBatchHeader:
    return read_header(
        batch(
            *[b"v"] * count,
            producer_id=pid,
            producer_epoch=epoch,
            base_sequence=sequence,
            **fields,
        )
    )


class Log:
    """Appends as a leader would: checks, then updates."""

    def __init__(self) -> None:
        self.producers = ProducerStateManager("topic-0", ProducerRules(1000))
        self.end = 0

    def append(self, batch_header: RecordBatchHeader) -> ErrorCode | int:
        """The batch's first offset, or why not."""
        known = self.producers.find_duplicate(batch_header)
        if known is not None:
            return known.first_offset
        fault = self.producers.check(batch_header, self.end, check_sequence=True)
        if fault is not None:
            return fault.code
        first = self.end
        self.producers.update(batch_header, first)
        self.end += batch_header.last_offset_delta + 1
        return first


def test_sequences_follow_each_other() -> None:
    log = Log()
    assert [log.append(header(s, 3)) for s in (0, 3, 6)] == [0, 3, 6]
    assert log.append(header(10)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.append(header(8)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.append(header(9)) == 9


def test_the_last_five_batches_are_known_by_their_range() -> None:
    log = Log()
    for sequence in range(0, 14, 2):
        log.append(header(sequence, 2))
    assert [log.append(header(s, 2)) for s in (4, 6, 8, 10, 12)] == [4, 6, 8, 10, 12]
    assert log.append(header(2, 2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.append(header(12, 1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.end == 14


def test_an_unknown_producer_may_start_anywhere() -> None:
    assert Log().append(header(55)) == 0


def test_a_new_epoch_starts_at_zero_and_fences_the_old_one() -> None:
    log = Log()
    log.append(header(0, 5))
    assert log.append(header(3, epoch=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.append(header(0, epoch=1)) == 5
    assert log.append(header(5)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert log.append(header(0, 5)) is ErrorCode.INVALID_PRODUCER_EPOCH, "no duplicate any more"


def test_an_unknown_producer_has_an_epoch_of_minus_one_at_least() -> None:
    """As in Apache Kafka, where -1 is the epoch of a producer that is not known."""
    assert Log().append(header(0, epoch=-2)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert Log().append(header(0, epoch=-1)) == 0


def test_words_of_the_refusals() -> None:
    log = Log()
    log.append(header(0, 2, epoch=3))
    gap = log.producers.check(header(9, epoch=3), 2, check_sequence=True)
    assert gap is not None and gap.message == (
        "Out of order sequence number for producer 7 at offset 2 in partition topic-0: "
        "9 (incoming seq. number), 1 (current end sequence number)"
    )
    old = log.producers.check(header(2, epoch=2), 2, check_sequence=True)
    assert old is not None and old.message == (
        "Epoch of producer 7 at offset 2 in topic-0 is 2, "
        "which is smaller than the last seen epoch 3"
    )


def test_a_coordinators_batches_have_an_epoch_and_no_sequences() -> None:
    log = Log()
    log.append(header(0, 2, epoch=3))
    assert log.producers.check(header(9, epoch=3), 2, check_sequence=False) is None
    late = log.producers.check(header(9, epoch=1), 2, check_sequence=False)
    assert late is not None and late.code is ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("start", [SEQUENCE_MAX, SEQUENCE_MAX - 1, SEQUENCE_MAX - 3])
def test_sequences_wrap_to_zero(start: int) -> None:
    log = Log()
    log.append(header(start, 3))
    following = (start + 3) % 2**31
    assert log.append(header(following, 2)) == 3
    assert log.append(header(start, 3)) == 0, "a duplicate across the wrap"
    assert log.append(header((following + 2) % 2**31)) == 5


def test_expiry_by_the_last_timestamp_spares_open_transactions() -> None:
    log = Log()
    log.append(header(0, timestamp=NOW_MS))
    log.append(header(0, pid=8, timestamp=NOW_MS + 500))
    log.append(header(0, pid=9, timestamp=NOW_MS, is_transactional=True))
    assert log.producers.remove_expired(NOW_MS + 999) == 0
    assert log.producers.remove_expired(NOW_MS + 1000) == 1
    assert list(log.producers.entries) == [8, 9]


def test_the_oldest_open_transaction_bounds_stability() -> None:
    log = Log()
    producers, transactions = log.producers, log.producers.transactions
    assert transactions.first_unstable(0) is None
    log.append(header(0, 2, pid=1, is_transactional=True))
    log.append(header(0, 2, pid=2, is_transactional=True))
    log.append(header(2, 2, pid=1, is_transactional=True))
    assert transactions.first_unstable(6) == 0
    assert producers.end_transaction(1, 0, ABORT, 6, NOW_MS) == AbortedTxn(1, 0, 6, 2)
    assert transactions.first_unstable(6) == 0, "its marker is not committed"
    assert transactions.first_unstable(7) == 2
    assert producers.entries[1].coordinator_epoch == 4
    assert producers.end_transaction(2, 1, COMMIT, 7, NOW_MS) is None
    assert transactions.first_unstable(8) is None
    assert producers.entries[2].producer_epoch == 1
    assert log.append(header(0, pid=2, epoch=1)) == 6, "sequences begin anew after the bump"


def test_a_marker_of_an_unknown_producer_makes_it_known() -> None:
    producers = ProducerStateManager("topic-0", ProducerRules(1000))
    assert producers.end_transaction(5, 2, ABORT, 0, NOW_MS) is None
    assert producers.entries[5].producer_epoch == 2
    assert not producers.transactions.unreplicated


def test_a_transaction_takes_no_other_records_of_its_producer() -> None:
    log = Log()
    log.append(header(0, is_transactional=True))
    assert log.append(header(1)) is ErrorCode.INVALID_TXN_STATE
    assert log.append(header(1, is_transactional=True)) == 1


def test_markers_are_fenced_by_epochs_of_producer_and_coordinator() -> None:
    producers = ProducerStateManager("topic-0", ProducerRules(1000))
    assert producers.check_marker(7, 0, 0, 0, 1) is None, "nothing is known"
    producers.update(header(0, epoch=3, is_transactional=True), 0)
    producers.end_transaction(7, 3, COMMIT, 1, NOW_MS)

    def fault(epoch: int, coordinator_epoch: int, version: int) -> tuple[ErrorCode, str] | None:
        found = producers.check_marker(7, epoch, coordinator_epoch, 2, version)
        return None if found is None else (found.code, found.message or "")

    assert fault(3, 4, 1) is None
    assert fault(3, 3, 1) == (
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
        "Invalid coordinator epoch for producerId 7 at offset 2 in partition topic-0: 3 (zombie), "
        "4 (current)",
    )
    assert fault(2, 4, 1) == (
        ErrorCode.INVALID_PRODUCER_EPOCH,
        "Epoch of producer 7 at offset 2 in topic-0 is 2, which is < the last seen epoch 3 (TV1)",
    )


def test_under_version_2_a_marker_of_the_present_epoch_may_only_repeat_an_end() -> None:
    producers = ProducerStateManager("topic-0", ProducerRules(1000))
    producers.update(header(0, epoch=3, is_transactional=True), 0)
    late = producers.check_marker(7, 3, 4, 1, 2)
    assert late is not None and late.message == (
        "Epoch of producer 7 at offset 1 in topic-0 is 3, which is <= the last seen epoch 3 (TV2)"
    )
    assert producers.check_marker(7, 4, 4, 1, 2) is None
    producers.end_transaction(7, 4, COMMIT, 1, NOW_MS)
    assert producers.check_marker(7, 4, 4, 2, 2) is None, "KAFKA-19999: a repetition"
    producers.update(header(0, epoch=4, is_transactional=True), 2)
    assert producers.check_marker(7, 4, 4, 3, 2) is not None, "it would end the next one"


class Verifying(Log):
    """A log that lets no transaction begin without its coordinator's knowledge."""

    def __init__(self) -> None:
        self.producers = ProducerStateManager("topic-0", ProducerRules(1000, verifies=True))
        self.end = 0

    def ask(self, sequence: int, epoch: int = 0, *, bumps: bool = False) -> VerificationGuard:
        return self.producers.start_verification(7, sequence, epoch, bumps, NOW_MS)

    def fault(
        self, batch_header: RecordBatchHeader, guard: VerificationGuard | None
    ) -> ErrorCode | None:
        found = self.producers.check(batch_header, self.end, check_sequence=True, guard=guard)
        return None if found is None else found.code


def test_a_transaction_begins_with_the_guard_of_its_question_alone() -> None:
    log = Verifying()
    first = header(0, is_transactional=True)
    assert log.fault(first, None) is ErrorCode.INVALID_TXN_STATE
    guard = log.ask(0)
    assert guard is log.ask(0), "one question at a time"
    assert log.fault(first, VerificationGuard()) is ErrorCode.INVALID_TXN_STATE
    assert log.fault(first, guard) is None
    log.producers.update(first, 0)
    assert log.fault(header(1, is_transactional=True), None) is None, "it has begun"
    assert log.fault(header(1, epoch=1, is_transactional=True), None) is not None, "not this one"


def test_a_marker_takes_the_guard_away() -> None:
    log = Verifying()
    guard = log.ask(0)
    log.producers.end_transaction(7, 0, ABORT, 0, NOW_MS)
    assert log.fault(header(0, is_transactional=True), guard) is ErrorCode.INVALID_TXN_STATE
    assert log.ask(0) is not guard


def test_a_marker_that_raised_the_epoch_leaves_the_question_of_the_next_transaction() -> None:
    """The client has the answer of EndTxn, and its next batch can be here before the marker."""
    log = Verifying()
    guard = log.ask(0, epoch=1, bumps=True)
    log.producers.end_transaction(7, 1, COMMIT, 0, NOW_MS, raised=True)
    assert log.fault(header(0, epoch=1, is_transactional=True), guard) is None
    log.producers.end_transaction(7, 2, ABORT, 1, NOW_MS, raised=True)
    assert log.ask(0, epoch=2, bumps=True) is not guard, "of the transaction that it ends, not"


def test_a_late_epoch_is_told_so_before_anything_about_transactions() -> None:
    log = Verifying()
    log.producers.end_transaction(7, 5, COMMIT, 0, NOW_MS)
    late = header(0, epoch=4, is_transactional=True)
    assert log.fault(late, None) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_sequences_wait_for_the_lowest_that_was_asked_for() -> None:
    log = Verifying()
    guard = log.ask(5)
    log.ask(2)
    late = header(5, is_transactional=True)
    assert log.fault(late, guard) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.fault(header(2, is_transactional=True), guard) is None


def test_an_unknown_producer_of_version_2_starts_with_sequence_0() -> None:
    log = Verifying()
    guard = log.ask(3, bumps=True)
    assert log.fault(header(3, is_transactional=True), guard) is not None
    guard = log.ask(0, bumps=True)
    assert log.fault(header(0, is_transactional=True), guard) is None


def test_questions_expire() -> None:
    log = Verifying()
    guard = log.ask(0)
    log.producers.remove_expired(NOW_MS + 999)
    assert log.ask(0) is guard
    log.producers.remove_expired(NOW_MS + 1000)
    assert log.ask(0) is not guard


def test_replay_follows_the_log() -> None:
    producers = ProducerStateManager("topic-0", ProducerRules(1000))
    producers.replay(header(0, 3, base_offset=10))
    producers.replay(header(0, 1, base_offset=13, pid=4, is_transactional=True))
    assert producers.entries[7].last_offset == 12
    assert producers.map_end_offset == 14
    marker = header(-1, 1, base_offset=14, pid=4, is_transactional=True, is_control=True)
    producers.replay(marker)
    assert producers.transactions.first_unstable(15) == 13, "compaction left nothing of the marker"
    assert producers.replay(marker, ABORT) == AbortedTxn(4, 13, 14, 15)
    assert producers.transactions.first_unstable(15) is None
    assert producers.map_end_offset == 15
    producers.replay(read_header(batch(b"v", base_offset=15)))
    assert (producers.map_end_offset, len(producers.entries)) == (16, 2)


def test_clear_and_restore() -> None:
    producers = ProducerStateManager("topic-0", ProducerRules(1000))
    for pid, first in ((3, 40), (1, 20), (2, None)):
        entry = ProducerStateEntry(pid)
        entry.current_txn_first_offset = first
        producers.restore(entry)
    assert producers.transactions.first_unstable(0) == 20
    producers.clear(9)
    assert (producers.entries, producers.transactions.first_unstable(0)) == ({}, None)
    assert producers.map_end_offset == 9
    assert ProducerStateEntry(1).last_offset == -1
