"""Segments that compaction has written beside a log's own, for the log to take in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CleanedGroup:
    """Segments that were written anew as one, whose files end with `.cleaned`."""

    sources: tuple[int, ...]
    """Their base offsets, rising; the first is that of the new segment too."""
    size: int
    max_timestamp: int
    offset_of_max_timestamp: int
    files: tuple[str, ...]
    """Suffixes of the new segment's files, without `.cleaned`."""
