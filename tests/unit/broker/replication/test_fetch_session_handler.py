from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.replication.fetch_session import LAST_EPOCH
from broker.replication.fetch_session_handler import FetchSessionHandler
from broker.replication.followed_partition import FetchKey, Position
from protocol.errors import ErrorCode
from protocol.frames.replica_fetch_codec import ReplicaFetchOne
from protocol.messages.fetch import FetchPartition, FetchRequest
from tests.unit.broker.replication.scripted_leader import as_fetch, settings_for

A, B = b"a" * 16, b"b" * 16


class Session:
    """A session, and where its partitions are."""

    def __init__(self) -> None:
        self.handler = FetchSessionHandler(settings_for())
        self.positions: dict[FetchKey, Position] = {}

    def put(self, key: FetchKey, offset: int) -> None:
        self.positions[key] = (0, offset, 0, -1)
        self.handler.mark(key)

    def drop(self, key: FetchKey) -> None:
        del self.positions[key]
        self.handler.mark(key)

    def sent(self) -> bool:
        """Whether the last request was worth sending."""
        return self.sends

    def ask(self) -> tuple[tuple[int, int], dict[FetchKey, int], list[FetchKey]]:
        """(session id and epoch), what is named with its offset, what is forgotten."""
        made = self.handler.request(500, self.positions, self.positions.get)
        self.sends = made is not None
        if made is None:
            return (self.handler.session_id, self.handler.epoch), {}, []
        request = as_fetch(made)
        named = {
            (topic.topic_id, one.partition): one.fetch_offset
            for topic in request.topics
            for one in topic.partitions
        }
        forgotten = [
            (topic.topic_id, index)
            for topic in request.forgotten_topics_data
            for index in topic.partitions
        ]
        return (request.session_id, request.session_epoch), named, forgotten


def test_it_names_what_moved_and_forgets_what_went() -> None:
    session = Session()
    session.put((A, 0), 1)
    session.put((A, 1), 2)
    session.put((B, 0), 3)
    assert session.ask() == ((0, 0), {(A, 0): 1, (A, 1): 2, (B, 0): 3}, [])
    session.handler.answered(7)
    session.put((A, 1), 9)
    session.put((A, 0), 1)  # marked, and where it was
    session.drop((B, 0))
    assert session.ask() == ((7, 1), {(A, 1): 9}, [(B, 0)])
    session.handler.answered(7)
    assert session.ask() == ((7, 2), {}, [])
    assert session.sent()


def test_one_that_moved_is_said_as_any_number_would_be() -> None:
    session, both = Session(), Session()
    for one in (session, both):
        one.put((A, 3), 1)
        one.put((A, 4), 1)
        one.ask()
        one.handler.answered(7)
        one.positions[A, 3] = (5, 1 << 40, 6, 4)
        one.handler.mark((A, 3))
    short = session.handler.request(250, session.positions, session.positions.get)
    both.put((A, 4), 2)
    long = both.handler.request(250, both.positions, both.positions.get)
    assert isinstance(short, ReplicaFetchOne) and isinstance(long, FetchRequest)
    del long.topics[0].partitions[1]
    assert as_fetch(short) == as_fetch(long)
    assert as_fetch(short).topics[0].partitions == [
        FetchPartition(3, 5, 1 << 40, 4, 6, settings_for().replica_fetch_max_bytes)
    ]
    assert session.handler.request(250, session.positions, session.positions.get) is not None
    assert session.ask()[1] == {}  # it is told


def test_what_went_and_came_back_is_named_not_forgotten() -> None:
    session = Session()
    session.put((A, 0), 1)
    session.ask()
    session.handler.answered(7)
    session.drop((A, 0))
    session.put((A, 0), 4)
    assert session.ask() == ((7, 1), {(A, 0): 4}, [])


def test_there_is_nothing_to_send_once_the_last_is_forgotten() -> None:
    session = Session()
    assert session.ask() == ((0, 0), {}, [])
    assert not session.sent()
    session.put((A, 0), 1)
    session.ask()
    session.handler.answered(7)
    session.drop((A, 0))
    assert session.ask() == ((7, 1), {}, [(A, 0)])
    assert session.sent()
    session.handler.answered(7)
    session.ask()
    assert not session.sent()


@pytest.mark.parametrize(
    ("end", "session_id"),
    [
        (lambda handler: handler.lost(), 7),
        (lambda handler: handler.refused(ErrorCode.INVALID_FETCH_SESSION_EPOCH), 7),
        (lambda handler: handler.refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND), 0),
        (lambda handler: handler.answered(0), 0),
    ],
)
def test_a_session_that_ended_is_followed_by_another_that_names_all(
    end: Callable[[FetchSessionHandler], None], session_id: int
) -> None:
    session = Session()
    session.put((A, 0), 1)
    session.put((B, 0), 2)
    session.ask()
    session.handler.answered(7)
    session.ask()
    end(session.handler)
    assert session.ask() == ((session_id, 0), {(A, 0): 1, (B, 0): 2}, [])


def test_the_epoch_begins_again_after_the_last_number() -> None:
    session = Session()
    session.put((A, 0), 1)
    session.ask()
    session.handler.answered(7)
    session.handler.epoch = LAST_EPOCH
    session.handler.answered(7)
    assert session.handler.epoch == 1
