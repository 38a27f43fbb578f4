"""The short way of a batch: it leaves the same log as the long one, or does nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ground.memory_filesystem import MemoryFilesystem
from protocol.compression import Codec
from protocol.errors import ErrorCode
from protocol.record_batch import TimestampType
from storage.log import unified_log
from storage.log.log_append_info import LogAppendInfo
from storage.log.plain_append import append_plain
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import (
    NOW_MS,
    batch,
    environment,
    offset_by_time,
    open_log,
    read_all,
)

CONFIG = LogConfig(segment_bytes=700, index_interval_bytes=150)


def state_of(log: UnifiedLog) -> Any:
    """All that later appends, reads and elections depend on."""
    return (
        log.log_start_offset,
        log.log_end_offset,
        log.segments.base_offsets,
        log.leader_epochs.entries,
        [[getattr(one, slot) for slot in one.__slots__] for one in log.producers],
        read_all(log),
        [(one.max_timestamp, one.largest_timestamp(), one.size) for one in log.segments],
        [offset_by_time(log, NOW_MS + moment) for moment in (-5, 0, 3, 50)],
    )


def told(info: LogAppendInfo) -> Any:
    return (
        info.error,
        info.first_offset,
        info.last_offset,
        info.max_timestamp,
        info.log_append_time,
        info.log_start_offset,
        info.size,
    )


def the_long_way(monkeypatch: pytest.MonkeyPatch, log: UnifiedLog) -> UnifiedLog:
    def append(one: UnifiedLog, *args: Any, **options: Any) -> int:
        return -1 if one is log else append_plain(one, *args, **options)

    monkeypatch.setattr(unified_log, "append_plain", append)
    return log


PRODUCED = st.fixed_dictionaries(
    {
        "count": st.integers(1, 3),
        "timestamp": st.integers(NOW_MS - 5, NOW_MS + 5),
        "epoch_more": st.sampled_from([0, 0, 0, 0, 1]),
        "producer_id": st.sampled_from([-1, -1, 7, 7, 8]),
        "sequence_more": st.sampled_from([0, 0, 0, 0, 1]),
        "transactional": st.sampled_from([False, False, False, True]),
        "compression": st.sampled_from([Codec.NONE, Codec.NONE, Codec.GZIP]),
        "timestamp_type": st.sampled_from([0, 0, 1]),
        "offset_more": st.sampled_from([0, 0, 0, 0, 2, -1]),
        "damage": st.sampled_from([None, None, None, None, "crc", "cut", "more"]),
        "asked_epoch_less": st.sampled_from([0, 0, 0, 1]),
    }
)


@settings(max_examples=150)
@given(st.lists(PRODUCED, min_size=1, max_size=12))
def test_both_ways_leave_the_same_log(produced: list[dict[str, Any]]) -> None:
    short, long = open_log(config=CONFIG), open_log(config=CONFIG)
    with pytest.MonkeyPatch.context() as monkeypatch:
        the_long_way(monkeypatch, long)
        epoch, sequences = 3, {7: 0, 8: 0}
        for one in produced:
            epoch += one["epoch_more"]
            pid = one["producer_id"]
            fields: dict[str, Any] = {}
            if pid >= 0:
                sequence = sequences[pid] + one["sequence_more"]
                sequences[pid] = sequence + one["count"]
                fields = {"producer_id": pid, "producer_epoch": 0, "base_sequence": sequence}
                fields["is_transactional"] = one["transactional"]
            sent = batch(
                *[b"v" * 20] * one["count"],
                timestamp=one["timestamp"],
                base_offset=max(short.log_end_offset + one["offset_more"], 0),
                leader_epoch=epoch,
                compression=one["compression"],
                timestamp_type=TimestampType(one["timestamp_type"]),
                **fields,
            )
            if one["damage"] == "crc":
                sent[-1] ^= 1
            elif one["damage"] == "cut":
                sent = sent[:-1]
            elif one["damage"] == "more":
                sent = memoryview(bytes(sent) + bytes(30))
            asked = epoch - one["asked_epoch_less"]
            copy = memoryview(bytes(sent))
            assert told(short.append_as_follower(sent, asked)) == told(
                long.append_as_follower(copy, asked)
            )
            assert state_of(short) == state_of(long)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_what_follows_the_end_is_copied_in_one_go(
    monkeypatch: pytest.MonkeyPatch, codec: Codec
) -> None:
    log = open_log()
    log.append_as_follower(batch(b"first", leader_epoch=2), 2)
    monkeypatch.setattr(unified_log, "batches_to_copy", None)  # a call of it fails
    info = log.append_as_follower(
        batch(b"a", b"b", base_offset=1, leader_epoch=2, compression=codec), 2
    )
    assert (info.error, info.first_offset, info.last_offset) == (ErrorCode.NONE, 1, 2)


def test_a_known_producer_goes_on_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_log()
    fields: dict[str, Any] = {"leader_epoch": 0, "producer_id": 7, "producer_epoch": 0}
    log.append_as_follower(batch(b"a", b"b", base_sequence=2**31 - 2, **fields), 0)
    monkeypatch.setattr(unified_log, "batches_to_copy", None)
    info = log.append_as_follower(batch(b"c", b"d", base_offset=2, base_sequence=0, **fields), 0)
    assert info.last_offset == 3
    assert [(one.last_sequence, one.last_offset) for one in log.producers] == [(1, 3)]


def test_a_disk_that_fails_in_one_go_is_told_and_nothing_is_written_again() -> None:
    filesystem = MemoryFilesystem()
    log = open_log(ports=environment(filesystem))
    log.append_as_follower(batch(b"a", leader_epoch=0), 0)
    whole = read_all(log)
    filesystem.inject("append")
    info = log.append_as_follower(batch(b"b", base_offset=1, leader_epoch=0), 0)
    assert info.error is ErrorCode.KAFKA_STORAGE_ERROR
    assert (log.offline, log.log_end_offset) == (True, 1)
    assert filesystem.read("/data/topic-0/00000000000000000000.log") == whole


def test_with_flush_messages_a_copy_is_flushed() -> None:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem, LogConfig(flush_messages=1))
    for offset in range(3):
        log.append_as_follower(batch(b"a", base_offset=offset, leader_epoch=0), 0)
        assert log.recovery_point == offset + 1


SENT = st.fixed_dictionaries(
    {
        "count": st.integers(1, 3),
        "timestamp": st.sampled_from([-1, NOW_MS - 5, NOW_MS, NOW_MS + 5, NOW_MS + 10**10]),
        "producer_id": st.sampled_from([-1, -1, 7, 7, 8]),
        "sequence_more": st.sampled_from([0, 0, 0, 0, 1]),
        "transactional": st.sampled_from([False, False, False, True]),
        "compression": st.sampled_from([Codec.NONE, Codec.NONE, Codec.GZIP]),
        "timestamp_type": st.sampled_from([0, 0, 0, 1]),
        "damage": st.sampled_from([None, None, None, None, "crc", "length", "offset"]),
        "leader_epoch_more": st.sampled_from([0, 0, 0, 0, 1]),
    }
)


@settings(max_examples=150)
@given(st.lists(SENT, min_size=1, max_size=12))
def test_an_append_in_one_go_leaves_the_same_log(sent: list[dict[str, Any]]) -> None:
    short, long = open_log(config=CONFIG), open_log(config=CONFIG)
    with pytest.MonkeyPatch.context() as monkeypatch:
        the_long_way(monkeypatch, long)
        append_both_ways(short, long, sent)


def append_both_ways(short: UnifiedLog, long: UnifiedLog, sent: list[dict[str, Any]]) -> None:
    epoch, sequences = 3, {7: 0, 8: 0}
    for one in sent:
        epoch += one["leader_epoch_more"]
        pid = one["producer_id"]
        fields: dict[str, Any] = {}
        if pid >= 0:
            sequence = sequences[pid] + one["sequence_more"]
            sequences[pid] = sequence + one["count"]
            fields = {"producer_id": pid, "producer_epoch": 0, "base_sequence": sequence}
            fields["is_transactional"] = one["transactional"]
        came = bytearray(
            batch(
                *[b"v" * 20] * one["count"],
                timestamp=one["timestamp"],
                compression=one["compression"],
                timestamp_type=TimestampType(one["timestamp_type"]),
                **fields,
            )
        )
        damaged = {"crc": len(came) - 1, "length": 11, "offset": 7}.get(one["damage"])
        if damaged is not None:
            came[damaged] ^= 1
        place = memoryview(came[:])
        offset = append_plain(short, place, epoch)
        checked = told(long.append_as_leader(memoryview(came[:]), epoch, NOW_MS))
        if offset >= 0:
            assert checked[:2] == (ErrorCode.NONE, offset)
        else:
            assert place == came  # nothing was done
            assert told(short.append_as_leader(place, epoch, NOW_MS)) == checked
        assert state_of(short) == state_of(long)


def test_what_is_declined_for_its_producer_has_its_checksum_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = open_log()
    log.append_as_leader(batch(b"a"), 0, NOW_MS)
    monkeypatch.setattr("storage.log.plain_append.crc32c", None)  # a call of it fails
    first = batch(b"b", producer_id=7, producer_epoch=0, base_sequence=0)
    assert log.append_as_leader(first, 0, NOW_MS).first_offset == 1
