from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from broker.network.outgoing.network_client import NetworkClient, SocketChannel
from ground.ports import ChannelFailure
from protocol.frames.message_codec import encode_response
from protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from protocol.messages.vote import VoteRequest, VoteResponse, VoteResponseTopicData
from tests.tools.waiting import LIMIT_S
from tests.unit.broker.network.conftest import turns

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
LIMIT = 1_000_000


async def next_request(reader: asyncio.StreamReader) -> tuple[int, int]:
    """Version and correlation id of the next request."""
    frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    return int.from_bytes(frame[2:4], "big"), int.from_bytes(frame[4:8], "big")


async def answer(writer: asyncio.StreamWriter, version: int, correlation: int, code: int) -> None:
    writer.write(bytes(encode_response(VoteResponse(error_code=code), version, correlation)))
    await writer.drain()


class Peer:
    """A server that behaves as it is told."""

    def __init__(self) -> None:
        self.behaviour: Behaviour = self.echo
        self.connections = 0
        self.writers: list[asyncio.StreamWriter] = []

    async def echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers each request with the count of requests as its error code."""
        count = 0
        while True:
            version, correlation = await next_request(reader)
            count += 1
            await answer(writer, version, correlation, count)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        try:
            await self.behaviour(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class Outcomes:
    """What a channel told of its requests."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self._more = asyncio.Event()

    def done(self, response: Any, failure: ChannelFailure | None) -> None:
        assert (response is None) != (failure is None)
        self.told.append(failure if failure is not None else response.error_code)
        self._more.set()

    async def wait(self, count: int) -> list[Any]:
        while len(self.told) < count:
            self._more.clear()
            await asyncio.wait_for(self._more.wait(), LIMIT_S)
        return self.told


@pytest.fixture
async def peer() -> AsyncIterator[tuple[Peer, int]]:
    made = Peer()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    yield made, server.sockets[0].getsockname()[1]
    server.close()
    for writer in made.writers:
        writer.transport.abort()


@pytest.fixture
async def client() -> AsyncIterator[NetworkClient]:
    made = NetworkClient(asyncio.get_running_loop(), LIMIT)
    yield made
    made.close()


def send(channel: SocketChannel, outcomes: Outcomes, timeout_ms: float = 60_000) -> None:
    before = len(outcomes.told)
    channel.send(VoteRequest(), outcomes.done, timeout_ms)
    assert len(outcomes.told) == before, "nothing is told from within send()"


async def test_requests_share_one_connection_and_are_answered_in_order(
    peer: tuple[Peer, int], client: NetworkClient
) -> None:
    channel, outcomes = client.channel("127.0.0.1", peer[1], "node-1"), Outcomes()
    for _ in range(3):
        send(channel, outcomes)
    assert await outcomes.wait(3) == [1, 2, 3]
    send(channel, outcomes)
    assert await outcomes.wait(4) == [1, 2, 3, 4]
    assert peer[0].connections == 1


async def test_a_given_version_is_used_and_records_may_be_large_and_are_kept(
    peer: tuple[Peer, int], client: NetworkClient
) -> None:
    records = bytes(range(256)) * 1_200
    seen = []

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            version, correlation = await next_request(reader)
            seen.append(version)
            data = PartitionData(0, 0, 1, 1, 0)
            data.records = records
            topic = FetchableTopicResponse("topic", bytes(16), [data])
            out = encode_response(FetchResponse(responses=[topic]), version, correlation)
            writer.write(b"".join(out.parts()))
        await reader.read()

    peer[0].behaviour = behave
    channel = client.channel("127.0.0.1", peer[1], "node-1")
    both: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    got: list[memoryview] = []

    def done(response: FetchResponse | None, failure: ChannelFailure | None) -> None:
        assert response is not None, failure
        got.append(response.responses[0].partitions[0].records)
        if len(got) == 2:
            both.set_result(None)

    channel.send(FetchRequest(), done, 60_000, version=12)
    channel.send(FetchRequest(), done, 60_000)
    await asyncio.wait_for(both, LIMIT_S)
    assert seen == [12, FetchRequest.MAX_VERSION]
    assert [bytes(one) == records for one in got] == [True, True]


async def test_a_small_answer_behind_a_large_one_in_pieces(
    client: NetworkClient, peer: tuple[Peer, int]
) -> None:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for code in range(1, 4):
            version, correlation = await next_request(reader)
            large = VoteResponse(code, [VoteResponseTopicData("x" * 30_000) for _ in range(10)])
            out = bytes(encode_response(large, version, correlation))
            for piece in (out[:1_000], out[1_000:200_000], out[200_000:]):
                writer.write(piece)
                await turns(10)
            version, correlation = await next_request(reader)
            await answer(writer, version, correlation, -code)
        await reader.read()

    peer[0].behaviour = behave
    channel, outcomes = client.channel("127.0.0.1", peer[1], "node-1"), Outcomes()
    for _ in range(6):
        send(channel, outcomes)
    assert await outcomes.wait(6) == [1, -1, 2, -2, 3, -3]


async def test_nobody_listens_there(client: NetworkClient) -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
        channel, outcomes = client.channel("127.0.0.1", port, "node-1"), Outcomes()
        send(channel, outcomes)
        send(channel, outcomes)
        assert await outcomes.wait(2) == [ChannelFailure.REFUSED] * 2


@pytest.mark.parametrize("host", ["no-such-host.invalid", "no..name", "a" * 300])
async def test_an_unknown_host_is_lost(client: NetworkClient, host: str) -> None:
    channel, outcomes = client.channel(host, 1, "node-1"), Outcomes()
    send(channel, outcomes)
    assert await outcomes.wait(1) == [ChannelFailure.LOST]


async def looked(client: NetworkClient, host: str, port: int) -> ChannelFailure | None:
    told: asyncio.Future[ChannelFailure | None] = asyncio.get_running_loop().create_future()
    client.probe_address(host, port, told.set_result, 60_000)
    assert not told.done()
    return await asyncio.wait_for(told, LIMIT_S)


async def test_who_looks_is_told_whether_anybody_listens(
    peer: tuple[Peer, int], client: NetworkClient
) -> None:
    said: list[bytes] = []

    async def hear(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        said.append(await reader.read())

    peer[0].behaviour = hear
    assert await looked(client, "127.0.0.1", peer[1]) is None
    while not said:
        await asyncio.sleep(0)
    assert said == [b""]
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        assert await looked(client, "127.0.0.1", port) is ChannelFailure.REFUSED
    assert await looked(client, "a" * 64 + ".invalid", 1) is ChannelFailure.LOST


async def test_a_closed_connection_ends_what_waits_and_the_next_request_makes_a_new_one(
    peer: tuple[Peer, int], client: NetworkClient
) -> None:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        version, correlation = await next_request(reader)
        if peer[0].connections == 1:
            return
        await answer(writer, version, correlation, 5)
        await reader.read()

    peer[0].behaviour = behave
    channel, outcomes = client.channel("127.0.0.1", peer[1], "node-1"), Outcomes()
    send(channel, outcomes)
    send(channel, outcomes)
    assert await outcomes.wait(2) == [ChannelFailure.LOST] * 2
    send(channel, outcomes)
    assert await outcomes.wait(3) == [ChannelFailure.LOST] * 2 + [5]


async def test_a_late_answer_is_none(peer: tuple[Peer, int], client: NetworkClient) -> None:
    async def behave(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    peer[0].behaviour = behave
    channel, outcomes = client.channel("127.0.0.1", peer[1], "node-1"), Outcomes()
    send(channel, outcomes)
    send(channel, outcomes, timeout_ms=20)
    assert await outcomes.wait(2) == [ChannelFailure.TIMED_OUT, ChannelFailure.LOST]


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\xff\xff\xff\xff",
        (LIMIT + 1).to_bytes(4, "big"),
        b"\0\0\0\x02ab",
        b"\0\0\0\x0a" + b"\x7f\0\0\0" + b"\0\0\0\x01\x01\0",
    ],
    ids=["negative size", "over the limit", "too short", "another correlation id"],
)
async def test_nonsense_closes_the_connection(
    nonsense: bytes, peer: tuple[Peer, int], client: NetworkClient
) -> None:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await next_request(reader)
        writer.write(nonsense)
        await reader.read()

    peer[0].behaviour = behave
    channel, outcomes = client.channel("127.0.0.1", peer[1], "node-1"), Outcomes()
    send(channel, outcomes)
    assert await outcomes.wait(1) == [ChannelFailure.LOST]


async def test_closing_tells_who_waits_before_it_returns(
    peer: tuple[Peer, int], client: NetworkClient
) -> None:
    channel, outcomes = client.channel("127.0.0.1", peer[1], "node-1"), Outcomes()
    send(channel, outcomes)
    channel.close()
    assert outcomes.told == [ChannelFailure.LOST]
    send(channel, outcomes)
    assert await outcomes.wait(2) == [ChannelFailure.LOST] * 2
