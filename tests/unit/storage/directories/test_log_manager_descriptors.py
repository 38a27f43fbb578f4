"""A log manager whose process, or system, has no file descriptor left, at any moment."""

from __future__ import annotations

import errno
from contextlib import suppress

import pytest

from ground.memory_filesystem import MemoryFilesystem
from storage.log.end_transaction import append_end_txn_marker
from storage.log.log_dir_failure import LogDirFailure
from storage.log.retention import delete_old_segments
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, batch, offset_by_time, read_all
from tests.unit.storage.log_manager_fixture import (
    SMALL,
    TOPIC_ID,
    A,
    B,
    Node,
    append,
    stop,
)


def live(node: Node) -> None:
    """What opens files. What is refused is refused."""
    manager, offset = node.manager, 0
    for index in range(2):
        with suppress(LogDirFailure):
            manager.get_or_create(("t", index), TOPIC_ID)
    for log in manager.logs:
        for _ in range(30):
            log.append_as_leader(batch(b"v" * 50), 0, NOW_MS)
        sent = batch(b"v", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
        log.append_as_leader(sent, 0, NOW_MS)
        append_end_txn_marker(log, 7, 0, 0, False, 0, NOW_MS, 0)
        log.update_high_watermark(log.log_end_offset)
        log.read(offset, 1 << 20)
        log.flush()
        with suppress(LogDirFailure):
            offset_by_time(log, NOW_MS)
        with suppress(LogDirFailure):
            log.truncate_to(max(log.log_end_offset - 5, 0))
        log.increment_log_start_offset(min(12, log.high_watermark))
        log.update_config(LogConfig(segment_bytes=1000, retention_bytes=2000))
        with suppress(LogDirFailure):
            delete_old_segments(log, NOW_MS)
    manager.upkeep.checkpoint_recovery_points()
    manager.upkeep.checkpoint_high_watermarks()
    moved = manager.get(("t", 0))
    if moved is not None and not moved.offline:
        with suppress(LogDirFailure):
            manager.future_logs.create(moved, B if moved.log_dir == A else A, SMALL)
            manager.replace_with_future(("t", 0))
    with suppress(LogDirFailure):
        manager.delete(("t", 1))
    node.scheduler.run_for(200_000)


@pytest.mark.parametrize(
    "operation", ["open", "read", "replace", "sync_dir", "list_dir", "remove_tree"]
)
def test_a_lack_of_descriptors_takes_no_directory_offline_wherever_it_comes(
    operation: str,
) -> None:
    for skip in range(1_000):
        node = Node()
        node.start()
        assert isinstance(node.filesystem, MemoryFilesystem)
        node.filesystem.inject(operation, errno.EMFILE, skip=skip)
        live(node)
        assert node.manager.online_dirs == [A, B], (operation, skip)
        if node.filesystem.faults_left:
            break
        # Afterwards what is in service takes records, and gives all that it has.
        for log in node.manager.logs:
            if not log.offline:
                append(log)
                read_all(log)
        stop(node.manager)
        node.start()
        for log in node.manager.logs:
            append(log)
    assert operation == "list_dir" or skip > 1
