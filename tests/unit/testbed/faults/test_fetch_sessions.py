"""Fetch sessions, as faults see them."""

from __future__ import annotations

from broker.replication.fetch_session import FetchPartition, FetchSession
from broker.replication.fetch_session_cache import FetchSessionCache
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from testbed.faults.fetch_sessions import FetchSessions

ID = b"a" * 16


def sessions(uses_topic_ids: bool = False) -> tuple[FetchSessions, FetchSession]:
    cache = FetchSessionCache(4, 1000, lambda size: bytes([1] * size), lambda _s, _p: None)
    session = cache.create(2, uses_topic_ids, 0.0)
    assert session is not None
    return FetchSessions(cache, {ID: "by-id"}.get), session


def test_the_topics_of_a_session_are_known_by_name_and_by_id() -> None:
    seen, session = sessions()
    for key in (("a", 0), (ID, 1), (b"b" * 16, 0)):
        session.put(FetchPartition(key, 0, 10), None)
    assert list(seen.topics(session.session_id)) == ["a", "by-id"]
    assert list(seen.topics(session.session_id + 1)) == []


def test_what_has_no_news_is_shown_and_looked_at_again() -> None:
    seen, session = sessions()
    for key in (("a", 0), ("a", 1), ("b", 0)):
        session.put(FetchPartition(key, 0, 10), None)
    session.changed.clear()
    response = FetchResponse(
        session_id=session.session_id,
        responses=[FetchableTopicResponse("a", partitions=[PartitionData(0)])],
    )
    seen.show_all(response, lambda name: name == "a")
    shown = [
        (one.topic, part.partition_index) for one in response.responses for part in one.partitions
    ]
    assert shown == [("a", 0), ("a", 1)]
    assert sorted(session.changed) == [("a", 0), ("a", 1)]


def test_a_topic_is_shown_as_the_session_names_it() -> None:
    seen, session = sessions(uses_topic_ids=True)
    session.put(FetchPartition((ID, 3), 0, 10), None)
    response = FetchResponse(session_id=session.session_id)
    seen.show_all(response, lambda name: name == "by-id")
    assert [(one.topic, one.topic_id) for one in response.responses] == [("", ID)]
