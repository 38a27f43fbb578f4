"""The positions of the latest batches of the active segment, for reads at the tail without I/O.

Owns: the last offset and position of up to a thousand batches. Reads at the tail, and the high
watermark, are nearly always among them; for older offsets the index is used.
"""

from __future__ import annotations

from bisect import bisect_left

RECENT_BATCHES_MAX = 512
RECENT_BATCHES_HELD = 2 * RECENT_BATCHES_MAX
"""The number of batches above which the oldest are to be forgotten."""


class RecentBatches:
    """The latest batches, in order: all that the segment has from `from_offset` on.

    The caller appends a batch's last offset to `lasts` and its position to `positions`, because a
    method would be too slow. It calls `forget_oldest` if there are too many batches.
    """

    __slots__ = ("from_offset", "lasts", "positions")

    def __init__(self, from_offset: int) -> None:
        self.from_offset = from_offset
        self.lasts: list[int] = []
        self.positions: list[int] = []

    def forget_oldest(self) -> None:
        """Forget the older half, because there are too many."""
        self.from_offset = self.lasts[RECENT_BATCHES_MAX - 1] + 1
        del self.lasts[:RECENT_BATCHES_MAX]
        del self.positions[:RECENT_BATCHES_MAX]

    def locate(self, offset: int, end_position: int) -> tuple[int, int] | None:
        """Return (position, size) of the first batch that ends at or after `offset`.

        None if `offset` is past the end. `offset` is at least `from_offset`; `end_position` is the
        segment's size.
        """
        positions = self.positions
        slot = bisect_left(self.lasts, offset)
        if slot == len(positions):
            return None
        position = positions[slot]
        slot += 1
        return position, (positions[slot] if slot < len(positions) else end_position) - position

    def truncate_to(self, offset: int, position: int) -> None:
        """Forget the batch that begins with `offset` at `position`, and all after it."""
        slot = bisect_left(self.positions, position)
        del self.lasts[slot:]
        del self.positions[slot:]
        self.from_offset = min(self.from_offset, offset)

    def forget(self, from_offset: int) -> None:
        """Forget all batches. The next one that is added begins at or after `from_offset`."""
        self.from_offset = from_offset
        self.lasts = []
        self.positions = []
