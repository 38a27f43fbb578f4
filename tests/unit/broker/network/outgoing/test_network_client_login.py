"""What a channel does with a login: before its first request, and again before the login ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from broker.config.security_settings import ClientSecurity, MechanismSettings
from broker.network.outgoing import network_client
from broker.network.outgoing.network_client import NetworkClient
from broker.security.client_guard import ClientGuard
from ground.ports import ChannelFailure
from protocol.frames.message_codec import encode_response
from protocol.messages.vote import VoteRequest, VoteResponse
from tests.tools.waiting import LIMIT_S
from tests.unit.broker.network.conftest import until

LIMIT = 1_000_000
TOKENS = (b"first", b"second")
CLOSE, SILENCE = b"close", b"silence"


class Login:
    """Two tokens, each to be answered by `ok`."""

    def __init__(self, guard: Guard) -> None:
        self.lifetime_ms = guard.lifetime_ms
        self._left = list(TOKENS)

    def begin(self) -> bytes:
        return framed(b"SASL" + self._left.pop(0))

    def received(self, answer: bytes) -> bytes | None:
        if answer != b"ok":
            raise ConnectionError(answer.decode())
        return self.begin() if self._left else None


class Guard(ClientGuard):
    """A listener with SASL whose mechanism is `Login`."""

    def __init__(self, lifetime_ms: int) -> None:
        plain = ClientSecurity("SASL_PLAINTEXT", None, MechanismSettings("PLAIN"))
        super().__init__(plain, "", self.begin)
        self.lifetime_ms = lifetime_ms

    def begin(self, client_id: str) -> Login:
        assert client_id == "node-1"
        return Login(self)


class Listener:
    """Answers requests by their number, tokens by `answers`, then by `ok`; `seen` has all."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.answers: list[bytes] = []
        self.held: asyncio.Event | None = None
        """Set: answers of requests wait for it."""
        self.connections = 0
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        count = 0
        try:
            while True:
                frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
                if frame.startswith(b"SASL"):
                    self.seen.append(frame[4:].decode())
                    answer = self.answers.pop(0) if self.answers else b"ok"
                    if answer == CLOSE:
                        return
                    if answer != SILENCE:
                        writer.write(framed(answer))
                else:
                    count += 1
                    self.seen.append(f"request {count}")
                    if self.held is not None:
                        await self.held.wait()
                    response = VoteResponse(error_code=count)
                    version = int.from_bytes(frame[2:4], "big")
                    correlation = int.from_bytes(frame[4:8], "big")
                    writer.write(bytes(encode_response(response, version, correlation)))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class AnsweredRequests:
    """Requests on one channel, and what came of them in its order."""

    def __init__(self, client: NetworkClient, port: int) -> None:
        self.channel = client.channel("127.0.0.1", port, "node-1")
        self.told: list[Any] = []
        self._more = asyncio.Event()

    def send(self, timeout_ms: float = 60_000) -> None:
        self.channel.send(VoteRequest(), self._done, timeout_ms)

    def _done(self, response: Any, failure: ChannelFailure | None) -> None:
        self.told.append(failure if failure is not None else response.error_code)
        self._more.set()

    async def wait(self, count: int) -> list[Any]:
        while len(self.told) < count:
            self._more.clear()
            await asyncio.wait_for(self._more.wait(), LIMIT_S)
        return self.told


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


@pytest.fixture
async def listener() -> AsyncIterator[tuple[Listener, int]]:
    made = Listener()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    yield made, server.sockets[0].getsockname()[1]
    server.close()
    for writer in made.writers:
        writer.transport.abort()


@pytest.fixture
async def asked(listener: tuple[Listener, int]) -> AsyncIterator[AnsweredRequests]:
    """Over logins that are good for ever."""
    client = NetworkClient(asyncio.get_running_loop(), LIMIT, Guard(0))
    yield AnsweredRequests(client, listener[1])
    client.close()


async def test_a_login_comes_before_the_first_request_and_requests_wait_for_it(
    listener: tuple[Listener, int], asked: AnsweredRequests
) -> None:
    for _ in range(3):
        asked.send()
    assert await asked.wait(3) == [1, 2, 3]
    asked.send()
    assert await asked.wait(4) == [1, 2, 3, 4]
    assert listener[0].seen == ["first", "second", *(f"request {n}" for n in range(1, 5))]
    assert listener[0].connections == 1


async def test_a_refused_login_ends_what_waits_and_is_told_once(
    listener: tuple[Listener, int], asked: AnsweredRequests, caplog: pytest.LogCaptureFixture
) -> None:
    listener[0].answers = [b"ok", b"wrong password"] * 2
    caplog.set_level(logging.WARNING)
    for _ in range(2):
        asked.send()
    assert await asked.wait(2) == [ChannelFailure.LOST] * 2
    asked.send()
    assert await asked.wait(3) == [ChannelFailure.LOST] * 3
    assert listener[0].seen == ["first", "second"] * 2, "it was tried again, and no request sent"
    (line,) = caplog.messages
    assert line == (
        f"no connection to 127.0.0.1:{listener[1]} (SASL_PLAINTEXT, PLAIN): wrong password"
    )


async def test_a_login_that_is_refused_is_made_anew_by_the_next_request(
    listener: tuple[Listener, int], asked: AnsweredRequests
) -> None:
    listener[0].answers = [b"wrong password"]
    asked.send()
    assert await asked.wait(1) == [ChannelFailure.LOST]
    asked.send()
    assert await asked.wait(2) == [ChannelFailure.LOST, 1]
    assert listener[0].connections == 2


async def test_a_connection_that_is_closed_in_the_login_is_lost(
    listener: tuple[Listener, int], asked: AnsweredRequests, caplog: pytest.LogCaptureFixture
) -> None:
    listener[0].answers = [b"ok", CLOSE]
    asked.send()
    assert await asked.wait(1) == [ChannelFailure.LOST]
    assert "closed the connection during the login" in caplog.text


async def test_a_login_that_is_not_answered_takes_no_longer_than_a_request(
    listener: tuple[Listener, int], asked: AnsweredRequests
) -> None:
    listener[0].answers = [SILENCE]
    asked.send()
    await until(lambda: bool(listener[0].seen))
    asked.send(timeout_ms=20)
    assert await asked.wait(2) == [ChannelFailure.TIMED_OUT, ChannelFailure.LOST]
    asked.send()
    assert (await asked.wait(3))[2] == 1


async def test_a_login_is_made_again_between_requests_and_none_is_lost(
    listener: tuple[Listener, int],
) -> None:
    peer = listener[0]
    now_s = [1_000.0]
    client = NetworkClient(asyncio.get_running_loop(), LIMIT, Guard(10_000), lambda: now_s[0])
    asked = AnsweredRequests(client, listener[1])
    asked.send()
    await asked.wait(1)
    now_s[0] += 8.4
    asked.send()
    await asked.wait(2)
    peer.held = asyncio.Event()
    asked.send()
    asked.send()
    now_s[0] += 1.2  # 9.6 of 10 s
    asked.send()  # behind the login that is to be made
    await asyncio.sleep(0)
    asked.send()
    peer.held.set()
    assert await asked.wait(6) == [1, 2, 3, 4, 5, 6]
    assert peer.seen == [
        *("first", "second", "request 1", "request 2", "request 3", "request 4"),
        *("first", "second", "request 5", "request 6"),
    ]
    now_s[0] += 8.4
    asked.send()
    assert await asked.wait(7) == [1, 2, 3, 4, 5, 6, 7]
    assert peer.seen[-1] == "request 7", "the new login is good for as long again"
    now_s[0] += 100.0  # nothing was sent meanwhile: the login comes first, also when it has ended
    asked.send()
    assert await asked.wait(8) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert peer.seen[-3:] == ["first", "second", "request 8"]
    assert peer.connections == 1
    client.close()


async def test_a_login_is_not_made_again_sooner_than_listeners_let_it(
    listener: tuple[Listener, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = listener[0]
    now_s = [1_000.0]
    pauses_s: list[float] = []

    loop, real_sleep = asyncio.get_running_loop(), asyncio.sleep

    async def sleep(seconds: float) -> None:
        if asyncio.get_running_loop() is not loop:  # another test's client, in a thread
            await real_sleep(seconds)
            return
        pauses_s.append(seconds)
        now_s[0] += seconds

    monkeypatch.setattr(network_client.asyncio, "sleep", sleep)
    client = NetworkClient(loop, LIMIT, Guard(1), lambda: now_s[0])
    asked = AnsweredRequests(client, listener[1])
    for count in range(1, 5):
        asked.send()
        await asked.wait(count)
        now_s[0] += 0.25
    assert peer.seen.count("first") == 4, "the life of each login was over"
    assert peer.connections == 1
    # The first login after that of the connection may come at once.
    assert pauses_s == [pytest.approx(network_client._RENEWED_AGAIN_S - 0.25)] * 2
    client.close()


async def test_a_login_that_is_refused_when_it_is_made_again_ends_what_waits(
    listener: tuple[Listener, int], caplog: pytest.LogCaptureFixture
) -> None:
    peer = listener[0]
    now_s = [1_000.0]
    client = NetworkClient(asyncio.get_running_loop(), LIMIT, Guard(10_000), lambda: now_s[0])
    asked = AnsweredRequests(client, listener[1])
    asked.send()
    await asked.wait(1)
    now_s[0] += 9.9
    peer.answers = [b"user is gone"]
    asked.send()
    asked.send()
    assert await asked.wait(3) == [1, ChannelFailure.LOST, ChannelFailure.LOST]
    assert "user is gone" in caplog.text
    asked.send()
    assert (await asked.wait(4))[3] == 1
    assert peer.connections == 2
    client.close()


async def test_a_node_that_goes_while_a_login_is_made_again_is_no_news(
    listener: tuple[Listener, int], caplog: pytest.LogCaptureFixture
) -> None:
    now_s = [1_000.0]
    client = NetworkClient(asyncio.get_running_loop(), LIMIT, Guard(10_000), lambda: now_s[0])
    asked = AnsweredRequests(client, listener[1])
    asked.send()
    await asked.wait(1)
    now_s[0] += 9.9
    listener[0].answers = [CLOSE]
    asked.send()
    assert await asked.wait(2) == [1, ChannelFailure.LOST]
    assert caplog.messages == []
    asked.send()
    assert (await asked.wait(3))[2] == 1
    client.close()


async def test_closing_in_the_midst_of_a_login_tells_who_waits(
    listener: tuple[Listener, int], asked: AnsweredRequests
) -> None:
    listener[0].answers = [SILENCE]
    asked.send()
    await until(lambda: bool(listener[0].seen))
    asked.channel.close()
    assert asked.told == [ChannelFailure.LOST]
