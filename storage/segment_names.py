"""How the files of a segment are named: 20 digits of its base offset, and the kind of file."""

from __future__ import annotations

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TXN_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"
DELETED_SUFFIX = ".deleted"
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"


def offset_name(offset: int) -> str:
    """The 20 digits that name a segment's files."""
    return f"{offset:020d}"


def segment_path(directory: str, base_offset: int, suffix: str) -> str:
    """Where the file with `suffix` of the segment that begins with `base_offset` lies."""
    return f"{directory}/{base_offset:020d}{suffix}"
