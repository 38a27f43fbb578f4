"""The client's half of the channel, with a thread at the other end of the pair."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ottla.testing.channel import ProcessChannel
from ottla.testing.errors import BrokerGone, DeadlinePassed
from ottla.testing.frames import HELLO, JsonFrameReader, JsonMessage, encode
from tests.tools.waiting import LIMIT_S

Serve = Callable[[socket.socket, JsonMessage], None]


class Pair:
    """A channel, and whoever serves it."""

    def __init__(self, serve: Serve, hello: JsonMessage = HELLO) -> None:
        ours, self.theirs = socket.socketpair()
        self.channel = ProcessChannel(ours, "the broker")
        self._serve = serve
        self._hello = hello
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        reader = JsonFrameReader()
        self.theirs.sendall(encode(self._hello))
        with contextlib.suppress(ConnectionError):  # closed before all was read or answered
            while data := self.theirs.recv(1000):
                for message in reader.feed(data):
                    if message != HELLO:
                        self._serve(self.theirs, message)

    def close(self) -> None:
        self.channel.close()
        self._thread.join()
        self.theirs.close()


def echo(end: socket.socket, message: JsonMessage) -> None:
    end.sendall(encode({"id": message["id"], "result": [message["op"], message["args"]]}))


@pytest.fixture
def start() -> Iterator[Callable[..., Pair]]:
    made: list[Pair] = []

    def make(serve: Serve = echo, hello: JsonMessage = HELLO) -> Pair:
        made.append(Pair(serve, hello))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_threads_get_their_own_answers_in_any_order(start: Callable[..., Pair]) -> None:
    held: list[JsonMessage] = []

    def backwards(end: socket.socket, message: JsonMessage) -> None:
        held.append(message)
        if len(held) == 8:
            for one in reversed(held):
                echo(end, one)

    channel = start(backwards).channel
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: channel.call("op", {"n": n}), range(8)))
    assert found == [["op", {"n": n}] for n in range(8)]


def test_a_deadline_passes_and_the_late_answer_is_nobodys(start: Callable[..., Pair]) -> None:
    held: list[JsonMessage] = []

    def late(end: socket.socket, message: JsonMessage) -> None:
        if message["op"] == "slow":
            held.append(message)
            return
        for one in (*held, message):
            echo(end, one)

    channel = start(late).channel
    with pytest.raises(DeadlinePassed, match="the broker did not answer to slow in time"):
        channel.call("slow", timeout_s=0.01)
    assert channel.call("quick") == ["quick", {}]


def test_a_broker_that_ends_is_told_to_all_who_wait(start: Callable[..., Pair]) -> None:
    waiting = threading.Barrier(3)

    def die(end: socket.socket, message: JsonMessage) -> None:
        if message["op"] == "die":
            end.shutdown(socket.SHUT_RDWR)

    channel = start(die).channel

    def wait() -> str:
        number = channel.begin("wait", {}, time.monotonic() + LIMIT_S)
        waiting.wait()
        with pytest.raises(BrokerGone) as raised:
            channel.result(number, "wait", time.monotonic() + LIMIT_S)
        return str(raised.value)

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(wait) for _ in range(2)]
        waiting.wait()
        with pytest.raises(BrokerGone):
            channel.call("die")
        assert [one.result() for one in both] == ["the broker has ended: its process is gone"] * 2
    assert channel.gone
    with pytest.raises(BrokerGone):
        channel.call("again")


@pytest.mark.parametrize("hello", [{"version": 99}, {"id": 1, "result": None}])
def test_another_version_at_the_other_end_is_told(
    start: Callable[..., Pair], hello: JsonMessage
) -> None:
    with pytest.raises(BrokerGone, match="two installations of Ottla are mixed"):
        start(hello=hello).channel.call("ping")


def test_whoever_takes_nothing_holds_nobody_up() -> None:
    ours, theirs = socket.socketpair()
    channel = ProcessChannel(ours, "the broker")
    with pytest.raises(DeadlinePassed, match="takes nothing"):
        channel.call("seed", {"value": bytes(1 << 22)}, timeout_s=0.01)
    with pytest.raises(BrokerGone, match="has ended"):
        channel.call("ping")
    channel.close()
    theirs.close()
