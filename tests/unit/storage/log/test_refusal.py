"""A refusal is a value."""

from __future__ import annotations

from protocol.errors import ErrorCode
from storage.log.refusal import AppendRefusal, out_of_range
from storage.log_config import LogConfig


def test_refusals_are_equal_by_what_they_say() -> None:
    assert AppendRefusal(ErrorCode.INVALID_RECORD, "x") == AppendRefusal(
        ErrorCode.INVALID_RECORD, "x", []
    )


def test_words_for_a_time_out_of_range() -> None:
    config = LogConfig(message_timestamp_before_max_ms=10, message_timestamp_after_max_ms=20)
    assert out_of_range(5, 3, config, 100) == (
        "Timestamp 5 of message with offset 3 is out of range. "
        "The timestamp should be within [90, 120]"
    )
