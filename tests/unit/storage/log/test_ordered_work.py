"""Pieces in their order: short ones at once, long ones in slices with the others behind them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from storage.log.ordered_work import OrderedWork
from storage.log.sliced_work import SlicedWork, Steps, each


class Bench:
    """Turns of the loop by hand."""

    def __init__(self, *, sliced: bool = True) -> None:
        self.soon: list[Callable[[], None]] = []
        self.log: list[str] = []
        work = SlicedWork(self, self, 0)  # type: ignore[arg-type]
        self.ordered = OrderedWork(work if sliced else None, self.failed)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def failed(self, error: Exception) -> None:
        self.log.append(f"failed: {error}")

    def turn(self) -> list[str]:
        """What is done in a turn of the loop."""
        self.log, soon, self.soon = [], self.soon, []
        for callback in soon:
            callback()
        return self.log

    def do(self, name: str, slices: int = 1) -> None:
        self.ordered.take(self._steps(name, slices))

    def _steps(self, name: str, slices: int) -> Steps[None]:
        def one(number: int) -> None:
            self.log.append(f"{name}{number}")
            if name == "bad":
                raise ValueError(name)
            if name == "asks":
                self.do("more")

        yield from each(one, range(slices), 1)


def test_short_pieces_are_done_at_once() -> None:
    bench = Bench()
    bench.do("a")
    bench.do("b")
    assert bench.log == ["a0", "b0"] and not bench.soon and not bench.ordered.is_behind


def test_what_comes_during_a_long_piece_waits_behind_it() -> None:
    bench = Bench()
    bench.do("a", 3)
    bench.do("b")
    bench.do("c", 2)
    assert bench.log == ["a0"] and bench.ordered.is_behind
    assert [bench.turn() for _ in range(5)] == [["a1"], ["a2"], ["b0"], ["c0"], ["c1"]]
    assert not bench.ordered.is_behind and not bench.soon
    bench.do("d")
    assert bench.log == ["c1", "d0"]


def test_what_a_short_piece_asks_for_is_done_after_it() -> None:
    bench = Bench()
    bench.do("asks")
    assert bench.log == ["asks0", "more0"]


def test_what_a_long_piece_asks_for_is_done_after_it() -> None:
    bench = Bench()
    bench.do("asks", 2)
    assert [bench.turn(), bench.turn(), bench.turn()] == [["asks1"], ["more0"], ["more0"]]


def test_one_that_fails_keeps_nobody_waiting() -> None:
    bench = Bench()
    bench.do("bad")
    bench.do("a", 2)
    bench.do("bad", 2)
    bench.do("b")
    assert bench.log == ["bad0", "failed: bad", "a0"]
    assert [bench.turn() for _ in range(3)] == [["a1"], ["bad0", "failed: bad"], ["b0"]]


def test_a_broken_invariant_is_raised() -> None:
    def broken() -> Steps[None]:
        raise AssertionError
        yield None

    with pytest.raises(AssertionError):
        Bench().ordered.take(broken())


def test_without_slices_all_is_done_in_one_go() -> None:
    bench = Bench(sliced=False)
    bench.do("a", 3)
    bench.do("bad", 2)
    bench.do("b")
    assert bench.log == ["a0", "a1", "a2", "bad0", "failed: bad", "b0"]
