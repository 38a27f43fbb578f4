"""The kind of a folder in a log directory, by the names of its files, because its own name is
ambiguous.

`broker-1` may be partition 1 of a topic `broker`, or the data folder of another node that runs in
it. So a folder with such a name is a partition's only if its files are. Any other folder is never
opened, renamed, removed or written into.

Owns that decision. Never reads a file, or changes a folder.

Kafka decides by the name: it opens `broker-1` as a log, makes a segment in it, and renames it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from log_format.checkpoints import LEADER_EPOCHS, LOCK, META_PROPERTIES, PARTITION_METADATA

_OF_A_NODE = (META_PROPERTIES, LOCK)
_OF_A_PARTITION = (
    PARTITION_METADATA,
    f"{PARTITION_METADATA}.tmp",
    LEADER_EPOCHS,
    f"{LEADER_EPOCHS}.tmp",
)
_OF_A_VOLUME = "lost+found"
"""The folder that a file system makes in an empty volume."""
_DIGITS = 20


class FolderContents(Enum):
    """The kinds of folders, by the names of their files."""

    PARTITION = "partition"
    NOTHING = "nothing"
    NODE = "node"
    """The data folder of a node: formatted, or locked by a process that is about to format it."""
    OTHER = "other"


def contents_of(names: Sequence[str]) -> FolderContents:
    """Return the kind of a folder by the names of the files and folders in it.

    NODE if it has `meta.properties` or `.lock`; else PARTITION if it has a file of a partition or
    segment; NOTHING if it is empty, apart from `lost+found`; else OTHER.
    """
    if any(name in names for name in _OF_A_NODE):
        return FolderContents.NODE
    if any(name in _OF_A_PARTITION or _is_of_a_segment(name) for name in names):
        return FolderContents.PARTITION
    is_empty = all(name == _OF_A_VOLUME for name in names)
    return FolderContents.NOTHING if is_empty else FolderContents.OTHER


def _is_of_a_segment(name: str) -> bool:
    """Return whether a name begins as those of segments, indexes and snapshots do: with 20 digits
    and a dot."""
    digits, dot, _ = name.partition(".")
    return bool(dot) and len(digits) == _DIGITS and digits.isdecimal() and digits.isascii()


def why_no_partition(directory: str, names: Sequence[str]) -> str | None:
    """Return a text that says why a folder is no partition's; None: it is a partition's, or
    empty."""
    contents = contents_of(names)
    if contents is FolderContents.NODE:
        return f"{directory} is the data folder of a node"
    if contents is FolderContents.OTHER:
        return f"{directory} has no file of a partition (it has {min(names)})"
    return None
