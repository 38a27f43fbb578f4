"""Topics of a test: made, led, described, grown, deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.testing.operations import topics
from broker.testing.operations.port import OperationError
from tests.unit.broker.testing.operations.world import one_node


async def test_a_topic_is_led_when_it_is_told(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        made = await topics.create(node.world, "orders", 3, configs={"retention.ms": "1000"})
        assert made == {"name": "orders", "partitions": [0, 1, 2]}
        assert node.running.produce("orders", b"x").error_code == 0
        described = await topics.describe(node.world)
        assert described == {
            "orders": {
                "0": {"leader": 1, "start": 0, "end": 1},
                "1": {"leader": 1, "start": 0, "end": 0},
                "2": {"leader": 1, "start": 0, "end": 0},
            }
        }


async def test_what_is_refused_says_why(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        await topics.create(node.world, "orders")
        with pytest.raises(OperationError, match="orders was not created: TOPIC_ALREADY_EXISTS"):
            await topics.create(node.world, "orders")
        with pytest.raises(OperationError, match="was not created: INVALID_CONFIG"):
            await topics.create(node.world, "other", configs={"retention.ms": "long"})
        with pytest.raises(OperationError, match="no more partitions: INVALID_PARTITIONS"):
            await topics.grow(node.world, "orders", 1)


async def test_it_grows_and_goes(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        await topics.create(node.world, "orders")
        assert (await topics.grow(node.world, "orders", 2))["partitions"] == [0, 1]
        await topics.delete(node.world, ["orders", "never-there"])
        assert await topics.describe(node.world) == {}
        await topics.delete(node.world, [])
