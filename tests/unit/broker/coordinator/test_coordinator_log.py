"""The log in memory keeps the port's promises; errors of a log as clients get them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import pytest

from broker.coordinator.coordinator_log import (
    AppendResult,
    LogRecord,
    TransactionalAppend,
    TransactionalProducer,
    TransactionMarker,
    coordinator_error,
)
from broker.verification.transaction_verification import TransactionSupportedOperation
from protocol.errors import ErrorCode
from tests.unit.broker.coordinator.in_memory_coordinator_log import InMemoryCoordinatorLog


def test_records_get_offsets_in_order() -> None:
    log = InMemoryCoordinatorLog()
    assert log.append(0, 1, [(b"a", b"1"), (b"b", None)]) == AppendResult(ErrorCode.NONE, 0, 1)
    assert log.append(0, 1, [(b"c", b"3")]) == AppendResult(ErrorCode.NONE, 2, 2)
    assert log.append(1, 1, [(b"d", b"4")]) == AppendResult(ErrorCode.NONE, 0, 0)
    assert log.records[0][1] == LogRecord(1, b"b", None)
    assert log.append_marker(0, 7, committed=True) == 3
    assert log.records[0][3] == TransactionMarker(3, 7, True)


def test_a_refused_append_writes_nothing() -> None:
    log = InMemoryCoordinatorLog()
    log.append_error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert log.append(0, 1, [(b"a", b"1")]).error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert log.records == {}


def test_callbacks_run_at_their_commit() -> None:
    log = InMemoryCoordinatorLog(commit_at_once=False)
    log.append(0, 1, [(b"a", b"1"), (b"b", b"2")])
    calls: list[int] = []
    for offset in (0, 1):
        log.when_committed(0, offset, lambda offset=offset: calls.append(offset))  # type: ignore[misc]
    log.commit(0, 0)
    assert calls == [0]
    log.commit(0)
    assert calls == [0, 1]
    log.when_committed(0, 1, lambda: calls.append(9))
    assert calls == [0, 1, 9]


def test_loads_can_be_held() -> None:
    log = InMemoryCoordinatorLog()
    log.append(0, 1, [(b"a", b"1")])
    log.hold_loads = True
    seen: list[object] = []
    log.load(0, 1, partial(_deliver, seen), seen.append)
    assert seen == []
    log.finish_loads()
    assert seen == [LogRecord(0, b"a", b"1"), ErrorCode.NONE]
    log.hold_loads, log.load_error = False, ErrorCode.KAFKA_STORAGE_ERROR
    log.load(0, 1, partial(_deliver, seen), seen.append)
    assert seen[2:] == [ErrorCode.KAFKA_STORAGE_ERROR]


def test_records_of_a_transaction_name_its_producer() -> None:
    log = InMemoryCoordinatorLog()
    producer = TransactionalProducer("x", 7, 0)
    outcomes: list[TransactionalAppend | ErrorCode] = []
    operation = TransactionSupportedOperation.ADD_PARTITION
    log.verify_transaction(0, producer, operation, outcomes.append)
    assert outcomes == [TransactionalAppend(producer)]
    log.append(0, 1, [(b"a", b"1")], TransactionalAppend(producer))
    assert log.records[0] == [LogRecord(0, b"a", b"1", 7)]
    log.hold_verifications, log.verify_error = True, ErrorCode.INVALID_TXN_STATE
    log.verify_transaction(0, producer, operation, outcomes.append)
    assert len(outcomes) == 1
    log.finish_verifications()
    assert outcomes[1:] == [ErrorCode.INVALID_TXN_STATE]
    assert log.verifications == [(0, producer, operation)] * 2


def test_what_is_committed_is_below_the_high_watermark() -> None:
    log = InMemoryCoordinatorLog(commit_at_once=False)
    log.append(0, 1, [(b"a", b"1"), (b"b", b"2")])
    assert log.high_watermark(0) == 0
    log.commit(0, 0)
    assert log.high_watermark(0) == 1
    log.commit(0)
    assert log.high_watermark(0) == 2


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.NONE, ErrorCode.NONE),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.NETWORK_EXCEPTION, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_clients_are_told(error: ErrorCode, told: ErrorCode) -> None:
    assert coordinator_error(error) is told


def _deliver(seen: list[object], part: Iterable[object], go_on: Callable[[], None]) -> None:
    seen.extend(part)
    go_on()
