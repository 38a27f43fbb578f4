"""Where the latest batches of a growing segment lie: what places readers at the tail without I/O.

Owns: last offset and position of up to a thousand batches. Readers at the tail, and the high
watermark, are nearly always among them; older offsets go by the index.
"""

from __future__ import annotations

from bisect import bisect_left

RECENT_BATCHES_MAX = 512
RECENT_BATCHES_HELD = 2 * RECENT_BATCHES_MAX
"""Where there are more, the oldest are to be forgotten."""


class RecentBatches:
    """Batches in order. From `from_offset` on they are all that the segment has.

    Whoever adds one puts its last offset and its position at the end of `lasts` and `positions`,
    and looks whether there are too many: for each batch, that is too little to be a call.
    """

    __slots__ = ("from_offset", "lasts", "positions")

    def __init__(self, from_offset: int) -> None:
        self.from_offset = from_offset
        self.lasts: list[int] = []
        self.positions: list[int] = []

    def forget_oldest(self) -> None:
        """There are too many."""
        self.from_offset = self.lasts[RECENT_BATCHES_MAX - 1] + 1
        del self.lasts[:RECENT_BATCHES_MAX]
        del self.positions[:RECENT_BATCHES_MAX]

    def locate(self, offset: int, end_position: int) -> tuple[int, int] | None:
        """(position, size) of the first batch that ends at or after `offset`; None past the end.

        For offsets from `from_offset` on; `end_position` is the segment's size.
        """
        positions = self.positions
        slot = bisect_left(self.lasts, offset)
        if slot == len(positions):
            return None
        position = positions[slot]
        slot += 1
        return position, (positions[slot] if slot < len(positions) else end_position) - position

    def truncate_to(self, offset: int, position: int) -> None:
        """The batch that begins with `offset` at `position`, and all after it, are gone."""
        slot = bisect_left(self.positions, position)
        del self.lasts[slot:]
        del self.positions[slot:]
        self.from_offset = min(self.from_offset, offset)

    def forget(self, from_offset: int) -> None:
        """Know nothing; what is added next begins at or after `from_offset`."""
        self.from_offset = from_offset
        self.lasts = []
        self.positions = []
