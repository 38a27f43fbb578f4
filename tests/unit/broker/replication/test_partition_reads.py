"""`broker.replication.partition_reads`: epochs, bounds, other histories. Through a `Partition`."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.errors import ErrorCode
from tests.unit.broker.replica_fixture import Replicas

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
