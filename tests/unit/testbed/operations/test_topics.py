"""Topics of a test: made, led, described, grown, deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from testbed.operation_error import OperationError
from testbed.operations import topics
from testbed.operations.port import NoAnswer, OperationWorld
from tests.unit.testbed.operations.world import one_node


async def test_what_is_refused_says_why(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        await topics.create(node.world, "orders")
        with pytest.raises(OperationError, match="orders was not created: TOPIC_ALREADY_EXISTS"):
            await topics.create(node.world, "orders")
        with pytest.raises(OperationError, match="was not created: INVALID_CONFIG"):
            await topics.create(node.world, "other", configs={"retention.ms": "long"})
        with pytest.raises(OperationError, match="no more partitions: INVALID_PARTITIONS"):
            await topics.grow(node.world, "orders", 1)


class ThreeNodes:
    """A partition `orders-0` of three replicas, one of which is behind, as requests see it."""

    def __init__(self) -> None:
        self.replicas = [1, 2, 3]
        self.isr = [1, 2]
        self.leader = 1
        self.refuses = 0
        self.late = 0
        self.gone = 0
        """Node 3 is, and the others do not say so so many times."""
        self.now_s = 0.0
        self.world = OperationWorld(self.ask, lambda: self.now_s, lambda: 0, self.pause)

    async def pause(self, seconds: float) -> None:
        self.now_s += seconds

    async def ask(self, node_id: int | None, message: Any, _version: int) -> Any:
        if isinstance(message, AlterPartitionReassignmentsRequest):
            self.replicas = message.topics[0].partitions[0].replicas or []
            return AlterPartitionReassignmentsResponse()
        if isinstance(message, ElectLeadersRequest):
            (asked,) = message.topic_partitions or []
            if not self.refuses:
                self.leader = self.replicas[0]
            result = PartitionResult(asked.partitions[0], self.refuses)
            return ElectLeadersResponse(
                replica_election_results=[ReplicaElectionResult(asked.topic, [result])]
            )
        if node_id == 3 and self.gone > 0:
            self.gone -= 1
            raise NoAnswer("no answer from node 3", was_sent=False)
        self.late -= node_id == 3
        leader = 1 if node_id == 3 and self.late > 0 else self.leader
        partition = MetadataResponsePartition(0, 0, leader, 0, self.replicas, self.isr)
        return MetadataResponse(
            brokers=[MetadataResponseBroker(one) for one in (1, 2, 3)],
            topics=[MetadataResponseTopic(0, "orders", partitions=[partition])],
        )


async def test_another_replica_leads() -> None:
    nodes = ThreeNodes()
    nodes.late = 5
    assert await topics.lead(nodes.world, "orders") == 2
    assert (nodes.leader, nodes.replicas) == (2, [2, 1, 3])
    assert nodes.late <= 0, "every node says so"
    assert await topics.lead(nodes.world, "orders", 0, 1) == 1
    nodes.refuses = ErrorCode.ELECTION_NOT_NEEDED
    assert await topics.lead(nodes.world, "orders", 0, 1) == 1


async def test_a_replica_that_cannot_lead() -> None:
    nodes = ThreeNodes()
    for args, text in (
        (("orders", 1), "no partition orders-1"),
        (("orders", 0, 3), "in sync with orders-0 is 1, 2, not node 3"),
    ):
        with pytest.raises(OperationError, match=text):
            await topics.lead(nodes.world, *args)  # type: ignore[arg-type]
    nodes.isr = [1]
    with pytest.raises(OperationError, match="is 1, no other node"):
        await topics.lead(nodes.world, "orders")
    nodes.isr = [1, 2]
    nodes.late = 10_000
    with pytest.raises(OperationError, match="node 3 says that orders-0 is led by 1, not by 2"):
        await topics.lead(nodes.world, "orders")
    nodes.refuses = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    with pytest.raises(OperationError, match="no other leader: ELIGIBLE_LEADERS_NOT_AVAILABLE"):
        await topics.lead(nodes.world, "orders", 0, 1)


async def test_a_node_that_has_just_gone_is_waited_for() -> None:
    nodes = ThreeNodes()
    nodes.gone = 5
    assert await topics.lead(nodes.world, "orders") == 2
    assert nodes.gone == 0
    nodes.gone = 10_000
    with pytest.raises(OperationError, match="after 10 s no answer from node 3"):
        await topics.lead(nodes.world, "orders", 0, 1)
