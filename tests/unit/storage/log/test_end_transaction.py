"""Transactions in a log: markers, the transaction index, guards; crashes, cuts and followers."""

from __future__ import annotations

import random

import pytest

from ground.memory_filesystem import MemoryFilesystem
from log_format.segment_names import TXN_INDEX_SUFFIX
from log_format.transaction_index import AbortedTxn
from protocol.errors import ErrorCode
from protocol.record_batch import crc_is_valid, read_header
from storage.log.aborted_lookup import collect_aborted
from storage.log.end_transaction import append_end_txn_marker
from storage.log.log_append_info import AppendOrigin
from storage.log.log_environment import LogEnvironment
from storage.log.producer_rules import ProducerRules
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import (
    DIRECTORY,
    NOW_MS,
    batch,
    environment,
    open_log,
    read_all,
)
from tests.unit.storage.transactional_fixture import (
    BOTH,
    SMALL,
    Producer,
    aborted_of,
    commit_all,
    file_of,
    two_aborted,
)


class Worst(random.Random):
    """Nothing is kept that was not synced."""

    def randint(self, a: int, b: int) -> int:
        return a


def copy_to(leader: UnifiedLog, follower: UnifiedLog) -> None:
    """A follower takes what it misses, slice by slice."""
    while follower.log_end_offset < leader.log_end_offset:
        info = leader.read(follower.log_end_offset, 250)
        data = info.records if isinstance(info.records, bytes) else info.records.read()
        assert not follower.append_as_follower(memoryview(data), 9).error


@pytest.mark.parametrize(("kind", "attributes"), [("CreateTime", 48), ("LogAppendTime", 56)])
def test_a_marker_has_the_topic_s_kind_of_time(kind: str, attributes: int) -> None:
    """The expected bytes are those that Apache Kafka writes."""
    log = open_log(config=LogConfig(message_timestamp_type=kind))
    producer = Producer(log, 1)
    producer.send()
    producer.end(commit=True)
    commit_all(log)
    data = read_all(log, 1)
    marker = read_header(data)
    assert (marker.attributes, marker.max_timestamp) == (attributes, NOW_MS)
    assert crc_is_valid(data, 0, marker)


def test_the_last_stable_offset_waits_for_the_marker_to_be_committed() -> None:
    log = open_log()
    one, two = Producer(log, 1), Producer(log, 2)
    one.send()
    two.send()
    commit_all(log)
    assert log.last_stable_offset == 0
    one.end(commit=True)
    assert log.last_stable_offset == 0
    commit_all(log)
    assert log.last_stable_offset == 1
    two.end(commit=False)
    assert log.last_stable_offset == 1
    commit_all(log)
    assert log.last_stable_offset == 4 == log.log_end_offset


def test_the_last_stable_offset_is_never_below_the_log_start() -> None:
    log = open_log()
    Producer(log, 1).send(5)
    commit_all(log)
    log.increment_log_start_offset(3)
    assert log.last_stable_offset == 3


def test_batches_of_a_transaction_take_the_short_way_and_the_long_one_alike() -> None:
    log = open_log()
    one = Producer(log, 1)
    assert [one.send(2).first_offset for _ in range(3)] == [0, 2, 4]
    one.sequence = 2
    again = one.send(2)
    assert (again.first_offset, again.duplicate) == (2, True)
    one.sequence = 6
    assert one.send(transactional=False).error is ErrorCode.INVALID_TXN_STATE
    one.sequence = 9
    assert one.send().error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    entry = log.producers[0]
    assert (entry.last_sequence, entry.current_txn_first_offset) == (5, 0)
    one.end(commit=True)
    one.sequence = 6
    assert one.send(transactional=False).first_offset == 7
    assert log.producers[0].current_txn_first_offset is None


def test_a_marker_is_refused_by_its_epochs_and_nothing_is_written() -> None:
    log = open_log()
    one = Producer(log, 1, epoch=3)
    one.send()
    assert one.end(commit=True, coordinator_epoch=5, version=2).error is (
        ErrorCode.INVALID_PRODUCER_EPOCH
    )
    one.epoch = 4
    assert one.end(commit=True, coordinator_epoch=5, version=2).last_offset == 1
    fenced = one.end(commit=True, coordinator_epoch=4)
    assert fenced.error is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    one.epoch = 2
    assert one.end(commit=False, coordinator_epoch=5).error is ErrorCode.INVALID_PRODUCER_EPOCH
    assert log.log_end_offset == 2


def verifying() -> UnifiedLog:
    ports = environment(MemoryFilesystem())
    ports = LogEnvironment(
        ports.filesystem,
        ports.scheduler,
        ports.blocking,
        ports.failures,
        ProducerRules(verifies=True),
    )
    return open_log(ports=ports)


def test_a_log_that_verifies_wants_the_guard_it_gave_out() -> None:
    log = verifying()
    sent = batch(producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    assert log.append_as_leader(sent, 0, NOW_MS).error is ErrorCode.INVALID_TXN_STATE
    guard = log.start_verification(1, 0, 0, supports_epoch_bump=False)
    Producer(log, 1).end(commit=False)  # the transaction is over before the answer came
    assert log.append_as_leader(sent, 0, NOW_MS, guard=guard).error is ErrorCode.INVALID_TXN_STATE
    guard = log.start_verification(1, 0, 0, supports_epoch_bump=False)
    assert not log.append_as_leader(sent, 0, NOW_MS, guard=guard).error
    assert log.producer_state.has_ongoing_transaction(1, 0)
    assert not log.producer_state.has_ongoing_transaction(1, 1)
    assert log.start_verification(1, 1, 0, supports_epoch_bump=False) is None


def test_the_next_transaction_may_be_asked_for_before_the_marker_of_the_last() -> None:
    log = verifying()
    guard = log.start_verification(1, 0, 1, supports_epoch_bump=True)
    assert not append_end_txn_marker(log, 1, 1, 0, True, 0, NOW_MS, transaction_version=2).error
    sent = batch(producer_id=1, producer_epoch=1, base_sequence=0, is_transactional=True)
    assert not log.append_as_leader(sent, 0, NOW_MS, guard=guard).error


def test_a_coordinators_records_of_a_transaction_want_a_guard_too() -> None:
    log = verifying()
    sent = batch(producer_id=1, producer_epoch=0, is_transactional=True)
    origin = AppendOrigin.COORDINATOR
    info = log.append_as_leader(sent, 0, NOW_MS, origin=origin)
    assert info.error is ErrorCode.INVALID_TXN_STATE
    guard = log.start_verification(1, -1, 0, supports_epoch_bump=True)
    assert not log.append_as_leader(sent, 0, NOW_MS, origin=origin, guard=guard).error


def test_a_follower_has_the_same_state_and_files() -> None:
    leader = two_aborted()
    follower = open_log(config=SMALL, directory="/data/copy-0")
    copy_to(leader, follower)
    assert read_all(follower) == read_all(leader)
    assert aborted_of(follower) == aborted_of(leader) == BOTH
    for mine, its in zip(follower.producers, leader.producers, strict=True):
        assert mine.coordinator_epoch == its.coordinator_epoch == 0
        assert mine.current_txn_first_offset == its.current_txn_first_offset
    commit_all(leader)
    follower.update_high_watermark(10)
    assert follower.last_stable_offset == leader.last_stable_offset == 9


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("recovery_point", [0, 5, 7])
def test_what_was_aborted_is_known_after_a_start(clean: bool, recovery_point: int) -> None:
    log = two_aborted()
    ports = log.environment
    if clean:
        log.close()
    elif recovery_point == 0:
        for base in log.segments.base_offsets:
            ports.filesystem.remove(file_of(log, base))
    again = open_log(ports=ports, config=SMALL, clean=clean, recovery_point=recovery_point)
    assert aborted_of(again) == BOTH
    assert collect_aborted(again, 0, 10) == BOTH
    again.update_high_watermark(10)
    assert again.last_stable_offset == 9
    assert {one.producer_id: one.coordinator_epoch for one in again.producers} == {1: 0, 2: 0}


def test_a_torn_transaction_index_is_made_anew() -> None:
    log = two_aborted()
    filesystem = log.environment.filesystem
    log.close()
    base = next(b for b in log.segments.base_offsets if filesystem.exists(file_of(log, b)))
    assert base != log.segments.base_offsets[-1]
    filesystem.replace_atomically(file_of(log, base), b"\0" * 21)
    again = open_log(ports=log.environment, config=SMALL)
    assert aborted_of(again) == BOTH
    assert any("rebuilt" in note for note in again.recovery.notes)
    assert again._local.snapshots.offsets, "snapshots stay as they were"


def test_a_closed_segment_that_lost_its_indexes_gets_all_of_them_back() -> None:
    log = two_aborted()
    filesystem = log.environment.filesystem
    log.close()
    for base in log.segments.base_offsets[:-1]:
        for suffix in (TXN_INDEX_SUFFIX, ".index", ".timeindex"):
            filesystem.remove(f"{DIRECTORY}/{base:020d}{suffix}")
    again = open_log(ports=log.environment, config=SMALL)
    assert aborted_of(again) == BOTH
    assert collect_aborted(again, 0, 10) == BOTH


@pytest.mark.parametrize("target", range(11))
def test_a_cut_takes_back_what_was_aborted_beyond_it(target: int) -> None:
    log = two_aborted()
    log.truncate_to(target)
    kept = [one for one in BOTH if one.last_offset < log.log_end_offset]
    assert aborted_of(log) == kept
    assert collect_aborted(log, 0, 10) == kept
    commit_all(log)
    fresh = open_log(config=SMALL)
    copy_to(two_aborted(), fresh)
    fresh.truncate_to(target)
    assert fresh.last_stable_offset == 0
    commit_all(fresh)
    assert log.last_stable_offset == fresh.last_stable_offset


def test_everything_cut_leaves_no_transaction() -> None:
    log = two_aborted()
    log.truncate_fully_and_start_at(20)
    commit_all(log)
    assert (aborted_of(log), log.last_stable_offset) == ([], 20)
    one = Producer(log, 1)
    one.send()
    one.end(commit=False)
    assert aborted_of(log) == [AbortedTxn(1, 20, 21, 22)]


def test_a_flush_makes_the_transaction_index_durable() -> None:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem)
    for path in ("/", "/data", DIRECTORY):
        filesystem.sync_dir(path)
    one = Producer(log, 1)
    one.send()
    one.end(commit=False)
    log.flush()
    assert log.recovery_point == 2
    filesystem.lose_power(Worst())
    assert aborted_of(log) == [AbortedTxn(1, 0, 1, 2)]
    again = open_log(filesystem, clean=False, recovery_point=2)
    assert aborted_of(again) == [AbortedTxn(1, 0, 1, 2)]


def test_offsets_of_markers_are_those_of_the_log() -> None:
    log = open_log(directory=DIRECTORY)
    one = Producer(log, 1)
    assert one.send(3).last_offset == 2
    ended = one.end(commit=True)
    assert (ended.first_offset, ended.last_offset) == (3, 3)
    assert one.end(commit=True).last_offset == 4, "also where there is nothing to end"
