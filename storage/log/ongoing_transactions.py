"""Which transactions of a log keep it from being stable: those that are open, and those that have
ended with a marker that is not below the high watermark yet.

Owns: their first offsets. Never: knows producers' epochs (`storage.log.producer_state`), or a file.

Kafka's `ongoingTxns` and `unreplicatedTxns` in `ProducerStateManager` 4.3.
"""

from __future__ import annotations

from collections import deque


class OngoingTransactions:
    """`open`: first offset → producer id, in the order in which they began. `unreplicated`: (first
    offset, offset of the marker), see `end`. Empty, both of them, where nothing is unstable."""

    __slots__ = ("open", "unreplicated")

    def __init__(self) -> None:
        self.open: dict[int, int] = {}
        self.unreplicated: deque[tuple[int, int]] = deque()

    def begin(self, first_offset: int, producer_id: int) -> None:
        """A producer's first batch of a transaction is in the log, at its end."""
        self.open[first_offset] = producer_id

    def restore(self, first_offset: int, producer_id: int) -> None:
        """An open transaction from a snapshot, in any order."""
        self.open[first_offset] = producer_id
        self.open = dict(sorted(self.open.items()))

    def end(self, first_offset: int, marker_offset: int) -> int:
        """Its marker is in the log; gives the last stable offset as it is once that is committed.

        The transaction stays unstable until the marker lies below the high watermark. Of two such
        the later marker leaves later, so one that began later and ends earlier never matters: what
        is kept rises in both offsets, and the first has the lowest.
        """
        self.open.pop(first_offset, None)
        unreplicated = self.unreplicated
        while unreplicated and unreplicated[-1][0] >= first_offset:
            unreplicated.pop()
        unreplicated.append((first_offset, marker_offset))
        return next(iter(self.open), marker_offset + 1)

    def stable_offset(self, log_start_offset: int, high_watermark: int) -> int:
        """Below it every transaction is over, and its marker is below the high watermark."""
        if not self.open and not self.unreplicated:
            return high_watermark
        unstable = self.first_unstable(high_watermark)
        if unstable is None:
            return high_watermark
        return min(max(unstable, log_start_offset), high_watermark)

    def first_unstable(self, high_watermark: int) -> int | None:
        """The lowest first offset of all that are not decided below `high_watermark`."""
        unreplicated = self.unreplicated
        while unreplicated and unreplicated[0][1] < high_watermark:
            unreplicated.popleft()
        first_open = next(iter(self.open), None)
        if not unreplicated:
            return first_open
        first = unreplicated[0][0]
        return first if first_open is None or first < first_open else first_open

    def clear(self) -> None:
        """Nothing is known."""
        self.open.clear()
        self.unreplicated.clear()
