"""`controller.raft.raft_log`: the folder, batches, snapshots and what they make superfluous."""

from __future__ import annotations

import random

import pytest

from controller.metadata.snapshot import SnapshotId
from controller.raft.quorum_state import ElectionState, QuorumStateError
from controller.raft.raft_log import METADATA_TOPIC_ID, MetadataLogFailure, RaftLog
from storage.log.checkpoints import decode_partition_metadata
from tests.unit.controller.raft_log_fixture import FOLDER, add, new_filesystem, open_log, run


def test_a_new_folder() -> None:
    filesystem = new_filesystem()
    log = open_log(filesystem)
    assert decode_partition_metadata(filesystem.read(f"{FOLDER}/partition.metadata")) == (
        METADATA_TOPIC_ID
    )
    assert (log.start_offset, log.end_offset, log.snapshots) == (0, 0, [])
    assert log.read_election() == ElectionState()


def test_batches_come_back_after_a_crash() -> None:
    filesystem = new_filesystem()
    log = open_log(filesystem)
    add(log, 1, 3)
    add(log, 2)
    filesystem.kill()
    log = open_log(filesystem)
    assert log.end_offset == 4
    assert [raw.header.partition_leader_epoch for raw in log.read(0, 4)] == [1, 2]
    index = log.epoch_index()
    assert (index.last_epoch, index.end_offset_for(1)) == (2, (1, 3))


def test_flushed_batches_stand_a_loss_of_power() -> None:
    filesystem = new_filesystem()
    log = open_log(filesystem)
    add(log, 1, 3)
    errors: list[Exception | None] = []
    log.flush(errors.append)
    run(log)
    add(log, 1, 2)
    filesystem.lose_power(random.Random(5))
    assert errors == [None]
    assert open_log(filesystem).end_offset >= 3


def test_reads_end_where_they_are_told() -> None:
    log = open_log(new_filesystem())
    for _ in range(5):
        add(log, 1, 2)
    assert [raw.header.base_offset for raw in log.read(2, 8)] == [2, 4, 6]
    with pytest.raises(MetadataLogFailure):
        list(log.read(11, 12))


def test_truncation() -> None:
    log = open_log(new_filesystem())
    add(log, 1, 2)
    add(log, 2, 2)
    log.truncate_to(2)
    assert (log.end_offset, log.epoch_index().last_epoch) == (2, 1)


def test_the_vote_is_durable_when_it_is_said_to_be() -> None:
    filesystem = new_filesystem()
    log = open_log(filesystem)
    done: list[Exception | None] = []
    log.persist_election(ElectionState(3, None, 1), done.append)
    assert done == []
    run(log)
    assert done == [None]
    filesystem.lose_power(random.Random(1))
    assert open_log(filesystem).read_election() == ElectionState(3, None, 1)


def test_a_damaged_vote_stops_the_node() -> None:
    filesystem = new_filesystem()
    log = open_log(filesystem)
    filesystem.replace_atomically(f"{FOLDER}/quorum-state", b"{")
    with pytest.raises(QuorumStateError):
        log.read_election()


@pytest.mark.parametrize("vote", [None, ElectionState(1, 1, None)])
def test_a_vote_that_is_missing_or_older_than_the_log_gives_way_to_it(
    vote: ElectionState | None,
) -> None:
    """As Kafka has it: a folder that came back from a copy without its vote can be opened."""
    filesystem = new_filesystem()
    log = open_log(filesystem)
    add(log, 4)
    if vote is not None:
        log.persist_election(vote, lambda error: None)
        run(log)
    assert log.read_election() == ElectionState(4)
    log.persist_election(ElectionState(4, 1, None), lambda error: None)
    run(log)
    assert log.read_election() == ElectionState(4, 1, None)


def test_a_torn_tail_is_told(caplog: pytest.LogCaptureFixture) -> None:
    filesystem = new_filesystem()
    log = open_log(filesystem)
    add(log, 1)
    size = log.size_bytes
    add(log, 1)
    filesystem.kill()
    file = filesystem.open(f"{FOLDER}/{0:020d}.log")
    file.truncate(size + 7)
    file.close()
    assert open_log(filesystem).end_offset == 1
    assert caplog.messages == [
        "__cluster_metadata-0: cut off 7 bytes, removed 0 segment(s); log end offset 1"
    ]


def write_snapshot(log: RaftLog, end_offset: int, epoch: int = 1) -> None:
    log.write_snapshot(SnapshotId(end_offset, epoch), lambda: b"content", lambda _error: None)
    run(log)


def test_snapshots_shorten_the_log() -> None:
    """KAFKA-14238: nothing goes that no snapshot has; the log begins at a snapshot's end."""
    filesystem = new_filesystem()
    log = open_log(filesystem)
    for number in range(1, 5):
        add(log, 1, 10)
        log.set_high_watermark(log.end_offset)
        write_snapshot(log, log.end_offset)
        assert log.clean() == max(0, (number - 1) * 10) or number == 1
    run(log)
    assert [snapshot.end_offset for snapshot in log.snapshots] == [30, 40]
    assert log.start_offset == 30
    names = filesystem.list_dir(FOLDER)
    assert [n for n in names if n.endswith(".checkpoint")] == [
        SnapshotId(30, 1).file_name,
        SnapshotId(40, 1).file_name,
    ]
    assert "00000000000000000000.log" not in names
    again = open_log(filesystem)
    assert (again.start_offset, again.end_offset) == (30, 40)
    assert again.read_snapshot(again.snapshots[-1]) == b"content"


def test_a_snapshot_beyond_the_log_s_end_replaces_it() -> None:
    filesystem = new_filesystem()
    log = open_log(filesystem)
    add(log, 1, 3)
    write_snapshot(log, 50, 4)
    again = open_log(filesystem)
    assert (again.start_offset, again.end_offset) == (50, 50)
    assert again.epoch_index().last_epoch == 4


def test_half_written_snapshots_are_dropped() -> None:
    filesystem = new_filesystem()
    open_log(filesystem)
    for suffix in ("tmp", "part"):
        path = f"{FOLDER}/{SnapshotId(5, 1).file_name}.{suffix}"
        filesystem.open(path, create=True).append(b"half")
    log = open_log(filesystem)
    assert log.snapshots == []
    assert not [name for name in filesystem.list_dir(FOLDER) if "checkpoint." in name]


def test_a_failing_disk() -> None:
    filesystem = new_filesystem()
    log = open_log(filesystem)
    filesystem.inject("append")
    with pytest.raises(MetadataLogFailure):
        add(log, 1)


def test_a_clean_end() -> None:
    filesystem = new_filesystem()
    log = open_log(filesystem)
    add(log, 1, 3)
    log.close()
    assert open_log(filesystem).end_offset == 3
