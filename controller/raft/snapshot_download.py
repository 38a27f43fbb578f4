"""The download of a snapshot from the leader to this node's disk.

Parts are appended to `<id>.checkpoint.part`. The complete file is read, checked and turned into an
image, fsynced and renamed. Only then may the log be cut (`RaftLog.load_snapshot`). A part file that
a crash leaves behind is removed at the next start.

Owns: the order of these writes, one at a time. Never: requests a part (`controller.raft.raft`).

Follows KIP-630 and Kafka's `KafkaRaftClient.handleFetchSnapshotResponse`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from controller.metadata.image import MetadataImage
from controller.metadata.records import MetadataRecordError
from controller.metadata.snapshot import SnapshotId, decode_snapshot, image_of
from controller.raft import raft_messages as m
from controller.raft.quorum_voters import ControlRecords
from controller.raft.raft_log import RaftLog
from ground.ports import Scheduler
from storage.log.log_dir_failure import is_lack_of_descriptors

logger = logging.getLogger(f"ottla.{__name__}")

AGAIN_AFTER_MS = 1_000
"""The wait in milliseconds before a damaged snapshot is fetched again."""


class _Loaded(NamedTuple):
    image: MetadataImage
    control: ControlRecords
    """The voters, if the quorum is dynamic."""


class SnapshotDownload:
    """The fetched snapshot that is being written."""

    def __init__(
        self,
        log: RaftLog,
        scheduler: Scheduler,
        step: Callable[[m.Event], None],
        fail: Callable[[Exception], None],
    ) -> None:
        """`step(event)` passes an event to Raft; `fail(error)` stops the node after a disk
        failure."""
        self._log = log
        self._scheduler = scheduler
        self._step = step
        self._fail = fail
        self._writing = False
        self._next: m.SnapshotPart | None = None
        self._loaded: dict[tuple[int, int], _Loaded] = {}

    def write(self, part: m.SnapshotPart) -> None:
        """Append `part` to the part file in a thread; after the last part, check and store the
        snapshot. Then pass SnapshotWritten, SnapshotStored or SnapshotUnusable to Raft; a disk
        failure calls `fail`. While another part is written, the newest part waits."""
        if self._writing:
            self._next = part
            return
        self._writing = True
        snapshot_id = SnapshotId(*part.snapshot)

        def written(is_appended: bool | None, error: Exception | None) -> None:
            """Continue after a part is on disk: pass SnapshotWritten to Raft, or store the complete
            snapshot. An error makes it unusable, or stops the node."""
            if is_lack_of_descriptors(error):
                self._unusable(snapshot_id, str(error))
            elif error is not None:
                self._fail(error)
            elif not is_appended:
                self._unusable(snapshot_id, "a part does not follow the one before")
            elif part.position + len(part.data) < part.size:
                self._done(m.SnapshotWritten(part.snapshot, part.position + len(part.data)))
            else:
                self._log.store_snapshot(snapshot_id, _loader_of(snapshot_id), stored)

        def stored(loaded: _Loaded | None, error: Exception | None) -> None:
            """Keep the image of the stored snapshot, and pass SnapshotStored to Raft. A damaged
            snapshot is unusable; a disk failure stops the node."""
            if isinstance(error, MetadataRecordError) or is_lack_of_descriptors(error):
                self._unusable(snapshot_id, str(error))
            elif error is not None:
                self._fail(error)
            else:
                assert loaded is not None
                logger.info("fetched metadata snapshot %s", snapshot_id.file_name)
                self._loaded = {part.snapshot: loaded}
                self._done(m.SnapshotStored(part.snapshot, loaded.control))

        self._log.write_snapshot_part(snapshot_id, part.position, part.data, written)

    def image(self, snapshot: tuple[int, int]) -> MetadataImage:
        """Return the image of `snapshot`, which was just stored, once."""
        return self._loaded.pop(snapshot).image

    def _done(self, event: m.Event) -> None:
        """Pass `event`, the result of a write, to Raft, and write the part that has waited."""
        self._writing = False
        part, self._next = self._next, None
        self._step(event)
        if part is not None:
            self.write(part)

    def _unusable(self, snapshot_id: SnapshotId, why: str) -> None:
        """Log a WARNING with the reason, and pass SnapshotUnusable to Raft after `AGAIN_AFTER_MS`,
        so that the snapshot is fetched again."""
        logger.warning("fetched snapshot %s is of no use: %s", snapshot_id.file_name, why)

        def again() -> None:
            self._done(m.SnapshotUnusable((snapshot_id.end_offset, snapshot_id.epoch)))

        self._scheduler.call_later(AGAIN_AFTER_MS, again)


def _loader_of(snapshot_id: SnapshotId) -> Callable[[bytes], _Loaded]:
    """Return a function that decodes the bytes of this snapshot into its image and its control
    records. It raises MetadataRecordError."""

    def load(data: bytes) -> _Loaded:
        content = decode_snapshot(data)
        return _Loaded(image_of(content, snapshot_id), tuple(content.control))

    return load
