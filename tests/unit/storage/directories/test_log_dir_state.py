"""What the checkpoints of a directory say of its logs."""

from __future__ import annotations

import pytest

from ground.memory_filesystem import MemoryFilesystem
from ground.sliced_work import Steps
from ground.topic_partition import TopicPartition
from storage.directories.log_dir_state import LogDirState
from storage.directories.offset_checkpoints import Offsets
from tests.unit.storage.harness import LOG_DIR, NOW_MS, PARTITION, batch, environment, open_log


def test_offsets_of_its_logs() -> None:
    filesystem = MemoryFilesystem()
    ports = environment(filesystem)
    state = LogDirState(LOG_DIR, ports)
    log = open_log(ports=ports)
    state.logs[PARTITION] = log
    for _ in range(3):
        log.append_as_leader(batch(b"a", b"b"), 0, NOW_MS)
    log.update_high_watermark(5)
    assert state.watermarks() == {PARTITION: 5}
    assert state.recovery_offsets() == {PARTITION: 0}
    log.flush()
    assert state.recovery_offsets() == {PARTITION: 6}
    assert state.start_offsets() == {}
    log.increment_log_start_offset(3)
    assert state.start_offsets() == {PARTITION: 3}


def test_many_logs_are_asked_in_slices_and_one_that_goes_meanwhile_is_left_out() -> None:
    ports = environment(MemoryFilesystem())
    state = LogDirState(LOG_DIR, ports)
    log = open_log(ports=ports)
    names = [TopicPartition("t", number) for number in range(1_201)]
    state.logs.update(dict.fromkeys(names, log))
    for steps in (state.recovery_steps(), state.watermark_steps()):
        assert len(offsets_of(steps, state, names[-1])) == 1_200
        state.logs[names[-1]] = log


def offsets_of(steps: Steps[Offsets], state: LogDirState, goes: TopicPartition) -> Offsets:
    """Two slices are full; `goes` is deleted after the first."""
    next(steps)
    del state.logs[goes]
    next(steps)
    with pytest.raises(StopIteration) as end:
        next(steps)
    found: Offsets = end.value.value
    return found


def test_a_checkpoint_that_cannot_be_written_fails_the_directory() -> None:
    filesystem = MemoryFilesystem()
    filesystem.make_dirs(LOG_DIR)
    ports = environment(filesystem)
    state = LogDirState(LOG_DIR, ports)
    filesystem.inject("replace")
    state.high_watermarks.write({PARTITION: 1})
    assert ports.failures.is_offline(LOG_DIR)
