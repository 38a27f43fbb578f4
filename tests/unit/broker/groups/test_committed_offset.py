"""A committed offset: what its record says, and for which topic of a name."""

from __future__ import annotations

from broker.groups.committed_offset import CommittedOffset
from protocol.messages.group_records import OffsetCommitValue

ID, OTHER_ID, NO_ID = bytes([1]) * 16, bytes([2]) * 16, bytes(16)


def test_it_holds_what_its_record_says() -> None:
    value = OffsetCommitValue(5, 3, "m", 1_000, 2_000, ID)
    assert CommittedOffset.of(value, 77) == (5, 3, "m", 1_000, 2_000, ID, 77)


def test_an_id_that_is_not_known_is_any() -> None:
    known = CommittedOffset.of(OffsetCommitValue(topic_id=ID), 0)
    unknown = CommittedOffset.of(OffsetCommitValue(), 0)
    assert [known.is_for(one) for one in (ID, OTHER_ID, NO_ID)] == [True, False, True]
    assert [unknown.is_for(one) for one in (ID, OTHER_ID, NO_ID)] == [True, True, True]


def test_as_it_is_kept() -> None:
    offset = CommittedOffset(5, 3, "m", 1_000, 2_000, ID, 77)
    plain = offset.plain()
    assert type(plain) is tuple
    assert CommittedOffset(*plain) == offset
