"""Replicas that the metadata places on this broker, but for which it has no file descriptors.

The controller knows only its own node's limit (`controller.hosting_limit`), so it may place more
replicas on another broker than that broker can host. The earliest replicas keep their logs. The
others get no log here, the controller learns that they have no directory, and other brokers lead
them. When a replica leaves, or a move ends, the waiting replicas are hosted, the longest waiting
first.

Owns the waiting replicas, and the log line about them. Never creates a log. Kafka has no such
state: its process stops.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from ground.ports import Scheduler
from storage.log.descriptors import Descriptors
from storage.log.log_dir_failure import DescriptorsLack

_log = logging.getLogger(f"ottla.{__name__}")

RETRY_MS = 60_000
"""Wait before another attempt after a log could not be created in spite of a free descriptor.

That happens if the whole system lacks descriptors.
"""


class HeldBackReplicas:
    """The held-back replicas by topic and index."""

    def __init__(
        self, descriptors: Descriptors, scheduler: Scheduler, host: Callable[[str, int], None]
    ) -> None:
        """Create an empty set; `host(topic, index)` tries again and ends in `forget` or `hold`."""
        self._descriptors = descriptors
        self._scheduler = scheduler
        self._host = host
        self._waiting: dict[tuple[str, int], bool] = {}
        """The waiting replicas, and whether a log line has counted each."""
        self._last_error: DescriptorsLack | None = None
        self._retrying = False

    def __len__(self) -> int:
        """Return the number of waiting replicas."""
        return len(self._waiting)

    def __contains__(self, partition: tuple[str, int]) -> bool:
        """Return whether this replica waits."""
        return partition in self._waiting

    def hold(self, topic: str, index: int, error: DescriptorsLack) -> None:
        """Add a replica to those that wait for a file descriptor; `host_waiting` logs it and tries
        again."""
        self._waiting.setdefault((topic, index), False)
        self._last_error = error

    def forget(self, topic: str, index: int) -> None:
        """Remove a replica that is hosted now, or not wanted any more."""
        self._waiting.pop((topic, index), None)

    def host_waiting(self) -> None:
        """Host waiting replicas while descriptors are free. Log how many are hosted, and how many
        began to wait. If hosting failed in spite of a free descriptor, try again after RETRY_MS."""
        hosted = 0
        for topic, index in list(self._waiting) if self._descriptors.has_room else ():
            self._host(topic, index)
            if (topic, index) in self._waiting:
                break
            hosted += 1
        if hosted:
            _log.warning(
                "%d partition(s) that waited for file descriptors are served now, %d wait",
                hosted,
                len(self),
            )
        if not all(self._waiting.values()):
            self._log_waiting()
        if self._waiting and self._descriptors.has_room and not self._retrying:
            self._retrying = True
            self._scheduler.call_later(RETRY_MS, self._retry)

    def _log_waiting(self) -> None:
        """Log an error: how many partitions, not counted before, wait for file descriptors."""
        unreported = sum(not is_reported for is_reported in self._waiting.values())
        self._waiting = dict.fromkeys(self._waiting, True)
        topic, index = next(reversed(self._waiting))
        descriptors = self._descriptors
        _log.error(
            "%d partition(s), as %s-%d, are not served here: ulimit -n is %d, and %d would be "
            "needed for all%s. The %d that are here go on; the others follow when some leave.",
            unreported,
            topic,
            index,
            descriptors.limit,
            descriptors.limit_for(descriptors.logs() + len(self), descriptors.moves()),
            f" ({self._last_error})" if descriptors.has_room else "",
            descriptors.logs(),
        )

    def _retry(self) -> None:
        """Try again to host the waiting replicas, after RETRY_MS."""
        self._retrying = False
        self.host_waiting()
