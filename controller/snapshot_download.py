"""A snapshot on its way from the leader to this node's disk.

Parts are appended to `<id>.checkpoint.part`; the whole is read back, checked and made an image,
fsynced and renamed. Only then may the log be cut (`RaftLog.load_snapshot`). A part file that a
crash leaves behind is removed at the next start.

Owns: the order of these writes, one at a time. Never: asks for a part (`controller.raft`).

Follows KIP-630 and Kafka's `KafkaRaftClient.handleFetchSnapshotResponse`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from controller import raft_messages as m
from controller.metadata_image import MetadataImage
from controller.metadata_records import MetadataRecordError
from controller.metadata_snapshot import SnapshotId, decode_snapshot, image_of
from controller.raft_log import RaftLog
from storage.ports import Scheduler

logger = logging.getLogger(__name__)

AGAIN_AFTER_MS = 1_000
"""Before a snapshot that came damaged is asked for again."""


class SnapshotDownload:
    """The fetched snapshot that is being written."""

    def __init__(
        self,
        log: RaftLog,
        scheduler: Scheduler,
        step: Callable[[m.Event], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self._log = log
        self._scheduler = scheduler
        self._step = step
        self._fail = fail
        self._writing = False
        self._next: m.SnapshotPart | None = None
        self._images: dict[tuple[int, int], MetadataImage] = {}

    def write(self, part: m.SnapshotPart) -> None:
        """Write `part`; Raft hears of it when that is done."""
        if self._writing:
            self._next = part
            return
        self._writing = True
        snapshot_id = SnapshotId(*part.snapshot)

        def written(whole: bool | None, error: Exception | None) -> None:
            if error is not None:
                self._fail(error)
            elif not whole:
                self._unusable(snapshot_id, "a part does not follow the one before")
            elif part.position + len(part.data) < part.size:
                self._done(m.SnapshotWritten(part.snapshot, part.position + len(part.data)))
            else:
                self._log.store_snapshot(snapshot_id, _image(snapshot_id), stored)

        def stored(image: MetadataImage | None, error: Exception | None) -> None:
            if isinstance(error, MetadataRecordError):
                self._unusable(snapshot_id, str(error))
            elif error is not None:
                self._fail(error)
            else:
                assert image is not None
                logger.info("fetched metadata snapshot %s", snapshot_id.file_name)
                self._images = {part.snapshot: image}
                self._done(m.SnapshotStored(part.snapshot))

        self._log.write_snapshot_part(snapshot_id, part.position, part.data, written)

    def image(self, snapshot: tuple[int, int]) -> MetadataImage:
        """What is in `snapshot`, which was just stored."""
        return self._images.pop(snapshot)

    def _done(self, event: m.Event) -> None:
        self._writing = False
        part, self._next = self._next, None
        self._step(event)
        if part is not None:
            self.write(part)

    def _unusable(self, snapshot_id: SnapshotId, why: str) -> None:
        logger.warning("fetched snapshot %s is of no use: %s", snapshot_id.file_name, why)

        def again() -> None:
            self._done(m.SnapshotUnusable((snapshot_id.end_offset, snapshot_id.epoch)))

        self._scheduler.call_later(AGAIN_AFTER_MS, again)


def _image(snapshot_id: SnapshotId) -> Callable[[bytes], MetadataImage]:
    def image(data: bytes) -> MetadataImage:
        content = decode_snapshot(data)
        if content.control:
            raise MetadataRecordError("its quorum is dynamic (kraft.version 1)")
        return image_of(content, snapshot_id)

    return image
