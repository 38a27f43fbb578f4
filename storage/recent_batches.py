"""Where the latest batches of a growing segment lie: what places readers at the tail without I/O.

Owns: last offset and position of up to a thousand batches. Readers at the tail, and the high
watermark, are nearly always among them; older offsets go by the index.
"""

from __future__ import annotations

from bisect import bisect_left

RECENT_BATCHES_MAX = 512
_HELD_MAX = 2 * RECENT_BATCHES_MAX


class RecentBatches:
    """Batches in order. From `from_offset` on they are all that the segment has."""

    __slots__ = ("_lasts", "_positions", "from_offset")

    def __init__(self, from_offset: int) -> None:
        self.from_offset = from_offset
        self._lasts: list[int] = []
        self._positions: list[int] = []

    def __len__(self) -> int:
        return len(self._lasts)

    def add(self, last_offset: int, position: int) -> None:
        """The batch that ends with `last_offset` was appended at `position`."""
        lasts = self._lasts
        lasts.append(last_offset)
        self._positions.append(position)
        if len(lasts) > _HELD_MAX:
            self.from_offset = lasts[RECENT_BATCHES_MAX - 1] + 1
            del lasts[:RECENT_BATCHES_MAX]
            del self._positions[:RECENT_BATCHES_MAX]

    def locate(self, offset: int, end_position: int) -> tuple[int, int] | None:
        """(position, size) of the first batch that ends at or after `offset`; None past the end.

        For offsets from `from_offset` on; `end_position` is the segment's size.
        """
        positions = self._positions
        slot = bisect_left(self._lasts, offset)
        if slot == len(positions):
            return None
        position = positions[slot]
        slot += 1
        return position, (positions[slot] if slot < len(positions) else end_position) - position

    def truncate_to(self, offset: int, position: int) -> None:
        """The batch that begins with `offset` at `position`, and all after it, are gone."""
        slot = bisect_left(self._positions, position)
        del self._lasts[slot:]
        del self._positions[slot:]
        self.from_offset = min(self.from_offset, offset)

    def forget(self, from_offset: int) -> None:
        """Know nothing; what is added next begins at or after `from_offset`."""
        self.from_offset = from_offset
        self._lasts = []
        self._positions = []
