"""Records into topics and out of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from testbed.operation_error import OperationError
from testbed.operations import records, topics
from tests.unit.testbed.operations.world import OneNode, one_node


async def consumed(node: OneNode, topic: str, **how: Any) -> list[tuple[Any, ...]]:
    found = await records.consume(node.world, topic, **how)
    return [(one["partition"], one["offset"], one["key"], one["value"]) for one in found["records"]]


async def test_it_waits_for_records_and_for_the_topic(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        began = node.world.now_s()
        found = await records.consume(node.world, "orders", count=1, timeout_s=2)
        assert (found["records"], found["positions"], found["exists"]) == ([], {}, False)
        assert 2 <= node.world.now_s() - began < 2.5
        await topics.create(node.world, "orders")
        began = node.world.now_s()
        found = await records.consume(node.world, "orders", count=1, timeout_s=2)
        assert (found["records"], found["exists"]) == ([], True)
        assert 2 <= node.world.now_s() - began < 2.5


async def test_many_records_are_many_batches(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        await topics.create(node.world, "orders")
        seeded = [{"value": bytes(100_000)} for _ in range(9)]
        placed = await records.seed(node.world, "orders", seeded)
        assert [one[:2] for one in placed] == [[0, offset] for offset in range(9)]
        assert len(await consumed(node, "orders")) == 9


async def test_a_batch_that_is_too_large_for_its_topic_is_split(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        await topics.create(node.world, "orders", configs={"max.message.bytes": "1000"})
        seeded = [{"value": bytes(300)} for _ in range(9)]
        placed = await records.seed(node.world, "orders", seeded)
        assert [one[:2] for one in placed] == [[0, offset] for offset in range(9)]
        with pytest.raises(OperationError, match="orders-0: MESSAGE_TOO_LARGE"):
            await records.seed(node.world, "orders", [{"value": bytes(1000)}])


async def test_what_is_more_than_an_answer_holds_comes_in_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "RECORDS_MAX", 4)
    async with one_node(tmp_path) as node:
        await topics.create(node.world, "orders")
        await records.seed(node.world, "orders", [{"value": b"x"}] * 5)
        first = await records.consume(node.world, "orders")
        assert (len(first["records"]), first["cut_off"], first["ends"]) == (4, True, {"0": 5})
        await records.seed(node.world, "orders", [{"value": b"later"}])
        rest = await records.consume(
            node.world, "orders", first["positions"], ends=first["ends"], count=None
        )
        assert rest["cut_off"] is False and rest["records"][0]["value"] == b"x"
        monkeypatch.setattr(records, "RECORDS_BYTES_MAX", 1)
        assert (await records.consume(node.world, "orders", count=6))["cut_off"]


async def test_what_cannot_be_read_to_its_end_is_told(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        await topics.create(node.world, "orders")
        with pytest.raises(
            OperationError, match=r"not read to its end in 1 s: partition 0, led by 1, is at 0 of 3"
        ):
            await records.consume(node.world, "orders", ends={"0": 3}, timeout_s=1)


async def test_what_cannot_be_seeded_says_why(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        with pytest.raises(OperationError, match="there is no topic orders"):
            await records.seed(node.world, "orders", [{"value": b"x"}])
        await topics.create(node.world, "orders")
        with pytest.raises(OperationError, match="no partition 3: it has 1"):
            await records.seed(node.world, "orders", [{"value": b"x", "partition": 3}])
        with pytest.raises(OperationError, match="no compression rar: none, gzip"):
            await records.seed(node.world, "orders", [{"value": b"x"}], compression="rar")
        with pytest.raises(OperationError, match="orders-0: MESSAGE_TOO_LARGE"):
            await records.seed(node.world, "orders", [{"value": bytes(2_000_000)}])
