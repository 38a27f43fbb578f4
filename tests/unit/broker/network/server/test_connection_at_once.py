"""Connection: requests that are answered at once, beside those that go the usual way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.network.server.connection_state import ConnectionState
from broker.network.server.request_channel import ConnectionContext, Later, Responder
from tests.unit.broker.network.conftest import (
    Handled,
    Parking,
    Rig,
    connection_of,
    echo,
    framed,
    known,
    until,
)


async def test_what_is_known_is_answered_at_once(rig: Rig):
    server = await rig.serve(echo, at_once=known)
    handled = Handled(server.channel)
    client = await rig.client(server)
    assert await client.ask(b"k1") == b"at once k1"
    assert await client.ask(b"k2") == b"at once k2"
    assert await client.ask(b"other") == b"other"
    client.send(b"no answer")
    await until(lambda: handled.count == 4)
    assert await client.ask(b"k3") == b"at once k3"
    assert handled.count == 5


async def test_pipelined_and_torn_requests_keep_their_order_beside_it(rig: Rig):
    server = await rig.serve(echo, at_once=known)
    handled = Handled(server.channel)
    client = await rig.client(server)
    await client.ask(b"k")
    client.send(b"k1", b"other", b"no answer", b"k2")
    expected = [b"at once k1", b"other", b"at once k2"]
    assert [await client.receive() for _ in range(3)] == expected
    assert handled.count == 5
    whole = framed(b"k4")
    client.writer.write(whole[:3])
    await until(lambda: connection_of(server).reader.in_progress)
    client.writer.write(whole[3:])
    assert await client.receive() == b"at once k4"
    assert not connection_of(server).reader.in_progress
    assert await client.ask(b"k5") == b"at once k5"


async def test_what_cannot_be_answered_at_once_is_tried_once(rig: Rig):
    tried: list[bytes] = []

    def at_once(_context: ConnectionContext, frame: memoryview, _later: Later) -> bytes | None:
        tried.append(bytes(frame))
        return None

    server = await rig.serve(echo, at_once=at_once)
    client = await rig.client(server)
    await client.ask(b"first")
    assert await client.ask(b"second") == b"second"
    client.send(b"third", b"fourth")
    assert [await client.receive() for _ in range(2)] == [b"third", b"fourth"]
    assert tried == [b"first", b"second", b"third", b"fourth"]


async def test_a_slow_reader_of_what_is_answered_at_once_is_not_read_from(rig: Rig):
    large = bytes(20_000_000)

    def at_once(_context: ConnectionContext, frame: memoryview, _later: Later) -> bytes | None:
        return framed(large if frame == b"large" else bytes(frame))

    server = await rig.serve(echo, at_once=at_once)
    client = await rig.client(server)
    await client.ask(b"first")
    client.send(b"large")
    await until(lambda: connection_of(server).core.state is ConnectionState.SENDING)
    client.send(b"behind")
    await until(lambda: connection_of(server).core.paused)
    assert await client.receive() == large
    assert await client.receive() == b"behind"
    assert not connection_of(server).core.paused


async def test_others_that_it_answers_hear_after_it(rig: Rig):
    parking = Parking()
    order: list[bytes] = []

    def handle(context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
        if frame == b"parked":
            parking(context, frame, respond)
        else:
            echo(context, frame, respond)

    def at_once(_context: ConnectionContext, frame: memoryview, _later: Later) -> bytes | None:
        if frame != b"again":
            return None
        parking.responders[0](framed(b"woken"))
        order.append(b"told")
        return framed(b"own")

    server = await rig.serve(handle, at_once=at_once)
    waiting, client = await rig.client(server), await rig.client(server)
    waiting.send(b"parked")
    await until(lambda: len(parking.responders) == 1)
    await client.ask(b"first")
    assert await client.ask(b"again") == b"own"
    assert await waiting.receive() == b"woken"
    assert order == [b"told"]


class Postponing:
    """Tries at once: b"later…" is answered when the test says so, b"fails…" fails after that."""

    def __init__(self) -> None:
        self.replies: list[Callable[[Any], None]] = []

    def __call__(
        self, _context: ConnectionContext, frame: memoryview, later: Later
    ) -> bytes | None:
        if frame[:5] not in (b"later", b"fails"):
            return framed(b"at once " + bytes(frame))
        self.replies.append(later())
        return framed(b"failed") if frame[:5] == b"fails" else b""


async def test_what_was_tried_at_once_may_be_answered_later(rig: Rig):
    postponing = Postponing()
    server = await rig.serve(echo, at_once=postponing)
    handled = Handled(server.channel)
    client = await rig.client(server)
    await client.ask(b"first")
    for turn in range(3):
        client.send(b"later")
        await until(lambda turn=turn: len(postponing.replies) == turn + 1)
        assert connection_of(server).core.state is ConnectionState.PENDING
        postponing.replies[-1](framed(b"now"))
        postponing.replies[-1](framed(b"twice"))
        assert await client.receive() == b"now"
    assert await client.ask(b"next") == b"at once next"
    assert handled.count == 5


async def test_what_follows_a_request_that_is_answered_later_waits_for_it(rig: Rig):
    postponing = Postponing()
    server = await rig.serve(echo, at_once=postponing)
    handled = Handled(server.channel)
    client = await rig.client(server)
    await client.ask(b"first")
    client.send(b"a", b"later", b"b")
    await until(lambda: len(postponing.replies) == 1)
    client.send(b"c")
    assert await client.receive() == b"at once a"
    assert handled.count == 3
    postponing.replies[0](framed(b"now"))
    expected = [b"now", b"at once b", b"at once c"]
    assert [await client.receive() for _ in expected] == expected


@pytest.mark.parametrize("before", [[], [b"a"]], ids=["alone", "behind another"])
async def test_a_failure_after_it_began_to_wait_is_the_only_answer(rig: Rig, before: list[bytes]):
    postponing = Postponing()
    server = await rig.serve(echo, at_once=postponing)
    client = await rig.client(server)
    await client.ask(b"first")
    client.send(*before, b"fails")
    for one in before:
        assert await client.receive() == b"at once " + one
    assert await client.receive() == b"failed"
    postponing.replies[0](framed(b"now"))
    client.send(b"later")
    await until(lambda: len(postponing.replies) == 2)
    postponing.replies[0](framed(b"still the first"))
    postponing.replies[1](framed(b"the second"))
    assert await client.receive() == b"the second"
