"""The log directories in the paths of `--data`, and the partitions' folders in them.

A path may be a log directory, the folder of an `ottla cluster`, or the folder of one of its nodes:
`meta.properties`, which each log directory has, is searched on three levels. Only names that were
listed here become paths; a text from a browser never does.

Owns no state. Reads names and small files, never a segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256

from log_format.checkpoints import META_PROPERTIES
from log_format.damage import LogError
from log_format.files import Files
from log_format.partition_names import partition_of
from protocol.primitives import uuid_to_string
from storage.log.checkpoints import decode_meta_properties

_LEVELS = 3
"""The levels of folders that are searched, the path itself included."""
_SEARCHED_MAX = 1_000
"""The most folders below a path that are searched for log directories."""


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """A log directory of a node, as in its config `log.dirs`."""

    key: str
    """The directory's name in addresses of the page: its directory.id, else a hash of its path."""
    path: str
    cluster_id: str
    node_id: int


@dataclass(frozen=True, slots=True)
class PartitionFolder:
    """A partition's folder in a log directory."""

    directory: LogDirectory
    path: str
    topic: str
    partition: int


def log_directories(files: Files, paths: Iterable[str]) -> list[LogDirectory]:
    """Return the log directories at and below these paths, by node and path.

    A folder that cannot be read is skipped.
    """
    directories: dict[str, LogDirectory] = {}
    for path in paths:
        for directory in _below(files, path.rstrip("/") or "/"):
            directories.setdefault(directory.path, directory)
    return sorted(directories.values(), key=lambda directory: (directory.node_id, directory.path))


def _below(files: Files, path: str) -> Iterator[LogDirectory]:
    level, searched = [path], 0
    for _ in range(_LEVELS):
        following: list[str] = []
        for folder in level:
            searched += 1
            own = log_directory(files, folder)
            if own is not None:
                yield own
            elif searched < _SEARCHED_MAX:
                following += _folders_in(files, folder)
        level = following


def _folders_in(files: Files, path: str) -> list[str]:
    try:
        names = files.names(path)
    except LogError:
        return []
    below = (f"{path.rstrip('/')}/{name}" for name in names)
    return [folder for folder in below if files.is_folder(folder)]


def log_directory(files: Files, path: str) -> LogDirectory | None:
    """Return the log directory at `path`, None if it has no valid `meta.properties`."""
    try:
        data = files.content(f"{path}/{META_PROPERTIES}")
    except LogError:
        return None
    properties = decode_meta_properties(data) if data is not None else None
    if properties is None:
        return None
    own = properties.directory_id
    key = (
        uuid_to_string(own) if own else sha256(path.encode("utf-8", "surrogateescape")).hexdigest()
    )
    return LogDirectory(key[:22], path, properties.cluster_id, properties.node_id)


def partition_folders(files: Files, directory: LogDirectory) -> list[PartitionFolder]:
    """Return the partitions' folders in a log directory, by topic and number.

    Leaves out folders of deleted partitions. Returns none if the directory cannot be read.
    """
    try:
        names = files.names(directory.path)
    except LogError:
        return []
    folders = []
    for name in names:
        partition = partition_of(name)
        path = f"{directory.path}/{name}"
        if partition is not None and files.is_folder(path):
            folders.append(PartitionFolder(directory, path, *partition))
    return sorted(folders, key=lambda folder: (folder.topic, folder.partition))
