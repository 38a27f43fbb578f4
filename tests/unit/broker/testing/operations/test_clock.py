"""The operation that moves a broker's clocks."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from broker.testing.clock import MovableScheduler
from broker.testing.control import answer
from broker.testing.operations import clock  # noqa: F401  it registers
from broker.testing.served import Served


class Work:
    """Has a job for some looks at it."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    @property
    def outstanding(self) -> int:
        self.looks -= 1
        return int(self.looks >= 0)


def call(ms: float, work: Work, fired: list[float]) -> Any:
    async def run() -> Any:
        scheduler = MovableScheduler(asyncio.get_running_loop())
        began_ms = scheduler.monotonic_ms()

        def fire() -> None:
            asyncio.get_running_loop().call_soon(
                lambda: fired.append(scheduler.monotonic_ms() - began_ms)
            )

        scheduler.call_later(60_000, fire)
        broker = cast(Served, SimpleNamespace(clock=scheduler, server=work))
        return await answer(broker, {"id": 1, "op": "time.advance", "args": {"ms": ms}})

    return asyncio.run(run())


def test_what_is_due_is_done_with_its_consequences_when_the_call_returns() -> None:
    fired: list[float] = []
    work = Work(5)
    told = call(120_000, work, fired)["result"]
    assert told["fired"] == 1 and 110_000 < told["ahead_ms"] <= 120_000
    assert len(fired) == 1 and 60_000 <= fired[0] < 70_000
    assert work.looks < 0, "it waits for work in threads"


def test_time_does_not_go_back() -> None:
    assert call(-1, Work(0), [])["error"]["kind"] == "misuse"
