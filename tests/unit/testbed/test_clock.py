"""Time that a test moves: on a loop that only notes what it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from testbed.clock import STEPS_MAX, MovableScheduler, PeersScheduler

DAY_MS = 86_400_000.0


class Handle:
    cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """The machine's time, and the loop's timers."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.timers: list[tuple[float, Callable[[], None], Handle]] = []
        self.told: list[Any] = []

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Handle:
        handle = Handle()
        self.timers.append((self.now_s + delay_s, callback, handle))
        return handle

    def call_exception_handler(self, context: Any) -> None:
        self.told.append(context["exception"])

    def run_for(self, seconds: float) -> None:
        end_s = self.now_s + seconds
        while True:
            live = [one for one in self.timers if not one[2].cancelled and one[0] <= end_s]
            if not live:
                break
            first = min(live, key=lambda one: one[0])
            self.timers.remove(first)
            self.now_s = max(self.now_s, first[0])
            first[1]()
        self.now_s = end_s


class Bench:
    def __init__(self) -> None:
        self.loop = Loop()
        self.scheduler = MovableScheduler(
            cast(asyncio.AbstractEventLoop, self.loop),
            lambda: self.loop.now_s,
            lambda: int(self.loop.now_s * 1e9),
        )
        self.began_ms = self.scheduler.monotonic_ms()
        self.fired: list[tuple[str, float]] = []
        self.settled = 0

    def at(self, delay_ms: float, name: str, then: Callable[[], None] | None = None) -> Any:
        def fire() -> None:
            self.fired.append((name, self.scheduler.monotonic_ms() - self.began_ms))
            if then is not None:
                then()

        return self.scheduler.call_later(delay_ms, fire)

    def every(self, period_ms: float, name: str) -> None:
        self.at(period_ms, name, lambda: self.every(period_ms, name))

    def advance(self, ms: float) -> int:
        async def settle() -> None:
            self.settled += 1

        return asyncio.run(self.scheduler.advance(ms, settle))


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_timers_fire_with_the_machines_time(bench: Bench) -> None:
    bench.at(50, "b")
    bench.at(20, "a")
    cancelled = bench.at(30, "no")
    cancelled.cancel()
    bench.loop.run_for(0.03)
    assert [name for name, _ in bench.fired] == ["a"]
    bench.loop.run_for(0.03)
    assert [name for name, _ in bench.fired] == ["a", "b"]


def test_no_timer_fires_before_its_time_though_the_loop_may_be_early(bench: Bench) -> None:
    bench.at(20, "a")
    (due_s, ring, _) = bench.loop.timers.pop()
    bench.loop.now_s = due_s - 0.0004
    ring()
    assert bench.fired == []
    bench.loop.run_for(0.002)
    assert [name for name, _ in bench.fired] == ["a"]


def test_both_clocks_go_on_and_stay_ahead(bench: Bench) -> None:
    wall_ms = bench.scheduler.wall_ms()
    bench.advance(8 * DAY_MS)
    assert bench.scheduler.wall_ms() - wall_ms == 8 * DAY_MS
    assert bench.scheduler.monotonic_ms() - bench.began_ms == 8 * DAY_MS
    bench.loop.run_for(1.0)
    assert bench.scheduler.monotonic_ms() - bench.began_ms == 8 * DAY_MS + 1000
    assert bench.scheduler.ahead_ms == 8 * DAY_MS


def test_parts_of_a_millisecond_are_not_lost(bench: Bench) -> None:
    bench.loop.run_for(0.0004)
    wall_ms = bench.scheduler.wall_ms()
    bench.advance(499.7)
    bench.loop.run_for(0.0003)
    assert bench.scheduler.wall_ms() - wall_ms == 500


def test_what_is_due_fires_in_its_order_each_at_its_own_time(bench: Bench) -> None:
    bench.at(5 * DAY_MS, "offsets")
    bench.at(45_000, "session", lambda: bench.at(DAY_MS, "after the session"))
    bench.at(9 * DAY_MS, "later")
    assert bench.advance(8 * DAY_MS) == 3
    assert bench.fired == [
        ("session", 45_000),
        ("after the session", pytest.approx(45_000 + DAY_MS)),
        ("offsets", 5 * DAY_MS),
    ]
    assert bench.settled == 4
    bench.advance(DAY_MS)
    assert bench.fired[-1] == ("later", 9 * DAY_MS)


def test_what_repeats_itself_often_does_so_once_a_step_and_before_what_is_slower(
    bench: Bench,
) -> None:
    bench.every(2_000, "heartbeat")
    bench.every(8_000, "check")
    bench.advance(8 * DAY_MS)
    names = [name for name, _ in bench.fired]
    assert STEPS_MAX <= names.count("heartbeat") <= STEPS_MAX + 2
    last: dict[str, float] = {}
    for name, at_ms in bench.fired:
        if name == "check":
            assert at_ms - last["heartbeat"] <= 8_000
        last[name] = at_ms


def test_a_short_way_is_gone_in_small_steps(bench: Bench) -> None:
    bench.every(500, "tick")
    bench.advance(5_000)
    assert [round(at_ms) for _, at_ms in bench.fired] == [
        pytest.approx(500 * number, abs=10 * number) for number in range(1, len(bench.fired) + 1)
    ]
    assert len(bench.fired) >= 9


def test_the_rest_is_for_the_loop_afterwards(bench: Bench) -> None:
    bench.at(1_000, "a")
    bench.at(3_000, "b")
    bench.advance(2_000)
    assert [name for name, _ in bench.fired] == ["a"]
    bench.loop.run_for(0.99)
    assert [name for name, _ in bench.fired] == ["a"]
    bench.loop.run_for(0.02)
    assert [name for name, _ in bench.fired] == ["a", "b"]


def test_one_that_fails_is_told_and_the_others_fire(bench: Bench) -> None:
    def fail() -> None:
        raise ValueError("no")

    bench.at(10, "a", fail)
    bench.at(20, "b")
    bench.advance(100)
    assert [name for name, _ in bench.fired] == ["a", "b"]
    assert [str(one) for one in bench.loop.told] == ["no"]


def test_what_one_timer_forgets_does_not_fire(bench: Bench) -> None:
    later = bench.at(20, "b")
    bench.at(10, "a", later.cancel)
    bench.advance(100)
    assert [name for name, _ in bench.fired] == ["a"]


def test_a_broker_that_is_started_again_is_as_far_ahead(bench: Bench) -> None:
    wall_ms = bench.scheduler.wall_ms()
    bench.scheduler.begin_ahead(DAY_MS)
    assert bench.scheduler.wall_ms() == wall_ms + DAY_MS
    bench.at(10, "a")
    bench.advance(100)
    assert [name for name, _ in bench.fired] == ["a"]


async def test_nodes_wait_for_each_other_in_the_machines_time() -> None:
    loop = asyncio.get_running_loop()
    moved = MovableScheduler(loop)
    peers = PeersScheduler(loop, moved)
    fired: list[str] = []
    peers.call_later(60_000, lambda: fired.append("peers")).cancel()
    peers.call_later(0, lambda: fired.append("at once"))
    began_ms = peers.monotonic_ms()

    async def settle() -> None:
        await asyncio.sleep(0)

    await moved.advance(3_600_000, settle)
    assert peers.monotonic_ms() - began_ms < 60_000
    assert abs(peers.wall_ms() - moved.wall_ms()) < 1_000
    while not fired:
        await asyncio.sleep(0)
    assert fired == ["at once"]
