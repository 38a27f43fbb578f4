"""Who may append to a partition, and what an append counts as."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.errors import ErrorCode
from protocol.records import Record
from storage.log.log_append_info import LogAppendInfo
from tests.batches import build_batch
from tests.unit.broker.replica_fixture import Replicas


@pytest.fixture
def replicas(tmp_path: Path) -> Replicas:
    return Replicas(str(tmp_path))


def test_a_plain_batch_is_committed_and_counted(replicas: Replicas) -> None:
    partition = replicas.create("t")
    records = replicas.batch(b"a", b"b")
    size = len(records)
    assert partition.append_plain(records, 1) == -1  # the first one of a log goes the long way
    replicas.append("t", b"a", b"b")
    counts = partition.counts
    before = counts.total_produce_requests, counts.messages_in, counts.bytes_in
    assert partition.append_plain(replicas.batch(b"a", b"b"), 1) == 2
    assert partition.append_plain(replicas.batch(b"a", b"b"), 1) == 4
    after = counts.total_produce_requests, counts.messages_in, counts.bytes_in
    assert [now - then for now, then in zip(after, before, strict=True)] == [2, 4, 2 * size]
    assert partition.log.high_watermark == partition.log.log_end_offset == 6


def test_what_was_not_written_changes_nothing(replicas: Replicas) -> None:
    partition = replicas.create("t")
    for _ in range(2):
        replicas.append("t", b"a")
    damaged = replicas.batch(b"b")
    damaged[-1] ^= 1
    before = partition.counts.total_produce_requests
    assert partition.append_plain(damaged, 1) == -1
    assert partition.counts.total_produce_requests == before
    assert partition.log.high_watermark == partition.log.log_end_offset == 2


@pytest.mark.parametrize("policy", ["compact", "delete"])
def test_an_internal_topic_takes_what_it_is_told_that_it_may(
    replicas: Replicas, policy: str
) -> None:
    partition = replicas.create("__consumer_offsets", cleanup_policy=policy)

    def append(internal_allowed: bool) -> LogAppendInfo | ErrorCode:
        now_ms = replicas.scheduler.wall_ms()
        records = memoryview(build_batch([Record(-1, now_ms, b"k", b"v")]))
        assert partition.append_plain(records, 1) == -1
        return partition.append_as_leader(records, 1, now_ms, internal_allowed=internal_allowed)

    for offset in range(3):
        assert append(False) is ErrorCode.INVALID_TOPIC_EXCEPTION
        assert partition.log.log_end_offset == offset
        info = append(True)
        assert isinstance(info, LogAppendInfo) and info.first_offset == offset
