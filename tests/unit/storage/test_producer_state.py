"""Idempotence: sequences, epochs, duplicates, wraps, expiry; and what transactions will need."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.record_batch import RecordBatchHeader, read_header
from storage.producer_state import ProducerStateEntry, ProducerStateManager
from tests.unit.storage.harness import NOW_MS, batch

SEQUENCE_MAX = 2**31 - 1


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
        self.producers = ProducerStateManager("topic-0", 1000)
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


def test_replicated_batches_are_not_checked() -> None:
    log = Log()
    log.append(header(0, 2, epoch=3))
    assert log.producers.check(header(9, epoch=3), 2, check_sequence=False) is None
    assert log.producers.check(header(9, epoch=1), 2, check_sequence=False) is None


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
    producers = log.producers
    assert producers.first_unstable_offset is None
    log.append(header(0, 2, pid=1, is_transactional=True))
    log.append(header(0, 2, pid=2, is_transactional=True))
    log.append(header(2, 2, pid=1, is_transactional=True))
    assert producers.first_unstable_offset == 0
    assert producers.end_transaction(1, 0, 4, NOW_MS) == 0
    assert producers.first_unstable_offset == 2
    assert producers.entries[1].coordinator_epoch == 4
    assert producers.end_transaction(2, 1, 4, NOW_MS) == 2
    assert producers.first_unstable_offset is None
    assert producers.entries[2].producer_epoch == 1
    assert log.append(header(0, pid=2, epoch=1)) == 6, "sequences begin anew after the bump"


def test_a_marker_of_an_unknown_producer_makes_it_known() -> None:
    producers = ProducerStateManager("topic-0", 1000)
    assert producers.end_transaction(5, 2, 1, NOW_MS) is None
    assert producers.entries[5].producer_epoch == 2


def test_replay_follows_the_log() -> None:
    producers = ProducerStateManager("topic-0", 1000)
    producers.replay(header(0, 3, base_offset=10))
    producers.replay(header(0, 1, base_offset=13, pid=4, is_transactional=True))
    assert producers.entries[7].last_offset == 12
    assert producers.map_end_offset == 14
    producers.replay(header(-1, 1, base_offset=14, pid=4, is_transactional=True, is_control=True))
    assert producers.first_unstable_offset is None
    assert producers.map_end_offset == 15
    producers.replay(read_header(batch(b"v", base_offset=15)))
    assert (producers.map_end_offset, len(producers.entries)) == (16, 2)


def test_clear_and_restore() -> None:
    producers = ProducerStateManager("topic-0", 1000)
    for pid, first in ((3, 40), (1, 20), (2, None)):
        entry = ProducerStateEntry(pid)
        entry.current_txn_first_offset = first
        producers.restore(entry)
    assert producers.first_unstable_offset == 20
    producers.clear(9)
    assert (producers.entries, producers.first_unstable_offset) == ({}, None)
    assert producers.map_end_offset == 9
    assert ProducerStateEntry(1).last_offset == -1
