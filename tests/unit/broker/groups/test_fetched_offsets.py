"""Offsets of one moment: copies, which nothing changes afterwards."""

from __future__ import annotations

from broker.groups.committed_offset import CommittedOffset
from broker.groups.fetched_offsets import FetchedOffsets
from broker.groups.offset_table import OffsetTable
from protocol.primitives import ZERO_UUID

ID, OTHER_ID = b"i" * 16, b"o" * 16


def offset(value: int, topic_id: bytes = ZERO_UUID) -> CommittedOffset:
    return CommittedOffset(value, 0, "", 0, -1, topic_id, 0)


def test_an_offset_counts_for_its_topic_alone() -> None:
    found = FetchedOffsets("g", {"t": {0: offset(5, ID), 1: offset(6)}})
    assert found.find("t", 0, ID) == found.find("t", 0, ZERO_UUID) == offset(5, ID)
    assert found.find("t", 0, OTHER_ID) is None
    assert found.find("t", 1, OTHER_ID) == offset(6)
    assert found.find("t", 2, ID) is found.find("u", 0, ID) is None


def test_unstable_ones_are_those_of_the_group() -> None:
    found = FetchedOffsets("g", {}, {("g", "t", 0): None, ("h", "t", 1): None})
    assert found.is_unstable("t", 0) and not found.is_unstable("t", 1)
    assert not FetchedOffsets("g", {}).is_unstable("t", 0)


def test_what_is_committed_later_is_not_in_it() -> None:
    table = OffsetTable(lambda: 1 << 40)
    table.put(("g", "t", 0), offset(1), 1)
    found = FetchedOffsets("g", table.all("g", committed=True))
    table.put(("g", "t", 0), offset(2), 2)
    table.put(("g", "t", 1), offset(3), 3)
    table.put(("g", "u", 0), offset(4), 4)
    assert found.by_topic == {"t": {0: offset(1)}}
    assert table.all("g", committed=True) == {
        "t": {0: offset(2), 1: offset(3)},
        "u": {0: offset(4)},
    }
