"""A data folder (one of a broker's `log.dirs`), or the folder of one partition.

Owns which partitions there are, and what the checkpoints beside them say. Never reads a batch.
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
class Found:
    """A partition's folder, with the offsets that the checkpoints have of it."""

    folder: str
    topic: str
    partition: int
    log_start: int | None
    high_watermark: int | None
    clean: bool = False
    """Whether its broker was stopped in order, and has not run since."""


class DataFolder:
    """What lies in a folder. The constructor reads it; raises LogError."""

    def __init__(self, files: Files, path: str) -> None:
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
            aside = [name for name in names if is_set_aside(name)]
            self.notes += [f"{name} is set aside by its broker and not read" for name in aside]
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
            Found(folder, *one, starts.get(one), watermarks.get(one), clean)
            for folder, one in sorted(folders.items(), key=lambda item: item[1])
        ]

    def _partitions_in(self, files: Files, names: list[str]) -> dict[str, tuple[str, int]]:
        """Folders by their names, without those that hold something else. One that is empty or
        cannot be read counts: without it the others would pass for the whole topic."""
        folders = {}
        for name in names:
            partition, path = partition_of(name), f"{self.path}/{name}"
            if partition is None or not files.is_folder(path):
                continue
            try:
                why = why_no_partition(path, files.names(path))
            except LogError:  # told where it is meant to be read
                why = None
            if why is None:
                folders[path] = partition
            else:
                self.notes.append(f"{why}: not read")
        return folders

    def _offsets(self, files: Files, name: str) -> dict[tuple[str, int], int]:
        data = files.content(f"{self._root}/{name}")
        if data is None:
            return {}
        offsets = checkpoint_offsets(data)
        if offsets is None:
            self.notes.append(f"{name} is damaged: it is not used")
        return offsets or {}
