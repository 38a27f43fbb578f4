"""Says that no leader of the quorum can be reached, and what came of each try.

A node that hears of no leader waits for as long as it takes: a broker does not serve, a controller
decides nothing. A person has to learn why. Once that has lasted for `FIRST_TOLD_MS`, a line at
WARNING names each address with what went wrong there, and again every `TOLD_AGAIN_MS`; when a
leader answers after that, a last one says so. An election is over before the first.

Owns: since when there is no leader, and the latest failure of each address, of which there are as
many as `controller.quorum.voters` or `controller.quorum.bootstrap.servers` names. Never: tries
anything itself, so it needs no timer: whoever tries does so many times a minute.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

logger = logging.getLogger(f"ottla.{__name__}")

FIRST_TOLD_MS = 3_000
TOLD_AGAIN_MS = 60_000


class QuorumSilence:
    """The time for which one node has reached no leader of the quorum, and what it has logged."""

    def __init__(self, addresses_key: str, monotonic_ms: Callable[[], float]) -> None:
        """`addresses_key`: the key of the configuration that names the addresses."""
        self._addresses_key = addresses_key
        self._monotonic_ms = monotonic_ms
        self._failures: dict[str, str] = {}
        self._began_ms: float | None = None
        self._told_ms: float | None = None

    def failed(self, address: str, reason: str) -> None:
        """A try at `address` (`ID@HOST:PORT`, `HOST:PORT`) led to no leader, for this reason."""
        now_ms = self._monotonic_ms()
        if self._began_ms is None:
            self._began_ms = now_ms
        self._failures[address] = reason
        silent_ms = now_ms - self._began_ms
        is_due = self._told_ms is None or now_ms - self._told_ms >= TOLD_AGAIN_MS
        if silent_ms < FIRST_TOLD_MS or not is_due:
            return
        self._told_ms = now_ms
        logger.warning(
            "no leader of the quorum could be reached for %d s: %s. This node tries on; check that "
            "these controllers run and can be reached from here, and that %s has their addresses",
            silent_ms // 1_000,
            "; ".join(f"{place}: {failure}" for place, failure in self._failures.items()),
            self._addresses_key,
        )

    def ended(self) -> None:
        """A leader has answered, or this node leads."""
        if self._told_ms is not None:
            logger.warning("a leader of the quorum is reached again")
        self._failures.clear()
        self._began_ms = self._told_ms = None
