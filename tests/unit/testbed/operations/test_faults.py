"""The operations of faults: what comes over the control channel, on a real node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from testbed.broker_under_test import BrokerUnderTest
from testbed.control import answer
from testbed.faults.full_disk import Room
from testbed.faults.of_node import faults_of
from testbed.faults.tally import SharedTally
from testbed.operations import faults
from testbed.operations.decoded_requests import api_key
from tests.unit.broker.node_fixture import Running


class Sockets:
    def __init__(self) -> None:
        self.reasons: list[str] = []

    def close_connections(self, reason: str, spared: Callable[[str], bool]) -> int:
        self.reasons.append(reason)
        return sum(not spared(one) for one in ("client-1", "node-2", "client-3"))


class Bench:
    def __init__(self, folder: Path) -> None:
        self.running = Running(folder)
        self.running.create("a", "b")
        self.sockets = Sockets()
        self.broker = SimpleNamespace(
            faults=faults_of(self.running.node),
            server=SimpleNamespace(sockets=self.sockets),
            config=SimpleNamespace(node_id=1),
            sent=SimpleNamespace(is_of_a_node_or_test=lambda one: one.startswith("node")),
            node=self.running.node,
        )

    def call(self, op: str, **args: Any) -> Any:
        message = {"id": 1, "op": op, "args": args}
        told = asyncio.run(answer(cast(BrokerUnderTest, self.broker), message))
        return told["result"] if "result" in told else told["error"]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.running.stop()


def test_what_only_nodes_ask_is_met_where_nodes_ask_it(bench: Bench) -> None:
    for api, of_nodes in (("WriteTxnMarkers", True), ("Produce", False)):
        bench.call("fault.add", key=api, deed="lost", api=api)
        rule = bench.broker.faults.rule(api)
        assert rule is not None and rule.aim.nodes is of_nodes


def test_an_error_that_kafka_has_not_there_can_be_forced(bench: Bench) -> None:
    error = ErrorCode.GROUP_ID_NOT_FOUND
    args = {"deed": "error", "api": "Produce", "error": error.name, "topic": "a", "force": True}
    assert bench.call("fault.add", key="k", **args) is None
    assert bench.running.produce("a", b"v").error_code == error


def test_nodes_that_count_together(bench: Bench, tmp_path: Path) -> None:
    other = SharedTally(str(tmp_path / "k"))
    other.see()
    other.take(2)
    args = {"deed": "error", "api": "Produce", "error": "INVALID_RECORD", "times": 2, "seed": 5}
    bench.call("fault.add", key="k", counted_at=str(tmp_path / "k"), **args)
    seen = [bench.running.produce("a", b"v").error_code for _ in range(2)]
    assert seen == [ErrorCode.INVALID_RECORD, 0]
    assert bench.call("fault.show", key="k") == {"seen": 3, "met": 2, "over": True}
    rule = bench.broker.faults.rule("k")
    assert rule is not None and rule.seed == 5 + 1, "each node draws by itself"
    other.close()


def test_all_faults_are_lifted_at_once(bench: Bench) -> None:
    for topic in ("a", "b"):
        args = {"deed": "error", "api": "produce", "error": "INVALID_RECORD", "topic": topic}
        bench.call("fault.add", key=topic, **args)
    bench.call("fault.clear")
    assert bench.running.produce("a", b"v").error_code == 0


def test_connections_of_clients_are_closed(bench: Bench) -> None:
    assert bench.call("connections.close") == 2
    assert len(bench.sockets.reasons) == 1
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
        (
            {"deed": "lost", "api": "StreamsGroupHeartbeat"},
            "no StreamsGroupHeartbeat request is met: it is not served here",
        ),
        (
            {"deed": "error", "api": "DescribeGroups", "error": "INVALID_RECORD"},
            "DescribeGroups never answers with INVALID_RECORD, but with "
            "COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, GROUP_AUTHORIZATION_FAILED, "
            "GROUP_ID_NOT_FOUND, INVALID_GROUP_ID, NOT_COORDINATOR; "
            "force=True has it answered all the same",
        ),
    ],
)
def test_a_name_that_is_not_known_is_said(bench: Bench, args: dict[str, str], text: str) -> None:
    assert bench.call("fault.add", key="k", **args) == {"kind": "misuse", "text": text}


def test_apis_are_named_as_kafka_names_their_requests() -> None:
    assert api_key("AddPartitionsToTxn") is ApiKey.ADD_PARTITIONS_TO_TXN
    assert api_key("ADD_PARTITIONS_TO_TXN") is ApiKey.ADD_PARTITIONS_TO_TXN
    assert faults.error_of("unknown_server_error") is ErrorCode.UNKNOWN_SERVER_ERROR


# --- the disk, and links ------------------------------------------------------------------------

CONFIG = SimpleNamespace(log_dirs=["/a", "/b"], metadata_log_dir="/a")


def call_on(room: Room, op: str, **args: Any) -> Any:
    broker = SimpleNamespace(room=room, config=CONFIG)
    told = asyncio.run(answer(cast(BrokerUnderTest, broker), {"id": 1, "op": op, "args": args}))
    return told["result"] if "result" in told else told["error"]


def test_all_directories_or_one_of_them() -> None:
    room = Room()
    assert call_on(room, "disk.fill", log_dir="/b") == ["/b"]
    assert room.is_full("/b/t-0") and not room.is_full("/bb/t-0")
    assert call_on(room, "disk.fill") == ["/a", "/b"]
    assert room.is_full("/a/t-0")
    call_on(room, "disk.free")
    assert not room.is_full("/a/t-0")


def test_a_directory_that_is_none_of_the_brokers() -> None:
    assert call_on(Room(), "disk.fill", log_dir="/c") == {
        "kind": "misuse",
        "text": "/c is none of the broker's log directories: /a, /b",
    }


def test_the_controller_gives_up(bench: Bench) -> None:
    told = bench.call("controller.show")
    assert told["leader"] == 1
    assert bench.call("controller.resign") == told["epoch"]
    assert bench.call("controller.show")["leader"] is None
    assert bench.call("controller.resign")["kind"] == "misuse"
    bench.running.scheduler.run_for(5000)
    again = bench.call("controller.show")
    assert again["leader"] == 1 and again["epoch"] > told["epoch"], "it is the only one"
