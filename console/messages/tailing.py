"""What comes into a topic, as it comes: looks at its ends again and again.

A tab gets so many records a look at most, and the number of those that were passed over: a topic
that is written faster than anybody can read floods neither the tab nor the broker.

Owns where each partition stands. Asks through `ends` and `read`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from client.place_offsets import Span
from console.messages.paging import Found, Read
from console.messages.shown import RecordShown

LOOK_EVERY_S = 0.3
RECORDS_A_LOOK = 40

Ends = Callable[[], Mapping[int, int]]
"""The end of each partition, now."""


@dataclass(frozen=True, slots=True)
class TailEvent:
    """Records, the oldest first, and how many were passed over."""

    records: list[RecordShown]
    dropped: int


class Tail:
    """`tail.look()` again and again."""

    def __init__(self, ends: Ends, read: Read, most: int = RECORDS_A_LOOK) -> None:
        self._ends = ends
        self._read = read
        self._most = most
        self._at = dict(ends())

    def look(self) -> TailEvent | None:
        """Return what came since the last look; None: nothing."""
        ends = self._ends()
        windows = {
            partition: Span(self._at.get(partition, 0), end)
            for partition, end in ends.items()
            if end > self._at.get(partition, 0)
        }
        self._at |= ends
        if not windows:
            return None
        newest, dropped = self._newest(windows)
        found = sorted(self._read(newest), key=_by_time)
        if not found and not dropped:
            return None
        return TailEvent([one.shown for one in found], dropped)

    def _newest(self, windows: Mapping[int, Span]) -> tuple[dict[int, Span], int]:
        """So many offsets at the ends; each partition has its share of them."""
        came = sum(span.last - span.first for span in windows.values())
        if came <= self._most:
            return dict(windows), 0
        left, kept = self._most, {}
        in_order = sorted(windows.items(), key=_by_length)
        for number, (partition, (first, last)) in enumerate(in_order):
            share = min(last - first, max(left // (len(in_order) - number), 0))
            left -= share
            kept[partition] = Span(last - share, last)
        return kept, came - self._most


def _by_time(one: Found) -> tuple[int, int, int]:
    return one.timestamp, one.partition, one.offset


def _by_length(one: tuple[int, Span]) -> int:
    return one[1].last - one[1].first
