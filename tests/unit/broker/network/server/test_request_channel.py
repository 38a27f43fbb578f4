"""RequestChannel: slots, the queue's limit, stalled connections, answers to others."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from broker.network.server.request_channel import (
    ConnectionContext,
    RequestChannel,
    Responder,
    ResponseParts,
)
from broker.requests.context import Later
from protocol.errors import ProtocolError


class Slots:
    def __init__(self, size: int) -> None:
        self.size = size
        self.outstanding = 0
        self.on_job_done: Callable[[], None] | None = None

    def finish_one(self) -> None:
        self.outstanding -= 1
        assert self.on_job_done is not None
        self.on_job_done()


class Clock:
    def __init__(self) -> None:
        self.now_s = 1.0

    def __call__(self) -> float:
        return self.now_s


class Requester:
    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log
        self.context = ConnectionContext(name, "L", "PLAINTEXT", "127.0.0.1", 1)
        self.answers: list[ResponseParts | None] = []
        self.waited: list[str] = []

    def answer(self, parts: ResponseParts | None) -> None:
        self.answers.append(parts)

    def answer_later(self) -> Responder:
        return Responder(self)

    def close_after_answers(self, last: ResponseParts | None = None) -> None:
        self.log.append(f"{self.name} closes" + ("" if last is None else f" after {last!r}"))

    def fail(self, error: BaseException) -> None:
        self.log.append(f"{self.name} fails: {error}")

    def leaves_queue(self) -> None:
        self.waited.append("leaves the queue")

    def handled(self) -> None:
        self.waited.append("is handled")

    def resume(self) -> None:
        self.log.append(f"{self.name} resumes")

    def flush(self) -> None:
        self.log.append(f"{self.name} flushes")


class Bench:
    """A channel with a handler that notes what it gets; each request takes a slot if told so."""

    def __init__(self, slots: int = 1, limit: int = 2) -> None:
        self.slots = Slots(slots)
        self.log: list[str] = []
        self.soon: list[Callable[[], None]] = []
        self.blocks = False
        self.channel = RequestChannel(self.handle, self.slots, limit, self.soon.append)

    def handle(self, context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
        self.log.append(f"{context.connection_id}: {bytes(frame).decode()}")
        if frame == b"bad":
            raise ProtocolError("bad bytes")
        if frame == b"bug":
            raise AssertionError("bug")
        if self.blocks:
            self.slots.outstanding += 1
        respond(b"ok")

    def requester(self, name: str) -> Requester:
        return Requester(name, self.log)


def test_a_free_slot_handles_at_once():
    bench = Bench()
    requester = bench.requester("a")
    assert bench.channel.slot_free
    bench.channel.handle_now(requester, memoryview(b"one"))
    assert requester.answers == [b"ok"]
    assert not bench.channel.handling
    assert bench.log == ["a: one"]


def test_busy_slots_let_requests_wait_in_order():
    bench = Bench(slots=1, limit=2)
    bench.slots.outstanding = 1
    channel = bench.channel
    assert not channel.slot_free
    channel.enqueue(bench.requester("a"), memoryview(b"1"), memoryview)
    assert not channel.full
    channel.enqueue(bench.requester("b"), memoryview(b"2"), memoryview)
    assert channel.full
    assert channel.queue_size == 2
    bench.blocks = True
    bench.slots.finish_one()
    assert bench.log == ["a: 1"]
    # No overtaking: a slot that is free with a queue in front is not free.
    assert not channel.slot_free
    bench.slots.finish_one()
    assert bench.log == ["a: 1", "b: 2"]
    assert channel.queue_size == 0


def test_stalled_connections_resume_in_order_as_room_appears():
    bench = Bench(slots=1, limit=1)
    bench.slots.outstanding = 1
    bench.blocks = True
    channel = bench.channel
    channel.enqueue(bench.requester("a"), memoryview(b"1"), memoryview)
    for name in ("b", "c"):
        channel.stall(bench.requester(name))
    gone = bench.requester("gone")
    channel.stall(gone)
    channel.forget(gone)
    bench.slots.finish_one()
    # Resumed ones take nothing here, so there is room for all of them.
    assert bench.log == ["a: 1", "b resumes", "c resumes"]
    bench.slots.finish_one()
    assert len(bench.log) == 3, "each resumes once"


def test_answers_to_many_leave_the_loop_its_turn():
    bench = Bench()
    clock = Clock()

    class Slow(Requester):
        def flush(self) -> None:
            super().flush()
            clock.now_s += 1

    channel = RequestChannel(
        bench.handle, bench.slots, 2, bench.soon.append, turn_s=2, clock_s=clock
    )
    names = ["a", "b", "c", "d", "e"]
    channel.answered.extend(Slow(name, bench.log) for name in names)
    channel.flush_answered()
    assert bench.log == ["a flushes", "b flushes"]
    channel.answered.append(Slow("f", bench.log))
    channel.flush_answered()  # who else is handled in this turn sends nothing of the rest
    assert len(bench.log) == 2
    turns = 0
    while bench.soon:
        bench.soon.pop(0)()
        turns += 1
    assert turns == 2
    assert bench.log == [f"{name} flushes" for name in [*names, "f"]]
    assert not channel.answered


def test_however_many_are_answered_their_sending_is_not_nested():
    bench = Bench()
    depths: list[int] = []

    class GoingOn(Requester):
        def flush(self) -> None:
            depths.append(sum(frame.function == "flush" for frame in inspect.stack(0)))
            bench.channel.flush_answered()

    bench.channel.answered.extend(GoingOn(str(number), bench.log) for number in range(50))
    bench.channel.flush_answered()
    assert depths == [1] * 50


def test_requests_of_many_leave_the_loop_its_turn():
    bench = Bench(slots=1, limit=200)
    clock = Clock()
    handled: list[str] = []

    def handle(context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
        handled.append(bytes(frame).decode())
        clock.now_s += 1
        respond(b"ok")

    channel = RequestChannel(
        handle,
        bench.slots,
        200,
        bench.soon.append,
        lambda _context, frame, _later: b"ok" if frame == b"known" else None,
        turn_s=4,
        clock_s=clock,
    )
    requesters = [bench.requester("a") for _ in range(10)]
    for number, requester in enumerate(requesters):
        if channel.slot_free:
            channel.handle_now(requester, memoryview(b"%d" % number))
        else:
            channel.enqueue(requester, memoryview(b"%d" % number), memoryview)
    assert len(handled) == 4
    # What is prepared takes microseconds, and does not wait.
    assert channel.handle_at_once(bench.requester("b"), memoryview(b"known")) == b"ok"
    turns = []
    while bench.soon:
        bench.soon.pop(0)()
        assert len(bench.soon) <= 1
        turns.append(len(handled))
    assert turns == [8, 10, 10]  # the last one notes that the turn of these is over
    assert handled == [str(number) for number in range(10)]
    assert all(requester.answers == [b"ok"] for requester in requesters)
    assert channel.slot_free


def test_a_queued_request_of_a_lost_connection_is_skipped():
    bench = Bench()
    bench.slots.outstanding = 1
    lost, alive = bench.requester("lost"), bench.requester("alive")
    bench.channel.enqueue(lost, memoryview(b"1"), memoryview)
    bench.channel.enqueue(alive, memoryview(b"2"), memoryview)
    lost.context.closed = True
    bench.slots.finish_one()
    assert bench.log == ["alive: 2"]


def test_wrong_bytes_and_bugs_fail_the_connection():
    bench = Bench()
    bench.channel.handle_now(bench.requester("a"), memoryview(b"bad"))
    with pytest.raises(AssertionError, match="bug"):
        bench.channel.handle_now(bench.requester("b"), memoryview(b"bug"))
    assert bench.log == ["a: bad", "a fails: bad bytes", "b: bug", "b fails: bug"]
    assert not bench.channel.handling


def test_answers_to_others_are_flushed_once():
    bench = Bench()
    bench.channel.answered.append(bench.requester("a"))
    bench.channel.flush_answered()
    bench.channel.flush_answered()
    assert bench.log == ["a flushes"]


def test_a_responder_works_once():
    log: list[str] = []
    requester = Requester("a", log)
    respond = Responder(requester)
    respond(None)
    respond(b"again")
    respond.close()
    assert requester.answers == [None]
    assert log == []
    Responder(requester).close()
    respond = Responder(requester)
    respond.last(b"par")
    respond.last(b"again")
    assert log == ["a closes", "a closes after b'par'"]


def test_the_queue_needs_room():
    with pytest.raises(ValueError, match="queued.max.requests"):
        Bench(limit=0)


def test_what_is_answered_at_once_takes_no_way_back():
    bench = Bench()
    requester = bench.requester("a")
    assert bench.channel.handle_at_once(requester, memoryview(b"x")) is None
    handling: list[bool] = []

    def at_once(context: ConnectionContext, frame: memoryview, _later: Later) -> bytes | None:
        handling.append(channel.handling)
        if frame == b"bad":
            raise ProtocolError("bad bytes")
        if frame == b"bug":
            raise AssertionError("bug")
        return b"ok" if frame == b"known" else None

    channel = RequestChannel(bench.handle, bench.slots, 2, bench.soon.append, at_once)
    assert channel.handle_at_once(requester, memoryview(b"known")) == b"ok"
    assert channel.handle_at_once(requester, memoryview(b"other")) is None
    assert channel.handle_at_once(requester, memoryview(b"bad")) == b""
    with pytest.raises(AssertionError):
        channel.handle_at_once(requester, memoryview(b"bug"))
    assert bench.log == ["a fails: bad bytes", "a fails: bug"]
    assert handling == [True] * 4
    assert not channel.handling
    assert not requester.answers


def test_nothing_is_answered_at_once_while_slots_are_taken_or_requests_wait():
    bench = Bench()
    channel = RequestChannel(bench.handle, bench.slots, 2, bench.soon.append, lambda *_: b"ok")
    requester = bench.requester("a")
    bench.slots.outstanding = 1
    assert channel.handle_at_once(requester, memoryview(b"x")) is None
    bench.slots.outstanding = 0
    channel.enqueue(requester, memoryview(b"waits"), memoryview)
    assert channel.handle_at_once(requester, memoryview(b"x")) is None


def test_stalled_connections_have_their_share_beside_a_queue_that_stays_full():
    bench = Bench(slots=1, limit=3)
    channel = bench.channel
    bench.slots.outstanding = 1
    for name in ("a", "b"):
        channel.enqueue(bench.requester(name), memoryview(b"1"), memoryview)
    channel.stall(bench.requester("c"))
    bench.slots.finish_one()
    assert bench.log == ["a: 1", "c resumes", "b: 1"]


def test_a_login_begins_the_turn_of_requests():
    bench = Bench()
    clock = Clock()
    channel = RequestChannel(
        bench.handle, bench.slots, 2, bench.soon.append, turn_s=2, clock_s=clock
    )
    channel.begin_turn()
    assert not channel.turn_is_over
    clock.now_s += 2
    assert channel.turn_is_over
    bench.soon.pop(0)()
    assert not channel.turn_is_over and not bench.soon
