"""A broker under test is asked by name, over the control channel's dispatch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from broker.config.parse import single_node_config
from broker.network.blocking_client import BlockingClient
from broker.testing.control import OPERATIONS, answer
from broker.testing.operations import of_clients
from broker.testing.served import Served
from protocol.messages.api_versions import ApiVersionsRequest

LISTENERS = "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    broker = Served(asyncio.get_running_loop(), lambda _: None)
    await broker.start(single_node_config({"log.dirs": str(tmp_path), "listeners": LISTENERS}))
    yield broker
    of_clients._worlds.clear()
    await broker.stop()


async def call(broker: Served, op: str, **args: Any) -> Any:
    found = await answer(broker, {"id": 1, "op": op, "args": args})
    return found["result"] if "result" in found else found["error"]


async def test_a_broker_and_the_same_as_a_cluster(served: Served) -> None:
    assert await call(served, "topic.create", name="orders", partitions=2)
    port = served.server.sockets.ports["PLAINTEXT"]  # type: ignore[union-attr]
    assert await call(served, "connect", bootstrap=[["127.0.0.1", port]]) == [1]
    records = [{"key": b"k", "value": b"v", "timestamp": 17}]
    assert await call(served, "records.seed", topic="orders", records=records) == [[0, 0, 17]]
    found = await call(served, "records.consume", topic="orders", count=1)
    assert [one["value"] for one in found["records"]] == [b"v"]
    assert (await call(served, "requests"))["kind"] == "not possible"
    assert (await call(served, "reset"))["kind"] == "not possible"
    of_clients._worlds.clear()
    assert await call(served, "requests") == []  # none was a client's
    with await asyncio.to_thread(BlockingClient, "127.0.0.1", port, 5.0, "app") as client:
        (asked,) = await call(served, "requests", api="ApiVersions")
        assert asked["client_id"] == "app"
        dropped = await call(served, "reset")
        assert (dropped["topics"], dropped["connections"]) == (["orders"], 1)
        with pytest.raises(OSError):
            await asyncio.to_thread(client.call, ApiVersionsRequest("app", "1"))
    assert await call(served, "requests") == []


async def test_a_refusal_crosses_the_channel(served: Served) -> None:
    refused = await call(served, "records.seed", topic="absent", records=[{}])
    assert refused["kind"] == "misuse"
    assert "there is no topic absent" in refused["text"]
    assert (await call(served, "requests", api="Nothing"))["kind"] == "misuse"
    nobody = await call(served, "connect", bootstrap=[["127.0.0.1", 1]])
    assert "no answer from 127.0.0.1:1 (refused)" in nobody["text"]


def test_all_are_registered() -> None:
    assert {"reset", "requests", "connect", *of_clients._ASKED} <= set(OPERATIONS)
