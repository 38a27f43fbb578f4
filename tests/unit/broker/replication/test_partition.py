from __future__ import annotations

from pathlib import Path

import pytest

from broker.replication.partition_reads import READ_COMMITTED, READ_UNCOMMITTED
from controller.metadata.image import PartitionRegistration
from protocol.errors import ErrorCode
from protocol.record_batch import iterate_batches
from tests.unit.broker.replica_fixture import Replicas

MIB = 1 << 20


@pytest.fixture
def replicas(tmp_path: Path) -> Replicas:
    return Replicas(str(tmp_path))


def offsets(records: object) -> list[int]:
    data = memoryview(records.read())  # type: ignore[attr-defined]
    return [header.base_offset for _, header in iterate_batches(data)]


def test_an_append_of_the_only_replica_is_committed_at_once(replicas: Replicas) -> None:
    partition = replicas.create("t")
    assert replicas.append("t", b"a", b"b") == 0
    assert replicas.append("t", b"c") == 2
    assert partition.log.high_watermark == partition.log.log_end_offset == 3
    assert partition.is_replicated_to(3) == ErrorCode.NONE
    read = partition.read(0, MIB, READ_UNCOMMITTED, True)
    assert offsets(read.records) == [0, 2]
    assert (read.high_watermark, read.last_stable_offset, read.log_start_offset) == (3, 3, 0)


def test_an_append_waits_for_the_other_in_sync_replicas(replicas: Replicas) -> None:
    partition = replicas.create("t", replicas=[1, 2])
    replicas.append("t", b"a")
    assert partition.log.high_watermark == 0
    assert partition.is_replicated_to(1) is None
    assert partition.read(0, MIB, READ_UNCOMMITTED, True).size == 0
    replicas.move_leader("t", 1, isr=[1])
    assert partition.is_replicated_to(1) == ErrorCode.NONE
    assert partition.read(0, MIB, READ_COMMITTED, True).size > 0


def test_a_log_knows_whether_others_have_it(replicas: Replicas) -> None:
    assert not replicas.create("alone").log.is_replicated
    assert replicas.create("led", replicas=[1, 2]).log.is_replicated
    followed = replicas.create("followed", replicas=[1, 2], leader=2)
    assert followed.log.is_replicated
    moved = replicas.create("moved").log
    followed.replace_log(moved)
    assert followed.log is moved and moved.is_replicated


def test_acks_all_needs_min_insync_replicas_and_acks_1_does_not(replicas: Replicas) -> None:
    partition = replicas.create("t", replicas=[1, 2], isr=[1], min_insync_replicas="2")
    batch = replicas.batch(b"a")
    now = replicas.scheduler.wall_ms()
    assert partition.append_as_leader(batch, -1, now) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert partition.log.log_end_offset == 0
    replicas.append("t", b"a")
    assert partition.is_replicated_to(1) is None  # nor is what acks=1 wrote committed (KIP-966)


def test_one_replica_satisfies_a_larger_min_insync_replicas(replicas: Replicas) -> None:
    partition = replicas.create("t", min_insync_replicas="2")
    info = partition.append_as_leader(replicas.batch(b"a"), -1, replicas.scheduler.wall_ms())
    assert not isinstance(info, ErrorCode)
    assert info.error == ErrorCode.NONE


def test_a_follower_refuses_clients(replicas: Replicas) -> None:
    partition = replicas.create("t", replicas=[1, 2], leader=2)
    batch, now = replicas.batch(b"a"), replicas.scheduler.wall_ms()
    assert partition.append_as_leader(batch, 1, now) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.read(0, MIB, 0, True).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.delete_records(0)[0] == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_new_epoch_starts_at_the_log_end_even_without_a_write(replicas: Replicas) -> None:
    partition = replicas.create("t")
    replicas.append("t", b"a", b"b")
    first = partition.leader_epoch
    replicas.move_leader("t", 1)
    assert partition.leader_epoch == first + 1
    assert tuple(partition.log.end_offset_for_epoch(first)) == (first, 2)
    # KAFKA-7415: the epoch itself is in the log's memory, though it wrote nothing yet.
    assert tuple(partition.log.end_offset_for_epoch(first + 1)) == (first + 1, 2)


def test_delete_records_moves_the_log_start_up_to_the_high_watermark(replicas: Replicas) -> None:
    partition = replicas.create("t")
    for value in (b"a", b"b", b"c"):
        replicas.append("t", value)
    assert partition.delete_records(4) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert partition.delete_records(-2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert partition.delete_records(2) == (ErrorCode.NONE, 2)
    assert partition.read(1, MIB, 0, True).error == ErrorCode.OFFSET_OUT_OF_RANGE
    assert partition.delete_records(-1) == (ErrorCode.NONE, 3)


def test_a_leader_epoch_that_goes_back_is_a_broken_invariant(replicas: Replicas) -> None:
    partition = replicas.create("t")
    replicas.move_leader("t", 1)
    with pytest.raises(AssertionError, match="leader epoch goes back"):
        partition.apply(PartitionRegistration((1,), (bytes(16),), (1,), 1, 0, 9))


def test_what_goes_in_is_counted(replicas: Replicas) -> None:
    partition = replicas.create("t")
    replicas.append("t", b"a", b"b")
    size = partition.log.segments.size_bytes
    counts = partition.counts
    assert (counts.messages_in, counts.bytes_in, counts.total_produce_requests) == (2, size, 1)
    partition.append_as_leader(memoryview(bytearray(70)), 1, 0)
    assert (counts.failed_produce_requests, counts.bytes_rejected) == (1, 70)
