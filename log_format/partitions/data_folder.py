"""A data folder (one of a broker's `log.dirs`), or the folder of one partition.

Owns the list of its partitions, and the offsets in the checkpoints beside them. Never reads a
batch.
"""

from __future__ import annotations

from dataclasses import dataclass

from log_format.checkpoints import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARK,
    LOG_START,
    META_PROPERTIES,
    checkpoint_offsets,
    cluster_id_text,
)
from log_format.damage import LogError
from log_format.files import Files
from log_format.folder_contents import why_no_partition
from log_format.partition_names import is_set_aside, partition_of
from log_format.segment_names import LOG_SUFFIX, base_offset_of


@dataclass(frozen=True, slots=True)
class PartitionFolder:
    """A partition's folder, with its offsets in the checkpoints; None: a checkpoint has none."""

    folder: str
    topic: str
    partition: int
    log_start: int | None
    high_watermark: int | None
    clean: bool = False
    """Whether its broker was shut down cleanly, and has not run since."""


class DataFolder:
    """The partitions, the cluster id and the notes of a data folder."""

    def __init__(self, files: Files, path: str) -> None:
        """List the partitions, and read the checkpoints and the cluster id beside them.

        `path` is a data folder or one partition's folder. Raises LogError if it is no folder, or
        has no partition.
        """
        self.path = path.rstrip("/") or "/"
        if not files.is_folder(self.path):
            raise LogError(f"{path}: there is no such folder (on the machine that reads it)")
        self.notes: list[str] = []
        names = files.names(self.path)
        if any(base_offset_of(name, LOG_SUFFIX) is not None for name in names):
            own = partition_of(self.path.rpartition("/")[2])
            if own is None:
                raise LogError(
                    f"{path} holds segments, but its name is not that of a partition's folder: "
                    "TOPIC-NUMBER, as the broker had named it"
                )
            self._root = self.path.rpartition("/")[0] or "/"
            folders = {self.path: own}
        else:
            self._root = self.path
            folders = self._partitions_in(files, names)
            set_aside = [name for name in names if is_set_aside(name)]
            self.notes += [f"{name} is set aside by its broker and not read" for name in set_aside]
        if not folders:
            raise LogError(
                f"{path} is no data folder of Kafka: it has no folder TOPIC-NUMBER in it, nor a "
                f"segment such as {0:020d}{LOG_SUFFIX}"
            )
        properties = files.content(f"{self._root}/{META_PROPERTIES}")
        self.cluster_id = cluster_id_text(properties) if properties else None
        starts = self._offsets(files, LOG_START)
        watermarks = self._offsets(files, HIGH_WATERMARK)
        clean = files.content(f"{self._root}/{CLEAN_SHUTDOWN}") is not None
        self.partitions = [
            PartitionFolder(
                folder, *partition, starts.get(partition), watermarks.get(partition), clean
            )
            for folder, partition in sorted(folders.items(), key=lambda item: item[1])
        ]

    def _partitions_in(self, files: Files, names: list[str]) -> dict[str, tuple[str, int]]:
        """Return topic and partition of each partition folder, by its path. An empty or unreadable
        folder is included, because without it the others would look like the whole topic.

        Append to `notes` why a folder with such a name is left out.
        """
        folders = {}
        for name in names:
            partition, path = partition_of(name), f"{self.path}/{name}"
            if partition is None or not files.is_folder(path):
                continue
            try:
                why = why_no_partition(path, files.names(path))
            except LogError:  # raised again when the partition is read
                why = None
            if why is None:
                folders[path] = partition
            else:
                self.notes.append(f"{why}: not read")
        return folders

    def _offsets(self, files: Files, name: str) -> dict[tuple[str, int], int]:
        """Return the offsets in the checkpoint file `name`, by topic and partition.

        Returns {} if the file is missing or damaged. If it is damaged, append that to `notes`.
        """
        data = files.content(f"{self._root}/{name}")
        if data is None:
            return {}
        offsets = checkpoint_offsets(data)
        if offsets is None:
            self.notes.append(f"{name} is damaged: it is not used")
        return offsets or {}
