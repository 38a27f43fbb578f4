"""What lies in the folder of one partition: segments with their files, snapshots, leftovers.

Owns which file belongs to which segment. A folder changes while it is read: a file that is gone by
the time it is looked at is left out. Reads names, sizes and times, and opens no file.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from log_format.damage import LogError
from log_format.files import Files, Stamp
from log_format.segment_names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    base_offset_of,
    segment_path,
)

_OF_SEGMENTS = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX)
_CHECKPOINT = ".checkpoint"
_LEAVING = (".deleted", ".cleaned", ".swap")


@dataclass(slots=True)
class SegmentFiles:
    """The files of one segment, by suffix; `.log` is always there."""

    folder: str
    base_offset: int
    stamps: dict[str, Stamp] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of batches; of an active one that was given room ahead, of that room, too."""
        return self.stamps[LOG_SUFFIX].size

    @property
    def path(self) -> str:
        """Of the `.log`."""
        return self.path_of(LOG_SUFFIX)

    def path_of(self, suffix: str) -> str:
        """Of one of its files."""
        return segment_path(self.folder, self.base_offset, suffix)


@dataclass(frozen=True, slots=True)
class PartitionFiles:
    """All of a folder, as of one look. Segments by base offset; the last one is the active one."""

    segments: list[SegmentFiles]
    snapshots: list[tuple[int, int]]
    """Of producers: (offset, bytes)."""
    metadata_snapshots: list[tuple[str, int]]
    """Of `__cluster_metadata`: (name, bytes)."""
    leaving: list[tuple[str, int]]
    """What is renamed to be deleted, or written by a compaction: (name, bytes)."""

    @property
    def size(self) -> int:
        """Bytes of all segments, without their indexes, as `retention.bytes` counts them."""
        return sum(one.size for one in self.segments)

    def segment(self, base_offset: int) -> SegmentFiles | None:
        """That with this base offset, if it is there."""
        return next((one for one in self.segments if one.base_offset == base_offset), None)

    def end_of(self, segment: SegmentFiles) -> int | None:
        """The base offset of the following one; None for the last."""
        later = [one.base_offset for one in self.segments if one.base_offset > segment.base_offset]
        return later[0] if later else None


def partition_files(files: Files, folder: str) -> PartitionFiles:
    """What is in `folder` now. Raises LogError where there is no such folder."""
    segments: dict[int, SegmentFiles] = {}
    found = PartitionFiles([], [], [], [])
    for name in files.names(folder):
        stamp = _stamp(files, f"{folder}/{name}")
        if stamp is None:
            continue
        if name.endswith(_LEAVING):
            found.leaving.append((name, stamp.size))
        elif name.endswith(_CHECKPOINT) and name[:20].isdecimal():
            found.metadata_snapshots.append((name, stamp.size))
        elif (at := base_offset_of(name, SNAPSHOT_SUFFIX)) is not None:
            found.snapshots.append((at, stamp.size))
        else:
            _note(segments, folder, name, stamp)
    whole = [one for one in segments.values() if LOG_SUFFIX in one.stamps]
    found.segments.extend(sorted(whole, key=lambda one: one.base_offset))
    return found


def _note(segments: dict[int, SegmentFiles], folder: str, name: str, stamp: Stamp) -> None:
    for suffix in _OF_SEGMENTS:
        base = base_offset_of(name, suffix)
        if base is not None:
            segments.setdefault(base, SegmentFiles(folder, base)).stamps[suffix] = stamp


def _stamp(files: Files, path: str) -> Stamp | None:
    try:
        return files.stamp(path)
    except LogError:
        return None


def log_size(files: Files, folder: str) -> tuple[int, int]:
    """(segments, their bytes), for a list of many partitions. Raises LogError."""
    count = total = 0
    for name in files.names(folder):
        if name.endswith(LOG_SUFFIX):
            stamp = _stamp(files, f"{folder}/{name}")
            if stamp is not None:
                count, total = count + 1, total + stamp.size
    return count, total
