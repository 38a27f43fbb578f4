"""One partition's log: offsets given, duplicates known, slices bounded, errors as values."""

from __future__ import annotations

from dataclasses import replace
from struct import pack_into

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ground.memory_filesystem import MemoryFilesystem
from protocol.compression import Codec
from protocol.errors import ErrorCode
from protocol.record_batch import crc_is_valid, crc_of, iterate_batches, read_header
from protocol.records import iterate_records
from storage.log.fetch_data import EpochEndOffset, FetchDataInfo
from storage.log.file_records import FileRecords
from storage.log.log_append_info import AppendOrigin
from storage.log.log_dir_failure import LogDirFailure
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import (
    NOW_MS,
    Jobs,
    batch,
    environment,
    keyed_batch,
    offset_by_time,
    open_log,
    read_all,
)

SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=100)


def append(log: UnifiedLog, *values: bytes, epoch: int = 0) -> int:
    info = log.append_as_leader(batch(*values), epoch, NOW_MS)
    assert info.error is ErrorCode.NONE, info
    return info.first_offset


def data_of(info: FetchDataInfo) -> bytes:
    return info.records.read() if isinstance(info.records, FileRecords) else info.records


def test_the_leader_gives_offsets_and_its_epoch() -> None:
    log = open_log()
    first = log.append_as_leader(batch(b"a", b"b"), 3, NOW_MS)
    second = log.append_as_leader(batch(b"c"), 3, NOW_MS)
    assert (first.first_offset, first.last_offset, second.first_offset) == (0, 1, 2)
    assert (first.max_timestamp, first.log_append_time, first.log_start_offset) == (NOW_MS, -1, 0)
    assert not first.duplicate
    assert log.log_end_offset == 3
    data = read_all(log)
    headers = [header for _, header in iterate_batches(data)]
    assert [header.base_offset for header in headers] == [0, 2]
    assert {header.partition_leader_epoch for header in headers} == {3}
    assert all(crc_is_valid(data, position, header) for position, header in iterate_batches(data))
    assert log.leader_epochs.entries == [(3, 0)]


def test_the_records_are_patched_in_place_and_a_read_only_view_is_copied() -> None:
    log = open_log()
    append(log, b"a")
    mine = batch(b"b")
    log.append_as_leader(mine, 5, NOW_MS)
    assert read_header(mine).base_offset == 1
    frozen = memoryview(bytes(batch(b"c")))
    assert log.append_as_leader(frozen, 5, NOW_MS).first_offset == 2
    assert read_header(frozen).base_offset == 0


@pytest.mark.parametrize("codec", list(Codec))
def test_every_codec_is_kept_as_it_came(codec: Codec) -> None:
    log = open_log()
    sent = batch(b"v" * 100, b"w" * 100, compression=codec)
    assert log.append_as_leader(sent, 0, NOW_MS).error is ErrorCode.NONE
    assert [record.value for record in iterate_records(read_all(log))] == [b"v" * 100, b"w" * 100]


def test_an_idempotent_retry_gets_its_old_offsets() -> None:
    log = open_log()

    def send(sequence: int, epoch: int = 0) -> tuple[ErrorCode, int, int, bool]:
        info = log.append_as_leader(
            batch(b"a", b"b", producer_id=7, producer_epoch=epoch, base_sequence=sequence),
            0,
            NOW_MS,
        )
        return info.error, info.first_offset, info.last_offset, info.duplicate

    assert send(0) == (ErrorCode.NONE, 0, 1, False)
    assert send(2) == (ErrorCode.NONE, 2, 3, False)
    assert send(0) == (ErrorCode.NONE, 0, 1, True)
    assert send(2) == (ErrorCode.NONE, 2, 3, True)
    assert send(6)[0] is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(0, epoch=1) == (ErrorCode.NONE, 4, 5, False)
    assert send(4)[0] is ErrorCode.INVALID_PRODUCER_EPOCH
    assert log.log_end_offset == 6
    (producer,) = log.producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (7, 1, 1)


def test_the_quick_way_knows_the_last_five_batches_too() -> None:
    log = open_log()
    for sequence in range(7):
        sent = batch(b"a", producer_id=7, producer_epoch=0, base_sequence=sequence)
        log.append_as_leader(sent, 0, NOW_MS)
    for sequence, error in ((1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), (2, ErrorCode.NONE)):
        sent = batch(b"a", producer_id=7, producer_epoch=0, base_sequence=sequence)
        info = log.append_as_leader(sent, 0, NOW_MS)
        assert (info.error, info.duplicate) == (error, error is ErrorCode.NONE)


def test_a_refused_batch_leaves_no_trace() -> None:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem, LogConfig(max_message_bytes=200))
    append(log, b"a")
    changes = filesystem.changes
    damaged = batch(b"b")
    damaged[66] ^= 1
    boast = batch(b"b")
    pack_into(">i", boast, 23, 10**6 - 1)
    pack_into(">i", boast, 57, 10**6)
    pack_into(">I", boast, 17, crc_of(boast, 0, len(boast)))
    for records, error in (
        (batch(b"v" * 200), ErrorCode.MESSAGE_TOO_LARGE),
        (damaged, ErrorCode.CORRUPT_MESSAGE),
        (boast, ErrorCode.INVALID_RECORD),
        (batch(b"v", base_offset=1), ErrorCode.INVALID_RECORD),
        (batch(b"v", timestamp=NOW_MS + 3_600_001), ErrorCode.INVALID_TIMESTAMP),
        (memoryview(bytearray(b"")), ErrorCode.INVALID_RECORD),
        (memoryview(bytearray(b"\0" * 80)), ErrorCode.CORRUPT_MESSAGE),
    ):
        info = log.append_as_leader(records, 0, NOW_MS)
        assert info.error is error
        assert info.error_message
        assert (info.first_offset, info.last_offset) == (-1, -1)
    assert (log.log_end_offset, filesystem.changes) == (1, changes)
    assert log.leader_epochs.entries == [(0, 0)]


def test_a_batch_larger_than_a_segment_is_refused() -> None:
    log = open_log(config=LogConfig(segment_bytes=300, max_message_bytes=1000))
    info = log.append_as_leader(batch(b"v" * 300), 0, NOW_MS)
    assert info.error is ErrorCode.RECORD_LIST_TOO_LARGE


def test_log_append_time_is_ours() -> None:
    log = open_log(config=LogConfig(message_timestamp_type="LogAppendTime"))
    info = log.append_as_leader(batch(b"v", timestamp=5), 0, NOW_MS + 7)
    assert (info.log_append_time, info.max_timestamp) == (NOW_MS + 7, NOW_MS + 7)
    (record,) = iterate_records(read_all(log))
    assert record.timestamp == NOW_MS + 7
    found = offset_by_time(log, NOW_MS)
    assert found is not None and found.timestamp == NOW_MS + 7


def test_a_compacted_topic_wants_keys() -> None:
    log = open_log(config=LogConfig(cleanup_policy=("compact",)))
    info = log.append_as_leader(keyed_batch((b"k", b"v"), (None, b"w")), 0, NOW_MS)
    assert info.error is ErrorCode.INVALID_RECORD
    assert [index for index, _ in info.record_errors] == [1]
    assert log.append_as_leader(keyed_batch((b"k", b"v")), 0, NOW_MS).first_offset == 0


def test_another_codec_of_the_topic_repacks_the_batch() -> None:
    log = open_log(config=LogConfig(compression_type="gzip"))
    sent = batch(b"v" * 500, producer_id=3, producer_epoch=0, base_sequence=0)
    assert log.append_as_leader(sent, 4, NOW_MS).error is ErrorCode.NONE
    header = read_header(read_all(log))
    assert (header.compression, header.producer_id) == (Codec.GZIP, 3)
    assert header.partition_leader_epoch == 4
    assert header.size_in_bytes < 200


def test_a_coordinator_may_append_several_batches_and_keyless_ones() -> None:
    log = open_log(config=LogConfig(cleanup_policy=("compact",)))
    two = memoryview(bytearray(bytes(batch(b"a", b"b")) + bytes(batch(b"c"))))
    info = log.append_as_leader(two, 1, NOW_MS, origin=AppendOrigin.COORDINATOR)
    assert (info.first_offset, info.last_offset) == (0, 2)
    assert [h.base_offset for _, h in iterate_batches(read_all(log))] == [0, 2]


# ---- reading -----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    counts=st.lists(st.integers(1, 6), min_size=1, max_size=40),
    data=st.data(),
)
def test_reads_give_the_batches_between_start_and_upper_offset(
    counts: list[int], data: st.DataObject
) -> None:
    log = open_log(config=SMALL)
    bases = [append(log, *[b"v" * 30] * count) for count in counts]
    end = sum(counts)
    upper = data.draw(st.sampled_from([*bases, end]))
    start = data.draw(st.integers(0, end))
    offset, seen = start, []
    while True:
        info = log.read(offset, 300, upper)
        assert info.error is ErrorCode.NONE
        for _, header in iterate_batches(data_of(info), allow_partial_tail=True):
            seen.append(header.base_offset)
            offset = header.next_offset
        if not info.size:
            break
    first = max(base for base in bases if base <= start) if start < end else end
    assert seen == [base for base in bases if first <= base < upper and start < upper]


def test_offsets_outside_the_log_are_out_of_range() -> None:
    log = open_log()
    append(log, b"a", b"b", b"c")
    log.update_high_watermark(3)
    log.increment_log_start_offset(1)
    assert log.read(0, 100).error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.read(4, 100).error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.read(3, 100) == FetchDataInfo(b"")
    assert log.read(2, 100, 2) == FetchDataInfo(b"")
    inside = log.read(1, 100)
    assert read_header(data_of(inside)).base_offset == 0, "a batch is served whole"


def test_a_read_spans_no_two_segments() -> None:
    log = open_log(config=SMALL)
    for _ in range(30):
        append(log, b"v" * 50)
    assert len(log.segments.base_offsets) > 2
    second = log.segments.base_offsets[1]
    info = log.read(0, 10**6)
    headers = [header for _, header in iterate_batches(data_of(info))]
    assert headers[-1].last_offset == second - 1


def test_a_gap_at_the_end_of_a_segment_leads_to_the_next_one() -> None:
    log = open_log(config=replace(SMALL, cleanup_policy=("compact",)))
    log.append_as_follower(batch(b"a", base_offset=0, leader_epoch=0), 0)
    log.append_as_follower(batch(b"b", base_offset=20, leader_epoch=0), 0)
    log.roll()
    assert read_header(data_of(log.read(10, 1000))).base_offset == 20
    log.append_as_follower(batch(b"c", base_offset=40, leader_epoch=0), 0)
    assert read_header(data_of(log.read(30, 1000))).base_offset == 40


def test_damage_is_told_and_no_read_of_other_offsets_suffers() -> None:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem)
    for _ in range(3):
        append(log, b"v")
    log.close()
    file = filesystem.open("/data/topic-0/00000000000000000000.log")
    size = file.size // 3
    file.write_at(b"\xff\xff\xff\xff", size + 8)
    log = open_log(filesystem)
    assert log.recovery.segments_scanned, "a torn active segment is scanned even after a clean stop"
    assert log.log_end_offset == 1
    assert read_header(data_of(log.read(0, 1000))).base_offset == 0


def test_damage_in_a_closed_segment_answers_corrupt_message() -> None:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem)
    for _ in range(3):
        append(log, b"v")
    log.roll()
    append(log, b"w")
    file = filesystem.open("/data/topic-0/00000000000000000000.log")
    file.write_at(b"\xff\xff\xff\xff", file.size // 3 + 8)
    assert log.read(2, 1000).error is ErrorCode.CORRUPT_MESSAGE
    assert log.read(0, 100).error is ErrorCode.NONE
    assert log.read(3, 1000).error is ErrorCode.NONE


# ---- follower ----------------------------------------------------------------------------------


def test_a_follower_copies_bytes_and_epochs() -> None:
    leader, follower = open_log(), open_log()
    for epoch in (1, 1, 4):
        append(leader, b"a", b"b", epoch=epoch)
    sent = memoryview(read_all(leader))
    info = follower.append_as_follower(sent, 4)
    assert (info.error, info.first_offset, info.last_offset) == (ErrorCode.NONE, 0, 5)
    assert read_all(follower) == read_all(leader)
    assert follower.leader_epochs.entries == leader.leader_epochs.entries == [(1, 0), (4, 4)]


def test_a_follower_that_begins_inside_a_batch_takes_it_whole() -> None:
    follower = open_log()
    follower.truncate_fully_and_start_at(2)
    sent = batch(b"a", b"b", b"c", b"d", base_offset=0, leader_epoch=0)
    info = follower.append_as_follower(sent, 0)
    assert (info.error, info.last_offset) == (ErrorCode.NONE, 3)
    assert (follower.log_start_offset, follower.log_end_offset) == (2, 4)
    assert read_header(data_of(follower.read(2, 1000))).base_offset == 0
    assert follower.read(1, 1000).error is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_follower_learns_producers_without_checking_them() -> None:
    follower = open_log()
    for offset, sequence in ((0, 5), (1, 99)):
        sent = batch(
            b"v",
            base_offset=offset,
            leader_epoch=0,
            producer_id=7,
            producer_epoch=0,
            base_sequence=sequence,
        )
        assert follower.append_as_follower(sent, 0).error is ErrorCode.NONE
    assert follower.producers[0].last_sequence == 99


# ---- times and epochs --------------------------------------------------------------------------


def test_list_offsets_of_the_ends() -> None:
    log = open_log()
    for epoch in (2, 5):
        append(log, b"a", b"b", epoch=epoch)
    log.update_high_watermark(4)
    log.increment_log_start_offset(1)
    assert offset_by_time(log, -2) == (-1, 1, 2)
    assert offset_by_time(log, -4) == (-1, 1, 2)
    assert offset_by_time(log, -1) == (-1, 4, 5)
    assert offset_by_time(log, -5) == (-1, -1, -1)
    assert offset_by_time(log, -6) == (-1, -1, -1)
    assert offset_by_time(open_log(), -3) is None


def test_where_epochs_end() -> None:
    log = open_log()
    for epoch in (2, 5):
        append(log, b"a", b"b", epoch=epoch)
    assert log.end_offset_for_epoch(2) == EpochEndOffset(2, 2)
    assert log.end_offset_for_epoch(5) == EpochEndOffset(5, 4)
    assert log.end_offset_for_epoch(6) == EpochEndOffset(-1, -1)
    log.assign_epoch_start(7, 4)
    assert log.end_offset_for_epoch(5) == EpochEndOffset(5, 4)
    assert log.latest_epoch == 7


# ---- failing disks -----------------------------------------------------------------------------


def test_after_a_failed_append_nothing_is_appended_any_more() -> None:
    filesystem = MemoryFilesystem()
    ports = environment(filesystem)
    log = open_log(ports=ports)
    append(log, b"a")
    filesystem.inject("append")
    for _ in range(2):
        info = log.append_as_leader(batch(b"b"), 0, NOW_MS)
        assert info.error is ErrorCode.KAFKA_STORAGE_ERROR
    info = log.append_as_follower(batch(b"b", base_offset=1, leader_epoch=0), 0)
    assert info.error is ErrorCode.KAFKA_STORAGE_ERROR
    assert log.read(0, 100).error is ErrorCode.KAFKA_STORAGE_ERROR
    assert ports.failures.is_offline("/data")
    assert log.log_end_offset == 1


def test_a_failed_read_takes_the_directory_offline() -> None:
    filesystem = MemoryFilesystem()
    ports = environment(filesystem)
    log = open_log(ports=ports)
    append(log, b"a")
    log.roll()
    filesystem.inject("pread")
    assert log.read(0, 100).error is ErrorCode.KAFKA_STORAGE_ERROR
    assert ports.failures.is_offline("/data")


def test_a_look_up_by_time_on_a_failing_disk_raises() -> None:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem)
    append(log, b"a")
    filesystem.inject("pread")
    with pytest.raises(LogDirFailure):
        offset_by_time(log, NOW_MS)


def test_flush_messages_syncs_before_the_answer() -> None:
    filesystem = MemoryFilesystem()
    jobs = Jobs()
    jobs.held = True
    log = open_log(config=LogConfig(flush_messages=3), ports=environment(filesystem, jobs=jobs))
    append(log, b"a", b"b")
    assert log.recovery_point == 0
    append(log, b"c")
    assert log.recovery_point == 3
    filesystem.inject("sync")
    info = log.append_as_leader(batch(b"d", b"e", b"f"), 0, NOW_MS)
    assert info.error is ErrorCode.KAFKA_STORAGE_ERROR


def test_bounds_of_time_change_while_the_log_is_open() -> None:
    """Decision by the header for the future, by each record for the past, and our own time."""
    log, hour = open_log(), 3_600_000

    def told(timestamp: int) -> ErrorCode:
        return log.append_as_leader(batch(b"x", timestamp=timestamp), 0, NOW_MS).error

    assert told(NOW_MS + 2 * hour) is ErrorCode.INVALID_TIMESTAMP
    log.update_config(LogConfig(message_timestamp_after_max_ms=2 * hour))
    assert told(NOW_MS + 2 * hour) is ErrorCode.NONE
    assert told(5) is ErrorCode.NONE
    log.update_config(LogConfig(message_timestamp_before_max_ms=hour))
    assert told(NOW_MS - 2 * hour) is ErrorCode.INVALID_TIMESTAMP
    assert told(NOW_MS + 2 * hour) is ErrorCode.INVALID_TIMESTAMP
    log.update_config(LogConfig(message_timestamp_type="LogAppendTime"))
    assert told(NOW_MS + 9 * hour) is ErrorCode.NONE
    assert offset_by_time(log, NOW_MS + 3 * hour) is None
    found = offset_by_time(log, NOW_MS)
    assert found is not None and found.offset == 0  # of the first, which lies in the future
