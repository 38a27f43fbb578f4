"""The lag of a group: a sum over its partitions, some of which may have no known lag.

A lag is not known if a member reads the partition and no offset is committed, or if the partition
has no leader. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class TotalLag(NamedTuple):
    """The sum of the known lags of a group's partitions."""

    records: int | None
    """The records between committed offsets and ends; None if no partition has a known lag."""
    unknown: int
    """The number of partitions without a known lag."""

    def __str__(self) -> str:
        """Return text such as `5`, `-`, or `at least 5 (not known of 2 partitions)`."""
        if self.records is None:
            return "-"
        if not self.unknown:
            return str(self.records)
        plural = "" if self.unknown == 1 else "s"
        return f"at least {self.records} (not known of {self.unknown} partition{plural})"


def total_lag(lags: Iterable[int | None]) -> TotalLag:
    """Return the sum of the known lags of a group's partitions, and the number of None, which
    stands for an unknown lag. The sum is None if no lag is known."""
    every = list(lags)
    known_lags = [lag for lag in every if lag is not None]
    return TotalLag(sum(known_lags) if known_lags else None, len(every) - len(known_lags))
