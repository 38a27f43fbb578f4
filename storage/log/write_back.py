"""Early write-back: the disk writes the bytes of replicated logs while more are appended.

By itself, the kernel collects some gigabytes before it writes, and a full segment is flushed all at
once. Blocks are allocated then under the lock that the next append needs, while the disk is busy.
acks=all waits for the slowest replica, leader or follower, so the stalls of all add up. A few
megabytes at a time, and the next ones only after those are written, keep the disk's queue short.
Logs without other replicas got slower by it: they wait for no replica, and may be deleted before
they are written.

Owns which segments have bytes to write back; one is written at a time. It makes nothing durable:
only a flush moves the recovery point. Kafka leaves this to the kernel. Figures are in
`bench/LESSONS.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ground.ports import Blocking
from storage.log.log_segment import LogSegment

WRITE_BACK_BYTES = 8 << 20
"""The number of a segment's appended bytes from which on they are written back."""
TAIL_BYTES = 2 << 20
"""The multiple of bytes at which a write-back ends. A page of the page cache may be as large (a
folio of Linux on x86). An append to a page that is being written would wait for it."""

Failed = Callable[[OSError], object]


class WriteBack:
    """The write-back of all logs of a node, one segment at a time."""

    def __init__(self) -> None:
        self._waiting: dict[LogSegment, Failed] = {}
        self._under_way = False

    def appended(self, segment: LogSegment, blocking: Blocking, failed: Failed) -> None:
        """Write back the segment's new bytes, off the loop, if they are at least WRITE_BACK_BYTES.
        One segment of the node is written back at a time; others wait.

        `failed(error)` is called later if the disk fails: an fsync would not report it again.
        """
        if segment.size - segment.written_back_to >= WRITE_BACK_BYTES:
            self._waiting.setdefault(segment, failed)
            if not self._under_way:
                self._next(blocking)

    def _next(self, blocking: Blocking) -> None:
        """Write back the segment that has waited longest, off the loop. A segment whose file is
        closed or has nothing new is skipped."""
        segment = next(iter(self._waiting))
        failed = self._waiting.pop(segment)
        start, size = segment.take_for_write_back(TAIL_BYTES)
        file = segment.open_file
        if file is None or size <= 0:  # rolled, and flushed by the roll; or truncated since
            self._done(blocking, failed, None)
            return
        self._under_way = True
        blocking.submit(
            partial(file.write_back, start, size),
            lambda _, error: self._done(blocking, failed, error),
        )

    def _done(self, blocking: Blocking, failed: Failed, error: Exception | None) -> None:
        """Begin the next segment. `failed` gets an OSError of this one; another error is raised."""
        self._under_way = False
        if self._waiting:
            self._next(blocking)
        if isinstance(error, OSError):
            failed(error)
        elif error is not None:
            raise error
