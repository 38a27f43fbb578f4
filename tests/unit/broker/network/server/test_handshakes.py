"""TLS handshakes: a few begin in a turn of the loop, and so many are under way at most."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from broker.network.server.handshakes import PATIENCE_S, PER_TURN, Handshakes
from ground.sim_scheduler import SimScheduler, SimTimer
from tests.tools.waiting import LIMIT_S


async def turn() -> None:
    """One turn of the loop, with what it calls."""
    for _ in range(2):
        await asyncio.sleep(0)


class VirtualLoop(SimScheduler):
    """The running loop with a clock and timers of its own, which a test moves on."""

    def __init__(self) -> None:
        super().__init__()
        loop = asyncio.get_running_loop()
        self.create_future = loop.create_future
        self.call_soon = loop.call_soon  # type: ignore[assignment, method-assign]

    def time(self) -> float:
        return self.now_ms / 1000

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> SimTimer:
        return super().call_later(delay_s * 1000, callback)


class Peer:
    """One that begins a handshake, and ends it when it is told to."""

    def __init__(self, handshakes: Handshakes) -> None:
        self.has_place = False
        self._end = asyncio.Event()
        self._handshakes = handshakes
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        await self._handshakes.begin()
        self.has_place = True
        try:
            await self._end.wait()
        finally:
            self._handshakes.ended()

    def end(self) -> None:
        self._end.set()


async def begin(handshakes: Handshakes, count: int) -> list[Peer]:
    peers = [Peer(handshakes) for _ in range(count)]
    await asyncio.sleep(0)
    return peers


async def end(peers: list[Peer]) -> None:
    for peer in peers:
        peer.end()
    await asyncio.wait([peer.task for peer in peers], timeout=LIMIT_S)


async def test_a_few_begin_in_a_turn_and_others_have_theirs_between() -> None:
    handshakes = Handshakes(asyncio.get_running_loop(), 1000)
    begun = []
    peers = await begin(handshakes, 5 * PER_TURN)
    while not all(peer.has_place for peer in peers):
        begun.append(handshakes.under_way)
        await asyncio.sleep(0)
    steps = [after - before for before, after in zip(begun, begun[1:], strict=False)]
    assert max(steps) == PER_TURN
    assert handshakes.under_way == 5 * PER_TURN
    await end(peers)
    assert handshakes.under_way == 0


async def test_more_than_may_be_under_way_wait_until_others_have_ended() -> None:
    handshakes = Handshakes(asyncio.get_running_loop(), 3)
    peers = await begin(handshakes, 5)
    for _ in range(10):
        await turn()
    assert [peer.has_place for peer in peers] == [True, True, True, False, False]
    peers[1].end()
    for _ in range(3):
        await turn()
    assert [peer.has_place for peer in peers] == [True, True, True, True, False]
    assert handshakes.under_way == 3
    await end(peers)


async def test_who_goes_while_it_waits_takes_no_place() -> None:
    handshakes = Handshakes(asyncio.get_running_loop(), 1)
    first, second, third = await begin(handshakes, 3)
    await turn()
    second.task.cancel()
    await turn()
    first.end()
    for _ in range(3):
        await turn()
    assert (second.has_place, third.has_place) == (False, True)
    assert handshakes.under_way == 1
    await end([third])


async def test_who_goes_just_as_it_has_its_place_gives_it_back() -> None:
    handshakes = Handshakes(asyncio.get_running_loop(), 1)
    (first,) = await begin(handshakes, 1)
    while not handshakes.under_way:
        await asyncio.sleep(0)
    first.task.cancel()
    await turn()
    assert handshakes.under_way == 0
    (second,) = await begin(handshakes, 1)
    await turn()
    assert second.has_place
    await end([second])


async def test_who_does_not_go_on_makes_way_for_those_who_wait() -> None:
    loop = VirtualLoop()
    handshakes = Handshakes(loop, 2)  # type: ignore[arg-type]
    told: list[str] = []

    async def silent(name: str) -> None:
        await handshakes.begin()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            told.append(f"{name} {'makes way' if handshakes.makes_way() else 'is cancelled'}")
        finally:
            handshakes.ended()

    tasks = [asyncio.create_task(silent(name)) for name in "abcd"]
    await turn()
    loop.run_for(PATIENCE_S * 1000 - 1)
    await turn()
    assert handshakes.under_way == 2 and told == []
    loop.run_for(1)
    for _ in range(3):
        await turn()
    assert told == ["a makes way", "b makes way"]
    loop.run_for(PATIENCE_S * 1000)
    await turn()
    assert handshakes.under_way == 2 and len(told) == 2, "nobody waits: those keep their places"
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert told[2:] == ["c is cancelled", "d is cancelled"]
    assert handshakes.under_way == 0
