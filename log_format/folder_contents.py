"""What a folder in a log directory is, by the files in it: its name alone says nothing.

`broker-1` reads like partition 1 of a topic `broker`, and may be the data folder of another node,
which runs in it. So a name makes a folder a candidate, and only the names of the files in it make
it a partition's: what is none is never opened, renamed, removed or written into.

Owns: that judgement. Never: reads a file, or does anything to a folder.

Kafka 4.3 goes by the name: it opens `broker-1` as a log, makes a segment in it, and renames it.
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
"""What a file system puts into an empty one."""
_DIGITS = 20


class FolderContents(Enum):
    """The kinds of folders, by the names of their files."""

    PARTITION = "partition"
    NOTHING = "nothing"
    NODE = "node"
    """The data folder of a node: formatted, or locked by a process that is about to."""
    OTHER = "other"


def contents_of(names: Sequence[str]) -> FolderContents:
    """Return the kind of a folder that has files and folders of these names."""
    if any(name in names for name in _OF_A_NODE):
        return FolderContents.NODE
    if any(name in _OF_A_PARTITION or _is_of_a_segment(name) for name in names):
        return FolderContents.PARTITION
    is_empty = all(name == _OF_A_VOLUME for name in names)
    return FolderContents.NOTHING if is_empty else FolderContents.OTHER


def _is_of_a_segment(name: str) -> bool:
    """Whether it begins as all names of segments, indexes and snapshots do, whatever follows."""
    digits, dot, _ = name.partition(".")
    return bool(dot) and len(digits) == _DIGITS and digits.isdecimal() and digits.isascii()


def why_no_partition(directory: str, names: Sequence[str]) -> str | None:
    """Return why a folder is no partition's; None for one that is, and for an empty one."""
    contents = contents_of(names)
    if contents is FolderContents.NODE:
        return f"{directory} is the data folder of a node"
    if contents is FolderContents.OTHER:
        return f"{directory} has no file of a partition (it has {min(names)})"
    return None
