"""A loop of uvloop calls it each turn; no other loop does."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
import uvloop

from broker.loop import turn_hook
from broker.loop.turn_hook import TurnHook
from tests.tools.waiting import LIMIT_S


def test_each_turn_is_told_until_it_is_removed() -> None:
    turned: list[object] = []

    async def count() -> tuple[int, int, int]:
        hook = TurnHook(asyncio.get_running_loop(), turned.append)
        for _ in range(10):
            await asyncio.sleep(0)
        busy = len(turned)
        for _ in range(3):
            await asyncio.sleep(0.005)
        slept = len(turned)
        await hook.remove()
        removed = len(turned)
        for _ in range(3):
            await asyncio.sleep(0)
        await hook.remove()
        assert len(turned) == removed
        return busy, slept, removed

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        busy, slept, _removed = runner.run(count())
    assert 10 <= busy <= 12, "a turn is told once"
    assert busy < slept < busy + 10, "nothing is told while the loop sleeps"


def test_it_keeps_no_loop_running() -> None:
    loop = uvloop.new_event_loop()
    loop.run_until_complete(asyncio.wait_for(_hooked_for_a_moment(), LIMIT_S))
    loop.close()


async def _hooked_for_a_moment() -> None:
    await TurnHook(asyncio.get_running_loop(), lambda _: None).remove()


async def test_another_loop_has_none() -> None:
    loop = asyncio.get_running_loop()
    if isinstance(loop, uvloop.Loop):
        pytest.skip("the tests run on uvloop's")
    with pytest.raises(RuntimeError, match="not uvloop's"):
        TurnHook(loop, lambda _: None)


def test_a_uvloop_that_hides_libuv_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = uvloop.new_event_loop()
    monkeypatch.setattr(turn_hook.ctypes, "CDLL", lambda _: SimpleNamespace())
    with pytest.raises(RuntimeError, match="no libuv for others"):
        TurnHook(loop, lambda _: None)
    loop.close()
