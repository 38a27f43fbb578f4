"""The metadata log of a node on this machine: its newest records, and the leaders of its epochs.

A running node writes these files, so a batch is read only when it is complete. Owns the position of
the next read. Checks no rights: `endpoints` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from client.cluster_status import METADATA_TOPIC
from console.quorum.metadata_shown import Batch, Shown, newest_of
from controller.metadata.control_records import decode_control_record
from controller.metadata.records import MetadataRecordError
from protocol.control_records import ControlRecordType
from protocol.record_batch import CorruptBatch, crc_is_valid, iterate_batches
from protocol.records import iterate_records
from storage.log.checkpoints import META_PROPERTIES, decode_leader_epochs
from storage.log.indexes import OFFSET_ENTRY

FOLDER = f"{METADATA_TOPIC}-0"
TAIL_BYTES = 1024 * 1024
"""The bytes before the end of the log that are read first."""
STEP_BYTES = 4 * 1024 * 1024
EPOCHS_MAX = 100
_INDEX_INTERVAL_BYTES = 64 * 1024
"""More than the bytes between two entries of an index, unless a batch is larger."""


class Epoch(NamedTuple):
    """An epoch of the quorum, from offset `start` on, with its leader and start in ms since 1970.

    `leader` and `time_ms` are None if the epoch's first record is no longer in the log.
    """

    epoch: int
    start: int
    leader: int | None
    time_ms: int | None


def folders(data: Sequence[Path], cluster_id: str) -> list[Path]:
    """Return the folders of the cluster's metadata logs, the last written first.

    `data` are log directories, or folders that have log directories one or two levels below.
    """
    logs: dict[Path, None] = {}
    for folder in data:
        if (folder / FOLDER).is_dir():
            logs[folder / FOLDER] = None
            continue  # the levels below have the partitions, which are many
        for form in (f"*/{FOLDER}", f"*/*/{FOLDER}"):
            logs.update(dict.fromkeys(sorted(folder.glob(form))))
    own = [log for log in logs if segments(log) and _cluster_of(log.parent) == cluster_id]
    return sorted(own, key=_written, reverse=True)


def _cluster_of(folder: Path) -> str | None:
    """Return the cluster id in the `meta.properties` of a log directory, None if it has none."""
    try:
        lines = (folder / META_PROPERTIES).read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    return next((line.partition("=")[2].strip() for line in lines if _is_id(line)), None)


def _is_id(line: str) -> bool:
    return line.partition("=")[0].strip() == "cluster.id"


def segments(folder: Path) -> list[Path]:
    """Return the `.log` files of a folder in the order of their offsets."""
    return sorted(folder.glob("*.log"))


def _written(folder: Path) -> float:
    return max((segment.stat().st_mtime for segment in segments(folder)), default=0.0)


class MetadataTail:
    """A reader of new records of a metadata log, from about TAIL_BYTES before its end on."""

    def __init__(self, folder: Path) -> None:
        """Begin at the last segment of the log in `folder`. Raises OSError."""
        self._folder = folder
        self._segment = segments(folder)[-1]
        size = self._segment.stat().st_size
        self._position = position_before(self._segment, size - TAIL_BYTES)

    @property
    def source(self) -> str:
        """The folder that the records come from."""
        return str(self._folder)

    def close(self) -> None:
        """Do nothing: each `read` closes its file. A LeaderTail has a connection to close."""

    def read(self, *, with_noops: bool = True) -> list[Shown]:
        """Return the newest complete records since the last call, at most RECORDS_MAX.

        Raises OSError.
        """
        read: list[Batch] = []
        while True:
            with self._segment.open("rb") as opened:
                opened.seek(self._position)
                batches = _whole_batches(opened.read(STEP_BYTES))
            if batches:
                read += batches
                self._position += batches[-1].position + batches[-1].header.size_in_bytes
            elif not self._next_segment():
                return newest_of(read, with_noops=with_noops)

    def _next_segment(self) -> bool:
        later = [log for log in segments(self._folder) if log.name > self._segment.name]
        if later:
            self._segment, self._position = later[0], 0
        return bool(later)


def _whole_batches(data: bytes) -> list[Batch]:
    """Return the batches at the beginning of `data`, without a last batch that is incomplete."""
    batches: list[Batch] = []
    with suppress(CorruptBatch):  # the zeros of space that the node has preallocated
        for position, header in iterate_batches(data, allow_partial_tail=True):
            batches.append(Batch(data, position, header))
    if batches and not crc_is_valid(*batches[-1][:3]):
        batches.pop()
    return batches


def position_before(segment: Path, wanted: int) -> int:
    """Return the start of a batch at or before byte `wanted`, by the index. Raises OSError.

    Returns 0 if the index has no entry so early.
    """
    if wanted <= 0:
        return 0
    return max((at for _, at in _index(segment) if at <= wanted), default=0)


def _index(segment: Path) -> Iterator[tuple[int, int]]:
    """Yield (offset minus the base offset, position) of each entry of a segment's index."""
    try:
        data = segment.with_suffix(".index").read_bytes()
    except FileNotFoundError:
        return
    size = OFFSET_ENTRY.size
    for offset, position in OFFSET_ENTRY.iter_unpack(data[: len(data) // size * size]):
        if position:  # zeros are preallocated space
            yield offset, position


def epochs(folder: Path) -> list[Epoch]:
    """Return the last EPOCHS_MAX epochs of the log, the newest first. Raises OSError."""
    try:
        data = (folder / "leader-epoch-checkpoint").read_bytes()
    except FileNotFoundError:
        return []
    starts = decode_leader_epochs(data) or []
    return [_epoch(folder, *start) for start in reversed(starts[-EPOCHS_MAX:])]


def _epoch(folder: Path, epoch: int, start: int) -> Epoch:
    """Return an epoch with the leader and time of its first record, a LeaderChange record."""
    segment = next((log for log in reversed(segments(folder)) if int(log.stem) <= start), None)
    if segment is None:
        return Epoch(epoch, start, None, None)
    before = start - int(segment.stem)
    position = max((at for offset, at in _index(segment) if offset <= before), default=0)
    with segment.open("rb") as opened:
        opened.seek(position)
        data = opened.read(_INDEX_INTERVAL_BYTES)
    try:
        for at, header in iterate_batches(data, allow_partial_tail=True):
            if header.base_offset == start and header.is_control:
                for record in iterate_records(data, at):
                    kind, message = decode_control_record(record)
                    if kind == ControlRecordType.LEADER_CHANGE:
                        return Epoch(epoch, start, message.leader_id, record.timestamp)
    except (CorruptBatch, MetadataRecordError):
        pass
    return Epoch(epoch, start, None, None)
