from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from broker.replication.fetch_session import FetchPartition, FollowerPartition
from broker.replication.partition import Partition
from broker.replication.partition_reads import PartitionRead
from broker.replication.replica import Replica
from protocol.errors import ErrorCode
from tests.unit.broker.replication.fetch_session_fixture import (
    Cache,
    FakePartition,
    put,
    settle_all,
)


def test_only_what_changed_is_looked_at_again() -> None:
    c = Cache()
    session = c.create(0)
    partitions = [put(session, index) for index in range(1000)]
    settle_all(session, PartitionRead(high_watermark=5, log_start_offset=0))
    assert not session.changed
    partitions[7].change()
    assert list(session.changed) == [(b"t" * 16, 7)]
    assert c.told == [session.session_id]


def test_what_had_records_goes_behind_the_others() -> None:
    session = Cache().create(0)
    for index in range(4):
        put(session, index)
    for wanted, read in zip(
        session.changed_partitions(),
        (
            PartitionRead(records=b"data", size=4),
            PartitionRead(unsettled=True, withheld=9),
            PartitionRead(ErrorCode.OFFSET_OUT_OF_RANGE),
            PartitionRead(),
        ),
        strict=True,
    ):
        session.settle(wanted, read)
    assert [wanted.key[1] for wanted in session.changed_partitions()] == [1, 2, 0]
    put(session, 3)
    put(session, 1, offset=5)
    assert [wanted.key[1] for wanted in session.changed_partitions()] == [1, 2, 3, 0]


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
    wanted.note_sent(read)
    assert not wanted.is_news(read)
    assert wanted.is_news(PartitionRead(high_watermark=3, log_start_offset=1))
    assert wanted.is_news(PartitionRead(size=1, high_watermark=3, log_start_offset=0))
    assert wanted.is_news(PartitionRead(diverging_epoch=(1, 2), high_watermark=3))


def test_a_high_watermark_that_came_with_a_divergence_is_told_again() -> None:
    """Whoever truncates does not look at it: an idle follower would never learn it."""
    wanted = FetchPartition(("t", 0), 4, 1_000)
    wanted.note_sent(PartitionRead(diverging_epoch=(1, 2), high_watermark=3, log_start_offset=0))
    assert wanted.is_news(PartitionRead(high_watermark=3, log_start_offset=0))


def test_a_new_position_keeps_what_was_told_and_hears_once() -> None:
    c = Cache()
    session = c.create(0)
    old = put(session, 0)
    settle_all(session, PartitionRead(high_watermark=9, log_start_offset=2))
    put(session, 0, offset=5)
    assert not old.listeners
    (wanted,) = session.changed.values()
    assert (wanted.fetch_offset, wanted.sent_high_watermark, wanted.sent_log_start_offset) == (
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
