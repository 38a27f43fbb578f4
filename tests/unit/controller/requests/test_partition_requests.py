"""`controller.requests.partition_requests`: answers to requests that are refused whole."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.alter_partition import AlterPartitionRequest
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from tests.unit.controller.controller_fixture import OneNode

ELECT = ElectLeadersRequest(0, [TopicPartitions("foo", [3])])
MOVE = AlterPartitionReassignmentsRequest(
    topics=[ReassignableTopic("foo", [ReassignablePartition(3, [1])])]
)


@pytest.mark.parametrize(
    "request_",
    [
        AlterPartitionRequest(1, 1),
        AssignReplicasToDirsRequest(1, 1),
        ELECT,
        MOVE,
        ListPartitionReassignmentsRequest(),
    ],
    ids=lambda one: type(one).__name__,
)
def test_elsewhere(request_: Any) -> None:
    """Where this node is not the active controller, the answer says so at its top."""
    answer = OneNode().call(request_, request_.MAX_VERSION)
    assert answer.error_code == ErrorCode.NOT_CONTROLLER


def test_each_partition_says_so_too() -> None:
    node = OneNode()
    elected = node.call(ELECT, 2).replica_election_results[0]
    assert (elected.topic, elected.partition_result[0].partition_id) == ("foo", 3)
    assert elected.partition_result[0].error_code == ErrorCode.NOT_CONTROLLER
    moved = node.call(MOVE, 1).responses[0]
    assert (moved.name, moved.partitions[0].partition_index) == ("foo", 3)
    assert moved.partitions[0].error_code == ErrorCode.NOT_CONTROLLER


def test_a_stale_broker() -> None:
    node = OneNode().start()
    for request in (AlterPartitionRequest(1, 1), AssignReplicasToDirsRequest(1, 1)):
        answer = node.call(request, request.MAX_VERSION)
        assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_whose_time_is_up_is_told_so_unless_nothing_is_asked(timeout_ms: int) -> None:
    """As a running Kafka; ListPartitionReassignments has a time-out, too, but no deadline."""
    node = OneNode().start()
    elect = ElectLeadersRequest(0, [TopicPartitions("foo", [3, 4])], timeout_ms)
    answer = node.call(elect, 2)
    assert answer.error_code == 7
    (topic,) = answer.replica_election_results
    assert [(one.partition_id, one.error_code) for one in topic.partition_result] == [
        (3, 7),
        (4, 7),
    ]
    assert node.call(ElectLeadersRequest(9, None, timeout_ms), 2).error_code == 7
    assert node.call(ElectLeadersRequest(0, [], timeout_ms), 2).error_code == 0
    move = AlterPartitionReassignmentsRequest(timeout_ms, False, MOVE.topics)
    answer = node.call(move, 1)
    assert (answer.error_code, answer.error_message) == (7, None)
    assert [one.error_code for one in answer.responses[0].partitions] == [7]
    assert node.call(ListPartitionReassignmentsRequest(timeout_ms), 0).error_code == 0


@pytest.mark.parametrize(
    ("request_", "echo"),
    [
        (AlterPartitionReassignmentsRequest(1, False, MOVE.topics), False),
        (AlterPartitionReassignmentsRequest(0, False, MOVE.topics), True),
        (AlterPartitionReassignmentsRequest(1, False, []), True),
        (AlterPartitionReassignmentsRequest(0, False, []), True),
    ],
)
def test_what_was_asked_about_the_replication_factor_is_told_with_an_outcome_only(
    request_: AlterPartitionReassignmentsRequest, echo: bool
) -> None:
    answer = OneNode().start().call(request_, 1)
    assert answer.allow_replication_factor_change is echo
    assert answer.error_message == (None if request_.topics else "")
