"""The files in the folder of a partition: segments, snapshots, and files of deleted segments.

Owns the rule by which a file belongs to a segment. A folder changes while it is read: a file that
vanishes meanwhile is left out. Reads names, sizes and times, and opens no file.
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
        """The size of the `.log` in bytes; it includes preallocated space in the active segment."""
        return self.stamps[LOG_SUFFIX].size

    @property
    def path(self) -> str:
        """The path of the `.log`."""
        return self.path_of(LOG_SUFFIX)

    def path_of(self, suffix: str) -> str:
        """Return the path of the segment's file with this suffix."""
        return segment_path(self.folder, self.base_offset, suffix)


@dataclass(frozen=True, slots=True)
class PartitionFiles:
    """The files of a partition at one moment, its segments by base offset: the last is active."""

    segments: list[SegmentFiles]
    snapshots: list[tuple[int, int]]
    """Producer snapshots: (offset, bytes)."""
    metadata_snapshots: list[tuple[str, int]]
    """Snapshots of `__cluster_metadata`: (name, bytes)."""
    leaving: list[tuple[str, int]]
    """Files that wait for deletion, and files of a running compaction: (name, bytes)."""

    @property
    def size(self) -> int:
        """The bytes of all segments without their indexes, as `retention.bytes` counts them."""
        return sum(segment.size for segment in self.segments)

    def segment(self, base_offset: int) -> SegmentFiles | None:
        """Return the segment with this base offset, None if there is none."""
        return next((part for part in self.segments if part.base_offset == base_offset), None)

    def end_of(self, segment: SegmentFiles) -> int | None:
        """Return the base offset of the next segment, None for the last."""
        later = [
            other.base_offset for other in self.segments if other.base_offset > segment.base_offset
        ]
        return later[0] if later else None


def partition_files(files: Files, folder: str) -> PartitionFiles:
    """Return the files in a partition's folder. Raises LogError if there is no such folder."""
    segments: dict[int, SegmentFiles] = {}
    listing = PartitionFiles([], [], [], [])
    for name in files.names(folder):
        stamp = _stamp(files, f"{folder}/{name}")
        if stamp is None:
            continue
        if name.endswith(_LEAVING):
            listing.leaving.append((name, stamp.size))
        elif name.endswith(_CHECKPOINT) and name[:20].isdecimal():
            listing.metadata_snapshots.append((name, stamp.size))
        elif (at := base_offset_of(name, SNAPSHOT_SUFFIX)) is not None:
            listing.snapshots.append((at, stamp.size))
        else:
            _note(segments, folder, name, stamp)
    whole = [segment for segment in segments.values() if LOG_SUFFIX in segment.stamps]
    listing.segments.extend(sorted(whole, key=lambda segment: segment.base_offset))
    return listing


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
    """Return (number of segments, bytes of their logs) of a partition's folder.

    This is cheaper than `partition_files`, for lists of many partitions. Raises LogError.
    """
    count = total = 0
    for name in files.names(folder):
        if name.endswith(LOG_SUFFIX):
            stamp = _stamp(files, f"{folder}/{name}")
            if stamp is not None:
                count, total = count + 1, total + stamp.size
    return count, total
