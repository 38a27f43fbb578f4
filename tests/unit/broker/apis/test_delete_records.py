from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.apis.delete_records import DELETES_A_SLICE, DeleteRecordsApi, refuse_delete_records
from broker.requests.context import RequestContext
from controller.authorization.rights import UNLIMITED
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from tests.unit.broker.apis.api_fixture import ask, ask_later
from tests.unit.broker.replica_fixture import Replicas
from tests.unit.broker.replication.leader_fixture import TOPIC, Leader
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import on_topic, rights_of

VERSIONS = range(3)


@pytest.fixture
def replicas(tmp_path: Path) -> Replicas:
    replicas = Replicas(str(tmp_path))
    replicas.create("t", partitions=2)
    for value in (b"a", b"b", b"c"):
        replicas.append("t", value)
    return replicas


def api_of(replicas: Replicas, turns: Turns | None = None) -> DeleteRecordsApi:
    return DeleteRecordsApi(replicas.manager, (turns or Turns()).answers)


def delete(
    replicas: Replicas, topic: str, *offsets: tuple[int, int], version: int = 2
) -> list[tuple[int, int, int]]:
    partitions = [DeleteRecordsPartition(index, offset) for index, offset in offsets]
    request = DeleteRecordsRequest([DeleteRecordsTopic(topic, partitions)], 1000)
    (answer,) = ask(api_of(replicas).handle, request, version).topics
    assert answer.name == topic
    return [(one.partition_index, one.low_watermark, one.error_code) for one in answer.partitions]


@pytest.mark.parametrize("version", VERSIONS)
def test_moves_the_log_start(replicas: Replicas, version: int) -> None:
    assert delete(replicas, "t", (0, 2), (1, 0), version=version) == [(0, 2, 0), (1, 0, 0)]
    assert replicas.partition("t").log.log_start_offset == 2


def test_minus_one_is_the_high_watermark(replicas: Replicas) -> None:
    assert delete(replicas, "t", (0, -1)) == [(0, 3, 0)]


def test_an_offset_below_the_start_changes_nothing(replicas: Replicas) -> None:
    delete(replicas, "t", (0, 2))
    assert delete(replicas, "t", (0, 1)) == [(0, 2, 0)]


@pytest.mark.parametrize("offset", [4, -2])
def test_offsets_out_of_range(replicas: Replicas, offset: int) -> None:
    assert delete(replicas, "t", (0, offset)) == [(0, -1, ErrorCode.OFFSET_OUT_OF_RANGE)]
    assert replicas.partition("t").log.log_start_offset == 0


def test_one_bad_partition_does_not_stop_the_others(replicas: Replicas) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert delete(replicas, "t", (9, 0), (0, 1)) == [(9, -1, unknown), (0, 1, 0)]
    assert delete(replicas, "none", (0, 0)) == [(0, -1, unknown)]


def test_the_last_mention_of_a_partition_counts(replicas: Replicas) -> None:
    assert delete(replicas, "t", (0, 3), (0, 1)) == [(0, 1, 0)]


def test_internal_and_compacted_topics_are_refused(replicas: Replicas) -> None:
    replicas.create("__consumer_offsets")
    error = ErrorCode.INVALID_TOPIC_EXCEPTION
    assert delete(replicas, "__consumer_offsets", (0, 0)) == [(0, -1, error)]
    replicas.create("compacted", cleanup_policy="compact")
    assert delete(replicas, "compacted", (0, 0)) == [(0, -1, ErrorCode.POLICY_VIOLATION)]
    replicas.create("both", cleanup_policy="compact,delete")
    assert delete(replicas, "both", (0, 0)) == [(0, 0, 0)]


def test_only_the_leader_deletes(replicas: Replicas) -> None:
    replicas.create("elsewhere", replicas=[1, 2], leader=2, cleanup_policy="compact")
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert delete(replicas, "elsewhere", (0, 0)) == [(0, -1, error)]


def test_refusal_names_every_partition() -> None:
    partitions = [DeleteRecordsPartition(0, 1)]
    request = DeleteRecordsRequest([DeleteRecordsTopic("t", partitions)])
    (topic,) = refuse_delete_records(request, ErrorCode.UNKNOWN_SERVER_ERROR).topics
    assert [one.error_code for one in topic.partitions] == [-1]


# --- many ----------------------------------------------------------------------------------------

MANY = 2 * DELETES_A_SLICE + 1


def of_many(replicas: Replicas) -> DeleteRecordsRequest:
    replicas.replay_new("many", MANY)
    for index in range(MANY):
        replicas.append("many", b"a", b"b", index=index)
    partitions = [DeleteRecordsPartition(index, 1) for index in range(MANY)]
    return DeleteRecordsRequest([DeleteRecordsTopic("many", partitions)], 1000)


def moved(replicas: Replicas) -> int:
    logs = [replicas.partition("many", index).log for index in range(MANY)]
    return sum(log.log_start_offset == 1 for log in logs)


def test_many_are_deleted_in_slices(replicas: Replicas) -> None:
    turns, answers, seen = Turns(), list[Any](), list[int]()
    request = of_many(replicas)
    ask_later(api_of(replicas, turns).handle, request, 2, answers)
    assert moved(replicas) == DELETES_A_SLICE
    assert turns.run(lambda: seen.append(moved(replicas))) == 2
    assert seen == [2 * DELETES_A_SLICE, MANY]
    ((topic,),) = [answer.topics for answer in answers]
    told = [(one.partition_index, one.low_watermark, one.error_code) for one in topic.partitions]
    assert told == [(index, 1, 0) for index in range(MANY)]


def test_a_slice_that_fails_refuses_the_whole_request(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, answers = Turns(), list[Any]()
    ask_later(api_of(replicas, turns).handle, of_many(replicas), 2, answers)
    monkeypatch.setattr(replicas.manager, "partition", lambda *_: 1 / 0)
    turns.run()
    ((topic,),) = [answer.topics for answer in answers]
    assert {(one.low_watermark, one.error_code) for one in topic.partitions} == {(-1, -1)}


def test_a_leadership_lost_between_slices_is_told(replicas: Replicas) -> None:
    turns, answers = Turns(), list[Any]()
    ask_later(api_of(replicas, turns).handle, of_many(replicas), 2, answers)
    replicas.move_leader("many", 2)
    turns.run()
    ((topic,),) = [answer.topics for answer in answers]
    assert [one.error_code for one in topic.partitions] == [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        *[0] * (MANY - 1),
    ]


# --- with followers ------------------------------------------------------------------------------


class Deletion:
    """A request on a leader with two followers, in sync up to offset 3."""

    def __init__(self, folder: Path) -> None:
        self.leader = Leader(str(folder))
        self.leader.append(3)
        self.answers: list[DeleteRecordsResponse] = []
        for broker_id in (2, 3):
            self.fetch(broker_id, 0)

    def fetch(self, broker_id: int, log_start: int) -> None:
        partition, epoch = self.leader.partition, self.leader.partition.leader_epoch
        partition.read_for_follower(broker_id, broker_id * 10, 3, 1, True, epoch, epoch)
        if partition.follower_fetched(broker_id, 3, log_start, broker_id * 10):
            partition.changed()

    def send(self, offset: int) -> None:
        request = DeleteRecordsRequest(
            [DeleteRecordsTopic(TOPIC, [DeleteRecordsPartition(0, offset)])], 1000
        )
        context = RequestContext(21, 2, 1, "me", "here", "PLAINTEXT", "c", UNLIMITED)
        api_of(self.leader.replicas).handle(context, request, self.answers.append)

    def told(self) -> list[tuple[int, int]]:
        """(low watermark, error) of each answer."""
        return [
            (one.low_watermark, one.error_code)
            for answer in self.answers
            for topic in answer.topics
            for one in topic.partitions
        ]


@pytest.fixture
def deletion(tmp_path: Path) -> Deletion:
    return Deletion(tmp_path)


def test_it_waits_until_no_live_replica_has_the_records(deletion: Deletion) -> None:
    deletion.send(2)
    assert deletion.leader.partition.log.log_start_offset == 2
    deletion.fetch(2, 2)
    assert deletion.told() == []
    deletion.fetch(3, 1)
    assert deletion.told() == []
    deletion.fetch(3, 2)
    assert deletion.told() == [(2, 0)]
    assert not deletion.leader.partition.listeners


def test_it_does_not_wait_for_ever(deletion: Deletion) -> None:
    deletion.send(2)
    deletion.fetch(2, 2)
    deletion.leader.run(1000)
    assert deletion.told() == [(0, ErrorCode.REQUEST_TIMED_OUT)]
    deletion.fetch(3, 2)
    assert len(deletion.answers) == 1
    assert not deletion.leader.partition.listeners


def test_nor_for_a_dead_replica(deletion: Deletion) -> None:
    deletion.leader.replicas.register(3, 30, fenced=True)
    deletion.send(2)
    deletion.fetch(2, 2)
    assert deletion.told() == [(2, 0)]


def test_a_lost_leadership_ends_it(deletion: Deletion) -> None:
    deletion.send(-1)
    deletion.leader.replicas.move_leader(TOPIC, 2)
    assert deletion.told() == [(-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)]


def test_a_stop_answers_it(deletion: Deletion) -> None:
    deletion.send(2)
    deletion.leader.replicas.manager.complete_waiting()
    assert deletion.told() == [(0, ErrorCode.REQUEST_TIMED_OUT)]


@pytest.mark.parametrize("version", VERSIONS)
def test_where_it_may_not_nothing_is_deleted(replicas: Replicas, version: int) -> None:
    replicas.create("u")
    replicas.append("u", b"a")
    request = DeleteRecordsRequest(
        [
            DeleteRecordsTopic(name, [DeleteRecordsPartition(0, 1), DeleteRecordsPartition(0, -1)])
            for name in ("t", "none", "u")
        ],
        1000,
    )
    rights = rights_of(on_topic(Operation.DELETE, "u"))
    answer = ask(api_of(replicas).handle, request, version, rights=rights)
    denied = [(0, -1, ErrorCode.TOPIC_AUTHORIZATION_FAILED)]
    assert {
        one.name: [(p.partition_index, p.low_watermark, p.error_code) for p in one.partitions]
        for one in answer.topics
    } == {"t": denied, "none": denied, "u": [(0, 1, 0)]}
    assert replicas.partition("t").log.log_start_offset == 0
