from __future__ import annotations

from broker.replication.fetch_session import LAST_EPOCH
from broker.replication.fetch_session_cache import FetchSessionCache
from protocol.errors import ErrorCode
from tests.unit.broker.replication.fetch_session_fixture import Cache


def test_resume_checks_id_epoch_and_naming() -> None:
    c = Cache()
    session = c.create()
    resume = c.cache.resume
    assert resume(99, 1, True, 0) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert resume(session.session_id, 2, True, 0) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert resume(session.session_id, 1, False, 0) == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert resume(session.session_id, 1, True, 0) is session
    session.advance_epoch()
    assert session.epoch == 2
    session.epoch = LAST_EPOCH
    session.advance_epoch()
    assert session.epoch == 1


def test_a_full_cache_evicts_what_was_long_unused_and_nothing_else() -> None:
    c = Cache()
    first, second = c.create(now_ms=0), c.create(now_ms=0)
    assert c.cache.create(1, True, 500) is None
    assert c.cache.resume(first.session_id, 1, True, 900) is first
    third = c.cache.create(1, True, 1001)
    assert third is not None
    assert [s.session_id for s in c.cache] == [first.session_id, third.session_id]
    assert not second.partitions


def test_a_larger_session_takes_the_place_of_an_old_smaller_one() -> None:
    c = Cache()
    small, large = c.create(1), c.create(10)
    for session in (small, large):
        c.cache.resume(session.session_id, 1, True, 5000)
    assert c.cache.create(1, True, 5001) is None
    assert c.cache.create(5, True, 5001) is not None
    assert small.session_id not in [s.session_id for s in c.cache]


def test_ids_are_positive_and_unused() -> None:
    draws = iter([b"\0\0\0\0", b"\x80\0\0\x01", b"\x80\0\0\x01", b"\0\0\0\x02"])
    cache = FetchSessionCache(9, 1, lambda _: next(draws), lambda *_: None)
    ids = [
        session.session_id
        for session in (cache.create(1, True, 0), cache.create(1, True, 0))
        if session is not None
    ]
    assert ids == [1, 2]
