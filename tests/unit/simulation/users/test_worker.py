"""The worker: runs over a channel, one after the other, until the other end is closed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from ottla.testing.channel import ProcessChannel
from ottla.testing.errors import OttlaError
from ottla.testing.frames import Json
from simulation.sim_trace import Violation
from simulation.users.user_run import UserRun
from simulation.users.worker import Worker
from tests.tools.waiting import LIMIT_S

BEGIN = {"seed": 1, "brokers": 1, "faults": "none", "properties": {}, "limit_ms": 60_000.0,
         "keep_trace": True}  # fmt: skip


@pytest.fixture
def channel() -> Iterator[ProcessChannel]:
    """The tests' end of a worker that runs in a thread."""
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=Worker(theirs).serve)
    thread.start()
    channel = ProcessChannel(ours, "the worker")
    yield channel
    channel.close()
    thread.join(LIMIT_S)
    assert not thread.is_alive(), "it ends with its channel"


def step(channel: ProcessChannel, *submit: Json) -> Json:
    return channel.call("step", {"submit": list(submit), "cancel": [], "hang_up": []})


def test_a_failure_is_a_result_and_misuse_an_error(
    channel: ProcessChannel, monkeypatch: pytest.MonkeyPatch
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
