"""The owner of each partition of a group, by the members' assignments, and the pauses between.

It gets all times from its caller. A member loses a partition when its new assignment lacks it, or
when it dies. A member owns a partition from the answer that assigns it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Partition = tuple[bytes, int]
"""A topic id and a partition's number."""


class Ledger:
    """The owners of one group's partitions. Times are in seconds."""

    def __init__(self) -> None:
        self._holders: dict[Partition, str] = {}
        self._released: dict[Partition, float] = {}
        self._pauses: list[float] = []

    def took(self, member_id: str, partitions: Iterable[Partition], now: float) -> None:
        """Record that the member owns these.

        Raises RuntimeError if another member owns one of them.
        """
        for partition in partitions:
            holder = self._holders.setdefault(partition, member_id)
            if holder != member_id:
                raise RuntimeError(
                    f"{member_id} is given partition {partition[1]} that {holder} has"
                )
            released_at = self._released.pop(partition, None)
            if released_at is not None:
                self._pauses.append(now - released_at)

    def gave(self, member_id: str, partitions: Iterable[Partition], now: float) -> None:
        """Record that the member does not own these any more."""
        for partition in partitions:
            if self._holders.get(partition) == member_id:
                del self._holders[partition]
                self._released[partition] = now

    def pauses(self) -> list[float]:
        """Return how long each moved partition had no owner, since the last call."""
        pauses, self._pauses = self._pauses, []
        return pauses

    def is_even(self, members: Iterable[str], partitions: int) -> bool:
        """Return whether these members own all `partitions`, as evenly as possible."""
        if len(self._holders) != partitions:
            return False
        counts: Mapping[str, int] = self._partition_counts(members)
        return (
            sum(counts.values()) == partitions and max(counts.values()) - min(counts.values()) <= 1
        )

    def _partition_counts(self, members: Iterable[str]) -> dict[str, int]:
        """Return how many partitions each of the members holds."""
        counts = dict.fromkeys(members, 0)
        for holder in self._holders.values():
            if holder in counts:
                counts[holder] += 1
        return counts
