"""The decision when to write a snapshot of the metadata.

Owns: the two triggers, bytes of log since the last one (`metadata.log.max.record.bytes.between.
snapshots`) and its age (`metadata.log.max.snapshot.interval.ms`). Images do not change, so a thread
writes one while the node continues its work. Never: touches a file (`controller.raft.raft_log`).

Follows KIP-630, KIP-876 and Kafka's `SnapshotGenerator`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from controller.metadata.loader import MetadataLoader
from controller.metadata.snapshot import SnapshotId, encode_image
from controller.raft.raft_log import RaftLog
from controller.settings import ControllerSettings
from ground.ports import Scheduler

logger = logging.getLogger(f"ottla.{__name__}")


class SnapshotGenerator:
    """The snapshots of a node: after each commit, check whether one is due."""

    def __init__(
        self,
        settings: ControllerSettings,
        log: RaftLog,
        loader: MetadataLoader,
        scheduler: Scheduler,
        on_taken: Callable[[tuple[int, int], int], None],
    ) -> None:
        """`on_taken(snapshot, start_offset)` is called after a snapshot is written and the log was
        cut to begin at `start_offset`."""
        self._max_bytes = settings.metadata_log_max_record_bytes_between_snapshots
        self._max_age_ms = settings.metadata_log_max_snapshot_interval_ms
        self._log = log
        self._loader = loader
        self._scheduler = scheduler
        self._on_taken = on_taken
        self._at_bytes = 0
        self._at_ms = scheduler.monotonic_ms()
        self._writing = False

    def maybe_generate(self) -> None:
        """Begin to write a snapshot if the log has grown enough or the last snapshot is old enough.
        Do nothing during a write or an open metadata transaction."""
        if self._writing or self._loader.in_transaction:
            return
        grown = self._log.size_bytes - self._at_bytes
        age_ms = self._scheduler.monotonic_ms() - self._at_ms
        if grown >= self._max_bytes or 0 < self._max_age_ms <= age_ms:
            self._generate()

    def snapshot_loaded(self) -> None:
        """Restart both triggers, because the log was replaced by the leader's snapshot."""
        self._at_bytes = self._log.size_bytes
        self._at_ms = self._scheduler.monotonic_ms()

    def _generate(self) -> None:
        """Write a snapshot of the present image in a thread. Then remove from the log the records
        that snapshots replace, and call `on_taken`. An error is logged, and the next trigger tries
        again."""
        image, now_ms = self._loader.image, self._scheduler.wall_ms()
        snapshot_id = SnapshotId(image.offset + 1, image.epoch)
        self._writing = True
        self._at_bytes = self._log.size_bytes
        self._at_ms = self._scheduler.monotonic_ms()

        def written(error: Exception | None) -> None:
            """Clean the log after a snapshot was written, and call `on_taken` with the latest
            snapshot; log an error."""
            self._writing = False
            if error is not None:
                # The log still has all records; the next trigger tries again.
                logger.error("snapshot %s failed: %s", snapshot_id.file_name, error)
                return
            start_offset = self._log.clean()
            self._at_bytes = self._log.size_bytes
            latest = self._log.snapshots[-1]
            self._on_taken((latest.end_offset, latest.epoch), start_offset)
            logger.info("metadata snapshot %s written", snapshot_id.file_name)

        control = self._log.voters.at(snapshot_id.end_offset)
        self._log.write_snapshot(snapshot_id, lambda: encode_image(image, now_ms, control), written)
