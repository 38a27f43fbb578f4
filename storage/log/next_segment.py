"""The file of a log's next segment, preallocated with all its blocks while the active one fills.

A block that is allocated by a write costs CPU for each page, and writes to the file system's
bitmaps, for which the next append waits. With preallocated blocks a log that fills quickly gains a
tenth of its rate, and its slowest appends wait a third as long (`bench/LESSONS.md`). The blocks are
not allocated in the active file, because its lock would be held meanwhile and the next append would
wait for it. So another thread makes an empty file, and the next roll renames it.

Owns that file, and the knowledge whether the log has unused blocks. These are freed if a segment
ends early, and if the log is closed or idle. A start after a crash frees them too: it removes the
file like any `.tmp`. Never: delays a roll: without such a file, the roll creates its own.

Kafka has `preallocate` for this, with which a segment's file has its full size from the beginning.
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
"""The segment size below which no file is preallocated."""
HALF_MS_MAX = 60_000
"""The longest time in which half a segment must fill, so that the log preallocates the next. A
slower log would hold disk space for records that may never come."""
FREE_SEGMENTS_MIN = 20
"""The number of segments for which the disk must have space; otherwise none is preallocated."""
_IGNORED_ERRNOS = (
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
    """The preallocated file of one log."""

    __slots__ = ("_prepared_at", "_filesystem", "_has_file", "_under_way", "holds_room")

    def __init__(self, filesystem: Filesystem) -> None:
        self._filesystem = filesystem
        self._prepared_at = -1  # base offset of the active segment at the last preparation
        self._under_way = False
        self._has_file = False
        self.holds_room = False
        """Whether the log may have preallocated blocks that are unused."""

    def prepare(
        self,
        active: LogSegment,
        now_ms: int,
        blocking: Blocking,
        failed: Callable[[OSError], object],
    ) -> None:
        """Preallocate the next segment's file, off the loop, if half of `active` filled quickly.

        It is called when `active` is half full, and acts once for each segment. `failed(error)` is
        called later if the disk fails; a full disk, or one that cannot preallocate, is no failure.
        """
        size = active.config.segment_size_bytes
        if active.base_offset == self._prepared_at or self._under_way or self._has_file:
            return
        self._prepared_at = active.base_offset
        if size < SEGMENT_BYTES_MIN or now_ms - active.created_ms > HALF_MS_MAX:
            return
        self._under_way = True
        path = f"{active.directory}/{NEXT_SEGMENT}"
        blocking.submit(partial(_make, self._filesystem, path, size), partial(self._made, failed))

    def _made(
        self, failed: Callable[[OSError], object], made: bool | None, error: Exception | None
    ) -> None:
        """Record that the preallocated file exists, if `made` is True; otherwise there is none.
        `failed` gets an OSError; another error is raised."""
        self._under_way = False
        if isinstance(error, OSError):
            failed(error)
        elif error is not None:
            raise error
        if made:  # otherwise the active segment may still have unused blocks
            self._has_file = self.holds_room = True

    def take(self, directory: str, path: str) -> None:
        """Rename the preallocated file, if there is one, to `path`, for a roll. Raises OSError."""
        self.holds_room = self._has_file
        if self._has_file:
            self._has_file = False
            self._filesystem.rename(f"{directory}/{NEXT_SEGMENT}", path)

    def give_back(self, directory: str, active: LogSegment) -> None:
        """Remove the preallocated file, and free the blocks of the active segment that are unused.
        Raises OSError."""
        if self._has_file:
            self._has_file = False
            self._filesystem.remove(f"{directory}/{NEXT_SEGMENT}")
        if self.holds_room:
            self.holds_room = False
            active.file.give_back_room()


def _make(filesystem: Filesystem, path: str, size: int) -> bool:
    """Create a file at `path` with `size` bytes of blocks. Return False, without a file, if the
    disk has space for too few segments or cannot preallocate.

    It runs on another thread, and touches nothing else. Raises OSError.
    """
    try:
        if filesystem.usage(path.rpartition("/")[0]).usable_bytes < FREE_SEGMENTS_MIN * size:
            return False
        filesystem.make_with_room(path, size)
    except OSError as error:
        if error.errno in _IGNORED_ERRNOS:
            return False
        raise
    return True
