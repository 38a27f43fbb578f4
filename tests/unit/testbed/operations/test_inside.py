"""What a reset does to a broker that no request can."""

from __future__ import annotations

from pathlib import Path

from controller.metadata.topic_names import INTERNAL_TOPICS
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.unit.testbed.operations.transaction import Producer
from tests.unit.testbed.operations.world import one_node


async def test_configs_are_compared_with_those_at_first(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        inside = node.world.inside
        assert inside is not None
        assert inside.changed_configs() == []
        keys = [
            AlterableConfig("log.retention.ms", 0, "1"),
            AlterableConfig("min.insync.replicas", 0, "2"),
        ]
        resource = AlterConfigsResource(4, "", keys)
        await node.ask(None, IncrementalAlterConfigsRequest([resource]), 1)
        changed = {"log.retention.ms": None, "min.insync.replicas": "1"}
        assert inside.changed_configs() == [(4, "", changed)]


async def test_an_open_transaction_is_not_forgotten(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        inside, broker = node.world.inside, node.running.node.broker
        assert inside is not None and broker is not None
        node.running.create("t")
        producer = await Producer.begin(node.world, "open", "t")
        await producer.send(b"x")
        await Producer.begin(node.world, "idle", "t")
        inside.forget_transactional_ids()
        coordinator = broker.parts.transactions.coordinator
        assert [coordinator.describe(one).error_code for one in ("open", "idle")] == [0, 105]


async def test_internal_topics_are_kept(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        inside = node.world.inside
        assert inside is not None
        for name in (*INTERNAL_TOPICS, "jobs"):
            node.running.create(name)
        assert inside.topics() == ["jobs"]
