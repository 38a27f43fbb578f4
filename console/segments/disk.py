"""Access to the partitions' folders on this machine, by topic, partition and log directory.

`Disk` lists the partitions in the folders of `--data` that the login may see. The names in a
request are looked up in these lists. Owns the lists of the last seconds, the last contents of the
checkpoints, and the scans of segments.
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
"""A slow list is kept this many times as long as it took."""
IDS_KEPT_MAX = 50_000
NO_DATA = (
    "the console has no data folder: start it with --data PATH, a log directory on this machine "
    "or the folder of an ottla cluster"
)


class NoSuchFolder(Exception):
    """The folder, segment or file is not on this machine. `str()` is one line."""


@dataclass(frozen=True, slots=True)
class SizedFolder:
    """A partition's folder with its number of segments and the bytes of their logs."""

    folder: PartitionFolder
    segments: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Marks:
    """The offsets of a partition in the checkpoints of its log directory, None without one.

    A broker writes checkpoints every few seconds or minutes, so they are older than the log.
    """

    high_watermark: int | None
    log_start: int | None
    recovery_point: int | None
    cleaned_to: int | None


class Disk:
    """The log directories of `--data`: one object in a process, for all threads."""

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
        self._sizes: tuple[float, list[SizedFolder]] | None = None
        self._checkpoints: dict[str, tuple[Stamp, dict[TopicPartition, int]]] = {}
        self._ids: dict[str, tuple[Stamp, bytes | None]] = {}

    def directories(self) -> list[LogDirectory]:
        """Return the log directories that belong to this cluster. Raises StartError."""
        if not self._paths:
            return []
        with self._lock:
            cached = self._directories
        if cached is None or self._now() > cached[0]:
            directories = log_directories(self.files, self._paths)
            cached = self._now() + KEPT_S, directories
            with self._lock:
                self._directories = cached
        cluster_id = self._rights.cluster_id()
        return [directory for directory in cached[1] if directory.cluster_id == cluster_id]

    def why_none(self) -> str:
        """Return a line that says why there are no directories."""
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

    def partitions(self) -> list[tuple[SizedFolder, Allowed]]:
        """Return the folders that the login may describe, with its rights. Raises StartError."""
        rights = self._rights.on_all()
        visible = []
        for sized in self._sized():
            allowed = rights.get(sized.folder.topic, NOTHING)
            if allowed.describe and self._is_of(sized.folder, allowed):
                visible.append((sized, allowed))
        return visible

    def find(
        self, topic: str, partition: int, key: str | None, *, to_read: bool
    ) -> tuple[PartitionFolder, Allowed, list[LogDirectory]]:
        """Return a partition's folder, the login's rights, and all directories with this partition.

        The folder is in the directory `key`, or in the first one if `key` is None. `to_read` needs
        the right to read, else the right to describe is enough. Raises Refused, NoSuchFolder,
        StartError.
        """
        allowed = self._rights.on(topic)
        (check_read if to_read else check_describe)(allowed, topic)
        name = f"{topic}-{partition}"
        having = [
            folder
            for directory in self.directories()
            if (folder := self._folder(directory, topic, partition)) is not None
            and self._is_of(folder, allowed)
        ]
        for folder in having:
            if key is None or folder.directory.key == key:
                return folder, allowed, [other.directory for other in having]
        raise NoSuchFolder(f"{name} has no folder in the folders of --data")

    def marks(self, folder: PartitionFolder) -> Marks:
        """Return the partition's offsets in the checkpoints of its directory."""
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
        """Return the topic id in `partition.metadata`, None if the file or its id is missing."""
        path = f"{folder.path}/{PARTITION_METADATA}"
        try:
            stamp = self.files.stamp(path)
            cached = self._ids.get(path)
            if stamp is None or (cached is not None and cached[0] == stamp):
                return None if stamp is None or cached is None else cached[1]
            data = self.files.content(path)
        except LogError:
            return None
        topic_id = None if data is None else decode_partition_metadata(data)
        with self._lock:
            if len(self._ids) >= IDS_KEPT_MAX:
                self._ids.clear()
            self._ids[path] = stamp, topic_id
        return topic_id

    def _sized(self) -> list[SizedFolder]:
        with self._lock:
            cached = self._sizes
        if cached is not None and self._now() < cached[0]:
            return cached[1]
        began, sizes = self._now(), []
        for directory in self.directories():
            for folder in partition_folders(self.files, directory):
                try:
                    sizes.append(SizedFolder(folder, *log_size(self.files, folder.path)))
                except LogError:
                    continue  # the broker has deleted it meanwhile
        ended = self._now()
        with self._lock:
            self._sizes = ended + max(KEPT_S, _PATIENCE * (ended - began)), sizes
        return sizes

    def _folder(
        self, directory: LogDirectory, topic: str, partition: int
    ) -> PartitionFolder | None:
        """Return a partition's folder in a directory, None if it is not among the names there."""
        wanted = f"{topic}-{partition}"
        try:
            names = self.files.names(directory.path)
        except LogError:
            return None
        if wanted not in names or not self.files.is_folder(f"{directory.path}/{wanted}"):
            return None
        return PartitionFolder(directory, f"{directory.path}/{wanted}", topic, partition)

    def _is_of(self, folder: PartitionFolder, allowed: Allowed) -> bool:
        """Return whether the folder belongs to the present topic of this name.

        A deleted topic of the same name had another topic id. A folder without an id counts as the
        present topic's.
        """
        if folder.topic == METADATA_LOG or allowed.topic_id is None:
            return True
        own = self.topic_id(folder)
        return own is None or own == allowed.topic_id

    def _checkpoint(self, path: str) -> dict[TopicPartition, int]:
        try:
            stamp = self.files.stamp(path)
            cached = self._checkpoints.get(path)
            if stamp is None:
                return {}
            if cached is not None and cached[0] == stamp:
                return cached[1]
            data = self.files.content(path)
        except LogError:
            return {}
        offsets = (decode_offsets(data) if data is not None else None) or {}
        with self._lock:
            self._checkpoints[path] = stamp, offsets
        return offsets
