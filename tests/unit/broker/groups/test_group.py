"""What is answered where there is no group."""

from __future__ import annotations

from broker.groups.group import commit_error_without_group
from protocol.errors import ErrorCode


def test_without_a_group() -> None:
    assert commit_error_without_group(-1, 9) is ErrorCode.NONE
    assert commit_error_without_group(0, 9) is ErrorCode.GROUP_ID_NOT_FOUND
    assert commit_error_without_group(0, 8) is ErrorCode.ILLEGAL_GENERATION
