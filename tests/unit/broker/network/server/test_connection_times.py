"""Connection: what the requests of a connection took, whichever way they go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from broker.network.server import connection as of_connections
from broker.network.server.connection_state import ConnectionState
from broker.network.server.request_channel import ConnectionContext, Later, Responder
from broker.requests.request_times import STAGES, RequestMetrics, Stage
from tests.unit.broker.network.conftest import Parking, Rig, connection_of, framed, until

TIMED: dict[str, Any] = {"ottla_metrics_port": 0}


class Clock:
    """Stands still but for what a handler takes, or a test."""

    def __init__(self) -> None:
        self.now_s = float(int(time.monotonic()))  # as deadlines of connections are by that clock

    def __call__(self) -> float:
        return self.now_s


class Counting:
    """Handlers whose requests are counted: b"k…" is answered as prepared, b"later" as well but when
    the test says so, all others as `Parking` does. Each takes a second."""

    def __init__(self, clock: Clock) -> None:
        self.metrics = RequestMetrics()
        self.parking = Parking()
        self._clock = clock

    def handle(self, context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
        assert context.times is not None
        context.times.set_metrics(self.metrics)
        self.metrics.begun()
        self._clock.now_s += 1
        if frame == b"no answer":
            respond(None)
        else:
            self.parking(context, frame, respond)

    def at_once(self, context: ConnectionContext, frame: memoryview, later: Later) -> bytes | None:
        if frame[:1] != b"k" and frame != b"later":
            return None
        self.metrics.begun()
        self._clock.now_s += 1
        if frame == b"later":
            self.parking.responders.append(later())  # type: ignore[arg-type]
        assert context.times is not None
        context.times.set_metrics(self.metrics)
        if frame == b"later":
            return b""
        return framed(b"x" * 20_000_000 if frame == b"k large" else bytes(frame))

    def took(self) -> dict[Stage, float]:
        """Of all of them together, what is not nothing."""
        sums = {stage: self.metrics.times(stage).sum_s for stage in STAGES}
        return {stage: round(sum_s, 6) for stage, sum_s in sums.items() if sum_s}

    @property
    def count(self) -> int:
        return self.metrics.times(Stage.TOTAL).up_to()[-1]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr(of_connections, "monotonic", made)
    yield made


async def answered(counting: Counting, count: int) -> None:
    await until(lambda: counting.count == count)


async def test_what_is_prepared_takes_its_work_and_the_send(rig: Rig, clock: Clock):
    counting = Counting(clock)
    server = await rig.serve(counting.handle, at_once=counting.at_once, **TIMED)
    client = await rig.client(server)
    assert await client.ask(b"k") == b"k"
    assert await client.ask(b"k") == b"k"
    assert counting.took() == {Stage.LOCAL: 2, Stage.TOTAL: 2}
    assert counting.metrics.requests == counting.count == 2


async def test_pipelined_ones_count_each(rig: Rig, clock: Clock):
    counting = Counting(clock)
    server = await rig.serve(counting.handle, at_once=counting.at_once, **TIMED)
    client = await rig.client(server)
    client.send(b"k1", b"now", b"no answer", b"k2")
    assert [await client.receive() for _ in range(3)] == [b"k1", b"now", b"k2"]
    assert counting.metrics.requests == counting.count == 4
    found = counting.took()
    assert found[Stage.LOCAL] == 4
    # Answers leave together; one waits for those that were asked for behind it.
    assert found[Stage.TOTAL] == 4 + found[Stage.RESPONSE_QUEUE]


@pytest.mark.parametrize("request_", [b"parked", b"later"])
async def test_what_waits_is_remote(rig: Rig, clock: Clock, request_: bytes):
    counting = Counting(clock)
    server = await rig.serve(counting.handle, at_once=counting.at_once, **TIMED)
    client = await rig.client(server)
    client.send(request_)
    await until(lambda: len(counting.parking.responders) == 1)
    clock.now_s += 7
    counting.parking.responders[0](framed(b"woken"))
    assert await client.receive() == b"woken"
    assert counting.took() == {Stage.LOCAL: 1, Stage.REMOTE: 7, Stage.TOTAL: 8}
    assert counting.metrics.requests == counting.count == 1


async def test_what_finds_no_slot_waits_in_the_queue(rig: Rig, clock: Clock):
    counting = Counting(clock)
    server = await rig.serve(counting.handle, at_once=counting.at_once, **TIMED)
    client = await rig.client(server)
    slots = server.channel._slots
    slots.outstanding += slots.size
    client.send(b"now")
    await until(lambda: server.channel.queue_size == 1)
    clock.now_s += 5
    slots.outstanding -= slots.size
    server.channel._slot_may_be_free()
    assert await client.receive() == b"now"
    assert counting.took() == {Stage.REQUEST_QUEUE: 5, Stage.LOCAL: 1, Stage.TOTAL: 6}


@pytest.mark.parametrize("first", [[], [b"k1"]])
async def test_an_answer_is_sent_until_the_peer_has_taken_it(
    rig: Rig, clock: Clock, first: list[bytes]
):
    counting = Counting(clock)
    server = await rig.serve(counting.handle, at_once=counting.at_once, **TIMED)
    client = await rig.client(server)
    await client.ask(b"k")
    client.send(*first, b"k large")
    await until(lambda: connection_of(server).core.state is ConnectionState.SENDING)
    clock.now_s += 9
    for _ in (*first, b"k large"):
        await client.receive()
    await answered(counting, 2 + len(first))
    assert counting.took()[Stage.RESPONSE_SEND] >= 9
    assert counting.metrics.requests == 2 + len(first)


async def test_a_quota_holds_back_behind_the_answer(rig: Rig, clock: Clock):
    counting = Counting(clock)

    def handle(context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
        context.throttled(20)
        counting.handle(context, frame, respond)

    server = await rig.serve(handle, **TIMED)
    client = await rig.client(server)
    assert await client.ask(b"now") == b"now"
    await answered(counting, 1)
    assert counting.took() == {Stage.LOCAL: 1, Stage.THROTTLE: 0.02, Stage.TOTAL: 1}


async def test_what_is_looked_for_is_counted_as_well(rig: Rig):
    counting = Counting(Clock())
    counted: Callable[..., bytes | None] = counting.at_once
    server = await rig.serve(counting.handle, at_once=counted, **TIMED)
    client = await rig.client(server)
    for _ in range(30):
        await client.ask(b"k")
    assert counting.metrics.requests == counting.count == 30
    assert counting.took()[Stage.TOTAL] < 10  # by the machine's clock, which these do not move


async def test_where_no_metrics_are_served_no_request_is_timed(rig: Rig):
    server = await rig.serve()
    client = await rig.client(server)
    assert await client.ask(b"k") == b"k"
    assert connection_of(server).context.times is None
