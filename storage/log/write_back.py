"""The disk begins to write what replicated logs append while more is appended.

Left to itself, the kernel lets some gigabytes come together before it writes, and a segment that is
full is flushed all at once. Blocks are allocated then under the lock that the next append needs,
while the disk is busy. acks=all waits for the slowest replica, leader or follower, so the stalls of
all add up. Handing the disk a few megabytes at a time, and the next when it has taken them, keeps
its queue short. A log that has no other replica lost by it: it waits for nobody, and may be deleted
before it is written.

Owns which segments are to be handed over; one is at a time. Makes nothing durable: the recovery
point is that of a flush. Kafka leaves this to the kernel. Figures are in `bench/LESSONS.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ground.ports import Blocking
from storage.log.log_segment import LogSegment

WRITE_BACK_BYTES = 8 << 20
"""What comes together in a segment before it is handed over."""
TAIL_BYTES = 2 << 20
"""What is handed over ends at a multiple of this. A page of the page cache may be as large (a folio
of Linux on x86), and the next append would wait for the one that it goes on with."""

Failed = Callable[[OSError], object]


class WriteBack:
    """All logs of a node: they share a disk, or each other's patience."""

    def __init__(self) -> None:
        self._waiting: dict[LogSegment, Failed] = {}
        self._under_way = False

    def appended(self, segment: LogSegment, blocking: Blocking, failed: Failed) -> None:
        """`segment` has grown. `failed(error)`, later, where the disk did not take its bytes: an
        fsync would not tell it again."""
        if segment.size - segment.handed_over >= WRITE_BACK_BYTES:
            self._waiting.setdefault(segment, failed)
            if not self._under_way:
                self._next(blocking)

    def _next(self, blocking: Blocking) -> None:
        segment = next(iter(self._waiting))
        failed = self._waiting.pop(segment)
        start, size = segment.hand_over(TAIL_BYTES)
        file = segment.open_file
        if file is None or size <= 0:  # rolled, and flushed by that; or truncated since
            self._done(blocking, failed, None)
            return
        self._under_way = True
        blocking.submit(
            partial(file.write_back, start, size),
            lambda _, error: self._done(blocking, failed, error),
        )

    def _done(self, blocking: Blocking, failed: Failed, error: Exception | None) -> None:
        self._under_way = False
        if self._waiting:
            self._next(blocking)
        if isinstance(error, OSError):
            failed(error)
        elif error is not None:
            raise error
