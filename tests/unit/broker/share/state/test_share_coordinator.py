from __future__ import annotations

import pytest

from broker.share.record_state import RecordState
from broker.share.state.share_coordinator import (
    ShareCoordinator,
    ShareCoordinatorSettings,
    ShareTopic,
)
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import StateAnswer, WriteRequest
from broker.share.state_batches import StateBatch
from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from tests.unit.broker.coordinator.in_memory_coordinator_log import InMemoryCoordinatorLog

KEY = SharePartitionKey("g", b"t" * 16, 0)
PARTITIONS = 4
DONE = StateBatch(0, 4, RecordState.ACKNOWLEDGED, 1)


class Node:
    """A share coordinator with its log, and the replies in their order."""

    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        self.log = InMemoryCoordinatorLog()
        self.deleted: list[tuple[int, int]] = []
        self.can_delete = True
        self.has_share_groups = True
        self.replies: list[tuple[ErrorCode, StateAnswer]] = []
        topic = ShareTopic(
            lambda: PARTITIONS,
            lambda _, index: index < 3,
            self.delete_before,
            lambda: self.has_share_groups,
        )
        settings = ShareCoordinatorSettings(updates_per_snapshot=2)
        self.coordinator = ShareCoordinator(settings, self.scheduler, self.log, topic)
        self.partition = self.coordinator.partition_for(KEY)

    def delete_before(self, partition: int, offset: int) -> bool:
        self.deleted.append((partition, offset))
        return self.can_delete

    def reply(self, error: ErrorCode, answer: StateAnswer) -> None:
        self.replies.append((error, answer))

    def elect(self, epoch: int = 1) -> None:
        self.coordinator.on_elected(self.partition, epoch)

    def write(self, *batches: StateBatch, leader: int = 0) -> None:
        request = WriteRequest(1, leader, 0, 5, batches)
        self.coordinator.write(KEY, request, self.reply)

    def state(self, leader: int = 0) -> StateAnswer:
        """Return the state for a leader."""
        self.coordinator.read(KEY, leader, self.reply)
        error, answer = self.replies[-1]
        assert error is ErrorCode.NONE
        return answer


@pytest.fixture
def node() -> Node:
    node = Node()
    node.elect()
    node.coordinator.initialize(KEY, 1, 0, node.reply)
    return node


def test_a_state_is_kept_over_a_failover(node: Node) -> None:
    node.write(DONE)
    before = node.state()
    assert before.batches == (DONE,)
    node.coordinator.on_resigned(node.partition, 1)
    node.write(DONE)
    assert node.replies[-1][0] is ErrorCode.NOT_COORDINATOR
    assert node.replies[-1][1].message
    node.elect(2)
    assert node.state() == before


def test_a_reply_waits_for_the_commit_also_of_what_it_reads(node: Node) -> None:
    node.log.commit_at_once = False
    count = len(node.replies)
    node.write(DONE)
    node.coordinator.read(KEY, 0, node.reply)
    node.coordinator.summary(KEY, node.reply)
    assert len(node.replies) == count
    node.log.commit(node.partition)
    assert [error for error, _ in node.replies[count:]] == [ErrorCode.NONE] * 3
    assert node.replies[count + 1][1].batches == (DONE,)


def test_other_partitions_are_not_served(node: Node) -> None:
    keys = [SharePartitionKey(f"g{number}", KEY.topic_id, 0) for number in range(20)]
    others = [key for key in keys if node.coordinator.partition_for(key) != node.partition]
    assert others
    node.coordinator.summary(others[0], node.reply)
    assert node.replies[-1][0] is ErrorCode.NOT_COORDINATOR


def test_records_that_no_state_needs_are_deleted(node: Node) -> None:
    for _ in range(3):
        node.write(DONE)
    node.scheduler.run_for(300_000)
    (renewed,) = node.coordinator._runtime.active_shards()
    latest = renewed.redundant_before()
    assert node.deleted == [(node.partition, latest)] and latest == 4  # a new snapshot
    node.scheduler.run_for(300_000)
    assert len(node.deleted) == 1, "nothing has changed since"
    before = node.state()
    node.coordinator.on_resigned(node.partition)
    node.elect(3)
    assert node.state() == before


def test_no_record_is_deleted_before_all_snapshots_are_committed(node: Node) -> None:
    for _ in range(2):
        node.write(DONE)
    node.log.commit_at_once = False
    node.write(DONE)
    node.coordinator.prune()
    assert node.deleted == []
    node.log.commit(node.partition)
    assert node.deleted == [(node.partition, 3)]


def test_without_share_groups_the_log_stays_as_it_is(node: Node) -> None:
    for _ in range(3):
        node.write(DONE)
    node.has_share_groups = False
    appends = node.log.appends
    node.scheduler.run_for(900_000)
    assert (node.deleted, node.log.appends) == ([], appends)
    node.has_share_groups = True
    node.scheduler.run_for(300_000)
    assert node.deleted and node.log.appends > appends


def test_a_failed_deletion_is_tried_again(node: Node) -> None:
    for _ in range(3):
        node.write(DONE)
    node.can_delete = False
    node.coordinator.prune()
    node.can_delete = True
    node.coordinator.prune()
    node.coordinator.prune()
    assert node.deleted == [(node.partition, 3)] * 2


def test_the_states_of_deleted_topics_go(node: Node) -> None:
    node.coordinator.topics_deleted(frozenset({KEY.topic_id}))
    node.scheduler.run_for(1)
    node.coordinator.summary(KEY, node.reply)
    assert node.replies[-1] == (ErrorCode.NONE, StateAnswer())


def test_a_deleted_state_is_gone(node: Node) -> None:
    node.coordinator.delete(KEY, node.reply)
    node.coordinator.read(KEY, 0, node.reply)
    assert node.replies[-1][0] is ErrorCode.INVALID_REQUEST


def test_nothing_is_served_after_a_stop(node: Node) -> None:
    node.coordinator.shutdown()
    node.write(DONE)
    assert node.replies[-1][0] is ErrorCode.NOT_COORDINATOR
    node.scheduler.run_for(600_000)
    assert node.deleted == []
