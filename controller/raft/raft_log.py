"""The metadata log on disk: `__cluster_metadata-0` with its batches, snapshots and quorum-state.

Owns: the folder, its state when it is opened, and the removal of records that snapshots have
replaced. Never: decides which records are appended or committed (`controller.raft.raft`), nor when
a snapshot is taken.

A disk failure is treated like that of every log directory (`storage.log.log_dir_failure`); since
this is the metadata directory, the process ends.

Follows KIP-630 and Kafka's `KafkaRaftLog` and `FileQuorumStateStore`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from controller.metadata.log_check import check_whole
from controller.metadata.records import MetadataRecordError
from controller.metadata.snapshot import SnapshotId, snapshot_id_of
from controller.metadata.topic_names import CLUSTER_METADATA_TOPIC
from controller.raft.epoch_index import EpochIndex
from controller.raft.quorum_state import ElectionState, QuorumStateError, decode_quorum_state
from controller.raft.quorum_voters import ControlRecords, QuorumVoters, voters_on_disk
from controller.settings import ControllerSettings
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from protocol.record_batch import RecordBatchHeader, iterate_batches
from storage.log.checkpoints import encode_partition_metadata
from storage.log.fetch_data import FetchDataInfo
from storage.log.log_append_info import LogAppendInfo
from storage.log.log_environment import LogEnvironment
from storage.log.retention import delete_segments_before_log_start
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig

logger = logging.getLogger(f"ottla.{__name__}")

T = TypeVar("T")

METADATA_TOPIC_ID = bytes(15) + b"\x01"
METADATA_PARTITION = TopicPartition(CLUSTER_METADATA_TOPIC, 0)
MAX_BATCH_BYTES = 8 << 20
READ_BYTES = 1 << 20
SNAPSHOTS_KEPT = 2

_QUORUM_STATE = "quorum-state"


class MetadataLogFailure(Exception):
    """A metadata log that could not be written or read; the node has to stop."""


class RawBatch(NamedTuple):
    """A batch as it is in the log."""

    header: RecordBatchHeader
    data: memoryview


class RaftLog:
    """A node's copy of the metadata log. All calls come from one thread."""

    def __init__(self, settings: ControllerSettings, environment: LogEnvironment) -> None:
        """Open the log, or create it, and finish what a crash interrupted. Raises OSError, and
        MetadataRecordError if the log's beginning is missing, or if a quorum of this node alone
        would lose records."""
        self._filesystem, self._environment = environment.filesystem, environment
        self.voters = QuorumVoters(settings.static_voters)
        on_disk = voters_on_disk(self._filesystem, settings.metadata_log_dir)
        self._alone = (on_disk or settings.static_voters).is_only(settings.replica_key)
        self.directory = f"{settings.metadata_log_dir}/{METADATA_PARTITION}"
        self._make_directory(settings.metadata_log_dir)
        self.snapshots = self._find_snapshots()
        latest = self.snapshots[-1].end_offset if self.snapshots else 0
        if self._alone:
            check_whole(self._filesystem, self.directory, latest)
        config = LogConfig(
            segment_bytes=settings.metadata_log_segment_bytes,
            segment_ms=settings.metadata_log_segment_ms,
            max_message_bytes=MAX_BATCH_BYTES,
            retention_ms=-1,
        )
        self._log = UnifiedLog(
            environment,
            settings.metadata_log_dir,
            self.directory,
            METADATA_PARTITION,
            config,
            topic_id=METADATA_TOPIC_ID,
            clean=False,  # the log is read to its end in any case, so all of it is checked
            recovery_point=latest,
            log_start_offset=0,
        )
        line = self._log.recovery.line(self._log.log_end_offset)
        if line:
            logger.warning("%s: %s", METADATA_PARTITION, line)
        if self.snapshots and self._is_behind(self.snapshots[-1]):
            # The leader's snapshot was stored, but the process ended before the log was restarted.
            self._begin_at(self.snapshots[-1])
        else:
            self._begin_at_a_snapshot()

    def _begin_at_a_snapshot(self) -> None:
        """Finish a `clean` that a crash interrupted: remove the snapshots before the log's start,
        and move the start to the end of the oldest other. Raises MetadataRecordError if the log
        does not begin at 0 and has no snapshot."""
        start = self._log.log_start_offset
        self._remove_snapshots(
            [snapshot for snapshot in self.snapshots if snapshot.end_offset < start]
        )
        self.snapshots = [snapshot for snapshot in self.snapshots if snapshot.end_offset >= start]
        if self.snapshots:
            oldest = self.snapshots[0].end_offset
            self._log.update_high_watermark(oldest)
            self._log.increment_log_start_offset(oldest)
        elif start:
            raise MetadataRecordError(
                f"{self.directory} begins at offset {start}, and the snapshot of all before it is "
                "missing"
            )

    def _is_behind(self, snapshot: SnapshotId) -> bool:
        """Return whether the log lacks records of `snapshot`, or has different records in their
        place."""
        end = self._log.log_end_offset
        if self._log.log_start_offset == end == snapshot.end_offset:
            return False
        return end < snapshot.end_offset or self._log.latest_epoch < snapshot.epoch

    def _begin_at(self, snapshot: SnapshotId) -> None:
        """Remove all records and earlier snapshots: the log continues at the end of `snapshot`."""
        self._log.truncate_fully_and_start_at(snapshot.end_offset)
        self._log.update_high_watermark(snapshot.end_offset)
        self._remove_snapshots([other for other in self.snapshots if other < snapshot])
        self.snapshots = [other for other in self.snapshots if other >= snapshot]

    def _make_directory(self, log_dir: str) -> None:
        """Create the folder of the metadata log with its `partition.metadata`, unless it exists.
        Raises OSError."""
        if self._filesystem.exists(self.directory):
            return
        self._filesystem.make_dirs(self.directory)
        data = encode_partition_metadata(METADATA_TOPIC_ID)
        self._filesystem.replace_atomically(
            f"{self.directory}/partition.metadata", data, sync=False
        )
        self._filesystem.sync_dir(log_dir)

    # --- bounds --------------------------------------------------------------------------------

    @property
    def start_offset(self) -> int:
        """The first offset that can be read."""
        return self._log.log_start_offset

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self._log.log_end_offset

    @property
    def size_bytes(self) -> int:
        """The size of all batches on disk, in bytes."""
        return self._log.segments.size_bytes

    def epoch_index(self) -> EpochIndex:
        """Return the index of epochs and offsets that Raft needs."""
        snapshot = self.snapshots[-1] if self.snapshots else None
        return EpochIndex(
            self.start_offset,
            self.end_offset,
            self._log.leader_epochs.entries,
            None if snapshot is None else (snapshot.end_offset, snapshot.epoch),
            self.snapshots[0].epoch if snapshot is not None and self.start_offset else 0,
        )

    # --- batches -------------------------------------------------------------------------------

    def append(self, batches: bytearray | memoryview, epoch: int) -> None:
        """Append batches that have their offsets and epochs; they are durable after a `flush`.
        Raises MetadataLogFailure."""
        info: LogAppendInfo = self._log.append_as_follower(memoryview(batches), epoch)
        if info.error is not ErrorCode.NONE:
            raise MetadataLogFailure(f"append to the metadata log failed: {info.error_message}")

    def truncate_to(self, offset: int) -> None:
        """Remove the batch that holds `offset`, and all batches after it. Raises LogDirFailure."""
        self._log.truncate_to(offset)

    def flush(self, done: Callable[[Exception | None], None]) -> None:
        """Make the present log durable, then call `done(error)`; None: it is durable."""
        self._log.flush(done)

    def set_high_watermark(self, high_watermark: int) -> None:
        """Set the high watermark: all records below it are committed."""
        self._log.update_high_watermark(high_watermark)

    def read(self, start_offset: int, end_offset: int) -> Iterator[RawBatch]:
        """Yield the batches from `start_offset` to `end_offset`, exclusive. Raises
        MetadataLogFailure."""
        while start_offset < end_offset:
            data = self.read_slice(start_offset, end_offset)
            if not len(data):
                raise MetadataLogFailure(f"the metadata log has nothing at offset {start_offset}")
            view = memoryview(data)
            for position, header in iterate_batches(view, allow_partial_tail=True):
                start_offset = header.next_offset
                yield RawBatch(header, view[position : position + header.size_in_bytes])

    def read_voters(self, snapshot: ControlRecords) -> None:
        """Read `voters` from `snapshot`, the control records of the latest snapshot, and from the
        log after it. Raises MetadataLogFailure, and MetadataRecordError if a record of them is
        unknown."""
        start = self.snapshots[-1].end_offset if self.snapshots else self.start_offset
        self.voters.snapshot_loaded(start, snapshot)
        self.voters.log_read(batch.data for batch in self.read(start, self.end_offset))

    def read_slice(self, start_offset: int, end_offset: int, max_bytes: int = READ_BYTES) -> bytes:
        """Return bytes of the log from the batch that holds `start_offset`, only of batches wholly
        below `end_offset`. The first batch is whole; the last may be cut at `max_bytes`. Raises
        MetadataLogFailure."""
        info: FetchDataInfo = self._log.read(start_offset, max_bytes, end_offset)
        if info.error is not ErrorCode.NONE:
            raise MetadataLogFailure(
                f"read of the metadata log at offset {start_offset} failed: {info.error.name}"
            )
        records = info.records
        return records if isinstance(records, bytes) else records.read()

    # --- quorum-state --------------------------------------------------------------------------

    def read_election(self) -> ElectionState:
        """Return the persisted epoch, vote and leader of `quorum-state`. Raises OSError and
        QuorumStateError.

        If the file is older than the log, or missing, return the log's latest epoch without vote
        and leader, as Kafka does. Log a WARNING then, unless the log has no epoch yet.
        """
        path, election = f"{self.directory}/{_QUORUM_STATE}", ElectionState()
        if self._filesystem.exists(path):
            try:
                election = decode_quorum_state(self._filesystem.read(path))
            except QuorumStateError as error:
                how = "it" if self._alone else "the whole folder, while others lead,"
                raise QuorumStateError(f"{path}: {error}; remove {how} and start again") from error
        last_epoch = self.epoch_index().last_epoch
        if election.epoch < last_epoch:
            logger.warning("%s: epoch %d, the log has %d", path, election.epoch, last_epoch)
            return ElectionState(last_epoch)
        return election

    def persist_election(
        self, election: ElectionState, done: Callable[[Exception | None], None]
    ) -> None:
        """Write and fsync `quorum-state` in a thread, then call `done(error)`; None: it is
        durable."""
        path, filesystem = f"{self.directory}/{_QUORUM_STATE}", self._filesystem
        data = self.voters.encode_election(election)
        self._environment.blocking.submit(
            lambda: filesystem.replace_atomically(path, data), lambda _, error: done(error)
        )

    # --- snapshots -----------------------------------------------------------------------------

    def _find_snapshots(self) -> list[SnapshotId]:
        """Return the snapshots in the folder, oldest first, and remove incomplete ones. Raises
        OSError."""
        snapshots = []
        for name in self._filesystem.list_dir(self.directory):
            snapshot_id = snapshot_id_of(name)
            if snapshot_id is not None:
                snapshots.append(snapshot_id)
            elif ".checkpoint." in name:
                self._filesystem.remove(f"{self.directory}/{name}")  # incomplete
        return sorted(snapshots)

    def read_snapshot(self, snapshot_id: SnapshotId) -> bytes:
        """Return the content of a snapshot file. Raises OSError."""
        return self._filesystem.read(f"{self.directory}/{snapshot_id.file_name}")

    def write_snapshot(
        self,
        snapshot_id: SnapshotId,
        encode: Callable[[], bytes],
        done: Callable[[Exception | None], None],
    ) -> None:
        """Write a snapshot file in a thread, add it to `snapshots`, then call `done(error)`. The
        thread calls `encode`; the data that this reads must not change."""
        path, filesystem = f"{self.directory}/{snapshot_id.file_name}", self._filesystem

        def written(_: object, error: Exception | None) -> None:
            """Add the snapshot if it was written, and call `done(error)`."""
            if error is None:
                self._add_snapshot(snapshot_id)
            done(error)

        self._environment.blocking.submit(
            lambda: filesystem.replace_atomically(path, encode()), written
        )

    def _add_snapshot(self, snapshot_id: SnapshotId) -> None:
        """Add a complete snapshot to `snapshots`, or remove its file if the log starts after its
        end."""
        if snapshot_id.end_offset < self.start_offset:
            self._remove_snapshots([snapshot_id])  # a newer one was loaded meanwhile
            return
        others = [other for other in self.snapshots if other != snapshot_id]
        self.snapshots = sorted([*others, snapshot_id])

    def read_snapshot_part(
        self,
        snapshot_id: SnapshotId,
        position: int,
        max_bytes: int,
        done: Callable[[tuple[int, bytes] | None, Exception | None], None],
    ) -> None:
        """Read up to `max_bytes` from `position` in a thread, then call `done((size, data),
        error)`; `size` is that of the file."""
        path, filesystem = f"{self.directory}/{snapshot_id.file_name}", self._filesystem

        def read() -> tuple[int, bytes]:
            """Return the file's size and the part's bytes. Raises OSError."""
            file = filesystem.open(path)
            try:
                return file.size, file.pread(max_bytes, position)
            finally:
                file.close()

        self._environment.blocking.submit(read, done)

    def write_snapshot_part(
        self,
        snapshot_id: SnapshotId,
        position: int,
        data: bytes | memoryview,
        done: Callable[[bool | None, Exception | None], None],
    ) -> None:
        """Append to the part file of a snapshot that is being fetched; position 0 empties it.

        Call `done(True, None)` if the data was appended, `done(False, None)` if the file does not
        end at `position` and is unchanged.
        """
        path, filesystem = self._part_path(snapshot_id), self._filesystem

        def write() -> bool:
            """Append the part, and return True; position 0 empties the file first. Return False if
            the file does not end at `position`. Raises OSError."""
            file = filesystem.open(path, create=position == 0)
            try:
                if position == 0 and file.size:
                    file.truncate(0)
                if file.size != position:
                    return False
                file.append(data)
                return True
            finally:
                file.close()

        self._environment.blocking.submit(write, done)

    def store_snapshot(
        self,
        snapshot_id: SnapshotId,
        check: Callable[[bytes], T],
        done: Callable[[T | None, Exception | None], None],
    ) -> None:
        """Check the bytes of a fetched snapshot in a thread, make its part file durable, rename it,
        and add it to `snapshots`. Then call `done(result of check, error)`.

        If `check` raises MetadataRecordError, `done` gets it and the part file is removed.
        """
        part, filesystem = self._part_path(snapshot_id), self._filesystem
        path = f"{self.directory}/{snapshot_id.file_name}"

        def store() -> T:
            """Check the downloaded file, make it durable under its final name, and return the
            result of the check. An invalid file is removed. Raises MetadataRecordError, OSError."""
            try:
                checked = check(filesystem.read(part))
            except MetadataRecordError:
                filesystem.remove(part)
                raise
            file = filesystem.open(part)
            try:
                file.sync()
            finally:
                file.close()
            filesystem.rename(part, path)
            filesystem.sync_dir(self.directory)
            return checked

        def stored(checked: T | None, error: Exception | None) -> None:
            """Add the snapshot if it was stored, and call `done(checked, error)`."""
            if error is None:
                self._add_snapshot(snapshot_id)
            done(checked, error)

        self._environment.blocking.submit(store, stored)

    def load_snapshot(self, snapshot_id: SnapshotId) -> None:
        """Restart the log, empty, at the end of a stored snapshot, and remove the earlier
        snapshots. Raises LogDirFailure."""
        self._begin_at(snapshot_id)

    def _part_path(self, snapshot_id: SnapshotId) -> str:
        """Return the path of the part file, into which a snapshot is fetched."""
        return f"{self.directory}/{snapshot_id.file_name}.part"

    def clean(self) -> int:
        """Remove all but the two latest snapshots, and the records before the older of them. Return
        the log's new start.

        The log always begins at 0 or at the end of a snapshot, so that a replica without the
        removed records can fetch the snapshot.
        """
        unwanted = self.snapshots[:-SNAPSHOTS_KEPT]
        self.snapshots = self.snapshots[-SNAPSHOTS_KEPT:]
        if self.snapshots:
            self._log.roll()
            self._log.increment_log_start_offset(self.snapshots[0].end_offset)
            delete_segments_before_log_start(self._log)
        self._remove_snapshots(unwanted)
        return self.start_offset

    def _remove_snapshots(self, unwanted: list[SnapshotId]) -> None:
        """Remove the files of snapshots in a thread; an error is ignored. `snapshots` does not
        change."""
        paths = [f"{self.directory}/{snapshot.file_name}" for snapshot in unwanted]
        filesystem = self._filesystem

        def remove() -> None:
            for path in paths:
                filesystem.remove(path)

        if paths:
            self._environment.blocking.submit(remove, lambda _, error: None)

    def close(self) -> None:
        """Close the log cleanly. Raises LogDirFailure."""
        self._log.close()
