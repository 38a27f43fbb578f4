from __future__ import annotations

import pytest

from broker.share.sessions import (
    FINAL_EPOCH,
    MemberKey,
    SessionRefusal,
    ShareSession,
    ShareSessions,
    TopicIdPartition,
)
from protocol.errors import ErrorCode

MEMBER = MemberKey("g", "m")
P0, P1, P2 = (TopicIdPartition(b"t" * 16, index) for index in range(3))


def fetch(
    sessions: ShareSessions,
    epoch: int,
    *added: TopicIdPartition,
    forgotten: tuple[TopicIdPartition, ...] = (),
    key: MemberKey = MEMBER,
    connection: str = "c",
    acknowledges: bool = False,
) -> ShareSession:
    return sessions.fetch(
        key, epoch, added, forgotten, connection, has_acknowledgements=acknowledges
    )


@pytest.fixture
def sessions() -> ShareSessions:
    sessions = ShareSessions(limit=2)
    fetch(sessions, 0, P0, P1)
    return sessions


def test_both_apis_count_together(sessions: ShareSessions) -> None:
    assert fetch(sessions, 1).partitions == [P0, P1]
    assert sessions.acknowledge(MEMBER, 2).epoch == 3
    assert fetch(sessions, 3, P2, forgotten=(P0,)).partitions == [P1, P2]
    assert sessions.partition_count == 2


@pytest.mark.parametrize("epoch", [2, 7, -2])
def test_a_wrong_epoch_is_refused_and_changes_nothing(sessions: ShareSessions, epoch: int) -> None:
    for ask in (lambda: fetch(sessions, epoch, P2), lambda: sessions.acknowledge(MEMBER, epoch)):
        with pytest.raises(SessionRefusal) as refusal:
            ask()
        assert refusal.value.error is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert fetch(sessions, 1).partitions == [P0, P1]


def test_what_needs_a_session(sessions: ShareSessions) -> None:
    other = MemberKey("g", "other")
    for ask in (
        lambda: fetch(sessions, 1, key=other),
        lambda: fetch(sessions, FINAL_EPOCH, key=other),
        lambda: sessions.acknowledge(other, 1),
        lambda: sessions.close(other),
    ):
        with pytest.raises(SessionRefusal) as refusal:
            ask()
        assert refusal.value.error is ErrorCode.SHARE_SESSION_NOT_FOUND


def test_a_session_begins_without_acknowledgements(sessions: ShareSessions) -> None:
    with pytest.raises(SessionRefusal) as refusal:
        fetch(sessions, 0, acknowledges=True)
    assert refusal.value.error is ErrorCode.INVALID_REQUEST
    with pytest.raises(SessionRefusal) as refusal:
        sessions.acknowledge(MEMBER, 0)
    assert refusal.value.error is ErrorCode.INVALID_SHARE_SESSION_EPOCH


def test_the_last_fetch_leaves_the_session_to_close(sessions: ShareSessions) -> None:
    assert fetch(sessions, FINAL_EPOCH).partitions == [P0, P1]
    assert sessions.acknowledge(MEMBER, FINAL_EPOCH).partitions == [P0, P1]
    assert sessions.close(MEMBER).partitions == [P0, P1]
    assert len(sessions) == 0 and not sessions.has_members("g")


def test_a_connection_outlives_its_session(sessions: ShareSessions) -> None:
    closed = sessions.close(MEMBER)
    assert sessions.connection_closed("c") == (closed, False)
    assert sessions.connection_closed("c") == (None, False)


def test_a_new_session_replaces_the_earlier(sessions: ShareSessions) -> None:
    earlier = sessions.get(MEMBER)
    later = fetch(sessions, 0, P2, connection="d")
    assert (sessions.is_open(earlier), sessions.is_open(later)) == (False, True)
    assert fetch(sessions, 1).partitions == [P2]
    assert sessions.connection_closed("c") == (earlier, False)
    assert sessions.has_members("g") and sessions.members() == [MEMBER]
    assert sessions.connection_closed("d") == (later, True)
    assert not sessions.has_members("g") and sessions.find(MEMBER) is None


def test_there_is_a_limit_on_sessions(sessions: ShareSessions) -> None:
    fetch(sessions, 0, key=MemberKey("g", "b"), connection="b")
    with pytest.raises(SessionRefusal) as refusal:
        fetch(sessions, 0, key=MemberKey("g", "c"), connection="d")
    assert refusal.value.error is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    sessions.connection_closed("b")
    fetch(sessions, 0, key=MemberKey("g", "c"), connection="d")
    sessions.clear()
    assert len(sessions) == 0


def test_the_epoch_begins_anew_behind_the_highest(sessions: ShareSessions) -> None:
    session = sessions.get(MEMBER)
    session.epoch = (1 << 31) - 1
    fetch(sessions, (1 << 31) - 1)
    assert session.epoch == 1


def test_answers_name_what_is_new_and_what_has_something() -> None:
    session = ShareSession(MEMBER, [P0, P1], "c")
    session.update([P2], [])

    def named(partition: TopicIdPartition, *, records: bool = False, error: bool = False) -> bool:
        return session.must_name(partition, has_records=records, is_error=error)

    assert [named(partition) for partition in (P0, P1, P2)] == [False, False, True]
    assert named(P2) is False
    assert named(P0, records=True)
    assert session.partitions == [P1, P2, P0]
    assert named(P1, error=True)
    assert named(P1), "the error is over"
    assert not named(P1)
