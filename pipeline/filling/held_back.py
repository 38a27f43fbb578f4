"""The lines of a job about records that wait for an open transaction.

Owns the frequency of these lines: in a job that repeats, a transaction of a moment gets no line.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from pipeline.filling.open_transactions import OpenTransaction
from pipeline.filling.outages import duration
from pipeline.spark.waiting import Say
from pipeline.topics import Offsets

HELD_S = 30.0
"""The seconds for which a transaction must hold back a job that repeats before the job says so."""
SAID_EVERY_S = 600.0


class HeldBack:
    """The partitions of a topic whose last stable offset stands still."""

    def __init__(
        self,
        topic: str,
        say: Say,
        ask: Callable[[Sequence[int]], Mapping[int, OpenTransaction]],
        *,
        repeats: bool,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without transactions. `ask` returns the open transactions of partitions. `repeats`
        is true if the job looks again; otherwise it says at once what holds it back. `now` returns
        seconds."""
        self._topic = topic
        self._say = say
        self._ask = ask
        self._repeats = repeats
        self._now = now
        self._since: dict[int, tuple[int, float]] = {}
        """The last stable offset of each partition with a later record, and the time since which it
        stands there, in seconds."""
        self._said: dict[int, tuple[int, float]] = {}
        """The last stable offset of each partition that the last line was about, and the time of
        that line in seconds."""

    def look(self, offsets: Mapping[int, Offsets]) -> None:
        """Say in one line what holds the table back, if a line is due."""
        now = self._now()
        self._since = {
            partition: self._since[partition]
            if self._since.get(partition, (-1, 0.0))[0] == there.end
            else (there.end, now)
            for partition, there in offsets.items()
            if there.high_watermark is not None and there.end < there.high_watermark
        }
        if not any(self._is_due(at, end, since) for at, (end, since) in self._since.items()):
            return
        held = sorted(self._since)
        self._said |= {partition: (self._since[partition][0], now) for partition in held}
        self._say(self._line(offsets, held, self._ask(held)))

    def _is_due(self, partition: int, end: int, since: float) -> bool:
        """Return whether a line is due for a partition whose last stable offset is `end` since
        `since` (seconds)."""
        now = self._now()
        if self._repeats and now - since < HELD_S:
            return False
        last_end, said = self._said.get(partition, (-1, 0.0))
        return last_end != end or now - said >= SAID_EVERY_S

    def _line(
        self,
        offsets: Mapping[int, Offsets],
        held: Sequence[int],
        named: Mapping[int, OpenTransaction],
    ) -> str:
        """Return the line about the transaction that has been open longest."""
        oldest = max(named.values(), key=lambda transaction: transaction.open_s, default=None)
        partition = held[0] if oldest is None else oldest.partition
        there = offsets[partition]
        place = f"{self._topic}-{partition}"
        if oldest is None:
            what = "a transaction is open there"
        elif oldest.transactional_id is None:
            what = (
                f"a transaction of producer {oldest.producer_id} is open there, its last record is "
                f"{duration(oldest.open_s)} old"
            )
        else:
            what = (
                f"transaction {oldest.transactional_id} of producer {oldest.producer_id} is open "
                f"for {duration(oldest.open_s)}"
            )
        more = len(held) - 1
        others = "" if not more else f"; {more} more partition{'s wait' if more > 1 else ' waits'}"
        return (
            f"{place} is read up to offset {there.end}, not {there.high_watermark}: {what}{others}"
        )
