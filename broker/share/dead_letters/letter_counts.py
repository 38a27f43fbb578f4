"""The counts of dead letters by group, and the log of those that failed.

Owns plain integers, for the meters of Kafka's `ShareGroupMetrics`, and a limit on the number of log
lines: one a minute for each group and reason. Never writes a letter.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from broker.loop.log_limit import printable

log = logging.getLogger(f"ottla.{__name__}")

GROUPS_MAX = 1_000
"""The most groups that are counted; the counts of the group that was new first are dropped."""
REASONS_MAX = 1_000
LOG_INTERVAL_MS = 60_000


@dataclass(slots=True)
class GroupCounts:
    """The counts of one group since the start of the broker, or since it was dropped."""

    records: int = 0
    """The records in the dead-letter topic."""
    requests: int = 0
    """The letters in Produce requests; a letter that is sent again counts again."""
    failed: int = 0
    """The letters whose Produce failed for good."""

    def written(self, records: int) -> None:
        """Count records that the leader has acknowledged."""
        self.records += records

    def sent(self) -> None:
        """Count a letter in a Produce request."""
        self.requests += 1

    def produce_failed(self) -> None:
        """Count a letter that the leader rejects for good."""
        self.failed += 1


class LetterCounts:
    """The counts of all groups."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupCounts] = {}

    def of(self, group_id: str) -> GroupCounts:
        """Return the counts of a group, created if they are new."""
        counts = self.groups.get(group_id)
        if counts is None:
            if len(self.groups) == GROUPS_MAX:
                del self.groups[next(iter(self.groups))]
            counts = self.groups[group_id] = GroupCounts()
        return counts


class FailureLog:
    """The lines about letters that are not written."""

    def __init__(self, monotonic_ms: Callable[[], float]) -> None:
        self._monotonic_ms = monotonic_ms
        self._logged: dict[tuple[str, str], tuple[float, int]] = {}
        """When a group's reason was logged, and how many letters were left out since."""

    def failed(self, group_id: str, records: str, reason: str, detail: str = "") -> None:
        """Log at ERROR that these records, such as `offsets 3-5 of t-0`, have no dead letter.
        `detail` may be different for each letter with the same reason."""
        others = self._others(group_id, reason)
        if others is not None:
            text = _with_detail(reason, detail)
            log.error(
                "group %s: %s are archived without a dead letter: %s%s",
                *(group_id, records, text, others),
            )

    def waits(self, group_id: str, records: str, reason: str, detail: str = "") -> None:
        """Log at WARNING that these records wait for their dead letter."""
        others = self._others(group_id, reason)
        if others is not None:
            text = _with_detail(reason, detail)
            log.warning(
                "group %s: %s are not in the dead-letter topic yet, and stay in flight: %s%s",
                *(group_id, records, text, others),
            )

    def _others(self, group_id: str, reason: str) -> str | None:
        """Return the end of a line about a group and a reason, which says how many lines were left
        out before; None if this line is left out too."""
        now_ms = self._monotonic_ms()
        logged_ms, left_out = self._logged.pop((group_id, reason), (-LOG_INTERVAL_MS, 0))
        if now_ms - logged_ms < LOG_INTERVAL_MS:
            self._logged[group_id, reason] = logged_ms, left_out + 1
            return None
        if len(self._logged) == REASONS_MAX:
            del self._logged[next(iter(self._logged))]
        self._logged[group_id, reason] = now_ms, 0
        return f", as for {left_out} letters before" if left_out else ""


def _with_detail(reason: str, detail: str) -> str:
    return f"{reason} ({printable(detail)})" if detail else reason
