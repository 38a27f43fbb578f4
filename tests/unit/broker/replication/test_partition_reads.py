"""`broker.replication.partition_reads`: epochs, bounds, other histories. Through a `Partition`."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.replication.followers import TAIL_BYTES_MAX
from broker.replication.partition_reads import PartitionRead
from protocol.errors import ErrorCode
from storage.log.file_records import FileRecords
from tests.unit.broker.replica_fixture import Replicas
from tests.unit.broker.replication.leader_fixture import Leader

MIB = 1 << 20


@pytest.fixture
def replicas(tmp_path: Path) -> Replicas:
    return Replicas(str(tmp_path))


def test_clients_of_another_epoch_are_fenced(replicas: Replicas) -> None:
    partition = replicas.create("t")
    replicas.move_leader("t", 1)
    epoch = partition.leader_epoch
    assert partition.check_leader_epoch(epoch) == ErrorCode.NONE
    assert partition.check_leader_epoch(-1) == ErrorCode.NONE
    assert partition.check_leader_epoch(epoch - 1) == ErrorCode.FENCED_LEADER_EPOCH
    assert partition.check_leader_epoch(epoch + 1) == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_a_reader_ahead_of_its_epoch_is_told_where_it_diverged(replicas: Replicas) -> None:
    partition = replicas.create("t")
    replicas.append("t", b"a", b"b")
    old = partition.leader_epoch
    replicas.move_leader("t", 1)
    replicas.append("t", b"c")
    read = partition.read(3, MIB, 0, True, partition.leader_epoch, old)
    assert read.diverging_epoch == (old, 2)
    assert partition.read(2, MIB, 0, True, partition.leader_epoch, old).diverging_epoch is None


def test_offsets_outside_the_log_are_out_of_range(replicas: Replicas) -> None:
    partition = replicas.create("t")
    replicas.append("t", b"a")
    for offset in (-1, 2):
        read = partition.read(offset, MIB, 0, True)
        assert (read.error, read.high_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert partition.read(1, MIB, 0, True).error == ErrorCode.NONE


# ---- the leader's last batch -------------------------------------------------------------------


@pytest.fixture
def leader(tmp_path: Path) -> Leader:
    """All have its first record: that took the long way."""
    leader = Leader(str(tmp_path))
    leader.append()
    assert leader.fetch(2, 1) is leader.fetch(3, 1) is ErrorCode.NONE
    return leader


def read_by_follower(
    leader: Leader, offset: int, room: int = MIB, last_epoch: int | None = None
) -> PartitionRead:
    partition = leader.partition
    epoch = partition.leader_epoch
    asked = (epoch, epoch if last_epoch is None else last_epoch)
    return partition.read_for_follower(2, 20, offset, room, True, *asked)


def append_plain(leader: Leader, *values: bytes) -> None:
    assert leader.partition.append_plain(leader.replicas.batch(*values or (b"v",)), -1) >= 0


def test_followers_get_the_last_batch_without_a_look_into_the_file(leader: Leader) -> None:
    append_plain(leader, b"first")
    append_plain(leader, b"last")
    from_the_file = read_by_follower(leader, 1)
    assert isinstance(from_the_file.records, FileRecords)
    last = read_by_follower(leader, 2)
    assert last.records == from_the_file.records.read()[-last.size :]
    assert (last.error, last.size) == (ErrorCode.NONE, len(last.records))
    assert (last.high_watermark, last.last_stable_offset, last.log_start_offset) == (1, 1, 0)


def test_what_all_in_sync_have_is_not_kept(leader: Leader) -> None:
    append_plain(leader)
    followers = leader.partition.followers
    assert followers is not None and followers.tail is not None
    leader.fetch(2, 2)
    assert followers.tail is not None
    leader.fetch(3, 2)
    assert (leader.high_watermark, followers.tail) == (2, None)


def test_a_large_batch_is_not_kept(leader: Leader) -> None:
    append_plain(leader, bytes(TAIL_BYTES_MAX))
    assert isinstance(read_by_follower(leader, 1).records, FileRecords)


def test_a_batch_that_does_not_fit_is_read_from_the_file(leader: Leader) -> None:
    append_plain(leader)
    size = read_by_follower(leader, 1).size
    assert read_by_follower(leader, 1, size).records == read_by_follower(leader, 1).records
    assert isinstance(read_by_follower(leader, 1, size - 1).records, FileRecords)


def test_after_another_append_the_batch_is_not_the_last(leader: Leader) -> None:
    append_plain(leader)
    leader.append()  # the long way
    read = read_by_follower(leader, 1)
    assert isinstance(read.records, FileRecords)
    assert read.size > len(leader.replicas.batch(b"v"))


def test_an_epoch_that_does_not_lead_is_told_so_all_the_same(leader: Leader) -> None:
    append_plain(leader)
    epoch = leader.partition.leader_epoch
    assert read_by_follower(leader, 1, last_epoch=epoch + 1).records == b""
    assert leader.fetch(2, 1, epoch=epoch + 1) is ErrorCode.UNKNOWN_LEADER_EPOCH


def test_what_was_deleted_is_out_of_range(leader: Leader) -> None:
    append_plain(leader, b"a", b"b")
    leader.fetch(2, 2)
    leader.fetch(3, 2)  # inside the batch: of no follower of ours, and yet nothing goes wrong
    leader.partition.delete_records(2)
    assert read_by_follower(leader, 1).error is ErrorCode.OFFSET_OUT_OF_RANGE


def test_nothing_is_kept_where_nobody_else_is_in_sync(leader: Leader) -> None:
    leader.commit([1])
    leader.run(60_000)  # nor about to be
    append_plain(leader)
    followers = leader.partition.followers
    assert followers is not None
    assert (leader.high_watermark, followers.tail) == (2, None)


def test_a_log_that_failed_gives_nothing(leader: Leader) -> None:
    append_plain(leader)
    leader.partition.log.offline = True
    assert read_by_follower(leader, 1).error is ErrorCode.KAFKA_STORAGE_ERROR
