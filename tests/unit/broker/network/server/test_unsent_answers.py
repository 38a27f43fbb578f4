"""Who is given up when answers that wait hold too much. Time stands where each step puts it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from broker.network.server import unsent_answers
from broker.network.server.unsent_answers import LOOK_AGAIN_S, STALLED_S, UnsentAnswers
from tests.unit.broker.network.conftest import Client, Rig, framed, until

LIMIT = 1_000


@dataclass(eq=False)
class Reader:
    unsent_bytes: int = 0
    sent_bytes: int = 0
    closed: list[str] = field(default_factory=list)

    def takes(self, size: int) -> None:
        self.unsent_bytes -= size
        self.sent_bytes += size

    def abort(self, reason: str) -> None:
        self.closed.append(reason)
        self.unsent_bytes = 0


class Clock:
    def __init__(self) -> None:
        self.now_s = 50.0
        self.due: list[tuple[float, Callable[[], None]]] = []

    def call_later(self, seconds: float, callback: Callable[[], None]) -> None:
        self.due.append((self.now_s + seconds, callback))

    def go_on(self, seconds: float) -> None:
        end = self.now_s + seconds
        while self.due and min(self.due)[0] <= end:
            first = min(self.due, key=lambda one: one[0])
            self.due.remove(first)
            self.now_s = first[0]
            first[1]()
        self.now_s = end


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def unsent(clock: Clock) -> UnsentAnswers:
    return UnsentAnswers(LIMIT, lambda: clock.now_s, clock.call_later)


def blocked(unsent: UnsentAnswers, size: int) -> Reader:
    reader = Reader(size)
    unsent.add(reader)
    return reader


def test_up_to_half_of_the_limit_nothing_is_looked_at(clock: Clock, unsent: UnsentAnswers) -> None:
    readers = [blocked(unsent, 50) for _ in range(10)]
    assert unsent.held_bytes == LIMIT // 2
    assert clock.due == []
    clock.go_on(1_000)
    assert not any(one.closed for one in readers)


def test_the_longest_silent_go_first_and_no_more_than_must(
    clock: Clock, unsent: UnsentAnswers
) -> None:
    first = blocked(unsent, 150)
    clock.go_on(5)
    second = blocked(unsent, 150)
    clock.go_on(5)
    third = blocked(unsent, 150)
    clock.go_on(5)
    last = blocked(unsent, 200)
    clock.go_on(LOOK_AGAIN_S)
    assert [len(one.closed) for one in (first, second, third, last)] == [1, 0, 0, 0]
    assert "650 bytes" in first.closed[0]
    assert unsent.held_bytes == LIMIT // 2 and unsent.closed_count == 1
    assert clock.due == []


def test_who_takes_its_answer_stays_however_slowly(clock: Clock, unsent: UnsentAnswers) -> None:
    slow, stalled = blocked(unsent, 450), blocked(unsent, 450)
    for _ in range(20):
        slow.takes(1)
        clock.go_on(LOOK_AGAIN_S)
    assert not slow.closed and stalled.closed
    assert clock.due == [], "half of the limit again"


def test_everybody_has_a_second_below_the_limit(clock: Clock, unsent: UnsentAnswers) -> None:
    readers = [blocked(unsent, 300) for _ in range(3)]
    clock.go_on(STALLED_S - 0.01)
    assert not any(one.closed for one in readers)
    clock.go_on(LOOK_AGAIN_S)
    assert [len(one.closed) for one in readers] == [1, 1, 0]


def test_nobody_has_it_at_the_limit(clock: Clock, unsent: UnsentAnswers) -> None:
    """However fast they come: but who has taken something since the last look goes last."""
    reader, most = blocked(unsent, 290), 0
    others = []
    for _ in range(200):
        others.append(blocked(unsent, 90))
        reader.takes(1)
        most = max(most, unsent.held_bytes)
        clock.go_on(0)
        clock.now_s += 0.0001
        assert unsent.held_bytes <= LIMIT
    assert most <= LIMIT + 90
    assert not reader.closed
    closed = [len(one.closed) for one in others]
    assert closed == sorted(closed, reverse=True), "the longest silent first"
    assert sum(closed) == unsent.closed_count > 180


def test_a_single_answer_may_be_larger(clock: Clock, unsent: UnsentAnswers) -> None:
    reader = blocked(unsent, 50 * LIMIT)
    clock.go_on(100)
    assert not reader.closed and clock.due == []


def test_what_has_left_is_not_counted(clock: Clock, unsent: UnsentAnswers) -> None:
    """Each had to wait a moment: the sums are too large, and are made anew."""
    for _ in range(100):
        blocked(unsent, 300).takes(300)
    stalled = blocked(unsent, 300)
    clock.go_on(10)
    assert unsent.held_bytes == 300 and not stalled.closed
    unsent.add(Reader(0))
    unsent.forget(stalled)
    unsent.forget(stalled)
    assert unsent.held_bytes == 0


# --- connections ----------------------------------------------------------------------------------


async def test_clients_that_stop_reading_hold_no_more_than_the_limit(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each asks for what is many times what the kernel takes of it."""
    monkeypatch.setattr(unsent_answers, "STALLED_S", 0.1)
    monkeypatch.setattr(unsent_answers, "LOOK_AGAIN_S", 0.02)
    answer, limit = framed(bytes(8_000_000)), 30_000_000
    server = await rig.serve(
        lambda _context, frame, respond: respond(
            answer if frame == b"all" else framed(bytes(frame))
        ),
        ottla_queued_max_response_bytes=limit,
    )
    stalled = [await rig.client(server) for _ in range(12)]
    innocent = await rig.client(server)
    for one in stalled:
        one.send(b"all")
        innocent.send(b"another")
        assert await innocent.receive() == b"another"
    await until(lambda: server.unsent.held_bytes <= limit)
    assert 6 <= server.unsent.closed_count <= 11
    await until(lambda: server.connection_count == 13 - server.unsent.closed_count)
    # Who has stayed gets all of it.
    whole = [one for one in stalled if await _is_whole(one, len(answer))]
    assert len(whole) == 12 - server.unsent.closed_count
    assert server.unsent.held_bytes == 0
    innocent.send(b"still here")
    assert await innocent.receive() == b"still here"


async def _is_whole(client: Client, size: int) -> bool:
    try:
        await client.reader.readexactly(size)
    except (EOFError, ConnectionError):
        return False
    return True
