"""The names of a segment's files: 20 digits of its base offset, and a suffix for the kind."""

from __future__ import annotations

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TXN_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"
DELETED_SUFFIX = ".deleted"
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"

_DIGITS = 20
_OFFSET_MAX = 2**63 - 1


def offset_name(offset: int) -> str:
    """Return the 20 digits in the names of a segment's files."""
    return f"{offset:020d}"


def segment_path(directory: str, base_offset: int, suffix: str) -> str:
    """Return the path of the file with `suffix` of the segment with this base offset."""
    return f"{directory}/{base_offset:020d}{suffix}"


def base_offset_of(name: str, suffix: str) -> int | None:
    """Return the base offset in the name of a file with `suffix`; None for every other name."""
    stem = name[: -len(suffix)]
    if not name.endswith(suffix) or len(stem) != _DIGITS:
        return None
    if not stem.isdecimal() or not stem.isascii() or int(stem) > _OFFSET_MAX:
        return None
    return int(stem)
