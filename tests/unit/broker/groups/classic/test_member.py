"""A member: its vote, its record, and when its session cannot expire."""

from __future__ import annotations

import pytest

from broker.groups.classic.member import ClassicMember, join_refusal, sync_refusal
from protocol.errors import ErrorCode
from protocol.messages.group_records import MemberMetadata
from protocol.messages.join_group import JoinGroupRequestProtocol


def member(*protocols: str) -> ClassicMember:
    return ClassicMember(
        "m-1",
        None,
        "m",
        "/127.0.0.1",
        60_000,
        10_000,
        "consumer",
        [JoinGroupRequestProtocol(name, name.encode()) for name in protocols],
    )


def test_it_votes_for_its_most_wanted_candidate() -> None:
    assert member("a", "b", "c").vote({"c": 1, "b": 1}) == "b"
    with pytest.raises(AssertionError):
        member("a").vote({"b": 1})


def test_metadata_by_protocol() -> None:
    assert member("a", "b").metadata("b") == b"b"
    with pytest.raises(KeyError):
        member("a").metadata("b")


def test_order_and_metadata_of_protocols_matter() -> None:
    one = member("a", "b")
    assert one.matches(member("a", "b").protocols)
    assert not one.matches(member("b", "a").protocols)
    assert not one.matches(member("a").protocols)
    assert not one.matches([JoinGroupRequestProtocol("a", b"x"), one.protocols[1]])


def nobody(_: object) -> None: ...


def test_who_waits_cannot_expire_unless_it_is_new() -> None:
    one = member("a")
    assert not one.satisfies_heartbeat
    assert one.park_join(nobody) is None
    assert one.satisfies_heartbeat
    one.is_new = True
    assert not one.satisfies_heartbeat
    one.become_known()
    assert one.satisfies_heartbeat
    assert one.park_join(None) is nobody and not one.satisfies_heartbeat
    assert one.park_sync(nobody) is None and one.satisfies_heartbeat
    assert one.park_sync(None) is nobody and not one.satisfies_heartbeat


def test_from_its_record_and_back() -> None:
    one = member("a", "b")
    record = one.record("b", b"share")
    again = ClassicMember.from_record(record, "consumer", "b")
    assert again.record("b", again.assignment) == record
    assert again.is_static is False


def test_old_records_have_no_rebalance_time_out() -> None:
    record = MemberMetadata(member_id="m", session_timeout=9)
    assert ClassicMember.from_record(record, "consumer", None).rebalance_timeout_ms == 9


def test_refusals_carry_no_protocol() -> None:
    refusal = join_refusal(ErrorCode.UNKNOWN_MEMBER_ID, "m")
    assert (refusal.error_code, refusal.member_id, refusal.protocol_name) == (25, "m", None)
    assert sync_refusal(ErrorCode.ILLEGAL_GENERATION).error_code == 22
