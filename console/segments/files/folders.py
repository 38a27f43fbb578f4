"""Log directories among what `--data` names, and the folders of partitions in them.

A path may be a log directory itself, the folder of an `ottla cluster`, or one of its nodes': up to
three levels are looked through for `meta.properties`, which each log directory has. Directories and
partitions are known by names from these lists; nobody else's text is ever made a path.

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
_LOOKED_INTO_MAX = 1_000
"""Folders, while log directories are looked for."""


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """One of a node's `log.dirs`."""

    key: str
    """By which the page names it: its directory.id, or what stands for it."""
    path: str
    cluster_id: str
    node_id: int


@dataclass(frozen=True, slots=True)
class PartitionFolder:
    """A partition's folder in one of them."""

    directory: LogDirectory
    path: str
    topic: str
    partition: int


def log_directories(files: Files, paths: Iterable[str]) -> list[LogDirectory]:
    """All of these paths, by node. A folder that cannot be read has none."""
    found: dict[str, LogDirectory] = {}
    for path in paths:
        for one in _below(files, path.rstrip("/") or "/"):
            found.setdefault(one.path, one)
    return sorted(found.values(), key=lambda one: (one.node_id, one.path))


def _below(files: Files, path: str) -> Iterator[LogDirectory]:
    level, looked_into = [path], 0
    for _ in range(_LEVELS):
        following: list[str] = []
        for folder in level:
            looked_into += 1
            own = log_directory(files, folder)
            if own is not None:
                yield own
            elif looked_into < _LOOKED_INTO_MAX:
                following += _folders_in(files, folder)
        level = following


def _folders_in(files: Files, path: str) -> list[str]:
    try:
        names = files.names(path)
    except LogError:
        return []
    below = (f"{path.rstrip('/')}/{name}" for name in names)
    return [one for one in below if files.is_folder(one)]


def log_directory(files: Files, path: str) -> LogDirectory | None:
    """The log directory at `path`; None where there is none."""
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
    """The live ones of a directory, by topic and number; none where it cannot be read."""
    try:
        names = files.names(directory.path)
    except LogError:
        return []
    found = []
    for name in names:
        partition = partition_of(name)
        path = f"{directory.path}/{name}"
        if partition is not None and files.is_folder(path):
            found.append(PartitionFolder(directory, path, *partition))
    return sorted(found, key=lambda one: (one.topic, one.partition))
