"""Work of the loop that may be long: done in slices, with all else between them.

A batch of 94 KB may unpack to 95 MB, and to millions of records; and one request may ask for ten
thousand topics. Whoever does such work writes it down as `Steps`: a generator that stops after each
slice of some two milliseconds (`Pace` counts), or gives out what threads can do without the
interpreter lock (unpacking, packing) as a `Job`. Short work, as nearly all is, ends with its first
slice, and then nobody has to wait (`first_slice`).

Owns: whose turn it is. One slice a turn of the loop, one job at a time, however much there is to
do; and jobs wait while what others have unpacked fills the limit. Never: what the work is.

Kafka: `LogValidator` reads a batch as a stream on the thread of its request.
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
"""What may be held whatever others hold."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a thread does. `holds_bytes`: of what it leaves in place of what the job before it left,
    which is gone already; None: that stays."""

    call: Callable[[], Any]
    holds_bytes: int | None = None


Steps: TypeAlias = Generator[Job | None, Any, T]
"""Gives None after each slice, or a job, and is sent its result; returns what came of it."""


def first_slice(steps: Steps[T]) -> list[T]:
    """What came of work that ends with its first slice; nothing where it is longer."""
    try:
        next(steps)
    except StopIteration as end:
        return [end.value]
    steps.close()
    return []


def in_one_go(steps: Steps[T]) -> T:
    """What comes of it, for who has nobody waiting, or cannot wait."""
    result: Any = None
    try:
        while True:
            job = steps.send(result)
            result = None if job is None else job.call()
    except StopIteration as end:
        value: T = end.value
        return value


def each(do: Callable[[T], object], items: Iterable[T], a_slice: int) -> Steps[None]:
    """Do each of `items`, so many a slice. It stops between slices, never after the last one."""
    for done, item in enumerate(items):
        if done and not done % a_slice:
            yield None
        do(item)


BULK_AT_ONCE = 2048
"""Items that are only counted, copied or looked up: each takes a fraction of a microsecond."""


def in_bulk(take: Callable[[list[T]], object], items: Iterable[T]) -> Steps[None]:
    """Give `items` to `take`, BULK_AT_ONCE of them a slice. It stops as `each` does."""
    source = iter(items)
    part = list(islice(source, BULK_AT_ONCE))
    while part:
        take(part)
        part = list(islice(source, BULK_AT_ONCE))
        if part:
            yield None


def drained(items: list[T]) -> Iterator[T]:
    """Give each of `items`, which the list holds no longer then: 300,000 of them that are freed in
    one go take up to 100 ms."""
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
"""Looks into batches that one request may have done in one slice."""

PIECES_AT_ONCE = 128
"""Pieces of some microseconds each, such as an item of an answer, that are done in one slice."""


class Pace:
    """How much of a slice is done: pieces of work that take about as long each.

    Within `Steps`, before each piece: `if pace.is_full(): yield None`.
    """

    __slots__ = ("_done", "_most")

    def __init__(self, most: int = PIECES_AT_ONCE) -> None:
        self._done = 0
        self._most = most

    def is_full(self, pieces: int = 1) -> bool:
        """So many more are to be done: whether that is for the next slice, which begins then."""
        self._done += pieces
        if self._done <= self._most:
            return False
        self._done = pieces
        return True


class _Work(Generic[T]):
    """One piece, and how far it is."""

    __slots__ = ("done", "error", "held_bytes", "job", "result", "steps")

    def __init__(self, steps: Steps[T], done: Callable[[T | None, Exception | None], None]) -> None:
        self.steps = steps
        self.done = done
        self.result: Any = None
        self.error: Exception | None = None
        self.job: Job | None = None
        self.held_bytes = 0


class SlicedWork:
    """See the module. All calls on the loop's thread."""

    def __init__(self, scheduler: Scheduler, blocking: Blocking, limit_bytes: int) -> None:
        """`limit_bytes`: of what jobs leave, together; one alone may have more."""
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
        """Do all of it, later; then `done(result, error)`, once."""
        self._be_ready(_Work(steps, done))

    def begin(self, steps: Steps[T], done: Callable[[T | None, Exception | None], None]) -> list[T]:
        """What came of it, where it ends with its first slice; else nothing, and the rest is done
        as by `run`."""
        try:
            job = next(steps)
        except StopIteration as end:
            return [end.value]
        self.go_on(steps, job, done)
        return []

    def go_on(
        self, steps: Steps[T], job: Job | None, done: Callable[[T | None, Exception | None], None]
    ) -> None:
        """Do the rest of it, whose first slice has given `job`; then `done`, as `run` does."""
        self._go_on(_Work(steps, done), job)

    def _be_ready(self, work: _Work[Any]) -> None:
        self._ready.append(work)
        if not self._turn_is_due:
            self._turn_is_due = True
            self._scheduler.call_soon(self._turn)

    def _turn(self) -> None:
        """One slice of the work that waits longest."""
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
        except Exception as failure:  # noqa: BLE001  its owner gets it as a value
            self._end(work, None, failure)
        else:
            self._go_on(work, job)

    def _go_on(self, work: _Work[Any], job: Job | None) -> None:
        if job is None:
            self._be_ready(work)
            return
        work.job = job
        if job.holds_bytes is not None:
            self._hold(work, 0)
        self._with_job.append(work)
        self._next_job()

    def _end(self, work: _Work[Any], result: Any, error: Exception | None) -> None:
        self._hold(work, 0)
        self._next_job()
        work.done(result, error)

    def _hold(self, work: _Work[Any], size: int) -> None:
        self.held_bytes += size - work.held_bytes
        work.held_bytes = size

    def _next_job(self) -> None:
        """Begin the first job for whose result there is room; small ones pass by."""
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
        self._job_runs = False
        work.result, work.error = result, error
        self._be_ready(work)
        self._next_job()
