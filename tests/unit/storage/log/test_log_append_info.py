"""What an append answers."""

from __future__ import annotations

from protocol.errors import ErrorCode
from storage.log.log_append_info import LogAppendInfo


def test_an_append_without_error() -> None:
    info = LogAppendInfo(5, 7, 1000, -1, 2, 300)
    assert (info.error, info.error_message, info.record_errors) == (ErrorCode.NONE, None, [])
    assert (info.first_offset, info.last_offset, info.size, info.duplicate) == (5, 7, 300, False)
    assert "first_offset=5" in repr(info)


def test_a_refused_append_has_no_offsets() -> None:
    info = LogAppendInfo.refused(ErrorCode.INVALID_RECORD, "why", 2, [(0, "first")])
    assert (info.error, info.error_message) == (ErrorCode.INVALID_RECORD, "why")
    assert (info.first_offset, info.last_offset, info.log_start_offset) == (-1, -1, 2)
    assert info.record_errors == [(0, "first")]
