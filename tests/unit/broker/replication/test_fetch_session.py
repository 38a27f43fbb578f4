from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from broker.replication.fetch_session import (
    LAST_EPOCH,
    FetchPartition,
    FetchSession,
    FetchSessionCache,
    FollowerPartition,
)
from broker.replication.partition import Partition
from broker.replication.partition_reads import PartitionRead
from broker.replication.replica import Replica
from protocol.errors import ErrorCode


class FakePartition:
    followers = None

    def __init__(self) -> None:
        self.listeners: dict[FetchSession, None] = {}

    def change(self) -> None:
        for listener in list(self.listeners):
            listener.partition_changed(cast(Partition, self))


class Cache:
    """A cache whose ids count upwards, and what it was told."""

    def __init__(self, slots: int = 2, eviction_ms: int = 1000) -> None:
        self.next_id = 0
        self.told: list[int] = []
        self.cache = FetchSessionCache(
            slots, eviction_ms, self.random_bytes, lambda s, _: self.told.append(s.session_id)
        )

    def random_bytes(self, count: int) -> bytes:
        self.next_id += 1
        return self.next_id.to_bytes(count, "big")

    def create(self, partitions: int = 1, now_ms: float = 0) -> FetchSession:
        session = self.cache.create(partitions, True, now_ms)
        assert session is not None
        for index in range(partitions):
            put(session, index)
        return session


def put(session: FetchSession, index: int, offset: int = 0) -> FakePartition:
    partition = FakePartition()
    wanted = FetchPartition((b"t" * 16, index), offset, 1000)
    session.put(wanted, cast(Partition, partition))
    return partition


def settle_all(session: FetchSession, read: PartitionRead) -> None:
    for wanted in list(session.changed.values()):
        wanted.told(read)
        session.settle(wanted, read)


def test_only_what_changed_is_looked_at_again() -> None:
    c = Cache()
    session = c.create(0)
    partitions = [put(session, index) for index in range(1000)]
    settle_all(session, PartitionRead(high_watermark=5, log_start_offset=0))
    assert not session.changed
    partitions[7].change()
    assert list(session.changed) == [(b"t" * 16, 7)]
    assert c.told == [session.session_id]


def test_what_had_data_goes_behind_the_others() -> None:
    session = Cache().create(0)
    for index in range(3):
        put(session, index)
    first = next(iter(session.changed.values()))
    session.settle(first, PartitionRead(records=b"data", size=4))
    assert [index for _, index in session.changed] == [1, 2, 0]


def test_an_error_is_told_again_until_it_is_gone() -> None:
    session = Cache().create(0)
    put(session, 0)
    settle_all(session, PartitionRead(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert session.changed
    settle_all(session, PartitionRead())
    assert not session.changed


def test_news_are_data_errors_and_moved_watermarks() -> None:
    wanted = FetchPartition((b"t" * 16, 0), 0, 1000)
    read = PartitionRead(high_watermark=3, log_start_offset=0)
    assert wanted.is_news(read)
    wanted.told(read)
    assert not wanted.is_news(read)
    assert wanted.is_news(PartitionRead(high_watermark=3, log_start_offset=1))
    assert wanted.is_news(PartitionRead(size=1, high_watermark=3, log_start_offset=0))
    assert wanted.is_news(PartitionRead(diverging_epoch=(1, 2), high_watermark=3))


def test_a_high_watermark_that_came_with_a_divergence_is_told_again() -> None:
    """Whoever truncates does not look at it: an idle follower would never learn it."""
    wanted = FetchPartition(("t", 0), 4, 1_000)
    wanted.told(PartitionRead(diverging_epoch=(1, 2), high_watermark=3, log_start_offset=0))
    assert wanted.is_news(PartitionRead(high_watermark=3, log_start_offset=0))


def test_a_new_position_keeps_what_was_told_and_hears_once() -> None:
    c = Cache()
    session = c.create(0)
    old = put(session, 0)
    settle_all(session, PartitionRead(high_watermark=9, log_start_offset=2))
    put(session, 0, offset=5)
    assert not old.listeners
    (wanted,) = session.changed.values()
    assert (wanted.fetch_offset, wanted.told_high_watermark, wanted.told_log_start_offset) == (
        5,
        9,
        2,
    )


def test_a_forgotten_partition_is_silent() -> None:
    session = Cache().create(0)
    partition = put(session, 0)
    session.forget((b"t" * 16, 0))
    session.forget((b"t" * 16, 1))
    assert not session.changed
    assert not session.partitions
    assert not partition.listeners


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
    assert c.cache.evictions == 1


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


def test_a_session_whose_answer_was_lost_does_not_end_what_the_next_one_stands_in_for() -> None:
    world = Cache()
    partition = FakePartition()
    replica = Replica(2)
    replica.log_end_offset = 0
    partition.followers = SimpleNamespace(replicas={2: replica})  # type: ignore[assignment]
    partition.isr = (2,)  # type: ignore[attr-defined]
    sessions = []
    for now_ms in (0, 100):
        session = world.cache.create(1, True, now_ms, replica_id=2)
        assert session is not None
        wanted = FollowerPartition((b"t" * 16, 0), 0, 1000, 1, 1, 0)
        session.put(wanted, cast(Partition, partition))
        session.settle(wanted, PartitionRead())
        sessions.append(session)
    world.cache.remove(sessions[0].session_id)
    assert replica.session is sessions[1]
    sessions[1].last_used_ms = 5_000
    assert replica.caught_up_ms == 5_000
