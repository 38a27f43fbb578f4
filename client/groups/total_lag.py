"""The lag of a group: a sum over its partitions, of which some may not be known.

Nothing is known of a partition that is read and has no committed offset, or has no leader. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class TotalLag(NamedTuple):
    """Records behind the ends, as far as they are known."""

    records: int | None
    """Of the partitions whose lag is known; None where it is known of none."""
    unknown: int
    """How many partitions have no known lag."""

    def __str__(self) -> str:
        """`5`, `-`, or `at least 5 (not known of 2 partitions)`."""
        if self.records is None:
            return "-"
        if not self.unknown:
            return str(self.records)
        plural = "" if self.unknown == 1 else "s"
        return f"at least {self.records} (not known of {self.unknown} partition{plural})"


def total_lag(lags: Iterable[int | None]) -> TotalLag:
    """Return the sum of the lags of a group's partitions."""
    every = list(lags)
    known = [lag for lag in every if lag is not None]
    return TotalLag(sum(known) if known else None, len(every) - len(known))
