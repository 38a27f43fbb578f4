"""Has the turns of the event loop measured where `/metrics` is served.

Owns: whether they are measured, and the line that tells of a long one. Never: what is counted
(`broker.loop.loop_turns`), or how the loop is made to tell of its turns (`broker.loop.turn_hook`).

Where it is not, nothing is measured and nothing is loaded for it. Otherwise the turns are measured
from the start of the node on, loading and recovery included.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from broker.loop.log_limit import LogLimit
from broker.loop.scheduler import Call, WatchedScheduler, plainly
from ground.ports import Scheduler

if TYPE_CHECKING:
    from broker.loop.loop_turns import Asker, LoopTurns, Piece
    from broker.loop.turn_hook import TurnHook
    from broker.metrics import Metrics

_log = logging.getLogger(f"ottla.{__name__}")

LINES_PER_SECOND = 1
AskerT = TypeVar("AskerT", bound="Asker")
ReplyT = TypeVar("ReplyT")


class LoopWatch:
    """The watch over the turns of one loop, on which it is made."""

    def __init__(self, loop: asyncio.AbstractEventLoop, logged_ms: float | None) -> None:
        """Measure turns, and log those of `logged_ms` or more, none if that is negative.

        None: measure nothing.
        """
        self._loop = loop
        self._limit = LogLimit(LINES_PER_SECOND, time.monotonic)
        self._hook: TurnHook | None = None
        self._collecting_s = 0.0
        self._turns: LoopTurns | None = None
        if logged_ms is not None:
            from broker.loop.loop_turns import LoopTurns

            from_s = logged_ms / 1000 if logged_ms >= 0 else float("inf")
            self._turns = LoopTurns(time.monotonic, time.thread_time, from_s, self._long)

    # --- what is watched ------------------------------------------------------------------------

    @property
    def call(self) -> Call:
        """What calls the callbacks of a pool."""
        return plainly if self._turns is None else self._turns.call

    def scheduler(self, scheduler: Scheduler) -> Scheduler:
        """The same time; what it calls is watched."""
        return scheduler if self._turns is None else WatchedScheduler(scheduler, self._turns.call)

    def handle(
        self, handle: Callable[[AskerT, memoryview, ReplyT], None]
    ) -> Callable[[AskerT, memoryview, ReplyT], None]:
        """The same way in for requests."""
        return handle if self._turns is None else self._turns.requests(handle)

    # --- from the node's start to its end -------------------------------------------------------

    def start(self, metrics: Metrics) -> None:
        """Measure from now on, and show it."""
        if self._turns is None:
            return
        from broker.loop.turn_hook import TurnHook

        try:
            self._hook = TurnHook(self._loop, self._turns.turned)
        except RuntimeError as error:
            _log.info("turns of the event loop are not measured: %s", error)
            return
        gc.callbacks.append(self._collection)
        from broker.loop.loop_metrics import register_loop_metrics

        register_loop_metrics(metrics, self._turns)

    async def stop(self) -> None:
        """Measure no more."""
        if self._hook is not None:
            await self._hook.remove()
            self._hook = None
            gc.callbacks.remove(self._collection)

    # --- what is long ---------------------------------------------------------------------------

    def _collection(self, phase: str, info: dict[str, int]) -> None:
        """Python looks for garbage: in one generation it may take longer than all requests."""
        now_s = time.monotonic()
        if phase == "start":
            self._collecting_s = now_s
        elif self._turns is not None:
            took_s = now_s - self._collecting_s
            self._turns.took(took_s, lambda: f"garbage collection of {info['generation']}")

    def _long(self, spent_s: float, pieces: list[Piece]) -> None:
        if not _log.isEnabledFor(logging.INFO) or (left_out := self._limit.next_line()) is None:
            return
        what = ", ".join(f"{name} {took_s * 1000:.1f} ms" for took_s, name in pieces)
        _log.info(
            "a turn of the event loop took %.1f ms of CPU time: %s%s",
            spent_s * 1000,
            what or "nothing that is known",
            f" ({left_out} turns before it are not told)" if left_out else "",
        )
