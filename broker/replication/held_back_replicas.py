"""Replicas that this broker was told to host, and has no file descriptor for.

The controller knows the limit of its own node only (`controller.hosting_limit`), so that another
broker may be given more than it can hold. Those that came first go on; the rest has no log here,
the controller is told that it has no directory, and others lead. When some replica leaves, or a
move ends, those that wait are taken up, the longest waiting first.

Owns who waits, and the line that says so. Never: makes a log. Kafka has no such state: its process
stops.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from ground.ports import Scheduler
from storage.log.descriptors import Descriptors
from storage.log.log_dir_failure import DescriptorsLack

_log = logging.getLogger(f"ottla.{__name__}")

RETRY_MS = 60_000
"""Where a log could not be made though there should have been room, as where the system lacks
descriptors."""


class HeldBackReplicas:
    """By (topic, index)."""

    def __init__(
        self, descriptors: Descriptors, scheduler: Scheduler, host: Callable[[str, int], None]
    ) -> None:
        """`host(topic, index)` tries again: it ends in `forget`, or in `hold`."""
        self._descriptors = descriptors
        self._scheduler = scheduler
        self._host = host
        self._waiting: dict[tuple[str, int], None] = {}
        self._untold = 0
        self._why: DescriptorsLack | None = None
        self._retrying = False

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def __contains__(self, partition: tuple[str, int]) -> bool:
        """Whether this one waits."""
        return partition in self._waiting

    def hold(self, topic: str, index: int, why: DescriptorsLack) -> None:
        """It has to wait."""
        self._untold += (topic, index) not in self._waiting
        self._waiting[(topic, index)] = None
        self._why = why

    def forget(self, topic: str, index: int) -> None:
        """It is hosted, or not wanted any more."""
        self._waiting.pop((topic, index), None)

    def take_up(self) -> None:
        """Some may have left: host those that there is room for, and say who began to wait."""
        taken = 0
        for topic, index in list(self._waiting) if self._descriptors.has_room else ():
            self._host(topic, index)
            if (topic, index) in self._waiting:
                break
            taken += 1
        if taken:
            _log.warning(
                "%d partition(s) that waited for file descriptors are served now, %d wait",
                taken,
                len(self),
            )
        if self._untold:
            self._tell()
        if self._waiting and self._descriptors.has_room and not self._retrying:
            self._retrying = True
            self._scheduler.call_later(RETRY_MS, self._again)

    def _tell(self) -> None:
        untold, self._untold = self._untold, 0
        topic, index = next(reversed(self._waiting), ("", 0))
        descriptors = self._descriptors
        _log.error(
            "%d partition(s), as %s-%d, are not served here: ulimit -n is %d, and %d would be "
            "needed for all%s. The %d that are here go on; the others follow when some leave.",
            untold,
            topic,
            index,
            descriptors.limit,
            descriptors.limit_for(descriptors.logs() + len(self), descriptors.moves()),
            f" ({self._why})" if descriptors.has_room else "",
            descriptors.logs(),
        )

    def _again(self) -> None:
        self._retrying = False
        self.take_up()
