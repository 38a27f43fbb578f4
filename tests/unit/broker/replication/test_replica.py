"""When a follower had all that its leader had: Kafka's rule, and a session that stands in."""

from __future__ import annotations

from broker.replication.replica import NEVER, Replica


class Session:
    last_used_ms = 0.0


def test_it_is_caught_up_when_it_asks_for_the_end() -> None:
    replica = Replica(2)
    assert replica.caught_up_ms == NEVER
    replica.fetched(5, 0, 5, 1, now_ms=100)
    assert replica.caught_up_ms == 100
    assert (replica.log_end_offset, replica.log_start_offset, replica.broker_epoch) == (5, 0, 1)


def test_it_was_caught_up_when_it_asked_before_for_what_it_has_now() -> None:
    replica = Replica(2)
    replica.fetched(5, 0, 8, 1, now_ms=100)
    assert replica.caught_up_ms == NEVER
    replica.fetched(8, 0, 12, 1, now_ms=200)
    assert replica.caught_up_ms == 100
    replica.fetched(11, 0, 15, 1, now_ms=300)  # 12 was the end at its fetch before
    assert replica.caught_up_ms == 100
    assert replica.is_caught_up(15, now_ms=150, lag_max_ms=50)
    assert not replica.is_caught_up(15, now_ms=151, lag_max_ms=50)
    assert replica.is_caught_up(11, now_ms=10_000, lag_max_ms=50)


def test_its_session_stands_in_for_it_until_something_happens() -> None:
    replica, session = Replica(2), Session()
    replica.fetched(5, 0, 5, 1, now_ms=100)
    replica.attach_session(session)
    session.last_used_ms = 900
    assert replica.caught_up_ms == 900
    replica.detach_session()
    session.last_used_ms = 2000
    assert replica.caught_up_ms == 900
    replica.fetched(5, 0, 6, 1, now_ms=2000)  # 5 was the end at the fetch before, at 900
    assert replica.caught_up_ms == 900
    replica.fetched(6, 0, 9, 1, now_ms=2100)
    assert replica.caught_up_ms == 2000


def test_a_session_that_was_not_used_since_says_nothing() -> None:
    replica, session = Replica(2), Session()
    session.last_used_ms = 50
    replica.fetched(5, 0, 5, 1, now_ms=100)
    replica.attach_session(session)
    assert replica.caught_up_ms == 100


def test_with_an_epoch_nobody_in_sync_is_late_yet() -> None:
    replica = Replica(2)
    replica.fetched(5, 0, 8, 1, now_ms=100)
    replica.attach_session(Session())
    replica.reset(9, 1000, in_sync=True)
    assert (replica.caught_up_ms, replica.session) == (1000, None)
    replica.reset(9, 2000, in_sync=False)
    assert replica.caught_up_ms == NEVER
    assert repr(replica) == "broker 2 at 5"
