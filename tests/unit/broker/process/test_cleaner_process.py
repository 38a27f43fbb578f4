"""The worker process: it does a job, dies with whoever started it, and may be killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broker.process.cleaner_process import ProcessRunner
from ground.sim_scheduler import SimScheduler
from protocol.records import Record, iterate_records
from storage.cleaning import cleaner_worker
from storage.cleaning.cleaner_job import (
    CleaningFailed,
    CleanJob,
    CleanResult,
    encode_job,
)
from storage.cleaning.cleaner_ports import CleanerDied
from storage.cleaning.cleaner_worker import IoThrottle
from storage.log.cleaned_group import CleanedGroup
from tests.batches import build_batch
from tests.tools.waiting import LIMIT_S, wait_until, wait_until_async

JOB = CleanJob(
    directory="",
    segments=(),
    later_segments=(),
    first_dirty_offset=0,
    first_uncleanable_offset=3,
    now_ms=0,
    delete_retention_ms=0,
    segment_bytes=1 << 20,
    index_bytes_max=1 << 20,
    index_interval_bytes=4096,
    dedupe_bytes=1 << 20,
    load_factor=0.9,
    io_buffer_bytes=1 << 16,
    io_bytes_per_second=1e308,
)


def job_in(folder: Path, *, slow: bool = False) -> CleanJob:
    records = [Record(-1, 0, key, b"v") for key in (b"a", b"b", b"a")]
    data = build_batch(records)
    (folder / f"{0:020d}.log").write_bytes(data)
    rate = 1.0 if slow else 1e308
    return replace(JOB, directory=str(folder), segments=((0, len(data)),), io_bytes_per_second=rate)


@contextmanager
def runner() -> Iterator[ProcessRunner]:
    one = ProcessRunner(asyncio.get_running_loop(), 1)
    try:
        yield one
    finally:
        one.stop()


async def result_of(one: ProcessRunner, job: CleanJob) -> CleanResult:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def done(result: CleanResult | None, error: Exception | None) -> None:
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)

    one.submit(job, done)
    result: CleanResult = await future
    return result


async def until(condition: Callable[[], bool]) -> None:
    await wait_until_async(condition, "what the runner is to do", pause_s=0.01)


async def test_a_process_does_the_job_and_is_gone(tmp_path: Path) -> None:
    with runner() as one:
        result = await result_of(one, job_in(tmp_path))
        assert result.groups == (
            CleanedGroup((0,), result.bytes_written, 0, 2, (".index", ".timeindex", ".log")),
        )
        written = (tmp_path / f"{0:020d}.log.cleaned").read_bytes()
        assert [(r.offset, r.key) for r in iterate_records(written)] == [(1, b"b"), (2, b"a")]
        assert one._running == {}
        assert await one.close(LIMIT_S)


async def test_what_it_cannot_do_is_told_as_what_it_is(tmp_path: Path) -> None:
    with runner() as one:
        job = job_in(tmp_path)
        with pytest.raises(FileNotFoundError):
            await result_of(one, replace(job, segments=((7, 10),)))
        (tmp_path / f"{0:020d}.log").write_bytes(b"x" * 100)
        with pytest.raises(CleaningFailed):
            await result_of(one, job)


async def test_so_many_rounds_run_at_once_as_there_are_threads_now() -> None:
    with runner() as one:
        one.resize(3)
        assert one._pool.size == 3
        one.resize(0)
        assert one._pool.size == 1, "what is under way may end"
        assert await one.close(LIMIT_S)


async def test_one_that_is_killed_has_died_and_the_next_job_gets_another(tmp_path: Path) -> None:
    with runner() as one:
        work = asyncio.ensure_future(result_of(one, job_in(tmp_path, slow=True)))
        await until(lambda: bool(one._running))
        assert one.outstanding == 1
        os.kill(one._running[str(tmp_path)].pid, signal.SIGKILL)
        with pytest.raises(CleanerDied, match="-9"):
            await work
        work = asyncio.ensure_future(result_of(one, job_in(tmp_path, slow=True)))
        await until(lambda: bool(one._running))
        one.cancel(str(tmp_path))
        with pytest.raises(CleanerDied):
            await work
        assert (await result_of(one, job_in(tmp_path))).end_offset == 3
        one.stop()
        with pytest.raises(CleanerDied, match="the broker stops"):
            await result_of(one, job_in(tmp_path))


def test_it_dies_when_its_input_ends_and_is_of_the_lowest_priority(tmp_path: Path) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-m", "storage.cleaning.cleaner_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[4],
    )
    assert worker.stdin is not None and worker.stdout is not None
    with worker:
        worker.stdin.write(encode_job(job_in(tmp_path, slow=True)).encode() + b"\n")
        worker.stdin.flush()
        wait_until(lambda: os.getpriority(os.PRIO_PROCESS, worker.pid) == 19, "the lowest priority")
        worker.stdin.close()
        assert worker.wait(LIMIT_S) == 1
        assert worker.stdout.read() == b""


def test_the_throttle_waits_for_what_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimScheduler()
    time = SimpleNamespace(
        monotonic=lambda: clock.now_ms / 1000, sleep=lambda s: clock.run_for(s * 1000)
    )
    monkeypatch.setattr(cleaner_worker, "time", time)
    throttle = IoThrottle(1_000_000)
    clock.run_for(10_000)  # of which it keeps 0.3 s
    for _ in range(50):
        throttle(10_000)
    assert clock.now_ms == pytest.approx(10_000 + 500 - 300)
    free = IoThrottle(1.7976931348623157e308)
    free(1 << 40)
    assert clock.now_ms == pytest.approx(10_000 + 500 - 300)
