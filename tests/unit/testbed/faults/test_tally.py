"""Counting by one broker, and by several at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from testbed.faults.tally import OwnTally, SharedTally, Tally


@pytest.fixture(params=["own", "shared"])
def tally(request: pytest.FixtureRequest, tmp_path: Path) -> Tally:
    return OwnTally() if request.param == "own" else SharedTally(str(tmp_path / "fault"))


def test_so_many_are_taken_and_no_more(tally: Tally) -> None:
    assert [tally.see() for _ in range(3)] == [1, 2, 3]
    assert [tally.take(2) for _ in range(3)] == [True, True, False]
    assert (tally.matched, tally.applied) == (3, 2)
    tally.give_back()
    assert [tally.take(2) for _ in range(2)] == [True, False]
    assert tally.take(None) and tally.applied == 3
    tally.close()


def test_several_count_together(tmp_path: Path) -> None:
    one, other = (SharedTally(str(tmp_path / "fault")) for _ in range(2))
    assert [one.see(), other.see(), one.see()] == [1, 2, 3]
    assert other.take(1) and not one.take(1)
    assert (one.matched, one.applied) == (other.matched, other.applied) == (3, 1)
    other.give_back()
    assert one.take(1)


def test_the_last_one_leaves_no_file_and_counts_no_more(tmp_path: Path) -> None:
    one, other = (SharedTally(str(tmp_path / "fault")) for _ in range(2))
    one.close()
    assert other.take(1), "it goes on where another one has ended"
    other.close()
    assert list(tmp_path.iterdir()) == []
    other.give_back()
    assert (other.matched, other.applied, other.see()) == (0, 0, 0)


def test_processes_that_take_at_once_take_no_more_than_there_are(tmp_path: Path) -> None:
    path, processes, times = str(tmp_path / "fault"), 4, 150

    def taken_by_one() -> int:
        tally = SharedTally(path)
        return sum(tally.take(times) for _ in range(100))

    pids, reading = [], []
    for _ in range(processes):
        theirs, ours = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(ours, b"%3d" % taken_by_one())
            os._exit(0)
        os.close(ours)
        pids.append(pid)
        reading.append(theirs)
    counts = [int(os.read(one, 3)) for one in reading]
    for pid, one in zip(pids, reading, strict=True):
        os.waitpid(pid, 0)
        os.close(one)
    assert sum(counts) == times, counts
    assert SharedTally(path).applied == times
