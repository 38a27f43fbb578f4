"""What a refused append answers."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from storage.log.log_append_info import LogAppendInfo
from storage.log.refusal import AppendRefusal


@pytest.mark.parametrize(
    ("refusal", "offsets", "start"),
    [
        (AppendRefusal(ErrorCode.INVALID_RECORD, "why", [(0, "first")]), (-1, -1), 2),
        (AppendRefusal(ErrorCode.OFFSET_OUT_OF_RANGE, "why", offsets=(5, 7)), (5, 7), 2),
        (AppendRefusal(ErrorCode.CORRUPT_MESSAGE, "why"), (-1, -1), -1),
    ],
)
def test_a_refused_append_tells_why_and_mostly_where_the_log_starts(
    refusal: AppendRefusal, offsets: tuple[int, int], start: int
) -> None:
    info = LogAppendInfo.refused(refusal, log_start_offset=2)
    assert (info.error, info.error_message) == (refusal.error, "why")
    assert info.record_errors == refusal.record_errors
    assert (info.first_offset, info.last_offset, info.log_start_offset) == (*offsets, start)
