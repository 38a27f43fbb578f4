"""The worker: runs over a channel, one after the other, until the other end is closed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from broker.testing.simulation.sim_trace import Violation
from broker.testing.simulation.users.user_run import UserRun
from broker.testing.simulation.users.worker import Worker
from ottla.testing.channel import Channel
from ottla.testing.errors import OttlaError
from ottla.testing.frames import Json
from tests.tools.waiting import LIMIT_S

BEGIN = {"seed": 1, "brokers": 1, "faults": "none", "properties": {}, "limit_ms": 60_000.0,
         "keep_trace": True}  # fmt: skip


@pytest.fixture
def channel() -> Iterator[Channel]:
    """The tests' end of a worker that runs in a thread."""
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=Worker(theirs).serve)
    thread.start()
    channel = Channel(ours, "the worker")
    yield channel
    channel.close()
    thread.join(LIMIT_S)
    assert not thread.is_alive(), "it ends with its channel"


def step(channel: Channel, *submit: Json) -> Json:
    return channel.call("step", {"submit": list(submit), "cancel": [], "hang_up": []})


def test_a_run_from_its_beginning_to_its_end(channel: Channel) -> None:
    begun = channel.call("begin", BEGIN)
    assert begun["now_ms"] > 0 and begun["done"] == [] and begun["trace"]
    assert begun["happened"][-1][1].startswith("broker-1 serves")
    topic = {"topic": "t", "partitions": 1, "replication": 1, "configs": {}, "timeout_ms": 5_000.0}
    told = step(channel, [1, "client", "create_topic", topic])
    assert told["done"] == [{"id": 1, "result": None}]
    records = [{"key": None, "value": b"a"}]
    sent = {"topic": "t", "records": records, "partition": 0, "acks": -1, "timeout_ms": 5_000.0}
    assert step(channel, [2, "client", "produce", sent])["done"][0]["result"] == [0, 0]
    ended = channel.call("finish", {})
    assert [[*log[:2], len(log[2])] for log in ended["logs"]] == [["t", 0, 1]]
    assert ended["offsets"] == {} and ended["requests"] > 3
    again = channel.call("begin", {**BEGIN, "seed": 2})
    assert again["checksum"] != begun["checksum"]
    channel.call("drop", {})


def test_a_failure_is_a_result_and_misuse_an_error(
    channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OttlaError, match="begin comes first"):
        channel.call("finish", {})
    channel.call("begin", BEGIN)
    with pytest.raises(OttlaError, match="KeyError"):
        step(channel, [1, None, "no such thing", {}])
    step(channel, [1, None, "sleep", {"ms": 10.0}])

    def broken(_run: UserRun) -> None:
        raise Violation("I0", "made up")

    monkeypatch.setattr(UserRun, "converge", broken)
    monkeypatch.setattr(UserRun, "end_faults", broken)
    name, reason = channel.call("finish", {})["failure"]
    assert (name, reason) == ("I0", "I0: made up")
