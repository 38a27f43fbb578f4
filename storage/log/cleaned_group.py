"""A segment that compaction has written, and the log's segments that it replaces."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CleanedGroup:
    """Segments that were rewritten as one, whose files end with `.cleaned`."""

    sources: tuple[int, ...]
    """The rising base offsets of the segments to replace; the new one has the first of them."""
    size: int
    max_timestamp: int
    offset_of_max_timestamp: int
    files: tuple[str, ...]
    """The suffixes of the new segment's files, without `.cleaned`."""
