"""The operations of faults: what comes over the control channel, on a real node."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from broker.testing.control import answer
from broker.testing.faults.of_node import faults_of
from broker.testing.operations import faults
from broker.testing.served import Served
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.unit.broker.node_fixture import Running


class Processor:
    def __init__(self) -> None:
        self.reasons: list[str] = []

    def abort(self, reason: str) -> None:
        self.reasons.append(reason)


class Bench:
    def __init__(self, folder: Path) -> None:
        self.running = Running(folder)
        self.running.create("a", "b")
        self.processor = Processor()
        sockets = SimpleNamespace(connection_count=3, processors=[self.processor])
        self.broker = SimpleNamespace(
            faults=faults_of(self.running.node), server=SimpleNamespace(sockets=sockets)
        )

    def call(self, op: str, **args: Any) -> Any:
        message = {"id": 1, "op": op, "args": args}
        told = asyncio.run(answer(cast(Served, self.broker), message))
        return told["result"] if "result" in told else told["error"]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.running.stop()


def test_a_fault_from_its_beginning_to_its_end(bench: Bench) -> None:
    number = bench.call(
        "fault.add", deed="error", api="Produce", error="NOT_LEADER_OR_FOLLOWER", topic="a", times=5
    )
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert bench.running.produce("a", b"v").error_code == error
    assert bench.running.produce("b", b"v").error_code == 0
    assert bench.call("fault.show", number=number) == {"seen": 1, "met": 1, "over": False}
    bench.call("fault.lift", number=number)
    assert bench.running.produce("a", b"v").error_code == 0
    assert bench.call("fault.show", number=number) is None


def test_all_faults_are_lifted_at_once(bench: Bench) -> None:
    for topic in ("a", "b"):
        bench.call("fault.add", deed="error", api="produce", error="INVALID_RECORD", topic=topic)
    bench.call("fault.clear")
    assert bench.running.produce("a", b"v").error_code == 0


def test_connections_are_closed(bench: Bench) -> None:
    assert bench.call("connections.close") == 3
    assert len(bench.processor.reasons) == 1
    bench.broker.server.sockets = None
    assert bench.call("connections.close") == 0


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (
            {"deed": "error", "api": "Prodcue", "error": "NOT_LEADER_OR_FOLLOWER"},
            "there is no API Prodcue; did you mean Produce?",
        ),
        (
            {"deed": "error", "api": "Produce", "error": "NOT_A_LEADER_OR_FOLLOWER"},
            "there is no error NOT_A_LEADER_OR_FOLLOWER; did you mean NOT_LEADER_OR_FOLLOWER?",
        ),
        ({"deed": "error", "api": "Produce", "error": "NONE"}, "there is no error NONE"),
        ({"deed": "lost", "api": "qqqqqqqq"}, "there is no API qqqqqqqq"),
    ],
)
def test_a_name_that_is_not_known_is_said(bench: Bench, args: dict[str, str], text: str) -> None:
    assert bench.call("fault.add", **args) == {"kind": "misuse", "text": text}


def test_apis_are_named_as_kafka_names_their_requests() -> None:
    assert faults.api_of("AddPartitionsToTxn") is ApiKey.ADD_PARTITIONS_TO_TXN
    assert faults.api_of("ADD_PARTITIONS_TO_TXN") is ApiKey.ADD_PARTITIONS_TO_TXN
    assert faults.error_of("unknown_server_error") is ErrorCode.UNKNOWN_SERVER_ERROR
