"""Which aborted transactions a reader is told of."""

from __future__ import annotations

import pytest

from log_format.transaction_index import AbortedTxn
from protocol.record_batch import CorruptBatch
from storage.log.aborted_lookup import aborted_in, collect_aborted
from tests.unit.storage.harness import open_log
from tests.unit.storage.transactional_fixture import (
    BOTH,
    SMALL,
    Producer,
    aborted_of,
    commit_all,
    file_of,
    two_aborted,
)


def test_aborted_transactions_are_written_with_their_segment_and_found_by_range() -> None:
    log = two_aborted()
    assert len(log.segments.base_offsets) > 2
    assert aborted_of(log) == BOTH
    assert collect_aborted(log, 0, 10) == BOTH
    assert collect_aborted(log, 0, 1) == BOTH[:1]
    assert collect_aborted(log, 6, 7) == BOTH[:1]
    assert collect_aborted(log, 7, 9) == BOTH[1:]
    assert collect_aborted(log, 9, 10) == []


def test_a_slice_tells_of_what_it_may_hold() -> None:
    log = two_aborted()
    commit_all(log)
    assert aborted_in(log, 0, log.read(0, 1).records) == BOTH[:1]
    assert aborted_in(log, 7, log.read(7, 1, min_one_message=True).records) == BOTH[1:]
    assert aborted_in(log, 9, log.read(9, 1000).records) == []
    assert aborted_in(log, 10, b"") == []


def test_a_limit_of_no_bytes_tells_of_what_comes_next() -> None:
    """An empty slice has the transactions before the sparse index's next entry, as in Kafka."""
    log = two_aborted()
    commit_all(log)
    assert aborted_in(log, 0, log.read(0, 0, min_one_message=False).records) == BOTH[:1]
    assert aborted_in(log, 7, log.read(7, 0, min_one_message=False).records) == BOTH[1:]


def test_a_marker_segments_away_is_found() -> None:
    log = open_log(config=SMALL)
    late, others = Producer(log, 1), Producer(log, 2)
    late.send()
    for _ in range(20):
        others.send()
        others.end(commit=True)
    assert collect_aborted(log, 0, 1) == []
    marker = late.end(commit=False).last_offset
    assert aborted_of(log) == [AbortedTxn(1, 0, marker, marker + 1)]
    assert collect_aborted(log, 0, 1) == [AbortedTxn(1, 0, marker, marker + 1)]
    commit_all(log)
    assert len(aborted_in(log, 0, log.read(0, 1).records)) == 1


def test_damage_that_comes_later_is_told_to_readers() -> None:
    log = two_aborted()
    filesystem = log.environment.filesystem
    base = next(b for b in log.segments.base_offsets if filesystem.exists(file_of(log, b)))
    filesystem.replace_atomically(file_of(log, base), b"\0" * 21)
    for segment in log.segments:
        segment._aborted = None
    with pytest.raises(CorruptBatch):
        aborted_in(log, 0, log.read(0, 100).records)
