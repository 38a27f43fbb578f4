"""What a folder in a log directory is, by the files in it: its name alone says nothing.

`broker-1` reads like partition 1 of a topic `broker`, and may be the data folder of another node,
which runs in it. So a name makes a folder a candidate, and only the names of the files in it make
it a partition's: what is none is never opened, renamed, removed or written into.

Owns: that judgement. Never: changes anything.

Kafka 4.3 goes by the name: it opens `broker-1` as a log, makes a segment in it, and renames it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from storage.filesystem import Filesystem
from storage.log.checkpoints import (
    LOCK_FILE,
    META_PROPERTIES,
    PARTITION_METADATA,
    decode_partition_metadata,
)
from storage.log.leader_epoch_cache import LEADER_EPOCH_CHECKPOINT
from storage.log.log_dir_failure import is_of_one_file

_OF_A_NODE = (META_PROPERTIES, LOCK_FILE)
_OF_A_PARTITION = (
    PARTITION_METADATA,
    f"{PARTITION_METADATA}.tmp",
    LEADER_EPOCH_CHECKPOINT,
    f"{LEADER_EPOCH_CHECKPOINT}.tmp",
)
_OF_A_VOLUME = "lost+found"
"""What a file system puts into an empty one."""
_DIGITS = 20


class FolderContents(Enum):
    """What the names of the files in a folder say of it."""

    PARTITION = "partition"
    NOTHING = "nothing"
    NODE = "node"
    """The data folder of a node: formatted, or locked by a process that is about to."""
    OTHER = "other"


def contents_of(names: Sequence[str]) -> FolderContents:
    """What a folder is that has files and folders of these names."""
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
    """What a folder is that is not a partition's; None for one that is, and for an empty one."""
    contents = contents_of(names)
    if contents is FolderContents.NODE:
        return f"{directory} is the data folder of a node"
    if contents is FolderContents.OTHER:
        return f"{directory} has no file of a partition (it has {min(names)})"
    return None


def topic_id_in(filesystem: Filesystem, directory: str, names: Sequence[str]) -> bytes | None:
    """The topic that a folder with files of these names is of; None where it does not say.

    Raises OSError.
    """
    if PARTITION_METADATA not in names:
        return None
    return decode_partition_metadata(filesystem.read(f"{directory}/{PARTITION_METADATA}"))


def why_taken(filesystem: Filesystem, directory: str, topic_id: bytes | None) -> str | None:
    """Why no log of this topic can be made in `directory`; None where it is free: missing, empty,
    or what a try before this one left. Without a topic it has to be missing or empty. Raises
    OSError."""
    if not filesystem.exists(directory):
        return None
    if not filesystem.is_dir(directory):
        return f"{directory} is no folder"
    try:
        names = filesystem.list_dir(directory)
        of_topic = topic_id_in(filesystem, directory, names)
    except OSError as error:
        if not is_of_one_file(error):
            raise
        return f"{directory} cannot be read ({error})"
    if contents_of(names) is not FolderContents.PARTITION:
        return why_no_partition(directory, names)
    is_left = topic_id is not None and of_topic in (None, topic_id)
    return None if is_left else f"{directory} holds another log"
