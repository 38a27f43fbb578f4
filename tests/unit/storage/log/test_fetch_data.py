"""What reads answer when there is nothing to say."""

from __future__ import annotations

from protocol.errors import ErrorCode
from storage.log.fetch_data import NO_RECORDS, EpochEndOffset, TimestampAndOffset


def test_nothing_to_read_is_no_error_and_no_null() -> None:
    assert (NO_RECORDS.records, NO_RECORDS.size, NO_RECORDS.error) == (b"", 0, ErrorCode.NONE)


def test_undefined_is_minus_one() -> None:
    assert EpochEndOffset() == (-1, -1)
    assert TimestampAndOffset(5, 6).leader_epoch == -1
