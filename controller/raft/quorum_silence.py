"""The log lines that say that no leader of the quorum can be reached, and why.

Without a leader, a node waits for any time: a broker does not serve, a controller decides nothing.
After `FIRST_LOG_MS` without one, a WARNING lists the failure at each address, and again every
`LOG_INTERVAL_MS`. When a leader answers after such a line, a last one says so. An election takes
less time than `FIRST_LOG_MS`.

Owns: the time since when there is no leader, and the latest failure of each address in
`controller.quorum.voters` or `controller.quorum.bootstrap.servers`. Never: connects itself. It
needs no timer, because its callers report failures many times a minute.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

logger = logging.getLogger(f"ottla.{__name__}")

FIRST_LOG_MS = 3_000
LOG_INTERVAL_MS = 60_000


class QuorumSilence:
    """The time without a reachable leader, and the failures of the addresses."""

    def __init__(self, addresses_key: str, monotonic_ms: Callable[[], float]) -> None:
        """`addresses_key` is the key of the configuration that has the addresses."""
        self._addresses_key = addresses_key
        self._monotonic_ms = monotonic_ms
        self._failures: dict[str, str] = {}
        self._began_ms: float | None = None
        self._logged_ms: float | None = None

    def failed(self, address: str, reason: str) -> None:
        """Keep why `address` (`ID@HOST:PORT` or `HOST:PORT`) led to no leader. From `FIRST_LOG_MS`
        after the first failure on, log a WARNING with the latest failure of every address, once a
        minute."""
        now_ms = self._monotonic_ms()
        if self._began_ms is None:
            self._began_ms = now_ms
        self._failures[address] = reason
        silent_ms = now_ms - self._began_ms
        is_due = self._logged_ms is None or now_ms - self._logged_ms >= LOG_INTERVAL_MS
        if silent_ms < FIRST_LOG_MS or not is_due:
            return
        self._logged_ms = now_ms
        logger.warning(
            "no leader of the quorum could be reached for %d s: %s. This node tries on; check that "
            "these controllers run and can be reached from here, and that %s has their addresses",
            silent_ms // 1_000,
            "; ".join(f"{place}: {failure}" for place, failure in self._failures.items()),
            self._addresses_key,
        )

    def leader_reached(self) -> None:
        """Forget all failures, because a leader has answered or this node leads. Log a WARNING that
        says so if a failure was logged before."""
        if self._logged_ms is not None:
            logger.warning("a leader of the quorum is reached again")
        self._failures.clear()
        self._began_ms = self._logged_ms = None
