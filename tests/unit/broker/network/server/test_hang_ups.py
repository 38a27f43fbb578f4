"""Peers that have hung up are let go of some at a time, in their order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from broker.network.server.hang_ups import PER_TURN, HangUps

Turns = list[Callable[[], None]]


def test_so_many_a_turn_in_their_order_and_no_turn_for_nothing() -> None:
    turns: Turns = []
    gone: list[int] = []
    hang_ups = HangUps(turns.append)
    for number in range(2 * PER_TURN + 1):
        hang_ups.add(partial(gone.append, number))
    assert (len(turns), gone) == (1, [])
    for so_far in (PER_TURN, 2 * PER_TURN, 2 * PER_TURN + 1):
        turns.pop()()
        assert gone == list(range(so_far))
    assert turns == []
    hang_ups.add(partial(gone.append, -1))
    turns.pop()()
    assert (gone[-1], turns) == (-1, [])


def test_one_that_fails_keeps_no_other() -> None:
    turns: Turns = []
    gone: list[int] = []

    def fail() -> None:
        raise RuntimeError("it cannot be let go of")

    hang_ups = HangUps(turns.append)
    hang_ups.add(fail)
    hang_ups.add(partial(gone.append, 1))
    with pytest.raises(RuntimeError, match="cannot be let go of"):
        turns.pop()()
    turns.pop()()
    assert gone == [1]


def test_who_comes_meanwhile_has_a_turn_behind() -> None:
    turns: Turns = []
    gone: list[int] = []
    hang_ups = HangUps(turns.append)
    hang_ups.add(lambda: hang_ups.add(partial(gone.append, 2)))
    turns.pop()()
    assert gone == []
    turns.pop()()
    assert (gone, turns) == ([2], [])
