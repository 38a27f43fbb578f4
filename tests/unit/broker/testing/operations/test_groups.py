"""Groups of a test: how they are, how far they have come, a rebalance, an end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker.testing.operation_error import OperationError
from broker.testing.operations import groups, records, topics
from protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    TopicPartitions,
)
from protocol.messages.consumer_group_describe import DescribedGroup as DescribedGroup848
from protocol.messages.consumer_group_describe import Member as Member848
from protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from tests.unit.broker.testing.operations.member import Member, commit
from tests.unit.broker.testing.operations.transaction import Producer
from tests.unit.broker.testing.operations.world import one_node


async def test_how_far_a_group_is(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        world = node.world
        await topics.create(world, "orders", 2)
        await records.seed(world, "orders", [{"value": b"x", "partition": 0}] * 3)
        await commit(world, "app", "orders", {0: 1})
        found = await groups.progress(world, "app", ["orders", "absent"])
        assert (found["state"], found["members"], found["missing"]) == ("Empty", [], ["absent"])
        first, second = found["partitions"]
        assert first == {
            "topic": "orders",
            "partition": 0,
            "committed": 1,
            "end": 3,
            "lag": 2,
            "open_transaction": False,
        }
        assert (second["committed"], second["end"], second["lag"]) == (None, 0, 0)
        assert await groups.list_groups(world) == [{"group": "app", "state": "Empty"}]


async def test_markers_of_transactions_are_nothing_to_read(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        world = node.world
        await topics.create(world, "orders")
        producer = await Producer.begin(world, "tx", "orders")
        await producer.send(b"one")
        await commit(world, "app", "orders", {0: 1})
        (one,) = (await groups.progress(world, "app"))["partitions"]
        assert (one["lag"], one["open_transaction"]) == (0, True)
        await producer.end(committed=True)
        while one["open_transaction"]:  # its marker is on the way
            await world.pause(0.01)
            (one,) = (await groups.progress(world, "app"))["partitions"]
        assert (one["committed"], one["end"], one["lag"]) == (1, 2, 0)
        await records.seed(world, "orders", [{"value": b"two"}])
        (one,) = (await groups.progress(world, "app"))["partitions"]
        assert (one["end"], one["lag"]) == (3, 2)


async def test_a_rebalance_is_one(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        world = node.world
        await topics.create(world, "orders", 2)
        member = Member(world, "app", "orders", [0, 1])
        await member.joined()
        found = await groups.describe(world, "app")
        assert found["state"] == "Stable"
        assert found["members"][0]["assignment"] == {"orders": [0, 1]}
        after = await groups.rebalance(world, "app")
        assert after["state"] == "Stable"
        assert len(after["members"]) == 1
        await member.joined(2)
        assert member.generations[1] > member.generations[0]
        member.task.cancel()


async def test_a_group_without_members_cannot_be_rebalanced(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        with pytest.raises(OperationError, match="group app has no members"):
            await groups.rebalance(node.world, "app")


async def test_a_group_goes_with_its_members(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        world = node.world
        await topics.create(world, "orders")
        member = Member(world, "app", "orders", [0])
        await member.joined()
        await groups.delete(world, ["app", "never"])
        await member.task
        assert (await groups.describe(world, "app"))["state"] == "Dead"
        assert await groups.list_groups(world) == []


async def test_a_group_of_the_newer_protocol_is_described_by_it(tmp_path: Path) -> None:
    """Of KIP-848, as Apache Kafka tells of it: to the older request it is dead."""
    member = Member848(
        "m",
        client_id="app",
        client_host="/h",
        assignment=Assignment([TopicPartitions(topic_name="orders", partitions=[0, 2])]),
    )
    state = "Reconciling"

    async with one_node(tmp_path) as node:

        async def ask(node_id: int | None, message: Any, version: int) -> Any:
            if isinstance(message, ListGroupsRequest):
                return ListGroupsResponse(groups=[ListedGroup("app", "consumer", state)])
            if isinstance(message, ConsumerGroupDescribeRequest):
                found = DescribedGroup848(group_id="app", group_state=state, members=[member])
                return ConsumerGroupDescribeResponse(groups=[found])
            return await node.ask(node_id, message, version)

        kafka = replace(node.world, ask=ask, inside=None)
        found = await groups.describe(kafka, "app")
        assert (found["state"], found["members"][0]["client_id"]) == (state, "app")
        assert found["members"][0]["assignment"] == {"orders": [0, 2]}
        assert (await groups.describe(kafka, "other"))["state"] == "Dead"
