"""How much CPU time the event loop's turns take, and what has taken long in one of them.

A turn is all that the loop does between two looks at its sockets: while one lasts, nobody else is
served. Owns: the histogram of turns, the longest one lately, and what was long in the one under
way. Never: the loop itself (`broker.loop.turn_hook` has it call `turned`), or a line of the log.

The clock of a thread's CPU time is a system call that takes longer than all else here, so it is
read once a millisecond at most. A turn that ends less than LOOK_S after the last reading is shorter
than that. Of any other it is known what the thread has used since the last reading, and how long
ago the turn before it ended: the lesser of both is told. So each turn is counted, none is told too
short, and one that begins within LOOK_S after a reading may be told too long, by LOOK_S at most.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

from protocol.api_keys import ApiKey

LOOK_S = 0.001
BOUNDS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Upper bounds of the histogram's buckets; a last one has all that is longer."""
LATELY_S = 60.0
PIECES_MAX = 8
"""Of one turn; the longest ones are kept."""

Piece: TypeAlias = tuple[float, str]
"""What was long in a turn: seconds of the wall clock, and what it was."""
Told: TypeAlias = Callable[[float, list[Piece]], None]


class Asker(Protocol):
    """A connection."""

    @property
    def connection_id(self) -> str:
        """Which one."""


_Asks = TypeVar("_Asks", bound=Asker)
_Reply = TypeVar("_Reply")


@dataclass(frozen=True, slots=True)
class Turns:
    """What was counted since the start."""

    count: int
    up_to: tuple[tuple[float, int], ...]
    """For each of BOUNDS_S: how many turns took no longer."""
    cpu_s: float
    """Of all turns together."""
    longest_s: float
    """Of the last minute, or of up to two."""


class LoopTurns:
    """Of one loop; all calls on its thread."""

    def __init__(
        self,
        clock_s: Callable[[], float],
        cpu_s: Callable[[], float],
        told_from_s: float = float("inf"),
        told: Told = lambda _spent_s, _pieces: None,
    ) -> None:
        """`cpu_s`: what the loop's thread has used. `told(CPU seconds, what was long)` is called at
        the end of a turn that took more than `told_from_s`."""
        self._clock_s = clock_s
        self._cpu_s = cpu_s
        self._told_from_s = told_from_s
        self._told = told
        self._used_s = self._began_s = cpu_s()
        self._longer = [0] * (len(BOUNDS_S) + 1)  # turns by bucket, but for the first one
        self._longest = _Longest(clock_s())
        self._pieces: list[Piece] = []
        self.turned, self._count = _counter(clock_s, self._look)
        """Call it at the end of each turn. It raises nothing."""

    def read(self) -> Turns:
        """What was counted so far."""
        count, longer = self._count(), sum(self._longer)
        up_to, sum_of = [], count - longer
        for bound_s, of_bucket in zip(BOUNDS_S, self._longer, strict=False):
            sum_of += of_bucket
            up_to.append((bound_s, sum_of))
        longest_s = self._longest.read(self._clock_s())
        return Turns(count, tuple(up_to), self._cpu_s() - self._began_s, longest_s)

    # --- what is long in a turn -----------------------------------------------------------------

    def requests(
        self, handle: Callable[[_Asks, memoryview, _Reply], None]
    ) -> Callable[[_Asks, memoryview, _Reply], None]:
        """`handle` of a frame, which is remembered where it takes long."""
        clock_s = self._clock_s

        def handled(connection: _Asks, frame: memoryview, responder: _Reply) -> None:
            began_s = clock_s()
            try:
                handle(connection, frame, responder)
            finally:
                self.took(clock_s() - began_s, lambda: _request(connection, frame))

        return handled

    def call(self, callback: Callable[..., None], *values: object) -> None:
        """Call it, and remember it where it takes long."""
        began_s = self._clock_s()
        try:
            callback(*values)
        finally:
            self.took(self._clock_s() - began_s, lambda: _name(callback))

    def took(self, took_s: float, what: Callable[[], str]) -> None:
        """So long, by the wall clock, took a part of this turn."""
        if took_s < LOOK_S:
            return
        pieces = self._pieces
        pieces.append((took_s, what()))
        pieces.sort(reverse=True)
        del pieces[PIECES_MAX:]

    # --- the end of a turn ----------------------------------------------------------------------

    def _look(self, now_s: float, turn_s: float) -> None:
        """A turn has ended `turn_s` after the one before it."""
        used_s = self._cpu_s()
        spent_s, self._used_s = min(used_s - self._used_s, turn_s), used_s
        if spent_s > BOUNDS_S[0]:
            self._longer[bisect_left(BOUNDS_S, spent_s)] += 1
            if spent_s > self._told_from_s:
                self._told(spent_s, self._pieces.copy())
        self._longest.add(now_s, spent_s)
        self._pieces.clear()


def _counter(
    clock_s: Callable[[], float], look: Callable[[float, float], None]
) -> tuple[Callable[..., None], Callable[[], int]]:
    """What each turn calls, and what tells how often it was. Variables of a function cost half of
    what attributes of an object do."""
    count, before_s, due_s = 0, clock_s(), 0.0

    def turned(_handle: object = None) -> None:
        nonlocal count, before_s, due_s
        now_s = clock_s()
        count += 1
        if now_s >= due_s:
            look(now_s, now_s - before_s)
            due_s = now_s + LOOK_S
        before_s = now_s

    return turned, lambda: count


class _Longest:
    """The longest of the last LATELY_S at least, and of twice that at most."""

    def __init__(self, now_s: float) -> None:
        self._since_s = now_s
        self._before = 0.0
        self._now = 0.0

    def add(self, now_s: float, value: float) -> None:
        if now_s - self._since_s >= LATELY_S:
            self._pass_on(now_s)
        self._now = max(self._now, value)

    def read(self, now_s: float) -> float:
        if now_s - self._since_s >= LATELY_S:
            self._pass_on(now_s)
        return max(self._before, self._now)

    def _pass_on(self, now_s: float) -> None:
        is_recent = now_s - self._since_s < 2 * LATELY_S
        self._before, self._now = self._now if is_recent else 0.0, 0.0
        self._since_s = now_s


def _request(connection: Asker, frame: memoryview) -> str:
    key, version = int.from_bytes(frame[:2]), int.from_bytes(frame[2:4])
    try:
        name = ApiKey(key).name
    except ValueError:
        name = f"API key {key}"
    return f"{name} v{version} of {connection.connection_id}"


def _name(callback: Callable[..., None]) -> str:
    """Of what was called: `partial`s and bound methods by what they are made of."""
    while isinstance(callback, partial):
        callback = callback.func
    return str(getattr(callback, "__qualname__", None) or type(callback).__qualname__)
