"""What one answer of a leader does to a follower's log; conversations are the fetcher's test."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.replication.followed_partition import FollowedPartition
from broker.replication.partition import Partition
from protocol.errors import ErrorCode
from tests.unit.broker.replication.scripted_leader import LEADER, ME, Follower, data, records


@pytest.fixture
def follower(tmp_path: Path) -> Follower:
    return Follower(str(tmp_path))


def made(follower: Follower, *epochs: int) -> Partition:
    partition = follower.replicas.create("a", replicas=[ME, LEADER], leader=LEADER)
    follower.fill(partition, *epochs)
    return partition


@pytest.mark.parametrize(
    ("epochs", "leader_epoch", "leader_end", "end"),
    [
        ((0, 0, 0), 0, 2, 2),  # the leader's epoch ended before ours
        ((0, 1, 1), 0, 9, 1),  # ours ended before the leader's
        ((0, 2, 2), 1, 2, 1),  # an epoch that we do not know: to the end of the one before it
        ((3, 3, 3), 1, 2, 0),  # older than all of ours
        ((0, 0, 0), 0, 9, 3),  # nothing to cut
        ((0, 0, 0), 7, 2, 2),  # later than all of ours: not known, the leader's end is taken
        ((0, 0, 0), -1, 2, 2),
        ((0, 0, 0), 0, -1, 1),  # no end at all: what is committed stays
    ],
)
def test_where_a_diverged_log_is_cut(
    follower: Follower, epochs: tuple[int, ...], leader_epoch: int, leader_end: int, end: int
) -> None:
    partition = made(follower, *epochs)
    partition.log.update_high_watermark(1)
    FollowedPartition(partition).truncate_on_divergence(leader_epoch, leader_end)
    assert partition.log.log_end_offset == end


def test_a_cut_below_the_watermark_is_said_and_done(
    follower: Follower, caplog: pytest.LogCaptureFixture
) -> None:
    partition = made(follower, 0, 0, 0)
    partition.log.update_high_watermark(3)
    FollowedPartition(partition).truncate_on_divergence(0, 1)
    assert (partition.log.log_end_offset, partition.log.high_watermark) == (1, 1)
    assert "below its high watermark 3" in caplog.text


def test_batches_of_a_later_epoch_are_not_taken_and_it_asks_later(follower: Follower) -> None:
    partition = made(follower, 0)
    assert (
        FollowedPartition(partition).take(data(records(1, 5), 2)) is ErrorCode.UNKNOWN_LEADER_EPOCH
    )
    assert partition.log.log_end_offset == 1


def test_a_log_start_beyond_what_is_known_to_be_committed_waits(follower: Follower) -> None:
    partition = made(follower, 0, 0, 0)
    followed = FollowedPartition(partition)
    assert followed.take(data(high_watermark=2, log_start=3)) is ErrorCode.NONE
    assert (partition.log.high_watermark, partition.log.log_start_offset) == (2, 2)


def test_a_first_batch_that_the_log_start_lies_in_is_taken_whole(follower: Follower) -> None:
    partition = made(follower)
    partition.log.truncate_fully_and_start_at(45)
    followed = FollowedPartition(partition)
    assert followed.take(data(records(40, 0, 10), 50, log_start=45)) is ErrorCode.NONE
    log = partition.log
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (45, 50, 50)


def test_waits_grow_to_the_config(follower: Follower) -> None:
    followed = FollowedPartition(made(follower))
    assert [followed.retry_ms(1000) for _ in range(7)] == [50, 100, 200, 400, 800, 1000, 1000]
    assert FollowedPartition(made_again(follower)).retry_ms(20) == 20


def made_again(follower: Follower) -> Partition:
    return follower.replicas.create("b", replicas=[ME, LEADER], leader=LEADER)
