"""The live view: the records that are written to a topic, from the time when a tab opens it.

A look asks for the end of each partition and reads up to there. A look gives a limited number of
records, and the number of those that were skipped: a topic that is written faster than a person can
read floods neither the tab nor the broker. If a broker dies or a leader moves, the tail waits and
then goes on from the offsets that it has, so that no record is lost or shown twice. A tab that was
hidden closes its tail, and another one goes on from the cursor.

Owns the offset that each partition has reached. Asks through `ends` and `read`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from broker.config.start_error import StartError
from client.place_offsets import Span
from client.refusals import Leaderless
from console.answers import ABSENT, Absent
from console.messages.paging import Found, Read, cursor_text
from console.messages.shown import RecordShown

LOOK_EVERY_S = 0.3
RECORDS_A_LOOK = 40
OFFSETS_A_LOOK = 5_000
"""The offsets that a look reads at most if it looks for matching records."""
AT_ITS_END = -1
"""The place of a partition that had no leader: it begins at its end once it has one."""
RETRY_EVERY_S = 0.5
"""The pause after a lost connection or leader."""

Ends = Callable[[], Mapping[int, int]]
"""Returns the end offset of each partition that has a leader."""


@dataclass(frozen=True, slots=True)
class TailEvent:
    """Records, the oldest first, and the number of those that were skipped.

    `waiting`: the reason why the tail waits for a broker or a leader; records follow later.
    `cursor`: the offsets at which another tail goes on. `resumed`: in the first event of such a
    tail, the number of offsets that were written between the two.
    """

    records: list[RecordShown]
    dropped: int
    waiting: str | Absent = ABSENT
    cursor: str | Absent = ABSENT
    resumed: int | Absent = ABSENT


class Tail:
    """The offsets up to which a tab has the records of a topic."""

    def __init__(
        self,
        offsets_max: int = RECORDS_A_LOOK,
        most: int = RECORDS_A_LOOK,
        cursor: Mapping[int, int] | None = None,
    ) -> None:
        """`offsets_max`: the offsets that a look reads; `most`: the records that it gives.

        `cursor`: the offsets that an earlier tail has reached.
        """
        self._at = dict(cursor) if cursor else None
        self._is_resumed = bool(cursor)
        self._offsets_max = offsets_max
        self._most = most

    @property
    def cursor(self) -> str:
        """The offsets that the tail has reached, as text."""
        return cursor_text(self._at or {})

    def begin(self, ends: Ends, partitions: Collection[int]) -> None:
        """Begin at the ends of the partitions, if the tail has not begun yet.

        One of `partitions` without a leader begins at the end that it has once it has a leader.
        """
        if self._at is None:
            self._at = dict.fromkeys(partitions, AT_ITS_END) | dict(ends())

    def first_look(self, ends: Ends, read: Read) -> TailEvent:
        """Return the first event: with `resumed` if the tail goes on from a cursor."""
        now = ends()
        written = sum(span.last - span.first for span in self._windows(now).values())
        event = self._look_up_to(now, read) or TailEvent([], 0)
        resumed = written if self._is_resumed else ABSENT
        self._is_resumed = False
        return replace(event, cursor=self.cursor, resumed=resumed)

    def look(self, ends: Ends, read: Read) -> TailEvent | None:
        """Return the records since the last look; None if there are none.

        After an exception of `ends` or `read`, the next look begins at the same offsets.
        """
        return self._look_up_to(ends(), read)

    def _look_up_to(self, now: Mapping[int, int], read: Read) -> TailEvent | None:
        assert self._at is not None, "the tail has not begun"
        windows = self._windows(now)
        event = self._event(windows, read) if windows else None
        self._at |= now
        return None if event is None else replace(event, cursor=self.cursor)

    def _windows(self, ends: Mapping[int, int]) -> dict[int, Span]:
        """Return the offsets from those that the tail has reached up to the ends."""
        assert self._at is not None, "the tail has not begun"
        windows = {}
        for partition, end in ends.items():
            begin = self._at.get(partition, 0)  # a partition that was added begins at its start
            if 0 <= begin < end:
                windows[partition] = Span(begin, end)
        return windows

    def _event(self, windows: Mapping[int, Span], read: Read) -> TailEvent | None:
        newest, dropped = self._newest(windows)
        found = sorted(read(newest), key=_by_time)
        dropped += max(0, len(found) - self._most)
        if not found and not dropped:
            return None
        return TailEvent([one.shown for one in found[-self._most :]], dropped)

    def _newest(self, windows: Mapping[int, Span]) -> tuple[dict[int, Span], int]:
        """Return the last offsets of the windows, at most `offsets_max`, and the number of the
        others. Each partition has its share."""
        all_offsets = sum(span.last - span.first for span in windows.values())
        if all_offsets <= self._offsets_max:
            return dict(windows), 0
        left, kept = self._offsets_max, {}
        in_order = sorted(windows.items(), key=_by_length)
        for number, (partition, (first, last)) in enumerate(in_order):
            share = min(last - first, max(left // (len(in_order) - number), 0))
            left -= share
            kept[partition] = Span(last - share, last)
        return kept, all_offsets - self._offsets_max


def follow(
    looks: Callable[[], Iterator[TailEvent | None]], sleep: Callable[[float], None]
) -> Iterator[TailEvent | None]:
    """Yield the events of `looks()`, without an end.

    If it loses a broker or a leader, yield an event with the reason, pause, and call `looks` again.
    Other exceptions, such as Refused for a deleted topic, end the tail.
    """
    while True:
        try:
            yield from looks()
        except (StartError, Leaderless) as error:
            yield TailEvent([], 0, waiting=str(error))
        sleep(RETRY_EVERY_S)


def _by_time(record: Found) -> tuple[int, int, int]:
    return record.timestamp, record.partition, record.offset


def _by_length(window: tuple[int, Span]) -> int:
    return window[1].last - window[1].first
