"""Whose turn it is, what threads do meanwhile, and how much of it there may be at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ground.sliced_work import (
    BULK_AT_ONCE,
    SMALL_BYTES,
    Job,
    Pace,
    SlicedWork,
    Steps,
    drained,
    each,
    first_slice,
    in_bulk,
    in_one_go,
    in_order,
)

MIB = 1024 * 1024


class Bench:
    """Turns of the loop and jobs of threads, by hand."""

    def __init__(self, limit: int = 100 * MIB) -> None:
        self.soon: list[Callable[[], None]] = []
        self.jobs: list[tuple[Callable[[], Any], Callable[..., None]]] = []
        self.log: list[str] = []
        self.work = SlicedWork(self, self, limit)  # type: ignore[arg-type]

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def submit(self, job: Callable[[], Any], done: Callable[..., None]) -> None:
        self.jobs.append((job, done))

    def turn(self) -> None:
        soon, self.soon = self.soon, []
        for callback in soon:
            callback()

    def turns(self) -> None:
        while self.soon:
            self.turn()

    def finish_job(self) -> None:
        job, done = self.jobs.pop(0)
        try:
            done(job(), None)
        except RuntimeError as error:
            done(None, error)

    def run(self, name: str, *parts: Job | None) -> None:
        def steps() -> Steps[str]:
            for part in parts:
                result = yield part
                self.log.append(f"{name}:{result}")
            return f"{name} is done"

        self.work.run(steps(), lambda result, error: self.log.append(str(result or error)))


def test_one_slice_a_turn_in_turns() -> None:
    bench = Bench()
    bench.run("a", None, None)
    bench.run("b", None)
    assert bench.log == [] and len(bench.soon) == 1
    done = ["a:None", "b:None", "b is done", "a:None", "a is done"]
    seen = []
    while bench.soon:
        before = bench.work.slices
        bench.turn()
        assert bench.work.slices == before + 1
        seen.append(len(bench.log))
    assert seen == [0, 0, 1, 3, 5]
    assert bench.log == done


def test_a_job_runs_elsewhere_and_its_result_comes_back() -> None:
    bench = Bench()
    bench.run("a", Job(lambda: 7))
    bench.run("b", None)
    bench.turns()
    assert bench.log == ["b:None", "b is done"], "nobody waits for a thread"
    bench.finish_job()
    bench.turns()
    assert bench.log[2:] == ["a:7", "a is done"]


def test_one_job_at_a_time() -> None:
    bench = Bench()
    for name in "abc":
        bench.run(name, Job(lambda: 1))
    bench.turns()
    for left in (2, 1, 0):
        assert len(bench.jobs) == 1
        bench.finish_job()
        bench.turns()
        assert bench.log.count("a is done") == 1 or left == 2
    assert len(bench.log) == 6 and bench.jobs == []


def test_what_jobs_leave_is_bounded_and_small_ones_pass() -> None:
    bench = Bench(limit=100 * MIB)
    bench.run("large", Job(lambda: 1, 80 * MIB), Job(lambda: 2))
    bench.turns()
    bench.run("waits", Job(lambda: 3, 30 * MIB))
    bench.run("small", Job(lambda: 4, SMALL_BYTES))
    bench.turns()
    assert bench.work.held_bytes == 80 * MIB
    bench.finish_job()
    bench.finish_job()
    bench.turns()
    assert bench.log == ["large:1", "small:4", "small is done"]
    assert bench.work.held_bytes == 80 * MIB, "until the job that gives it back"
    bench.finish_job()
    bench.turns()
    bench.finish_job()
    bench.turns()
    assert bench.log[3:] == ["large:2", "large is done", "waits:3", "waits is done"]
    assert bench.work.held_bytes == 0


def test_one_alone_may_have_more_than_the_limit() -> None:
    bench = Bench(limit=MIB)
    bench.run("a", Job(lambda: 1, 50 * MIB))
    bench.turns()
    assert len(bench.jobs) == 1


def test_a_failed_job_is_thrown_into_the_steps() -> None:
    bench = Bench()

    def fails() -> None:
        raise RuntimeError("no")

    def steps() -> Steps[str]:
        try:
            yield Job(fails, 5 * MIB)
        except RuntimeError as error:
            return f"caught {error}"
        return "not caught"

    bench.work.run(steps(), lambda result, error: bench.log.append(str(result)))
    bench.run("b", Job(fails))
    bench.turns()
    bench.finish_job()
    bench.turns()
    bench.finish_job()
    bench.turns()
    assert bench.log == ["caught no", "no"]
    assert bench.work.held_bytes == 0


def test_a_broken_invariant_goes_on_to_the_loop() -> None:
    bench = Bench()

    def steps() -> Steps[None]:
        assert not bench.log, "broken"
        yield None
        raise AssertionError("broken")

    bench.work.run(steps(), lambda *_: bench.log.append("told"))
    bench.turn()
    with pytest.raises(AssertionError, match="broken"):
        bench.turn()
    assert bench.log == []


def test_the_first_slice_and_all_of_them() -> None:
    def steps(*parts: Job | None) -> Steps[list[Any]]:
        results = []
        for part in parts:
            results.append((yield part))
        return results

    assert first_slice(steps()) == [[]]
    assert first_slice(steps(None)) == []
    assert in_one_go(steps(None, Job(lambda: 5), None)) == [None, 5, None]


def test_what_begins_may_end_at_once() -> None:
    bench = Bench()

    def steps(slices: int) -> Steps[str]:
        for number in range(slices):
            bench.log.append(f"slice {number}")
            yield None
        return "done"

    def done(result: str | None, _error: Exception | None) -> None:
        bench.log.append(str(result))

    assert bench.work.begin(steps(0), done) == ["done"]
    assert bench.log == [] and bench.soon == []
    assert bench.work.begin(steps(2), done) == []
    assert bench.log == ["slice 0"]
    bench.turns()
    assert bench.log == ["slice 0", "slice 1", "done"]


@pytest.mark.parametrize(("items", "stops"), [(0, 0), (1, 0), (3, 0), (4, 1), (6, 1), (7, 2)])
def test_each_stops_between_slices_and_not_after_the_last(items: int, stops: int) -> None:
    done: list[int] = []
    assert len(list(each(done.append, range(items), 3))) == stops
    assert done == list(range(items))


def test_a_pace_counts_what_is_done_in_a_slice() -> None:
    pace = Pace(3)
    assert [pace.is_full() for _ in range(7)] == [False] * 3 + [True, False, False, True]
    pace = Pace(3)
    assert [pace.is_full(many) for many in (2, 2, 5, 1)] == [False, True, True, True]


@pytest.mark.parametrize(
    ("items", "stops"), [(0, 0), (1, 0), (BULK_AT_ONCE, 0), (BULK_AT_ONCE + 1, 1)]
)
def test_many_items_are_taken_in_bulk(items: int, stops: int) -> None:
    taken: list[int] = []
    assert list(in_bulk(taken.extend, iter(range(items)))) == [None] * stops
    assert taken == list(range(items))


def test_a_list_that_is_drained_holds_what_is_still_to_come() -> None:
    items = [1, 2, 3]
    assert [(item, len(items)) for item in drained(items)] == [(1, 2), (2, 1), (3, 0)]


@pytest.mark.parametrize("count", [0, 3, 2 * BULK_AT_ONCE + 3])
def test_names_are_sorted_in_slices(count: int) -> None:
    names = [f"{number * 7919 % 10_007}" for number in range(count)]
    assert in_one_go(in_order(names)) == sorted(names)
    assert len(list(in_order(names))) == 4 * (count > BULK_AT_ONCE)
