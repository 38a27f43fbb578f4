"""The measurement of the event loop's turns, on nodes that serve `/metrics`.

Owns: the decision to measure, and the log line about a long turn. Never: the counts
(`broker.loop.loop_turns`), or the loop's call at the end of a turn (`broker.loop.turn_hook`).

Nodes without `/metrics` measure nothing, and load no module for it. Other nodes measure from their
start on, loading and recovery included.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from broker.loop.log_limit import LogLimit
from broker.loop.scheduler import Call, WatchedScheduler, call_unmeasured
from ground.ports import Scheduler

if TYPE_CHECKING:
    from broker.loop.loop_turns import HasConnectionId, LoopTurns, Piece
    from broker.loop.turn_hook import TurnHook
    from broker.metrics import Metrics

_log = logging.getLogger(f"ottla.{__name__}")

LINES_PER_SECOND = 1
ConnectionT = TypeVar("ConnectionT", bound="HasConnectionId")
ReplyT = TypeVar("ReplyT")


class LoopWatch:
    """The measurement of one loop's turns, created on that loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, logged_ms: float | None) -> None:
        """Prepare to measure turns from `start` on, and to log those longer than `logged_ms`, none
        if that is negative. If it is None, measure nothing."""
        self._loop = loop
        self._limit = LogLimit(LINES_PER_SECOND, time.monotonic)
        self._hook: TurnHook | None = None
        self._collecting_s = 0.0
        self._turns: LoopTurns | None = None
        if logged_ms is not None:
            from broker.loop.loop_turns import LoopTurns

            from_s = logged_ms / 1000 if logged_ms >= 0 else float("inf")
            self._turns = LoopTurns(time.monotonic, time.thread_time, from_s, self._log_long_turn)

    # --- the measured calls ---------------------------------------------------------------------

    @property
    def call(self) -> Call:
        """The function that calls a pool's callbacks: it measures them, unless this node measures
        nothing."""
        return call_unmeasured if self._turns is None else self._turns.call

    def scheduler(self, scheduler: Scheduler) -> Scheduler:
        """Return `scheduler`, wrapped so that its callbacks are measured; unwrapped if this node
        measures nothing."""
        return scheduler if self._turns is None else WatchedScheduler(scheduler, self._turns.call)

    def handle(
        self, handle: Callable[[ConnectionT, memoryview, ReplyT], None]
    ) -> Callable[[ConnectionT, memoryview, ReplyT], None]:
        """Return `handle`, wrapped so that requests are measured; unwrapped if this node measures
        nothing."""
        return handle if self._turns is None else self._turns.measured_handler(handle)

    # --- from the node's start to its end -------------------------------------------------------

    def start(self, metrics: Metrics) -> None:
        """Measure the turns and garbage collections from now on, and register the metrics.

        Does nothing on a node that measures nothing. If the loop has no hook, logs that at INFO,
        and registers no metrics.
        """
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
        """Remove the hook, and stop measuring."""
        if self._hook is not None:
            await self._hook.remove()
            self._hook = None
            gc.callbacks.remove(self._collection)

    # --- long parts and turns -------------------------------------------------------------------

    def _collection(self, phase: str, info: dict[str, int]) -> None:
        """Time a garbage collection, and keep it as a part of the turn if it was long. `gc` calls
        this at the collection's start and end."""
        now_s = time.monotonic()
        if phase == "start":
            self._collecting_s = now_s
        elif self._turns is not None:
            took_s = now_s - self._collecting_s
            self._turns.took(took_s, lambda: f"garbage collection of {info['generation']}")

    def _log_long_turn(self, spent_s: float, pieces: list[Piece]) -> None:
        """Log the turn at level INFO with its CPU time and longest pieces, as often as the limit
        allows.
        """
        if not _log.isEnabledFor(logging.INFO) or (left_out := self._limit.next_line()) is None:
            return
        parts = ", ".join(f"{name} {took_s * 1000:.1f} ms" for took_s, name in pieces)
        _log.info(
            "a turn of the event loop took %.1f ms of CPU time: %s%s",
            spent_s * 1000,
            parts or "nothing that is known",
            f" ({left_out} turns before it are not told)" if left_out else "",
        )
