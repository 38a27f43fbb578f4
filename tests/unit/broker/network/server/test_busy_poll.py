"""When the loop looks for a request instead of sleeping, and when it gives up."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable

import pytest

from broker.network.file_send import ResponseSender
from broker.network.server import busy_poll
from broker.network.server.busy_poll import (
    ALONE_AFTER,
    LEFT_OUT_FIRST,
    LEFT_OUT_MOST,
    LOOK_S,
    SOON_S,
    BusyPoll,
)
from broker.network.server.request_channel import ConnectionContext
from tests.tools.waiting import LIMIT_S
from tests.unit.broker.network.conftest import Handled, Rig, echo, framed, known, until

STEP_S = 1e-6


class Turns:
    """A loop that runs what is called soon when the test says so, and its clock."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.soon: list[Callable[[], None]] = []
        self.poll = BusyPoll(self.soon.append, self.clock)

    def clock(self) -> float:
        self.now_s += STEP_S
        return self.now_s

    def turn(self) -> None:
        due, self.soon[:] = self.soon[:], []
        for callback in due:
            callback()


class Client:
    """One that asks `after_s` after an answer; the look may be there before, or not."""

    def __init__(self, turns: Turns, after_s: float) -> None:
        self.turns, self.after_s = turns, after_s
        self.can_receive = True
        self.socket = self  # which it asks for nothing else
        self.asked_bytes = 0
        self._due_s = 0.0

    def ask(self) -> None:
        """By way of the loop, which slept until then."""
        self.turns.now_s = max(self.turns.now_s, self._due_s)
        self._handle()

    def recv_into(self, buffer: memoryview) -> int:
        if self.turns.now_s < self._due_s:
            raise BlockingIOError
        return 1

    def get_buffer(self, _sizehint: int) -> memoryview:
        return memoryview(bytearray(1))

    def buffer_updated(self, _nbytes: int) -> None:
        self._handle()

    def _handle(self) -> None:
        self._due_s = self.turns.now_s + self.after_s
        self.turns.poll.answered(self, self.turns.clock())


def serve(turns: Turns, client: Client, requests: int) -> None:
    """So many by the loop; those that a look finds come on top."""
    for _ in range(requests):
        client.ask()
        turns.turn()


def test_the_only_one_that_asks_is_looked_for() -> None:
    turns = Turns()
    client = Client(turns, after_s=LOOK_S / 2)
    serve(turns, client, ALONE_AFTER + 1)  # the first of a row tells nothing about the time
    assert turns.poll.polls == 0
    client.ask()
    for _ in range(100):
        turns.turn()
    assert (turns.poll.polls, turns.poll.hits) == (100, 100)


def test_where_two_ask_in_turn_nobody_is_looked_for() -> None:
    turns = Turns()
    clients = [Client(turns, 0.0), Client(turns, 0.0)]
    for number in range(20 * ALONE_AFTER):
        clients[number % 2].ask()
        turns.turn()
    assert turns.poll.polls == 0


def test_one_that_takes_its_time_is_not_looked_for() -> None:
    turns = Turns()
    serve(turns, Client(turns, after_s=SOON_S + 10 * STEP_S), 1_000)
    assert turns.poll.polls == 0


def test_looks_in_vain_end_in_time_and_become_rare() -> None:
    turns = Turns()
    client = Client(turns, after_s=(LOOK_S + SOON_S) / 2)
    requests = 20_000
    serve(turns, client, requests)
    assert turns.poll.hits == 0
    # 4, 8, … up to the most are left out, then one look for each so many.
    doublings = (LEFT_OUT_MOST // LEFT_OUT_FIRST).bit_length()
    assert 0 < turns.poll.polls <= doublings + requests // LEFT_OUT_MOST
    turns.poll._to_leave_out = 0
    client.ask()
    asked_s = turns.now_s
    turns.turn()
    assert LOOK_S <= turns.now_s - asked_s < LOOK_S + 10 * STEP_S


def test_who_asks_sooner_again_is_soon_looked_for_as_before() -> None:
    turns = Turns()
    client = Client(turns, after_s=(LOOK_S + SOON_S) / 2)
    serve(turns, client, 100)
    client.after_s = LOOK_S / 2
    serve(turns, client, 2 * LEFT_OUT_MOST)
    assert turns.poll._left_out == 0
    found = turns.poll.hits
    serve(turns, client, 10)
    assert turns.poll.hits == found + 10


def test_nobody_is_looked_for_who_may_not_be_read_or_is_gone() -> None:
    turns = Turns()
    client = Client(turns, after_s=0.0)
    serve(turns, client, ALONE_AFTER + 1)
    client.can_receive = False
    client.ask()
    turns.turn()
    assert turns.poll.polls == 0
    client.can_receive = True
    client.ask()
    turns.poll.forget(client)
    turns.turn()
    assert turns.poll.polls == 0


async def test_after_a_large_request_nobody_looks(rig: Rig, monkeypatch: pytest.MonkeyPatch):
    server = await rig.serve(echo, at_once=known)
    told: list[object] = []
    monkeypatch.setattr(server.busy_poll, "answered", lambda *one: told.append(one))
    client = await rig.client(server)
    for request in (b"k", b"k small", b"k" * busy_poll.REQUEST_BYTES, b"k small"):
        await client.ask(request)
    assert len(told) == 3


async def test_a_connection_is_served_in_order_by_looks_and_seen_to_end(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    # A look waits here until there is something: how quick this machine is has no say.
    monkeypatch.setattr(busy_poll, "LOOK_S", 30.0)
    monkeypatch.setattr(busy_poll, "SOON_S", 30.0)
    server = await rig.serve(echo, at_once=known)
    port = server.ports["PLAINTEXT"]
    answers: list[bytes] = []

    def ask() -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as client:
            stream = client.makefile("rb")
            for number in range(200):
                # Every tenth goes the usual way; every seventh comes in two pieces.
                request = framed(b"%s%d" % (b"other" if number % 10 == 9 else b"k", number))
                pieces = (request[:6], request[6:]) if number % 7 == 0 else (request,)
                for piece in pieces:
                    client.sendall(piece)
                size = int.from_bytes(stream.read(4), "big")
                answers.append(stream.read(size))

    client = threading.Thread(target=ask)
    client.start()
    await asyncio.get_running_loop().run_in_executor(None, client.join, LIMIT_S)
    expected = [b"other%d" % n if n % 10 == 9 else b"at once k%d" % n for n in range(200)]
    assert answers == expected
    assert server.busy_poll.hits > 0
    # The end of the connection ends the last look.
    await until(lambda: not server.processors[0].connection_count)


class Expecting:
    """Expects each request to be the last one with another number at its end."""

    def __init__(self, order: list[str]) -> None:
        self.order = order
        self.message = memoryview(b"")
        self.fails = False

    def __call__(self, _context: ConnectionContext, message: memoryview) -> Expecting:
        self.message, self.before = message, bytes(message[:-1])
        return self

    def answer(self) -> bytes | None:
        if self.fails:
            raise AssertionError("bug")
        if self.message[:-1] != self.before:
            return None
        self.order.append("answered")
        return framed(b"expected " + bytes(self.message[4:]))

    def settle(self) -> None:
        self.order.append("settled")


async def test_what_is_expected_is_answered_before_what_follows_from_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(busy_poll, "LOOK_S", 30.0)
    monkeypatch.setattr(busy_poll, "SOON_S", 30.0)
    order: list[str] = []
    expecting = Expecting(order)

    server = await rig.serve(echo, at_once=known, expect=expecting)
    handled = Handled(server.channel)
    send = ResponseSender.send
    monkeypatch.setattr(
        ResponseSender, "send", lambda self, data: (order.append("sent"), send(self, data))[1]
    )
    asked: list[bytes] = []
    answers: list[bytes] = []

    def ask() -> None:
        with socket.create_connection(("127.0.0.1", server.ports["PLAINTEXT"]), 30) as client:
            stream = client.makefile("rb")

            def one(request: bytes) -> None:
                asked.append(request)
                client.sendall(framed(request))
                answers.append(stream.read(int.from_bytes(stream.read(4), "big")))

            for number in range(40):
                one(b"k%d" % (number % 10))
            one(b"k longer")
            one(b"other one")  # no answer at once
            expecting.fails = True
            while answers[-1] and len(answers) < 1_000:  # until the look was quicker than the loop
                one(b"k1")

    client = threading.Thread(target=ask)
    client.start()
    await asyncio.get_running_loop().run_in_executor(None, client.join, LIMIT_S)
    found = [answer for answer in answers if answer.startswith(b"expected")]
    assert len(found) > 5  # the loop itself may have been quicker
    for request, answer in zip(asked, answers[:-1], strict=False):
        assert answer.removeprefix(b"expected ").removeprefix(b"at once ") == request
    text = " ".join(order)
    assert "answered sent settled" in text
    assert text.count("answered") == text.count("answered sent settled") == text.count("settled")
    assert answers[-1] == b""  # a bug closes the connection, where nobody answers for it
    assert handled.count == len(asked) - 1
