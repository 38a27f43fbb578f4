"""A coordinator's log on real replicas, in virtual time."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from broker.coordinator.coordinator_log import AppendResult, LogRecord, TransactionMarker
from broker.coordinator.replica_coordinator_log import (
    BUILT_AT_ONCE,
    LACK_RETRY_MS,
    ReplicaCoordinatorLog,
)
from ground.sliced_work import in_one_go
from protocol.control_records import ControlRecordType, build_transaction_marker
from protocol.errors import ErrorCode
from protocol.record_batch import CRC_OFFSET, iterate_batches
from protocol.records import Record
from storage.log.log_append_info import AppendOrigin
from storage.log.unified_log import UnifiedLog
from tests.batches import build_batch
from tests.unit.broker.replica_fixture import Replicas

TOPIC = "__consumer_offsets"
MIB = 1 << 20
OTHER_NODE = 2


class Log:
    """A `ReplicaCoordinatorLog` and what its loads delivered, slice by slice."""

    def __init__(self, folder: Path, load_buffer_bytes: int = MIB, compression: int = 0) -> None:
        self.replicas = Replicas(str(folder))
        self.log = ReplicaCoordinatorLog(
            TOPIC, self.replicas.manager, self.replicas.blocking, load_buffer_bytes, compression
        )
        self.slices: list[list[LogRecord | TransactionMarker]] = []
        self.done: list[ErrorCode] = []
        self.committed: list[int] = []

    def load(self, leader_epoch: int = 0, partition: int = 0) -> None:
        """Start a load; it goes on as time passes."""
        self.log.load(partition, leader_epoch, self.deliver, self.done.append)

    def deliver(
        self, records: Iterable[LogRecord | TransactionMarker], go_on: Callable[[], None]
    ) -> None:
        assert self.done == [], "delivered after the end"
        self.slices.append(list(records))
        go_on()

    def run(self) -> None:
        self.replicas.scheduler.run_for(1000)

    def append(self, *keys: bytes) -> AppendResult:
        return self.log.append(0, 0, [(key, b"v") for key in keys])

    def wait(self, offset: int) -> None:
        self.log.when_committed(0, offset, lambda: self.committed.append(offset))

    def write(self, records: memoryview) -> None:
        """Append what other coordinators write: markers, transactional records."""
        partition = self.replicas.partition(TOPIC)
        now_ms = self.replicas.scheduler.wall_ms()
        info = partition.append_as_leader(
            records, -1, now_ms, AppendOrigin.COORDINATOR, internal_allowed=True
        )
        assert not isinstance(info, ErrorCode)
        assert not info.error


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


# --- append --------------------------------------------------------------------------------------


def test_records_are_appended_as_one_batch_with_the_present_time(log: Log) -> None:
    partition = log.replicas.create(TOPIC)
    log.replicas.scheduler.run_for(5000)
    records = [(b"a", b"1"), (b"b", None)]
    assert log.log.append(0, 0, records) == AppendResult(ErrorCode.NONE, 0, 1)
    assert log.append(b"c") == AppendResult(ErrorCode.NONE, 2, 2)
    batches = memoryview(partition.log.read(0, MIB).records.read())
    headers = [header for _, header in iterate_batches(batches)]
    assert [(h.base_offset, h.last_offset) for h in headers] == [(0, 1), (2, 2)]
    assert headers[0].max_timestamp == log.replicas.scheduler.wall_ms()


@pytest.mark.parametrize("compression", [0, 1])
def test_a_long_batch_is_built_in_slices(tmp_path: Path, compression: int) -> None:
    log = Log(tmp_path, compression=compression)
    partition = log.replicas.create(TOPIC)
    records = [(b"%d" % number, b"v") for number in range(3 * BUILT_AT_ONCE)]
    building = log.log.build(records, None)
    assert next(building) is next(building) is None, "some slices"
    log.log.append(0, 0, records)
    log.log.append(0, 0, records, None, in_one_go(building))
    batches = memoryview(partition.log.read(0, MIB).records.read())
    half = len(batches) // 2
    assert batches[CRC_OFFSET:half] == batches[half + CRC_OFFSET :]
    assert partition.log.log_end_offset == 2 * len(records)


@pytest.mark.parametrize(
    ("configs", "checked"),
    [({}, 0), ({"message_timestamp_type": "LogAppendTime"}, 0), ({"flush_messages": "2"}, 3)],
)
def test_what_is_built_here_is_not_looked_at_again(
    log: Log, monkeypatch: pytest.MonkeyPatch, configs: dict[str, str], checked: int
) -> None:
    """But where messages are counted for a flush."""
    partition = log.replicas.create(TOPIC, cleanup_policy="compact", **configs)
    looked: list[object] = []
    check = UnifiedLog._append_checked

    def counted(self: UnifiedLog, *arguments: Any) -> Any:
        looked.append(self)
        return check(self, *arguments)

    monkeypatch.setattr(UnifiedLog, "_append_checked", counted)
    for key in (b"a", b"b", b"c"):
        assert log.append(key).error is ErrorCode.NONE
    assert (len(looked), partition.log.log_end_offset) == (checked, 3)
    log.load()
    log.run()
    assert [record[1] for one in log.slices for record in one] == [b"a", b"b", b"c"]


def test_records_are_compressed_where_the_config_says_so(tmp_path: Path) -> None:
    log = Log(tmp_path, compression=1)
    partition = log.replicas.create(TOPIC)
    log.append(*[b"k" * 100] * 10)
    ((_, header),) = iterate_batches(memoryview(partition.log.read(0, MIB).records.read()))
    assert (header.compression, header.record_count) == (1, 10)
    log.load()
    log.run()
    assert log.slices == [[LogRecord(i, b"k" * 100, b"v") for i in range(10)]]


def test_only_the_leader_of_the_epoch_appends(log: Log) -> None:
    records = [(b"a", b"1")]
    assert log.append(b"a") == AppendResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    partition = log.replicas.create(TOPIC, replicas=[1, OTHER_NODE])
    assert log.log.append(1, 0, records).error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert log.log.append(0, 1, records).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    log.replicas.move_leader(TOPIC, OTHER_NODE)
    for epoch in (0, 1):
        assert log.log.append(0, epoch, records).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.log.log_end_offset == 0


def test_a_partition_of_other_brokers_is_not_led_here(log: Log) -> None:
    with pytest.raises(AssertionError):  # of the fixture: there is no local replica
        log.replicas.create(TOPIC, replicas=[OTHER_NODE], leader=OTHER_NODE)
    assert log.append(b"a").error == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_an_append_waits_for_enough_replicas_as_acks_all_does(log: Log) -> None:
    log.replicas.create(TOPIC, replicas=[1, OTHER_NODE], isr=[1], min_insync_replicas="2")
    assert log.append(b"a") == AppendResult(ErrorCode.NOT_ENOUGH_REPLICAS)


def test_a_batch_over_the_topics_limit_is_refused(log: Log) -> None:
    log.replicas.create(TOPIC, max_message_bytes="100")
    assert log.append(b"k" * 100) == AppendResult(ErrorCode.MESSAGE_TOO_LARGE)
    assert log.append(b"k").error == ErrorCode.NONE


# --- committed -----------------------------------------------------------------------------------


def test_what_is_committed_already_is_told_at_once(log: Log) -> None:
    log.replicas.create(TOPIC)
    log.append(b"a", b"b")
    log.wait(1)
    assert log.committed == [1]


def test_with_two_in_sync_replicas_each_waits_for_its_offset(log: Log) -> None:
    partition = log.replicas.create(TOPIC, replicas=[1, OTHER_NODE])
    for _ in range(3):
        log.wait(log.append(b"a").last_offset)
    log.run()
    assert log.committed == []
    partition.log.update_high_watermark(2)
    partition.changed()
    assert log.committed == [0, 1]
    log.replicas.move_leader(TOPIC, 1, isr=[1])
    assert log.committed == [0, 1, 2]


def test_an_append_makes_itself_heard_later_not_within_the_call(log: Log) -> None:
    """A commit that another replica's fetch brought about comes to waiters in the same way."""
    partition = log.replicas.create(TOPIC, replicas=[1, OTHER_NODE])
    log.wait(log.append(b"a").last_offset)
    partition.log.update_high_watermark(1)
    log.append(b"b")
    assert log.committed == []
    log.run()
    assert log.committed == [0]


def test_a_waiter_is_told_once_and_then_forgotten(log: Log) -> None:
    partition = log.replicas.create(TOPIC, replicas=[1, OTHER_NODE])
    log.wait(log.append(b"a").last_offset)
    partition.log.update_high_watermark(1)
    partition.changed()
    partition.changed()
    assert log.committed == [0]
    assert not partition.listeners


def test_a_callback_may_wait_for_more(log: Log) -> None:
    partition = log.replicas.create(TOPIC, replicas=[1, OTHER_NODE])
    log.append(b"a", b"b")
    log.log.when_committed(0, 0, lambda: log.wait(1))
    for high_watermark in (1, 2):
        assert log.committed == []
        partition.log.update_high_watermark(high_watermark)
        partition.changed()
    assert log.committed == [1]


def test_waiters_are_forgotten_with_the_leadership(log: Log) -> None:
    partition = log.replicas.create(TOPIC, replicas=[1, OTHER_NODE])
    log.wait(log.append(b"a").last_offset)
    log.replicas.move_leader(TOPIC, OTHER_NODE)
    log.wait(0)
    assert not partition.listeners
    log.replicas.move_leader(TOPIC, 1, isr=[1])
    log.run()
    assert log.committed == []


# --- load ----------------------------------------------------------------------------------------


def test_an_empty_log_is_loaded_at_once(log: Log) -> None:
    log.replicas.create(TOPIC)
    log.load()
    assert (log.slices, log.done) == ([], [ErrorCode.NONE])


@pytest.mark.parametrize("load_buffer_bytes", [1, 200, MIB])
def test_all_records_are_delivered_in_order_whatever_the_buffer(
    tmp_path: Path, load_buffer_bytes: int
) -> None:
    log = Log(tmp_path, load_buffer_bytes)
    log.replicas.create(TOPIC)
    for index in range(10):
        log.append(b"a%d" % index, b"b%d" % index)
    log.load()
    log.run()
    found = [record for records in log.slices for record in records]
    assert [record.offset for record in found] == list(range(20))
    assert found[7] == LogRecord(7, b"b3", b"v")
    assert log.done == [ErrorCode.NONE]
    assert len(log.slices) == {1: 10, 200: 5, MIB: 1}[load_buffer_bytes]


def test_records_that_the_log_start_has_passed_are_left_out(log: Log) -> None:
    partition = log.replicas.create(TOPIC)
    log.append(b"a", b"b", b"c")
    partition.delete_records(1)
    log.load()
    log.run()
    assert [record.offset for record in log.slices[0]] == [1, 2]


def test_transactional_records_and_markers_name_their_producer(log: Log) -> None:
    log.replicas.create(TOPIC)
    log.append(b"plain")
    now_ms = log.replicas.scheduler.wall_ms()
    log.write(
        memoryview(
            build_batch(
                [Record(-1, now_ms, b"k", None)],
                producer_id=7,
                producer_epoch=0,
                base_sequence=0,
                is_transactional=True,
            )
        )
    )
    for kind in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
        marker = build_transaction_marker(
            kind, producer_id=7, producer_epoch=0, coordinator_epoch=1, timestamp_ms=now_ms
        )
        log.write(memoryview(marker))
    log.load()
    log.run()
    assert log.slices == [
        [
            LogRecord(0, b"plain", b"v", -1),
            LogRecord(1, b"k", None, 7),
            TransactionMarker(2, 7, committed=True),
            TransactionMarker(3, 7, committed=False),
        ]
    ]


def test_other_control_records_are_passed_over(log: Log) -> None:
    log.replicas.create(TOPIC)
    key = b"\0\0\0\x02"  # a leader change
    now_ms = log.replicas.scheduler.wall_ms()
    change = build_batch([Record(-1, now_ms, key, b"")], is_control=True)
    log.write(memoryview(change))
    log.append(b"a")
    log.load()
    log.run()
    assert log.slices == [[LogRecord(1, b"a", b"v")]]


def test_only_the_leader_of_the_epoch_loads(log: Log) -> None:
    log.load()
    log.replicas.create(TOPIC)
    log.load(leader_epoch=1)
    assert log.done == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER]


@pytest.mark.parametrize(
    "lose",
    [
        lambda replicas: replicas.move_leader(TOPIC, OTHER_NODE),
        lambda replicas: replicas.move_leader(TOPIC, 1),  # the leader again, of a newer epoch
        lambda replicas: replicas.delete(TOPIC),
    ],
    ids=["to another", "and gained again", "deleted"],
)
def test_a_load_ends_with_the_leadership(tmp_path: Path, lose: Callable[[Replicas], None]) -> None:
    log = Log(tmp_path, load_buffer_bytes=1)
    log.replicas.create(TOPIC, replicas=[1, OTHER_NODE])
    log.append(b"a")
    log.append(b"b")
    log.load()
    log.replicas.scheduler.run_until(lambda: len(log.slices) == 1)
    lose(log.replicas)
    log.run()
    assert len(log.slices) == 1
    assert log.done == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_a_log_that_was_cut_while_it_was_read_is_no_damage(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It follows another leader by then: what was read may be of two histories."""
    log.replicas.create(TOPIC, replicas=[1, OTHER_NODE])
    log.append(b"a")
    log.load()

    def mixed(*_: object) -> bytes:
        raise ValueError("not a record")

    monkeypatch.setattr("broker.coordinator.replica_coordinator_log._decode", mixed)
    log.replicas.move_leader(TOPIC, OTHER_NODE)
    log.run()
    assert log.done == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_a_damaged_batch_ends_the_load(log: Log) -> None:
    partition = log.replicas.create(TOPIC)
    log.append(b"a")
    log.write(memoryview(build_batch([Record(-1, 0, b"\0", b"")], is_control=True)))
    log.load()
    log.run()
    assert (log.slices, log.done) == ([], [ErrorCode.CORRUPT_MESSAGE])
    assert partition.is_leader


def test_a_disk_that_fails_ends_the_load(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    partition = log.replicas.create(TOPIC)
    log.append(b"a")

    def fail(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    file = partition.log.read(0, MIB).records._file
    monkeypatch.setattr(type(file), "pread", fail)
    log.load()
    log.run()
    assert (log.slices, log.done) == ([], [ErrorCode.KAFKA_STORAGE_ERROR])


def test_a_bug_in_decoding_is_not_taken_for_an_error_of_the_log(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.replicas.create(TOPIC)
    log.append(b"a")
    log.load()

    def fail(*_: object) -> bytes:
        raise KeyError("bug")

    monkeypatch.setattr("broker.coordinator.replica_coordinator_log._decode", fail)
    with pytest.raises(AssertionError, match="loading"):
        log.run()


@pytest.mark.parametrize("stays", [True, False])
def test_a_load_waits_for_a_descriptor_while_it_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stays: bool
) -> None:
    log = Log(tmp_path)
    partition = log.replicas.create(TOPIC, replicas=[1, OTHER_NODE])
    log.append(b"a")

    def lacking(*_: object) -> bytes:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(type(partition.log._local.segments.active), "read", lacking)
        log.load()
        log.replicas.scheduler.run_for(10 * LACK_RETRY_MS)
        assert (log.slices, log.done) == ([], []) and not partition.log.offline
        if not stays:
            log.replicas.move_leader(TOPIC, OTHER_NODE)
    log.replicas.scheduler.run_for(LACK_RETRY_MS)
    log.run()
    assert len(log.slices) == stays
    assert log.done == [ErrorCode.NONE if stays else ErrorCode.NOT_LEADER_OR_FOLLOWER]
