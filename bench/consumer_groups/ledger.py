"""Who has which partition of a group, by what members were told, and how long nobody had it.

Owns that and nothing else: times come in. A member stops with a partition when it hears that it is
to give it up, or dies; another begins when it is told that it has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Partition = tuple[bytes, int]
"""Topic id and number."""


class Ledger:
    """Of one group. Times in seconds."""

    def __init__(self) -> None:
        self._holders: dict[Partition, str] = {}
        self._given_up: dict[Partition, float] = {}
        self._pauses: list[float] = []

    def took(self, member_id: str, partitions: Iterable[Partition], now: float) -> None:
        """The member begins with these. RuntimeError where another has one of them."""
        for one in partitions:
            holder = self._holders.setdefault(one, member_id)
            if holder != member_id:
                raise RuntimeError(f"{member_id} is given partition {one[1]} that {holder} has")
            given_up = self._given_up.pop(one, None)
            if given_up is not None:
                self._pauses.append(now - given_up)

    def gave(self, member_id: str, partitions: Iterable[Partition], now: float) -> None:
        """The member stops with these."""
        for one in partitions:
            if self._holders.get(one) == member_id:
                del self._holders[one]
                self._given_up[one] = now

    def pauses(self) -> list[float]:
        """How long each that moved was nobody's, since this was asked last."""
        found, self._pauses = self._pauses, []
        return found

    def is_even(self, members: Iterable[str], partitions: int) -> bool:
        """Whether all `partitions` are held, by these members, as evenly as that can be."""
        if len(self._holders) != partitions:
            return False
        counts: Mapping[str, int] = self._counts(members)
        return (
            sum(counts.values()) == partitions and max(counts.values()) - min(counts.values()) <= 1
        )

    def _counts(self, members: Iterable[str]) -> dict[str, int]:
        counts = dict.fromkeys(members, 0)
        for holder in self._holders.values():
            if holder in counts:
                counts[holder] += 1
        return counts
