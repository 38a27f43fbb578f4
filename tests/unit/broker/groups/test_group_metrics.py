"""What the group coordinator counts, beside what Apache Kafka counted for these requests."""

from __future__ import annotations

from typing import Any

from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.unit.broker.groups.playbook import TOPIC_ID, GroupNode, image_with

MINUTE_MS = 60_000


def joining(group: str, member: str, *topics: str) -> ConsumerGroupHeartbeatRequest:
    request = ConsumerGroupHeartbeatRequest(group, member, 0, rebalance_timeout_ms=9_000)
    request.subscribed_topic_names, request.topic_partitions = list(topics), []
    return request


def committing(group: str, epoch: int, member: str, *partitions: int) -> OffsetCommitRequest:
    offsets = [OffsetCommitRequestPartition(index, 5) for index in partitions]
    topics = [OffsetCommitRequestTopic("t", partitions=offsets)]
    return OffsetCommitRequest(group, epoch, member, topics=topics)


def used(node: GroupNode) -> None:
    wire = node.connect()

    def call(request: Any, version: int) -> Any:
        answer = wire.call(request, version)
        assert not getattr(answer, "error_code", 0), answer
        return answer

    call(joining("c", "m", "t"), 1)
    protocols = [JoinGroupRequestProtocol("range", bytes(10))]
    joined = call(JoinGroupRequest("k", 10_000, 10_000, "", None, "consumer", protocols), 3)
    call(committing("s", -1, "", 0), 8)
    call(committing("c", 2, "m", 0), 9)
    call(committing("s", -1, "", 0, 1, 2), 8)
    call(committing("s2", -1, "", 0, 1), 8)
    call(joining("c", "n", "t"), 1)
    call(joining("c", "e"), 1)
    call(joining("d", "e"), 1)
    share = [SyncGroupRequestAssignment(joined.member_id, b"x")]
    call(SyncGroupRequest("k", 1, joined.member_id, assignments=share), 3)
    gone = [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(one) for one in (0, 3)])]
    call(OffsetDeleteRequest("s", gone), 0)
    call(DeleteGroupsRequest(["s2"]), 2)


def made() -> GroupNode:
    node = GroupNode(
        group_consumer_assignment_interval_ms=0,
        offsets_retention_minutes=1,
        offsets_retention_check_interval_ms=MINUTE_MS,
    )
    node.image = image_with(t=(TOPIC_ID, 4))
    return node


def test_requests_count_as_in_kafka() -> None:
    node = made()
    used(node)
    counted = node.coordinator.metrics
    assert counted.offset_commits == 7
    assert counted.offset_deletions == 1
    assert counted.offset_expirations == 0
    assert counted.consumer_rebalances == 2
    assert counted.completed_rebalances == 1


def test_groups_are_counted_by_type_and_state() -> None:
    node = made()
    used(node)
    assert node.coordinator.group_counts() == {
        ("classic", "Stable"): 1,
        ("classic", "Empty"): 1,
        ("consumer", "Reconciling"): 1,
        ("consumer", "Stable"): 1,
    }
    assert node.coordinator.offset_count() == 3


def test_what_expires_is_counted_and_gone() -> None:
    node = made()
    used(node)
    before = node.coordinator.group_counts()
    node.connect().call(joining("late", "m"), 1)
    assert node.coordinator.group_counts() is before, "counted just now"
    node.scheduler.run_for(5 * MINUTE_MS)
    assert node.coordinator.metrics.offset_expirations == 3
    assert node.coordinator.offset_count() == 0
    assert node.coordinator.group_counts() == {}


def test_counts_go_on_after_another_loaded_the_groups() -> None:
    node = made()
    used(node)
    node.restart()
    assert node.coordinator.metrics.offset_commits == 0, "of this node since its start"
    assert node.coordinator.offset_count() == 3
    assert sum(node.coordinator.group_counts().values()) == 4


def test_what_counts_as_a_rebalance_in_kafka() -> None:
    """As a running Kafka counted: an expression that was looked up does, whoever goes does not."""
    node = made()
    wire = node.connect()
    counted = node.coordinator.metrics

    def after(request: Any, version: int) -> int:
        assert not wire.call(request, version).error_code
        return counted.consumer_rebalances

    by_expression = joining("c", "r")
    by_expression.subscribed_topic_regex = "t.*"
    assert after(joining("c", "m", "t"), 1) == 1
    assert after(joining("c", "n", "t"), 1) == 2
    assert after(ConsumerGroupHeartbeatRequest("c", "n", -1), 1) == 2
    after(by_expression, 1)
    node.scheduler.run_for(1_000)
    assert counted.consumer_rebalances == 3, "of the look-up alone"
    gone = [MemberIdentity(member) for member in ("m", "r")]
    assert after(LeaveGroupRequest("c", members=gone), 4) == 3
    assert after(joining("c", "m", "t"), 1) == 4
    node.scheduler.run_for(MINUTE_MS)
    assert not node.coordinator.group_counts(), "its session is over"
    assert counted.consumer_rebalances == 4
