"""The CPU time of the event loop's turns, and the parts of a turn that took long.

A turn is the loop's work between two polls of its sockets; other connections wait while it lasts.
Owns: the histogram of turns, the longest recent turn, and the long parts of the current turn.
Never: the loop itself (`broker.loop.turn_hook` makes it call `turned`), or a log line.

Reading a thread's CPU time is a system call that takes longer than the rest of the measurement, so
it is read once a millisecond at most. A turn that ends less than LOOK_S after the last reading is
shorter than that. For other turns, two times are known: the CPU time used since the last reading,
and the time since the end of the turn before. The smaller of the two is reported. So each turn is
counted, and no turn is reported too short. A turn that begins within LOOK_S after a reading may be
reported too long, by LOOK_S at most.
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
"""Upper bounds of the histogram's buckets; a last bucket has all longer turns."""
LATELY_S = 60.0
PIECES_MAX = 8
"""The number of long parts that are kept of one turn: the longest."""

Piece: TypeAlias = tuple[float, str]
"""A long part of a turn: its seconds of the wall clock, and its name."""
# Called at a long turn's end with its CPU seconds and its long parts.
OnLongTurn: TypeAlias = Callable[[float, list[Piece]], None]


class HasConnectionId(Protocol):
    """A connection that has sent a request."""

    @property
    def connection_id(self) -> str:
        """The id of the connection, for the name of a part."""


_Connection = TypeVar("_Connection", bound=HasConnectionId)
_Reply = TypeVar("_Reply")


@dataclass(frozen=True, slots=True)
class TurnTotals:
    """The counts and times of turns since the start."""

    count: int
    up_to: tuple[tuple[float, int], ...]
    """Each of BOUNDS_S, with the number of turns that took no longer."""
    cpu_s: float
    """The CPU time of all turns together."""
    longest_s: float
    """The CPU time of the longest turn of the last minute, or of up to two."""


class LoopTurns:
    """The turns of one loop. All calls on its thread."""

    def __init__(
        self,
        clock_s: Callable[[], float],
        cpu_s: Callable[[], float],
        long_from_s: float = float("inf"),
        on_long_turn: OnLongTurn = lambda _spent_s, _pieces: None,
    ) -> None:
        """Begin to count. `cpu_s` returns the CPU seconds of the loop's thread. `on_long_turn` is
        called at the end of a turn that took more than `long_from_s`."""
        self._clock_s = clock_s
        self._cpu_s = cpu_s
        self._long_from_s = long_from_s
        self._on_long_turn = on_long_turn
        self._used_s = self._began_s = cpu_s()
        self._longer = [0] * (len(BOUNDS_S) + 1)  # turns by bucket, except the first bucket
        self._longest = _Longest(clock_s())
        self._pieces: list[Piece] = []
        self.turned, self._count = _counter(clock_s, self._measure)
        """The function to call at the end of each turn. It raises nothing."""

    def read(self) -> TurnTotals:
        """Return the counts and times so far."""
        count, longer = self._count(), sum(self._longer)
        up_to, sum_of = [], count - longer
        for bound_s, in_bucket in zip(BOUNDS_S, self._longer, strict=False):
            sum_of += in_bucket
            up_to.append((bound_s, sum_of))
        longest_s = self._longest.read(self._clock_s())
        return TurnTotals(count, tuple(up_to), self._cpu_s() - self._began_s, longest_s)

    # --- the long parts of a turn ---------------------------------------------------------------

    def measured_handler(
        self, handle: Callable[[_Connection, memoryview, _Reply], None]
    ) -> Callable[[_Connection, memoryview, _Reply], None]:
        """Return a `handle` that also keeps each request of LOOK_S or longer as a long part of the
        turn."""
        clock_s = self._clock_s

        def handled(connection: _Connection, frame: memoryview, responder: _Reply) -> None:
            """Handle the frame. If that takes LOOK_S or longer, keep it as a long part of this
            turn, even if the handler fails."""
            began_s = clock_s()
            try:
                handle(connection, frame, responder)
            finally:
                self.took(clock_s() - began_s, lambda: _request_text(connection, frame))

        return handled

    def call(self, callback: Callable[..., None], *values: object) -> None:
        """Call `callback`. If that takes LOOK_S or longer, keep it as a long part of this turn,
        even if the callback fails."""
        began_s = self._clock_s()
        try:
            callback(*values)
        finally:
            self.took(self._clock_s() - began_s, lambda: _name(callback))

    def took(self, took_s: float, name: Callable[[], str]) -> None:
        """Keep a part of this turn that took `took_s` of the wall clock, if it is among the
        PIECES_MAX longest and at least LOOK_S long."""
        if took_s < LOOK_S:
            return
        pieces = self._pieces
        pieces.append((took_s, name()))
        pieces.sort(reverse=True)
        del pieces[PIECES_MAX:]

    # --- the end of a turn ----------------------------------------------------------------------

    def _measure(self, now_s: float, turn_s: float) -> None:
        """Add a turn that ended `turn_s` after the turn before it to the histogram and the longest
        turns.

        Its time is the CPU time since the last call, or `turn_s` if that is less. Calls
        `on_long_turn` if the turn was long, and drops the kept parts.
        """
        used_s = self._cpu_s()
        spent_s, self._used_s = min(used_s - self._used_s, turn_s), used_s
        if spent_s > BOUNDS_S[0]:
            self._longer[bisect_left(BOUNDS_S, spent_s)] += 1
            if spent_s > self._long_from_s:
                self._on_long_turn(spent_s, self._pieces.copy())
        self._longest.add(now_s, spent_s)
        self._pieces.clear()


def _counter(
    clock_s: Callable[[], float], measure: Callable[[float, float], None]
) -> tuple[Callable[..., None], Callable[[], int]]:
    """Return a function to call at the end of each turn, and one that returns the number of calls.

    The first calls `measure(now, seconds since the turn before)`, if LOOK_S has passed since the
    last such call. They share variables of a closure, which cost half as much as attributes of an
    object.
    """
    count, before_s, due_s = 0, clock_s(), 0.0

    def turned(_handle: object = None) -> None:
        """Count a turn that ends now, and measure it if LOOK_S has passed since the last
        measurement."""
        nonlocal count, before_s, due_s
        now_s = clock_s()
        count += 1
        if now_s >= due_s:
            measure(now_s, now_s - before_s)
            due_s = now_s + LOOK_S
        before_s = now_s

    return turned, lambda: count


class _Longest:
    """The longest value of the last LATELY_S, or of up to twice that time."""

    def __init__(self, now_s: float) -> None:
        self._since_s = now_s
        self._before = 0.0
        self._now = 0.0

    def add(self, now_s: float, value: float) -> None:
        """Take a value into the maximum of the current interval, which ends LATELY_S after it
        began."""
        if now_s - self._since_s >= LATELY_S:
            self._begin_interval(now_s)
        self._now = max(self._now, value)

    def read(self, now_s: float) -> float:
        """Return the greatest value of the current interval and the one before."""
        if now_s - self._since_s >= LATELY_S:
            self._begin_interval(now_s)
        return max(self._before, self._now)

    def _begin_interval(self, now_s: float) -> None:
        """Begin the next interval. The last one's value is kept, unless that ended too long ago."""
        is_recent = now_s - self._since_s < 2 * LATELY_S
        self._before, self._now = self._now if is_recent else 0.0, 0.0
        self._since_s = now_s


def _request_text(connection: HasConnectionId, frame: memoryview) -> str:
    """Return the API, version and connection of a request, as text for the log."""
    key, version = int.from_bytes(frame[:2]), int.from_bytes(frame[2:4])
    try:
        name = ApiKey(key).name
    except ValueError:
        name = f"API key {key}"
    return f"{name} v{version} of {connection.connection_id}"


def _name(callback: Callable[..., None]) -> str:
    """Return the name of a callback; of a `partial` or bound method, that of its function."""
    while isinstance(callback, partial):
        callback = callback.func
    return str(getattr(callback, "__qualname__", None) or type(callback).__qualname__)
