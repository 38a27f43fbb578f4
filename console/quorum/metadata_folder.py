"""The metadata log of a node on this machine: its newest records decoded, and who led when.

Reads files that a running node writes: what is whole is shown. Owns where it has read to. Asks
nobody whether the records may be seen: `endpoints` does.
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
STEP_BYTES = 4 * 1024 * 1024
EPOCHS_MAX = 100
_INDEX_INTERVAL_BYTES = 64 * 1024
"""More than what lies between two entries of an index, unless a batch is larger."""


class Epoch(NamedTuple):
    """An epoch of the quorum; who led it and since when is unknown if the record is gone."""

    epoch: int
    start: int
    leader: int | None
    time_ms: int | None


def folders(data: Sequence[Path], cluster_id: str) -> list[Path]:
    """Metadata logs of that cluster in the data folders named, or in those of the nodes of a
    cluster's folder; that which was written last comes first."""
    found: dict[Path, None] = {}
    for one in data:
        if (one / FOLDER).is_dir():
            found[one / FOLDER] = None
            continue  # deeper lie the partitions, which are many
        for form in (f"*/{FOLDER}", f"*/*/{FOLDER}"):
            found.update(dict.fromkeys(sorted(one.glob(form))))
    own = [one for one in found if segments(one) and _cluster_of(one.parent) == cluster_id]
    return sorted(own, key=_written, reverse=True)


def _cluster_of(folder: Path) -> str | None:
    """By the file that every data folder has."""
    try:
        lines = (folder / META_PROPERTIES).read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    return next((one.partition("=")[2].strip() for one in lines if _is_id(one)), None)


def _is_id(line: str) -> bool:
    return line.partition("=")[0].strip() == "cluster.id"


def segments(folder: Path) -> list[Path]:
    """In order of their offsets."""
    return sorted(folder.glob("*.log"))


def _written(folder: Path) -> float:
    return max((one.stat().st_mtime for one in segments(folder)), default=0.0)


class MetadataTail:
    """The end of a metadata log, from about TAIL_BYTES before it on."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError."""
        self._folder = folder
        self._segment = segments(folder)[-1]
        size = self._segment.stat().st_size
        self._position = position_before(self._segment, size - TAIL_BYTES)

    @property
    def source(self) -> str:
        """Where the records come from."""
        return str(self._folder)

    def close(self) -> None:
        """Nothing is held open."""

    def read(self, *, with_noops: bool = True) -> list[Shown]:
        """The newest of what is whole and was not read yet. Raises OSError."""
        found: list[Batch] = []
        while True:
            with self._segment.open("rb") as opened:
                opened.seek(self._position)
                batches = _whole_batches(opened.read(STEP_BYTES))
            if batches:
                found += batches
                self._position += batches[-1].position + batches[-1].header.size_in_bytes
            elif not self._next_segment():
                return newest_of(found, with_noops=with_noops)

    def _next_segment(self) -> bool:
        later = [one for one in segments(self._folder) if one.name > self._segment.name]
        if later:
            self._segment, self._position = later[0], 0
        return bool(later)


def _whole_batches(data: bytes) -> list[Batch]:
    """Return the batches of a step, without a last one that is being written."""
    found: list[Batch] = []
    with suppress(CorruptBatch):  # room that the node keeps for what comes
        for position, header in iterate_batches(data, allow_partial_tail=True):
            found.append(Batch(data, position, header))
    if found and not crc_is_valid(*found[-1][:3]):
        found.pop()
    return found


def position_before(segment: Path, wanted: int) -> int:
    """Where a batch begins at or before the byte `wanted`, as the index knows. Raises OSError."""
    if wanted <= 0:
        return 0
    return max((at for _, at in _index(segment) if at <= wanted), default=0)


def _index(segment: Path) -> Iterator[tuple[int, int]]:
    """Offsets since the segment's beginning, and positions."""
    try:
        data = segment.with_suffix(".index").read_bytes()
    except FileNotFoundError:
        return
    size = OFFSET_ENTRY.size
    for offset, position in OFFSET_ENTRY.iter_unpack(data[: len(data) // size * size]):
        if position:  # the rest is room
            yield offset, position


def epochs(folder: Path) -> list[Epoch]:
    """The newest first. Raises OSError."""
    try:
        data = (folder / "leader-epoch-checkpoint").read_bytes()
    except FileNotFoundError:
        return []
    known = decode_leader_epochs(data) or []
    return [_epoch(folder, *one) for one in reversed(known[-EPOCHS_MAX:])]


def _epoch(folder: Path, epoch: int, start: int) -> Epoch:
    """An epoch opens with a record that tells its leader."""
    segment = next((one for one in reversed(segments(folder)) if int(one.stem) <= start), None)
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
