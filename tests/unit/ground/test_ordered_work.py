"""Pieces in their order: short ones at once, long ones in slices with the others behind them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ground.ordered_work import OrderedWork
from ground.sliced_work import SlicedWork, Steps, each


class Bench:
    """Turns of the loop by hand."""

    def __init__(self, *, sliced: bool = True) -> None:
        self.soon: list[Callable[[], None]] = []
        self.log: list[str] = []
        work = SlicedWork(self, self, 0)  # type: ignore[arg-type]
        self.ordered = OrderedWork(work if sliced else None)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def done(self, result: object, error: Exception | None) -> None:
        self.log.append(f"failed: {error}" if error else f"{result}.")

    def turn(self) -> list[str]:
        """What is done in a turn of the loop."""
        self.log, soon, self.soon = [], self.soon, []
        for callback in soon:
            callback()
        return self.log

    def do(self, name: str, slices: int = 1) -> None:
        self.ordered.take(self._steps(name, slices), self.done)

    def _steps(self, name: str, slices: int) -> Steps[str]:
        def one(number: int) -> None:
            self.log.append(f"{name}{number}")
            if name == "bad":
                raise ValueError(name)
            if name == "asks":
                self.do("more")

        yield from each(one, range(slices), 1)
        return name


def test_short_pieces_are_done_at_once() -> None:
    bench = Bench()
    bench.do("a")
    bench.do("b")
    assert bench.log == ["a0", "a.", "b0", "b."]
    assert not bench.soon and not bench.ordered.is_behind


def test_what_comes_during_a_long_piece_waits_behind_it() -> None:
    bench = Bench()
    bench.do("a", 3)
    bench.do("b")
    bench.do("c", 2)
    assert bench.log == ["a0"] and bench.ordered.is_behind
    turns = [bench.turn() for _ in range(5)]
    assert turns == [["a1"], ["a2", "a."], ["b0", "b."], ["c0"], ["c1", "c."]]
    assert not bench.ordered.is_behind and not bench.soon
    bench.do("d")
    assert bench.log[2:] == ["d0", "d."]


def test_what_a_short_piece_asks_for_is_done_after_it() -> None:
    bench = Bench()
    bench.do("asks")
    assert bench.log == ["asks0", "asks.", "more0", "more."]


def test_what_a_long_piece_asks_for_is_done_after_it() -> None:
    bench = Bench()
    bench.do("asks", 2)
    more = ["more0", "more."]
    assert [bench.turn(), bench.turn(), bench.turn()] == [["asks1", "asks."], more, more]


def test_a_first_slice_that_fails_is_raised_and_keeps_nobody_waiting() -> None:
    bench = Bench()
    with pytest.raises(ValueError, match="bad"):
        bench.do("bad")
    bench.do("a", 2)
    bench.do("bad", 2)
    bench.do("b")
    assert bench.log == ["bad0", "a0"]
    turns = [bench.turn() for _ in range(3)]
    assert turns == [["a1", "a."], ["bad0", "failed: bad"], ["b0", "b."]]


def test_a_piece_that_fails_leaves_what_it_asked_for() -> None:
    bench = Bench()

    def asks_and_fails() -> Steps[None]:
        bench.do("bad")
        bench.do("a")
        raise ValueError
        yield None

    with pytest.raises(ValueError):
        bench.ordered.take(asks_and_fails(), bench.done)
    assert bench.log == ["bad0", "failed: bad", "a0", "a."]
    assert not bench.ordered.is_behind


def test_without_slices_all_is_done_in_one_go() -> None:
    bench = Bench(sliced=False)
    bench.do("a", 3)
    bench.do("b")
    assert bench.log == ["a0", "a1", "a2", "a.", "b0", "b."]


def test_a_piece_for_later_has_its_place_and_is_not_begun() -> None:
    bench = Bench()
    bench.ordered.take_later(bench._steps("a", 1), bench.done)
    bench.do("b")
    bench.ordered.take_later(bench._steps("c", 1), bench.done)
    assert bench.log == [] and bench.ordered.is_behind
    assert [bench.turn() for _ in range(3)] == [["a0", "a."], ["b0", "b."], ["c0", "c."]]
    assert not bench.ordered.is_behind
