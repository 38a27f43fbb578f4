"""Markers of transaction coordinators: where they go, what each partition answers, and when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.apis.write_txn_markers import (
    MARKERS_A_SLICE,
    WriteTxnMarkersApi,
    refuse_write_txn_markers,
)
from broker.coordinator.coordinator_log import TransactionMarker
from broker.requests.context import RequestContext
from controller.authorization.rights import UNLIMITED
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from storage.log.aborted_lookup import collect_aborted
from tests.unit.broker.apis.api_fixture import ask, ask_later
from tests.unit.broker.replica_fixture import Replicas
from tests.unit.broker.replication.leader_fixture import TOPIC, Leader
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import on_cluster, rights_of

TIMEOUT_MS = 5_000


class Groups:
    def __init__(self) -> None:
        self.error = ErrorCode.NONE
        self.heard: list[tuple[int, TransactionMarker]] = []

    def marker_error(self, partition: int) -> ErrorCode:
        return self.error

    def on_transaction_marker(self, partition: int, marker: TransactionMarker) -> None:
        self.heard.append((partition, marker))


@pytest.fixture
def replicas(tmp_path: Path) -> Replicas:
    replicas = Replicas(str(tmp_path))
    replicas.create("t", partitions=2)
    return replicas


def begin(replicas: Replicas, index: int, pid: int, epoch: int = 0) -> None:
    batch = replicas.batch(
        b"v", producer_id=pid, producer_epoch=epoch, base_sequence=0, is_transactional=True
    )
    info = replicas.partition("t", index).append_as_leader(batch, 1, replicas.scheduler.wall_ms())
    assert not isinstance(info, ErrorCode) and not info.error


def marker(
    pid: int, *topics: tuple[str, list[int]], commit: bool = True, epoch: int = 0, version: int = 0
) -> WritableTxnMarker:
    return WritableTxnMarker(
        pid,
        epoch,
        commit,
        [WritableTxnMarkerTopic(name, indexes) for name, indexes in topics],
        coordinator_epoch=3,
        transaction_version=version,
    )


def answers(response: Any) -> dict[int, list[tuple[str, int, int]]]:
    return {
        result.producer_id: [
            (topic.name, one.partition_index, one.error_code)
            for topic in result.topics
            for one in topic.partitions
        ]
        for result in response.markers
    }


def write(
    replicas: Replicas, *markers: WritableTxnMarker, groups: Groups | None = None, version: int = 2
) -> dict[int, list[tuple[str, int, int]]]:
    api = WriteTxnMarkersApi(replicas.manager, groups or Groups(), TIMEOUT_MS, Turns().answers)
    return answers(ask(api.handle, WriteTxnMarkersRequest(list(markers)), version))


@pytest.mark.parametrize("version", [1, 2])
def test_each_producers_transaction_ends_in_the_partitions_named(
    replicas: Replicas, version: int
) -> None:
    begin(replicas, 0, 7)
    begin(replicas, 1, 7)
    begin(replicas, 0, 8)
    assert write(
        replicas,
        marker(7, ("t", [0, 1])),
        marker(8, ("t", [0]), commit=False),
        version=version,
    ) == {7: [("t", 0, 0), ("t", 1, 0)], 8: [("t", 0, 0)]}
    log = replicas.partition("t").log
    assert log.last_stable_offset == log.log_end_offset == 4
    assert [one.producer_id for one in collect_aborted(log, 0, 4)] == [8]
    assert {one.coordinator_epoch for one in log.producers} == {3}


def test_errors_are_each_partitions_own(replicas: Replicas) -> None:
    begin(replicas, 0, 7, epoch=5)
    replicas.create("followed", replicas=(1, 2), leader=2)
    unknown = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert write(replicas, marker(7, ("t", [0, 1, 9]), ("followed", [0]), epoch=4)) == {
        7: [
            ("t", 0, int(ErrorCode.INVALID_PRODUCER_EPOCH)),
            ("t", 1, 0),
            ("t", 9, unknown),
            ("followed", 0, int(ErrorCode.NOT_LEADER_OR_FOLLOWER)),
        ]
    }
    begin(replicas, 1, 7, epoch=5)
    late = WritableTxnMarker(7, 5, True, [WritableTxnMarkerTopic("t", [1])], coordinator_epoch=2)
    assert write(replicas, late) == {7: [("t", 1, int(ErrorCode.TRANSACTION_COORDINATOR_FENCED))]}


def test_version_2_brings_the_version_of_the_protocol(replicas: Replicas) -> None:
    begin(replicas, 0, 7)
    same_epoch = marker(7, ("t", [0]), version=2)
    refused = int(ErrorCode.INVALID_PRODUCER_EPOCH)
    assert write(replicas, same_epoch, version=2) == {7: [("t", 0, refused)]}
    assert write(replicas, marker(7, ("t", [0]), epoch=1, version=2)) == {7: [("t", 0, 0)]}


def test_two_markers_of_one_producer_give_one_result(replicas: Replicas) -> None:
    assert write(replicas, marker(7, ("t", [0])), marker(7, ("t", [1]), commit=False)) == {
        7: [("t", 0, 0), ("t", 1, 0)]
    }


def test_a_partition_named_twice_in_one_marker_gets_one(replicas: Replicas) -> None:
    assert write(replicas, marker(7, ("t", [0, 0]), ("t", [0]))) == {7: [("t", 0, 0)]}
    assert replicas.partition("t").log.log_end_offset == 1


def test_the_group_coordinator_hears_of_markers_in_its_topic(replicas: Replicas) -> None:
    replicas.create("__consumer_offsets", partitions=2)
    groups = Groups()
    both = marker(7, ("__consumer_offsets", [1]), ("t", [0]))
    assert write(replicas, both, groups=groups) == {7: [("__consumer_offsets", 1, 0), ("t", 0, 0)]}
    assert groups.heard == [(1, TransactionMarker(0, 7, committed=True))]
    groups.error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    later = marker(7, ("__consumer_offsets", [1]), commit=False)
    refused = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert write(replicas, later, groups=groups) == {7: [("__consumer_offsets", 1, refused)]}
    assert replicas.partition("__consumer_offsets", 1).log.log_end_offset == 1
    assert len(groups.heard) == 1


def wait(leader: Leader, *markers: WritableTxnMarker) -> list[WriteTxnMarkersResponse]:
    told: list[WriteTxnMarkersResponse] = []
    api = WriteTxnMarkersApi(leader.replicas.manager, Groups(), TIMEOUT_MS, Turns().answers)
    context = RequestContext(27, 2, 1, None, "localhost", "PLAINTEXT", "c", UNLIMITED)
    api.handle(context, WriteTxnMarkersRequest(list(markers)), told.append)
    return told


def test_answers_when_the_markers_are_replicated(tmp_path: Path) -> None:
    leader = Leader(str(tmp_path))
    told = wait(leader, marker(7, (TOPIC, [0])), marker(8, (TOPIC, [0])))
    assert told == []
    leader.fetch(2, 2)
    leader.fetch(3, 1)
    assert told == []
    leader.fetch(3, 2)
    assert answers(told[0]) == {7: [(TOPIC, 0, 0)], 8: [(TOPIC, 0, 0)]}


def test_answers_after_the_time_out_and_without_enough_replicas(tmp_path: Path) -> None:
    leader = Leader(str(tmp_path), min_isr=2)
    told = wait(leader, marker(7, (TOPIC, [0])))
    leader.replicas.scheduler.run_until(lambda: bool(told), TIMEOUT_MS + 1)
    assert answers(told[0]) == {7: [(TOPIC, 0, int(ErrorCode.REQUEST_TIMED_OUT))]}
    alone = Leader(str(tmp_path / "alone"), isr=(1,), min_isr=2)
    (refused,) = wait(alone, marker(7, (TOPIC, [0])))
    assert answers(refused) == {7: [(TOPIC, 0, int(ErrorCode.NOT_ENOUGH_REPLICAS))]}
    assert alone.end == 0


COUNT = 2 * MARKERS_A_SLICE + 1


def ended(replicas: Replicas) -> int:
    logs = [replicas.partition("many", index).log for index in range(COUNT)]
    return sum(log.log_end_offset for log in logs)


def ask_of_many(replicas: Replicas, turns: Turns) -> list[Any]:
    replicas.replay_new("many", COUNT)
    told: list[Any] = []
    api = WriteTxnMarkersApi(replicas.manager, Groups(), TIMEOUT_MS, turns.answers)
    request = WriteTxnMarkersRequest([marker(7, ("many", list(range(COUNT))))])
    ask_later(api.handle, request, 2, told)
    return told


def test_many_markers_are_appended_in_slices(replicas: Replicas) -> None:
    turns, seen = Turns(), list[int]()
    told = ask_of_many(replicas, turns)
    assert ended(replicas) == MARKERS_A_SLICE
    assert turns.run(lambda: seen.append(ended(replicas))) == 2
    assert seen == [2 * MARKERS_A_SLICE, COUNT]
    assert [answers(one) for one in told] == [{7: [("many", index, 0) for index in range(COUNT)]}]


def test_markers_before_a_slice_that_fails_are_told_of(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[int] = []
    changed = replicas.manager.partition_changed
    turns = Turns()
    told = ask_of_many(replicas, turns)
    monkeypatch.setattr(
        replicas.manager,
        "partition_changed",
        lambda one: (woken.append(one.index), changed(one)),
    )
    monkeypatch.setattr(replicas.manager, "partition", lambda *_: 1 / 0)
    turns.run()
    assert [answers(one) for one in told] == [{7: [("many", index, -1) for index in range(COUNT)]}]
    assert woken == list(range(MARKERS_A_SLICE))


def test_a_request_without_markers_is_answered(replicas: Replicas) -> None:
    assert write(replicas) == {}


def test_refusal_names_every_partition() -> None:
    request = WriteTxnMarkersRequest([marker(7, ("t", [0, 1]))])
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    assert answers(refuse_write_txn_markers(request, error)) == {7: [("t", 0, -1), ("t", 1, -1)]}


@pytest.mark.parametrize(
    ("operation", "allowed"),
    [
        (Operation.ALTER, True),
        (Operation.CLUSTER_ACTION, True),
        (Operation.DESCRIBE, False),
        (Operation.IDEMPOTENT_WRITE, False),
    ],
)
def test_only_brokers_and_those_who_may_alter_the_cluster_end_transactions(
    replicas: Replicas, operation: Operation, allowed: bool
) -> None:
    begin(replicas, 0, 7)
    api = WriteTxnMarkersApi(replicas.manager, Groups(), TIMEOUT_MS, Turns().answers)
    request = WriteTxnMarkersRequest([marker(7, ("t", [0]))])
    answer = answers(ask(api.handle, request, 2, rights=rights_of(on_cluster(operation))))
    error = ErrorCode.NONE if allowed else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert answer == {7: [("t", 0, error)]}
    assert replicas.partition("t").log.log_end_offset == (2 if allowed else 1)
