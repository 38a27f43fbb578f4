"""The files of this machine, as the page asks for them: by topic, partition and directory.

`Disk` finds what `--data` names and the login may see; everything that a browser says is looked up
in its lists. Owns the lists of the last seconds, the checkpoints as they were last read, and the
scans of segments.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

from console.segments.files.folders import (
    LogDirectory,
    PartitionFolder,
    log_directories,
    partition_folders,
)
from console.segments.files.partition_files import log_size
from console.segments.files.scans import Scans
from console.segments.rights import (
    METADATA_LOG,
    NOTHING,
    Allowed,
    SegmentRights,
    check_describe,
    check_read,
)
from ground.topic_partition import TopicPartition
from log_format.checkpoints import PARTITION_METADATA
from log_format.damage import LogError
from log_format.files import Files, Stamp
from storage.log.checkpoints import (
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    decode_offsets,
    decode_partition_metadata,
)

KEPT_S = 2.0
_PATIENCE = 10.0
"""A list that took long is kept so many times as long."""
IDS_KEPT_MAX = 50_000
NO_DATA = (
    "the console has no data folder: start it with --data PATH, a log directory on this machine "
    "or the folder of an ottla cluster"
)


class NoSuchFolder(Exception):
    """What was asked for is not on this disk. `str()` is one line."""


@dataclass(frozen=True, slots=True)
class Sized:
    """A partition's folder with how much is in it."""

    folder: PartitionFolder
    segments: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Marks:
    """What the checkpoints of a directory say about one partition; they are seconds old."""

    high_watermark: int | None
    log_start: int | None
    recovery_point: int | None
    cleaned_to: int | None


class Disk:
    """One for the process; used by many threads."""

    def __init__(
        self,
        paths: Sequence[str],
        rights: SegmentRights,
        files: Files | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.files = files or Files()
        self.scans = Scans(self.files)
        self._paths = paths
        self._rights = rights
        self._now = now
        self._lock = Lock()
        self._directories: tuple[float, list[LogDirectory]] | None = None
        self._sizes: tuple[float, list[Sized]] | None = None
        self._checkpoints: dict[str, tuple[Stamp, dict[TopicPartition, int]]] = {}
        self._ids: dict[str, tuple[Stamp, bytes | None]] = {}

    def directories(self) -> list[LogDirectory]:
        """All that are there and of this cluster. Raises StartError."""
        if not self._paths:
            return []
        with self._lock:
            known = self._directories
        if known is None or self._now() > known[0]:
            found = log_directories(self.files, self._paths)
            known = self._now() + KEPT_S, found
            with self._lock:
                self._directories = known
        cluster_id = self._rights.cluster_id()
        return [one for one in known[1] if one.cluster_id == cluster_id]

    def why_none(self) -> str:
        """Where there are no directories: the reason, as one line."""
        if not self._paths:
            return NO_DATA
        others = log_directories(self.files, self._paths)
        where = ", ".join(self._paths)
        if others:
            return (
                f"{others[0].path} belongs to cluster {others[0].cluster_id}, but the console is "
                f"connected to cluster {self._rights.cluster_id()}"
            )
        return f"{where} has no log directory: no meta.properties is in it, nor two levels below"

    def partitions(self) -> list[tuple[Sized, Allowed]]:
        """Those that the login may describe. Raises StartError."""
        allowed = self._rights.on_all()
        found = []
        for one in self._sized():
            own = allowed.get(one.folder.topic, NOTHING)
            if own.describe and self._is_of(one.folder, own):
                found.append((one, own))
        return found

    def find(
        self, topic: str, partition: int, key: str | None, *, to_read: bool
    ) -> tuple[PartitionFolder, Allowed, list[LogDirectory]]:
        """A partition's folder in the directory `key`, or the first that has it; what is allowed;
        and all directories that have it. Raises Refused, NoSuchFolder, StartError."""
        allowed = self._rights.on(topic)
        (check_read if to_read else check_describe)(allowed, topic)
        name = f"{topic}-{partition}"
        having = [
            folder
            for one in self.directories()
            if (folder := self._folder(one, topic, partition)) is not None
            and self._is_of(folder, allowed)
        ]
        for folder in having:
            if key is None or folder.directory.key == key:
                return folder, allowed, [one.directory for one in having]
        raise NoSuchFolder(f"{name} has no folder in the folders of --data")

    def marks(self, folder: PartitionFolder) -> Marks:
        """What the checkpoints say; None for each that does not know the partition."""
        partition = TopicPartition(folder.topic, folder.partition)

        def of(name: str) -> int | None:
            return self._checkpoint(f"{folder.directory.path}/{name}").get(partition)

        return Marks(
            of(HIGH_WATERMARK_CHECKPOINT),
            of(LOG_START_CHECKPOINT),
            of(RECOVERY_POINT_CHECKPOINT),
            of(CLEANER_CHECKPOINT),
        )

    def topic_id(self, folder: PartitionFolder) -> bytes | None:
        """Of `partition.metadata`; None where it has none."""
        path = f"{folder.path}/{PARTITION_METADATA}"
        try:
            stamp = self.files.stamp(path)
            known = self._ids.get(path)
            if stamp is None or (known is not None and known[0] == stamp):
                return None if stamp is None or known is None else known[1]
            data = self.files.content(path)
        except LogError:
            return None
        found = None if data is None else decode_partition_metadata(data)
        with self._lock:
            if len(self._ids) >= IDS_KEPT_MAX:
                self._ids.clear()
            self._ids[path] = stamp, found
        return found

    def _sized(self) -> list[Sized]:
        with self._lock:
            known = self._sizes
        if known is not None and self._now() < known[0]:
            return known[1]
        began, found = self._now(), []
        for directory in self.directories():
            for folder in partition_folders(self.files, directory):
                try:
                    found.append(Sized(folder, *log_size(self.files, folder.path)))
                except LogError:
                    continue  # deleted meanwhile
        ended = self._now()
        with self._lock:
            self._sizes = ended + max(KEPT_S, _PATIENCE * (ended - began)), found
        return found

    def _folder(
        self, directory: LogDirectory, topic: str, partition: int
    ) -> PartitionFolder | None:
        """Looked for among the names that there are."""
        wanted = f"{topic}-{partition}"
        try:
            names = self.files.names(directory.path)
        except LogError:
            return None
        if wanted not in names or not self.files.is_folder(f"{directory.path}/{wanted}"):
            return None
        return PartitionFolder(directory, f"{directory.path}/{wanted}", topic, partition)

    def _is_of(self, folder: PartitionFolder, allowed: Allowed) -> bool:
        """Whether the folder is of the topic that the cluster has by this name now."""
        if folder.topic == METADATA_LOG or allowed.topic_id is None:
            return True
        own = self.topic_id(folder)
        return own is None or own == allowed.topic_id

    def _checkpoint(self, path: str) -> dict[TopicPartition, int]:
        try:
            stamp = self.files.stamp(path)
            known = self._checkpoints.get(path)
            if stamp is None:
                return {}
            if known is not None and known[0] == stamp:
                return known[1]
            data = self.files.content(path)
        except LogError:
            return {}
        found = (decode_offsets(data) if data is not None else None) or {}
        with self._lock:
            self._checkpoints[path] = stamp, found
        return found
