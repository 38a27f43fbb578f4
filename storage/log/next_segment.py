"""The file of a log's next segment, made with all its blocks while the active one fills.

A block that is allocated as it is written costs CPU for each page, and the disk's attention for its
bitmaps, for which the next append waits; a log that fills quickly gains a tenth of its rate by
having them, and its slowest appends wait a third as long (`bench/LESSONS.md`). They are not
allocated in the file that grows: its lock would be held meanwhile, and the next append wait for it.
So an empty file is made beside it, in another thread, and the next roll gives it its name.

Owns that file, and the knowledge whether the log has blocks that nothing is written to. They are
given back where a segment ends early, by a log that is closed or idle, and at a start after a
crash, which drops the file as any `.tmp`. Never: stands in the way of a roll; where there is no
such file, the roll makes its own.

Kafka has `preallocate` for this, which takes a segment's size for its length.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import partial

from ground.filesystem import Filesystem
from ground.ports import Blocking
from storage.log.log_segment import LogSegment

NEXT_SEGMENT = "next-segment.tmp"
SEGMENT_BYTES_MIN = 64 << 20
"""Smaller segments are not worth a file of their own ahead."""
HALF_MS_MAX = 60_000
"""A log that needs longer for half a segment allocates as it writes: no disk is held for records
that may never come."""
FREE_SEGMENTS_MIN = 20
"""So many segments fit on the disk, else nothing is taken of it ahead."""
_NOT_HERE = (
    errno.EDQUOT,
    errno.EFBIG,
    errno.EINVAL,
    errno.ENOENT,  # the folder was renamed: its topic is deleted
    errno.ENOSPC,
    errno.ENOSYS,
    errno.EOPNOTSUPP,
    errno.EPERM,
)


class NextSegment:
    """That of one log."""

    __slots__ = ("_asked_at", "_filesystem", "_is_made", "_under_way", "holds_room")

    def __init__(self, filesystem: Filesystem) -> None:
        self._filesystem = filesystem
        self._asked_at = -1  # base offset of the segment that asked, which it does once
        self._under_way = False
        self._is_made = False
        self.holds_room = False
        """Whether the log may have blocks that nothing is written to."""

    def prepare(
        self,
        active: LogSegment,
        now_ms: int,
        blocking: Blocking,
        failed: Callable[[OSError], object],
    ) -> None:
        """`active` is half full: make the next one's file, elsewhere, if it filled quickly.

        `failed(error)`, later, where the disk did not do what it can do.
        """
        size = active.config.segment_size_bytes
        if active.base_offset == self._asked_at or self._under_way or self._is_made:
            return
        self._asked_at = active.base_offset
        if size < SEGMENT_BYTES_MIN or now_ms - active.created_ms > HALF_MS_MAX:
            return
        self._under_way = True
        path = f"{active.directory}/{NEXT_SEGMENT}"
        blocking.submit(partial(_make, self._filesystem, path, size), partial(self._made, failed))

    def _made(
        self, failed: Callable[[OSError], object], made: bool | None, error: Exception | None
    ) -> None:
        self._under_way = False
        if isinstance(error, OSError):
            failed(error)
        elif error is not None:
            raise error
        if made:  # if not, the active one may still have room of its own
            self._is_made = self.holds_room = True

    def take(self, directory: str, path: str) -> None:
        """A roll: the file, if there is one, becomes `path`. Raises OSError."""
        self.holds_room = self._is_made
        if self._is_made:
            self._is_made = False
            self._filesystem.rename(f"{directory}/{NEXT_SEGMENT}", path)

    def give_back(self, directory: str, active: LogSegment) -> None:
        """What the log holds and does not use, of the disk. Raises OSError."""
        if self._is_made:
            self._is_made = False
            self._filesystem.remove(f"{directory}/{NEXT_SEGMENT}")
        if self.holds_room:
            self.holds_room = False
            active.file.give_back_room()


def _make(filesystem: Filesystem, path: str, size: int) -> bool:
    """Whether there is such a file now; touches nothing else."""
    try:
        if filesystem.usage(path.rpartition("/")[0]).usable_bytes < FREE_SEGMENTS_MIN * size:
            return False
        filesystem.make_with_room(path, size)
    except OSError as error:
        if error.errno in _NOT_HERE:
            return False
        raise
    return True
