"""The transactions that bound a log's last stable offset: the open ones, and those that ended with
a marker that is not below the high watermark yet.

Owns: their first offsets. Never: knows producers' epochs (`storage.log.producer_state`), or a file.

Kafka's `ongoingTxns` and `unreplicatedTxns` in `ProducerStateManager`.
"""

from __future__ import annotations

from collections import deque


class OngoingTransactions:
    """The unstable transactions of a log.

    `open` has the first offset → producer id of each open one, in the order in which they began.
    `unreplicated` has (first offset, marker's offset) of ended ones, see `end`. Both are empty if
    no transaction is unstable.
    """

    __slots__ = ("open", "unreplicated")

    def __init__(self) -> None:
        self.open: dict[int, int] = {}
        self.unreplicated: deque[tuple[int, int]] = deque()

    def begin(self, first_offset: int, producer_id: int) -> None:
        """Add a transaction, after its first batch was appended at the log's end."""
        self.open[first_offset] = producer_id

    def restore(self, first_offset: int, producer_id: int) -> None:
        """Add an open transaction from a snapshot. They may come in any order."""
        self.open[first_offset] = producer_id
        self.open = dict(sorted(self.open.items()))

    def end(self, first_offset: int, marker_offset: int) -> int:
        """Move a transaction from the open to the unreplicated ones, because its marker is in the
        log.

        Return the last stable offset that applies after the marker is committed.

        The transaction stays unstable until its marker is below the high watermark. Ended
        transactions that began after it are dropped, because their markers are committed earlier.
        So `unreplicated` rises in both offsets, and its first entry has the lowest.
        """
        self.open.pop(first_offset, None)
        unreplicated = self.unreplicated
        while unreplicated and unreplicated[-1][0] >= first_offset:
            unreplicated.pop()
        unreplicated.append((first_offset, marker_offset))
        return next(iter(self.open), marker_offset + 1)

    def stable_offset(self, log_start_offset: int, high_watermark: int) -> int:
        """Return the last stable offset: all transactions below it have a committed marker."""
        if not self.open and not self.unreplicated:
            return high_watermark
        unstable = self.first_unstable(high_watermark)
        if unstable is None:
            return high_watermark
        return min(max(unstable, log_start_offset), high_watermark)

    def first_unstable(self, high_watermark: int) -> int | None:
        """Return the lowest first offset of the transactions without a marker below
        `high_watermark`, None if there are none. Forget the ended transactions whose marker is
        below."""
        unreplicated = self.unreplicated
        while unreplicated and unreplicated[0][1] < high_watermark:
            unreplicated.popleft()
        first_open = next(iter(self.open), None)
        if not unreplicated:
            return first_open
        first = unreplicated[0][0]
        return first if first_open is None or first < first_open else first_open

    def clear(self) -> None:
        """Forget all transactions."""
        self.open.clear()
        self.unreplicated.clear()
