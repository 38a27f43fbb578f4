"""A JoinGroup on its way: its time-outs, reason and refusal."""

from __future__ import annotations

import pytest

from broker.groups.classic.joining import Joining
from protocol.errors import ErrorCode
from protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse


def joining(version: int, reason: str | None, answers: list[JoinGroupResponse]) -> Joining:
    request = JoinGroupRequest("g", session_timeout_ms=10, rebalance_timeout_ms=60, reason=reason)
    return Joining(request, version, "c", "/h", answers.append)


@pytest.mark.parametrize(("version", "timeout_ms"), [(0, 10), (1, 60), (9, 60)])
def test_version_0_rebalances_within_the_session_time_out(version: int, timeout_ms: int) -> None:
    assert joining(version, None, []).rebalance_timeout_ms == timeout_ms


def test_the_reason_is_the_clients() -> None:
    assert joining(9, "rebalance enforced", []).reason == "rebalance enforced"
    assert joining(9, None, []).reason == "not provided"


def test_a_refusal_is_answered() -> None:
    answers: list[JoinGroupResponse] = []
    joining(9, None, answers).refuse(ErrorCode.UNKNOWN_MEMBER_ID, "m")
    assert [(one.error_code, one.member_id) for one in answers] == [(25, "m")]
