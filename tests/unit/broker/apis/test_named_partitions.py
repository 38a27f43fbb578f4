"""The partitions that a request names are looked at in slices."""

from __future__ import annotations

from broker.apis.named_partitions import split_partitions
from ground.sliced_work import PIECES_AT_ONCE, Pace, in_one_go
from protocol.messages.offset_commit import OffsetCommitRequestPartition


def test_those_that_are_not_there_are_refused() -> None:
    named = [OffsetCommitRequestPartition(index) for index in (2, 0, 2, 1)]
    good, refused = in_one_go(split_partitions(named, {0, 1}, str, Pace()))
    assert good == [named[1], named[3]] and refused == ["2", "2"]


def test_a_slice_has_so_many_partitions_and_counts_topics_without_any() -> None:
    named = [OffsetCommitRequestPartition(index) for index in range(PIECES_AT_ONCE)]
    pace = Pace()
    assert list(split_partitions(named, {}, str, pace)) == [None]
    slices = [len(list(split_partitions([], {}, str, pace))) for _ in range(2 * PIECES_AT_ONCE)]
    assert sum(slices) == 2
