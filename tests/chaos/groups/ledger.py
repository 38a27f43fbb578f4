"""Who has which partition of a group, and what was committed, as its members were told.

A member has a partition from the answer that gives it until just before it says that it has it no
more, so that two at a time are a broken promise whatever the order of answers. `wrong` says what
was broken. Never asks anything.
"""

from __future__ import annotations

from collections.abc import Iterable


class Ledger:
    """Of one group and one topic."""

    def __init__(self) -> None:
        self.holders: dict[int, str] = {}
        self.acknowledged: dict[int, int] = {}
        """The offset that was last acknowledged, or read, by partition."""
        self.attempted: dict[int, int] = {}
        """The highest offset that anybody tried to commit: it may be there without our knowing."""
        self.commits = 0
        self.hand_overs = 0
        self.wrong: list[str] = []

    # -- partitions ------------------------------------------------------------------------------

    def given(self, member: str, partitions: Iterable[int]) -> None:
        """An answer gave it these."""
        for partition in partitions:
            other = self.holders.get(partition)
            if other not in (None, member):
                self.wrong.append(f"{partition} is given to {member} while {other} has it")
            self.holders[partition] = member
            self.hand_overs += 1

    def gave_up(self, member: str, partitions: Iterable[int]) -> None:
        """It is about to say that it has these no more."""
        for partition in partitions:
            if self.holders.get(partition) == member:
                del self.holders[partition]

    def gone(self, member: str) -> None:
        """It is about to say that it has nothing."""
        self.gave_up(member, self.of(member))

    def of(self, member: str) -> list[int]:
        """What it has."""
        return [partition for partition, who in self.holders.items() if who == member]

    # -- commits ---------------------------------------------------------------------------------

    def tries(self, partition: int, offset: int) -> None:
        """A commit is about to be sent."""
        self.attempted[partition] = max(offset, self.attempted.get(partition, -1))

    def committed(self, partition: int, offset: int) -> None:
        """It was acknowledged."""
        self.commits += 1
        self.acknowledged[partition] = offset

    def read(self, partition: int, offset: int, who: str) -> None:
        """The coordinator says that so much is committed (-1: nothing)."""
        least = self.acknowledged.get(partition, -1)
        most = self.attempted.get(partition, -1)
        if not least <= offset <= most:
            self.wrong.append(
                f"{who} reads {offset} of {partition}: {least} was acknowledged, {most} tried"
            )
        self.acknowledged[partition] = offset
