"""TLS handshakes: a few begin in a turn of the loop, and so many are under way at most."""

from __future__ import annotations

import asyncio

from broker.network.handshakes import PER_TURN, Handshakes


async def turn() -> None:
    """One turn of the loop, with what it calls."""
    for _ in range(2):
        await asyncio.sleep(0)


async def begin(handshakes: Handshakes, count: int) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(handshakes.begin()) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


async def test_a_few_begin_in_a_turn_and_others_have_theirs_between() -> None:
    handshakes = Handshakes(asyncio.get_running_loop(), 1000)
    begun = []
    tasks = await begin(handshakes, 5 * PER_TURN)
    while not all(task.done() for task in tasks):
        begun.append(handshakes.under_way)
        await asyncio.sleep(0)
    steps = [after - before for before, after in zip(begun, begun[1:], strict=False)]
    assert max(steps) == PER_TURN
    assert handshakes.under_way == 5 * PER_TURN


async def test_more_than_may_be_under_way_wait_until_others_have_ended() -> None:
    handshakes = Handshakes(asyncio.get_running_loop(), 3)
    tasks = await begin(handshakes, 5)
    for _ in range(10):
        await turn()
    assert [task.done() for task in tasks] == [True, True, True, False, False]
    handshakes.ended()
    await turn()
    assert [task.done() for task in tasks] == [True, True, True, True, False]
    assert handshakes.under_way == 3


async def test_who_goes_while_it_waits_takes_no_place() -> None:
    handshakes = Handshakes(asyncio.get_running_loop(), 1)
    first, second, third = await begin(handshakes, 3)
    await turn()
    second.cancel()
    await turn()
    handshakes.ended()
    await turn()
    assert first.done() and second.cancelled() and third.done()
    assert handshakes.under_way == 1


async def test_who_goes_just_as_it_has_its_place_gives_it_back() -> None:
    handshakes = Handshakes(asyncio.get_running_loop(), 1)
    (first,) = await begin(handshakes, 1)
    while not handshakes.under_way:
        await asyncio.sleep(0)
    if not first.done():
        first.cancel()
        await turn()
        assert handshakes.under_way == 0
    (next_one,) = await begin(handshakes, 1)
    await turn()
    assert next_one.done() is (first.cancelled())
