"""Turns of a loop whose clocks stand where each step puts them."""

from __future__ import annotations

from functools import partial

import pytest

from broker.loop.loop_turns import BOUNDS_S, LATELY_S, LOOK_S, PIECES_MAX, LoopTurns, Piece
from protocol.api_keys import ApiKey
from tests.unit.broker.fake_connection import Connection


class Clocks:
    """A loop's time, and its thread's."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.used_s = 3.0
        self.readings = 0
        self.told: list[tuple[float, list[Piece]]] = []
        self.turns = LoopTurns(lambda: self.now_s, self.cpu_s, 0.010, self.tell)
        self.readings = 0

    def cpu_s(self) -> float:
        self.readings += 1
        return self.used_s

    def tell(self, spent_s: float, pieces: list[Piece]) -> None:
        self.told.append((spent_s, pieces))

    def work(self, cpu_s: float, waits_s: float = 0.0) -> None:
        self.used_s += cpu_s
        self.now_s += cpu_s + waits_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def turn(self, cpu_s: float, waits_s: float = 0.0) -> None:
        self.work(cpu_s, waits_s)
        self.turns.turned()

    def buckets(self) -> dict[float, int]:
        """Turns of each bucket alone; those that are longer by `inf`."""
        read, found, before = self.turns.read(), {}, 0
        for bound_s, count in (*read.up_to, (float("inf"), read.count)):
            if count > before:
                found[bound_s] = count - before
            before = count
        return found


def test_each_turn_is_counted_by_its_cpu_time() -> None:
    clocks = Clocks()
    for cpu_s in (0.0005, 0.0015, 0.004, 0.009, 0.012, 0.5, 7.0):
        clocks.sleep(1.0)
        clocks.turn(cpu_s)
    clocks.sleep(1.0)
    clocks.turn(0.001, waits_s=3.0)  # it waited for the interpreter: that is no CPU time
    assert clocks.buckets() == {
        0.001: 2, 0.002: 1, 0.005: 1, 0.01: 1, 0.02: 1, 0.5: 1, float("inf"): 1,
    }  # fmt: skip
    read = clocks.turns.read()
    assert read.count == 8
    assert read.cpu_s == pytest.approx(7.528)
    assert [bound_s for bound_s, _ in read.up_to] == list(BOUNDS_S)


def test_many_short_turns_are_no_long_one() -> None:
    """Without a pause between them. The clock of CPU time is read once in a while."""
    clocks = Clocks()
    for _ in range(10_000):
        clocks.turn(50e-6)
    assert clocks.buckets() == {0.001: 10_000}
    assert clocks.readings <= 1 + 10_000 * 50e-6 / LOOK_S


def test_no_turn_is_told_too_short_and_none_much_too_long() -> None:
    clocks = Clocks()
    clocks.sleep(1.0)
    for before in range(20):
        clocks.turn(0.0)  # the last reading
        for _ in range(before):
            clocks.turn(40e-6)
        clocks.sleep(0.5)  # so it ends long after the turn before it
        clocks.turn(0.0095)
        clocks.sleep(0.5)
        clocks.turn(0.0)
    longest_s = clocks.turns.read().longest_s
    assert 0.0095 <= longest_s <= 0.0095 + LOOK_S
    clocks.turn(40e-6)
    clocks.turn(0.0098)  # it follows at once, so it is known when it began
    assert clocks.turns.read().longest_s == pytest.approx(max(longest_s, 0.0098))


def test_the_longest_is_that_of_the_last_minute_or_two() -> None:
    clocks = Clocks()
    clocks.sleep(1.0)
    clocks.turn(0.3)
    clocks.sleep(LATELY_S)
    clocks.turn(0.02)
    assert clocks.turns.read().longest_s == pytest.approx(0.3)
    clocks.sleep(LATELY_S)
    assert clocks.turns.read().longest_s == pytest.approx(0.02)
    clocks.sleep(2 * LATELY_S)
    assert clocks.turns.read().longest_s == 0
    clocks.turn(0.04)
    clocks.sleep(3 * LATELY_S)
    clocks.turn(0.01)
    assert clocks.turns.read().longest_s == pytest.approx(0.01)


def test_it_is_told_what_was_long_in_a_long_turn() -> None:
    clocks = Clocks()

    def handle(_connection: object, frame: memoryview, _responder: object) -> None:
        clocks.work(0.002 if frame[1] == ApiKey.FETCH else 0.03)

    def job(took_s: float) -> None:
        clocks.work(took_s)

    handled = clocks.turns.measured_handler(handle)
    connection = Connection()
    handled(connection, memoryview(bytes([0, ApiKey.FETCH, 0, 13])), None)
    handled(connection, memoryview(bytes([0, ApiKey.METADATA, 0, 12])), None)
    handled(connection, memoryview(bytes([0, 200, 0, 1])), None)
    clocks.turns.call(partial(job, 0.015))
    clocks.turns.call(job, 0.0001)
    clocks.turns.turned()
    ((spent_s, pieces),) = clocks.told
    assert spent_s == pytest.approx(0.0771)
    assert [(round(took_s, 4), what.rpartition(".")[2]) for took_s, what in pieces] == [
        (0.03, "METADATA v12 of c1"),
        (0.03, "API key 200 v1 of c1"),
        (0.015, "job"),
        (0.002, "FETCH v13 of c1"),
    ]
    for _ in range(3 * PIECES_MAX):
        clocks.turns.call(job, 0.002)
    clocks.turn(0.0)
    clocks.turn(0.009)
    assert [len(pieces) for _, pieces in clocks.told] == [4, PIECES_MAX], "the last is not told"


def test_what_fails_is_remembered_too() -> None:
    clocks = Clocks()

    def fail(*_: object) -> None:
        clocks.work(0.02)
        raise ValueError("as it should")

    with pytest.raises(ValueError, match="should"):
        clocks.turns.call(fail)
    with pytest.raises(ValueError, match="should"):
        clocks.turns.measured_handler(fail)(Connection(), memoryview(bytes(8)), None)
    clocks.turns.turned()
    assert len(clocks.told[0][1]) == 2
