"""When an open transaction is worth a line, and what the line says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.filling.held_back import HeldBack
from pipeline.filling.open_transactions import OpenTransaction
from pipeline.topics import Offsets

NAMED = {
    0: OpenTransaction(0, 4000, "orders-7", 12),
    1: OpenTransaction(1, 4001, None, 8000),
}


class Job:
    """A job whose clock the test moves."""

    def __init__(
        self, *, repeats: bool, named: Mapping[int, OpenTransaction] | None = None
    ) -> None:
        self.now_s = 0.0
        self.said: list[str] = []
        self.asked: list[list[int]] = []
        self._named = {} if named is None else named
        self._held = HeldBack(
            "t", self.said.append, self._ask, repeats=repeats, now=lambda: self.now_s
        )

    def _ask(self, partitions: Sequence[int]) -> dict[int, OpenTransaction]:
        self.asked.append(list(partitions))
        return {one: self._named[one] for one in partitions if one in self._named}

    def look(self, *ends: tuple[int, int], at_s: float = 0.0) -> list[str]:
        """Return what is new after a look at partitions with these ends and high watermarks."""
        self.now_s = at_s
        before = len(self.said)
        self._held.look(
            {one: Offsets(0, end, high_watermark=high) for one, (end, high) in enumerate(ends)}
        )
        return self.said[before:]


def test_a_job_of_one_run_names_what_holds_it_back() -> None:
    job = Job(repeats=False, named=NAMED)
    assert job.look((5, 9), (7, 7)) == [
        "t-0 is read up to offset 5, not 9: transaction orders-7 of producer 4000 is open for 12 s"
    ]
    assert job.asked == [[0]]


def test_of_several_the_oldest_is_named() -> None:
    assert Job(repeats=False, named=NAMED).look((5, 9), (2, 3), (0, 1)) == [
        "t-1 is read up to offset 2, not 3: a transaction of producer 4001 is open there, its last "
        "record is 2 h 13 min old; 2 more partitions wait"
    ]


def test_without_a_name_the_place_is_said() -> None:
    assert Job(repeats=False).look((5, 9)) == [
        "t-0 is read up to offset 5, not 9: a transaction is open there"
    ]


def test_nothing_is_said_or_asked_where_nothing_waits() -> None:
    job = Job(repeats=False, named=NAMED)
    assert job.look((5, 5)) == [] and job.asked == []
    held = HeldBack("t", job.said.append, job._ask, repeats=False)
    held.look({0: Offsets(0, 5)})
    assert job.said == [], "of a folder the high watermark is not known"


def test_a_job_that_repeats_says_nothing_of_transactions_that_end_soon() -> None:
    job = Job(repeats=True, named=NAMED)
    for second in range(1000):
        assert job.look((second, second + 5), at_s=second) == []
    assert job.asked == []


def test_a_job_that_repeats_says_now_and_then_what_holds_it_back() -> None:
    job = Job(repeats=True, named=NAMED)
    times = [second for second in range(1300) if job.look((5, 9 + second), at_s=second)]
    assert times == [30, 630, 1230]
    assert job.look((8, 2000), at_s=1300) == []
    assert len(job.look((8, 2000), at_s=1330)) == 1, "the next transaction has a line of its own"
