"""Asking a broker in this process."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from protocol.messages.metadata import MetadataRequest
from protocol.messages.produce import ProduceRequest
from testbed.operation_error import OperationError
from tests.unit.testbed.operations.world import one_node


async def test_it_is_asked_with_all_rights(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        node.running.judge_by(SimpleNamespace())  # anybody else's request would fail
        answer = await node.ask(None, MetadataRequest([], False), 9)
        assert [one.node_id for one in answer.brokers] == [1]


async def test_what_is_not_served_is_said(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        with pytest.raises(OperationError, match="does not serve SimpleNamespace") as told:
            await node.ask(None, SimpleNamespace(API_KEY=99), 0)
        assert told.value.kind == "not possible"


async def test_a_request_that_would_close_a_connection_is_refused(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        assert node.running.create("t") == [0]
        request = ProduceRequest(None, 0, 1000, topic_of("absent"))
        with pytest.raises(OperationError, match="PRODUCE: "):
            await node.ask(None, request, 9)


def topic_of(name: str) -> list[object]:
    from protocol.messages.produce import PartitionProduceData, TopicProduceData

    return [TopicProduceData(name, partition_data=[PartitionProduceData(0, memoryview(b""))])]
