"""Long work on the event loop, done in slices, with other work between them.

A batch of 94 KB may decompress to 95 MB and millions of records, and a request may name ten
thousand topics. Code with such work is written as `Steps`: a generator that yields after each slice
of some two milliseconds (`Pace` counts). It may also yield a `Job` for what a thread can do without
the interpreter lock (compression and decompression). Short work, which nearly all is, ends with its
first slice, so its caller does not have to wait (`first_slice`).

It owns the order of turns: one slice per turn of the event loop, and one job at a time, however
much work there is. Jobs wait while the results of other jobs fill the limit. It never knows what
the work is.

In Kafka, `LogValidator` reads a batch as a stream on the thread of its request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any, Generic, TypeAlias, TypeVar

from ground.ports import Blocking, Scheduler

T = TypeVar("T")

SMALL_BYTES = 1024 * 1024
"""The size up to which a job's result never has to wait for others."""


@dataclass(frozen=True, slots=True)
class Job:
    """A call for a thread. `holds_bytes` is the size of its result, which replaces the result of
    the job before it; None: that result stays."""

    call: Callable[[], Any]
    holds_bytes: int | None = None


Steps: TypeAlias = Generator[Job | None, Any, T]
"""A generator that yields None after each slice, or a job whose result the caller sends back. It
returns the result of the work."""


def first_slice(steps: Steps[T]) -> list[T]:
    """Return the result of work that ends with its first slice, in a list. If the work is longer,
    close it and return an empty list."""
    try:
        next(steps)
    except StopIteration as end:
        return [end.value]
    steps.close()
    return []


def in_one_go(steps: Steps[T]) -> T:
    """Do all of the work at once, its jobs on this thread, and return its result: for callers that
    no other work waits for, or that cannot wait."""
    result: Any = None
    try:
        while True:
            job = steps.send(result)
            result = None if job is None else job.call()
    except StopIteration as end:
        value: T = end.value
        return value


def each(do: Callable[[T], object], items: Iterable[T], a_slice: int) -> Steps[None]:
    """Call `do` with each of `items`, `a_slice` of them in a slice. It yields between slices, never
    after the last one."""
    for done, item in enumerate(items):
        if done and not done % a_slice:
            yield None
        do(item)


BULK_AT_ONCE = 2048
"""The number of items per slice that are only counted, copied or looked up, which takes less than a
microsecond each."""


def in_bulk(take: Callable[[list[T]], object], items: Iterable[T]) -> Steps[None]:
    """Call `take` with lists of BULK_AT_ONCE `items`, one list in a slice. It yields between lists,
    never after the last one."""
    source = iter(items)
    part = list(islice(source, BULK_AT_ONCE))
    while part:
        take(part)
        part = list(islice(source, BULK_AT_ONCE))
        if part:
            yield None


def drained(items: list[T]) -> Iterator[T]:
    """Yield each of `items` and remove it from the list. To free 300,000 items at once would take
    up to 100 ms."""
    items.reverse()
    while items:
        yield items.pop()


def in_order(names: Iterable[str]) -> Steps[list[str]]:
    """Return `names` sorted."""
    runs: list[list[str]] = []
    yield from in_bulk(lambda part: runs.append(sorted(part)), names)
    if len(runs) <= 1:
        return runs[0] if runs else []
    ordered: list[str] = []
    yield from in_bulk(ordered.extend, merge(*runs))
    return ordered


LOOKS_AT_ONCE = 8
"""The number of look-ups in batches that one request may do in a slice."""

PIECES_AT_ONCE = 128
"""The number of pieces per slice that take some microseconds each, such as an item of a
response."""


class Pace:
    """A counter of the pieces of work in a slice, which take about equally long.

    Within `Steps`, before each piece: `if pace.is_full(): yield None`.
    """

    __slots__ = ("_done", "_pieces_max")

    def __init__(self, most: int = PIECES_AT_ONCE) -> None:
        """Allow `most` pieces in each slice."""
        self._done = 0
        self._pieces_max = most

    def is_full(self, pieces: int = 1) -> bool:
        """Count `pieces` that are done next. Return whether they must be in the next slice, which
        then begins."""
        self._done += pieces
        if self._done <= self._pieces_max:
            return False
        self._done = pieces
        return True


class _Work(Generic[T]):
    """A piece of work, and how far it is done."""

    __slots__ = ("done", "error", "held_bytes", "job", "result", "steps")

    def __init__(self, steps: Steps[T], done: Callable[[T | None, Exception | None], None]) -> None:
        self.steps = steps
        self.done = done
        self.result: Any = None
        self.error: Exception | None = None
        self.job: Job | None = None
        self.held_bytes = 0


class SlicedWork:
    """The work that is done in slices on one event loop. Call all methods on the loop's thread."""

    def __init__(self, scheduler: Scheduler, blocking: Blocking, limit_bytes: int) -> None:
        """`limit_bytes` bounds the results of all jobs together; a single one may have more."""
        self._scheduler = scheduler
        self._blocking = blocking
        self._limit = limit_bytes
        self._ready: deque[_Work[Any]] = deque()
        self._with_job: deque[_Work[Any]] = deque()
        self._job_runs = False
        self._turn_is_due = False
        self.held_bytes = 0
        self.slices = 0

    def run(self, steps: Steps[T], done: Callable[[T | None, Exception | None], None]) -> None:
        """Do all of the work later, and then call `done(result, error)` once."""
        self._enqueue(_Work(steps, done))

    def begin(self, steps: Steps[T], done: Callable[[T | None, Exception | None], None]) -> list[T]:
        """Do the first slice. Return the result in a list if the work ends with it; otherwise
        return an empty list and do the rest as `run` does. Raises the error of the first slice."""
        try:
            job = next(steps)
        except StopIteration as end:
            return [end.value]
        self.resume(steps, job, done)
        return []

    def resume(
        self, steps: Steps[T], job: Job | None, done: Callable[[T | None, Exception | None], None]
    ) -> None:
        """Do the rest of work whose first slice has yielded `job`, and then call `done` as `run`
        does."""
        self._resume(_Work(steps, done), job)

    def _enqueue(self, work: _Work[Any]) -> None:
        """Let `work` have a slice in a later turn."""
        self._ready.append(work)
        if not self._turn_is_due:
            self._turn_is_due = True
            self._scheduler.call_soon(self._turn)

    def _turn(self) -> None:
        """Do one slice of the work that has waited longest. At its end call its `done`, also with
        an error; otherwise queue its job or next slice. An AssertionError is raised instead."""
        self._turn_is_due = False
        work = self._ready.popleft()
        if self._ready:
            self._turn_is_due = True
            self._scheduler.call_soon(self._turn)
        self.slices += 1
        result, work.result = work.result, None
        error, work.error = work.error, None
        try:
            job = work.steps.send(result) if error is None else work.steps.throw(error)
        except StopIteration as end:
            self._end(work, end.value, None)
        except AssertionError:
            self._hold(work, 0)
            raise
        except Exception as failure:  # noqa: BLE001  its owner gets the error as a value
            self._end(work, None, failure)
        else:
            self._resume(work, job)

    def _resume(self, work: _Work[Any], job: Job | None) -> None:
        """Let `work` have another slice if it yielded None; otherwise queue the job that it
        yielded."""
        if job is None:
            self._enqueue(work)
            return
        work.job = job
        if job.holds_bytes is not None:
            self._hold(work, 0)
        self._with_job.append(work)
        self._next_job()

    def _end(self, work: _Work[Any], result: Any, error: Exception | None) -> None:
        """Release the bytes that `work` holds, begin a waiting job, and call `done` of the work."""
        self._hold(work, 0)
        self._next_job()
        work.done(result, error)

    def _hold(self, work: _Work[Any], size: int) -> None:
        """Set the number of bytes that `work` holds, and count them in the sum of all work."""
        self.held_bytes += size - work.held_bytes
        work.held_bytes = size

    def _next_job(self) -> None:
        """Submit the first job for whose result there is room, unless a job runs. Small jobs may
        overtake others."""
        if self._job_runs:
            return
        for work in self._with_job:
            job = work.job
            assert job is not None
            size = job.holds_bytes or 0
            if size <= SMALL_BYTES or not self.held_bytes or self.held_bytes + size <= self._limit:
                break
        else:
            return
        self._with_job.remove(work)
        if job.holds_bytes is not None:
            self._hold(work, size)
        self._job_runs = True
        work.job = None
        self._blocking.submit(job.call, lambda result, error: self._job_done(work, result, error))

    def _job_done(self, work: _Work[Any], result: Any, error: Exception | None) -> None:
        """Give `work` the result or error of its job in its next slice, and begin the next job."""
        self._job_runs = False
        work.result, work.error = result, error
        self._enqueue(work)
        self._next_job()
