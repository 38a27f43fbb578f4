"""A node that serves /metrics measures the turns of its loop; another one does nothing for it."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from typing import Any

import pytest
import uvloop

from broker.loop.loop_turns import LoopTurns
from broker.loop.loop_watch import LoopWatch
from broker.loop.scheduler import LoopScheduler, call_unmeasured
from broker.metrics import Family, Kind, Metrics

NAME = "kafka_server_event_loop_turn_cpu_seconds"


def handle(*_: Any) -> None: ...


def busy(cpu_s: float) -> None:
    end = time.thread_time() + cpu_s
    while time.thread_time() < end:
        pass


async def watched(logged_ms: float | None) -> dict[str, Family]:
    """Return what is shown after a turn of 20 ms."""
    loop, metrics = asyncio.get_running_loop(), Metrics()
    watch = LoopWatch(loop, logged_ms)
    scheduler = watch.scheduler(LoopScheduler(loop))
    watch.start(metrics)
    await asyncio.sleep(0)
    done = asyncio.Event()

    def work() -> None:
        busy(0.02)
        done.set()

    scheduler.call_soon(work)
    await done.wait()
    await asyncio.sleep(0)
    shown = {one.name: one for one in metrics.families()}
    before = len(gc.callbacks)
    await watch.stop()
    assert len(gc.callbacks) == before - 1
    return shown


def test_turns_are_shown_and_long_ones_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "ottla.broker.loop.loop_watch")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        shown = runner.run(watched(10))
    family = shown[NAME]
    assert family.kind is Kind.HISTOGRAM
    *buckets, (no_labels, sum_s) = family.samples
    counts = {labels["le"]: count for labels, count in buckets}
    assert no_labels == {} and sum_s >= 0.01
    assert counts["+Inf"] >= 3
    assert counts["+Inf"] - counts["0.01"] >= 1
    assert shown["kafka_server_event_loop_longest_turn_cpu_seconds"].samples[0][1] > 0.01
    assert "ms of CPU time" in caplog.text
    assert "watched.<locals>.work " in caplog.text


def test_it_is_said_how_often_it_was_not_said(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "ottla.broker.loop.loop_watch")
    with asyncio.Runner() as runner:
        watch = LoopWatch(runner.get_loop(), 10)
    seconds = 5.0
    monkeypatch.setattr(watch._limit, "_clock_s", lambda: seconds)
    for _ in range(3):
        watch._log_long_turn(0.012, [(0.011, "METADATA v12 of x"), (0.001, "timer")])
    seconds = 6.0
    watch._log_long_turn(0.5, [])
    assert [one.getMessage() for one in caplog.records] == [
        "a turn of the event loop took 12.0 ms of CPU time: METADATA v12 of x 11.0 ms, "
        "timer 1.0 ms",
        "a turn of the event loop took 500.0 ms of CPU time: nothing that is known "
        "(2 turns before it are not told)",
    ]


async def test_where_nobody_reads_it_nothing_is_watched() -> None:
    loop, metrics = asyncio.get_running_loop(), Metrics()
    watch, scheduler = LoopWatch(loop, None), LoopScheduler(loop)
    before = list(gc.callbacks)
    watch.start(metrics)
    assert watch.scheduler(scheduler) is scheduler
    assert watch.handle(handle) is handle
    assert watch.call is call_unmeasured
    assert gc.callbacks == before
    assert NAME not in {one.name for one in metrics.families()}
    await watch.stop()


async def test_garbage_collections_are_among_what_is_long() -> None:
    loop = asyncio.get_running_loop()
    watch = LoopWatch(loop, 10)
    turns = watch._turns
    assert isinstance(turns, LoopTurns)
    watch._collection("start", {"generation": 2})
    busy(0.003)
    watch._collection("stop", {"generation": 2})
    ((took_s, what),) = turns._pieces
    assert took_s >= 0.003 and what == "garbage collection of 2"


async def test_a_loop_that_cannot_tell_is_not_measured(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "ottla.broker.loop.loop_watch")
    loop, metrics = asyncio.get_running_loop(), Metrics()
    if isinstance(loop, uvloop.Loop):
        pytest.skip("the tests run on uvloop's")
    watch = LoopWatch(loop, 10)
    watch.start(metrics)
    assert NAME not in {one.name for one in metrics.families()}
    assert "not measured: the event loop is not uvloop's" in caplog.text
    await watch.stop()
