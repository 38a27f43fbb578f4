from __future__ import annotations

from pathlib import Path

import pytest

from broker.apis.list_offsets import ListOffsetsApi, refuse_list_offsets
from broker.replication.transaction_marker import TransactionMarkerRequest
from broker.requests.context import RequestContext
from broker.requests.sliced_answers import SlicedAnswers
from controller.authorization.rights import UNLIMITED
from ottla.plugins.authorizer import Operation
from protocol.compression import Codec
from protocol.errors import ErrorCode
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from protocol.records import Record
from tests.batches import build_batch
from tests.unit.broker.apis.api_fixture import ask
from tests.unit.broker.replica_fixture import Replicas
from tests.unit.controller.rights_fixture import on_topic, rights_of


def list_offsets_api(replicas: Replicas) -> ListOffsetsApi:
    answers = SlicedAnswers(replicas.manager.log_manager.sliced)
    return ListOffsetsApi(replicas.config, replicas.manager, answers)


class ListOffsets:
    def __init__(self, folder: Path) -> None:
        self.replicas = Replicas(str(folder))
        self.api = list_offsets_api(self.replicas)
        self.start_ms = self.replicas.scheduler.wall_ms()

    def ask(
        self,
        *asked: ListOffsetsPartition,
        version: int = 10,
        replica_id: int = -1,
        listener: str = "PLAINTEXT",
        isolation: int = 0,
    ) -> list[ListOffsetsPartitionResponse]:
        answers: list[ListOffsetsResponse] = []
        context = RequestContext(2, version, 1, "me", "here", listener, "c", UNLIMITED)
        request = ListOffsetsRequest(replica_id, isolation, [ListOffsetsTopic("t", list(asked))])
        self.api.handle(context, request, answers.append)
        return answers[0].topics[0].partitions

    def at(self, timestamp: int, version: int = 10) -> tuple[int, int, int]:
        """Error, timestamp and offset."""
        (answer,) = self.ask(ListOffsetsPartition(0, timestamp=timestamp), version=version)
        return answer.error_code, answer.timestamp, answer.offset


@pytest.fixture
def offsets(tmp_path: Path) -> ListOffsets:
    """Three records, a second apart."""
    offsets = ListOffsets(tmp_path)
    offsets.replicas.create("t")
    for value in (b"a", b"b", b"c"):
        offsets.replicas.append("t", value)
        offsets.replicas.scheduler.run_for(1000)
    return offsets


def test_the_named_times(offsets: ListOffsets) -> None:
    offsets.replicas.partition("t").delete_records(1)
    assert offsets.at(-1) == (0, -1, 3)
    assert offsets.at(-2) == (0, -1, 1)
    assert offsets.at(-3) == (0, offsets.start_ms + 2000, 2)
    assert offsets.at(-4) == (0, -1, 1)
    assert offsets.at(-5) == (0, -1, -1)
    assert offsets.at(-6, version=11) == (0, -1, -1)


def test_a_time_finds_the_first_record_at_or_after_it(offsets: ListOffsets) -> None:
    start = offsets.start_ms
    assert offsets.at(0) == (0, start, 0)
    assert offsets.at(start + 1) == (0, start + 1000, 1)
    assert offsets.at(start + 2000) == (0, start + 2000, 2)
    assert offsets.at(start + 2001) == (0, -1, -1)


@pytest.mark.parametrize(("timestamp", "version"), [(-3, 6), (-4, 7), (-5, 8), (-6, 10), (-7, 11)])
def test_a_name_is_known_from_its_version_on(
    offsets: ListOffsets, timestamp: int, version: int
) -> None:
    assert offsets.at(timestamp, version)[0] == ErrorCode.UNSUPPORTED_VERSION


def test_refusals_are_per_partition(offsets: ListOffsets) -> None:
    one, unknown = ListOffsetsPartition(0, timestamp=-1), ListOffsetsPartition(9, timestamp=-1)
    assert [p.error_code for p in offsets.ask(one, unknown)] == [0, 3]
    assert [p.error_code for p in offsets.ask(one, one, one)] == [42]  # as an Apache Kafka
    told = {
        epoch: offsets.ask(ListOffsetsPartition(0, epoch, -1))[0].error_code
        for epoch in (-2, -1, 9)
    }  # no epoch is -1 alone, as in an Apache Kafka; only Fetch takes any negative one for it
    assert told == {-2: ErrorCode.FENCED_LEADER_EPOCH, -1: 0, 9: ErrorCode.UNKNOWN_LEADER_EPOCH}
    for isolation in (-1, 2):
        assert offsets.ask(one, isolation=isolation)[0].error_code == ErrorCode.INVALID_REQUEST
    (refused,) = offsets.ask(one, replica_id=5, listener="OUTSIDE")
    assert refused.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_what_is_not_committed_is_not_told(offsets: ListOffsets) -> None:
    offsets.replicas.reassign("t", [1, 2])
    offsets.replicas.move_leader("t", 1, isr=[1, 2])
    offsets.replicas.append("t", b"d")
    assert offsets.at(-1) == (0, -1, 3)
    assert offsets.at(-3) == (0, -1, -1)
    assert offsets.at(offsets.start_ms + 2500) == (0, -1, -1)


def test_a_reader_of_committed_records_is_told_the_last_stable_offset(
    offsets: ListOffsets,
) -> None:
    batch = offsets.replicas.batch(
        b"d", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    partition, now_ms = offsets.replicas.partition("t"), offsets.replicas.scheduler.wall_ms()
    partition.append_as_leader(batch, 1, now_ms)

    def ask(timestamp: int) -> tuple[int, int]:
        asked = ListOffsetsPartition(0, timestamp=timestamp)
        return tuple(offsets.ask(asked, isolation=n)[0].offset for n in (0, 1))  # type: ignore

    assert ask(-1) == (4, 3)
    assert ask(now_ms) == (3, -1)
    assert ask(-3) == (3, -1)
    partition.append_end_txn_marker(TransactionMarkerRequest(1, 0, 0, committed=False), now_ms)
    assert ask(-1) == (5, 5)


def test_a_failure_of_ours_is_said_for_every_partition() -> None:
    request = ListOffsetsRequest(topics=[ListOffsetsTopic("t", [ListOffsetsPartition(4)])])
    (topic,) = refuse_list_offsets(request, ErrorCode.UNKNOWN_SERVER_ERROR).topics
    assert [(p.partition_index, p.error_code) for p in topic.partitions] == [(4, -1)]


def test_a_follower_and_a_debugger_see_the_logs_end(offsets: ListOffsets) -> None:
    offsets.replicas.reassign("t", [1, 2])
    offsets.replicas.move_leader("t", 1, isr=[1, 2])
    offsets.replicas.append("t", b"d")
    latest = ListOffsetsPartition(0, timestamp=-1)
    assert offsets.ask(latest)[0].offset == 3
    assert offsets.ask(latest, replica_id=2)[0].offset == 4
    assert offsets.ask(latest, replica_id=-2)[0].offset == 4
    offsets.replicas.move_leader("t", 2)
    assert offsets.ask(latest)[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert offsets.ask(latest, replica_id=2)[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert offsets.ask(latest, replica_id=-2)[0].offset == 4


def test_a_new_leader_does_not_tell_an_end_that_lies_behind_what_was_read(
    offsets: ListOffsets,
) -> None:
    """KIP-207: its high watermark is what the leader before it last told."""
    replicas = offsets.replicas
    replicas.reassign("t", [1, 2])
    replicas.move_leader("t", 2, isr=[1, 2])
    replicas.partition("t").log.update_high_watermark(1)
    replicas.move_leader("t", 1)
    epoch = replicas.partition("t").leader_epoch
    assert offsets.at(-1)[0] == ErrorCode.OFFSET_NOT_AVAILABLE
    assert offsets.at(-1, version=4)[0] == ErrorCode.LEADER_NOT_AVAILABLE
    assert offsets.at(offsets.start_ms + 1)[0] == ErrorCode.OFFSET_NOT_AVAILABLE
    assert offsets.at(offsets.start_ms) == (0, offsets.start_ms, 0)
    assert offsets.at(-2) == (0, -1, 0)
    replicas.partition("t").read_for_follower(2, 1, 3, 1, True, epoch, epoch)
    replicas.partition("t").follower_fetched(2, 3, 0, 1)
    assert offsets.at(-1) == (0, -1, 3)


# --- in slices -----------------------------------------------------------------------------------


class Later(ListOffsets):
    """Takes answers when they come."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.answers: list[ListOffsetsResponse] = []

    def send(self, *asked: ListOffsetsPartition) -> None:
        context = RequestContext(2, 10, 1, "me", "here", "PLAINTEXT", "c", UNLIMITED)
        request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", list(asked))])
        self.api.handle(context, request, self.answers.append)

    def found(self, count: int) -> list[int]:
        self.replicas.scheduler.run_until(lambda: len(self.answers) == count, 60_000)
        return [one.offset for one in self.answers[-1].topics[0].partitions]


@pytest.fixture
def later(tmp_path: Path) -> Later:
    """Two records in a batch that unpacks to three million bytes, and one of a later time."""
    later = Later(tmp_path)
    partition = later.replicas.create("t", partitions=20)
    large = [Record(-1, 5, None, bytes(3_000_000)), Record(-1, 7, None, b"")]
    for records in (large, [Record(-1, 9, None, b"")]):
        batch = memoryview(build_batch(records, compression=Codec.GZIP))
        assert not partition.append_as_leader(batch, 1, 10).error
    return later


def test_a_look_into_a_batch_that_unpacks_to_much_is_answered_later(later: Later) -> None:
    later.send(ListOffsetsPartition(0, timestamp=6))
    assert later.answers == []
    assert later.at(8) == (0, 9, 2), "others are served meanwhile"
    assert later.found(1) == [1]


def test_a_topic_that_goes_meanwhile_is_answered_as_it_was(later: Later) -> None:
    later.replicas.partition("t").delete_records(1)
    later.send(ListOffsetsPartition(0, timestamp=1))
    later.replicas.delete("t")
    assert later.found(1) == [1]


def test_the_batch_behind_it_is_looked_at_where_the_first_has_no_such_record(later: Later) -> None:
    later.replicas.partition("t").delete_records(2)
    assert later.at(6) == (0, 9, 2)


def test_many_look_ups_leave_others_their_turn(later: Later) -> None:
    for index in range(20):
        batch = memoryview(build_batch([Record(-1, 3, None, b"")]))
        assert not later.replicas.partition("t", index).append_as_leader(batch, 1, 10).error
    later.send(*[ListOffsetsPartition(index, timestamp=3) for index in range(1, 20)])
    assert later.answers == []
    assert later.found(1) == [0] * 19


def test_a_bug_of_ours_is_answered(later: Later, monkeypatch: pytest.MonkeyPatch) -> None:
    later.send(ListOffsetsPartition(0, timestamp=6))

    def fails(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("storage.log.batch_body.unpack_into", fails)
    later.found(1)
    (answer,) = later.answers[0].topics[0].partitions
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_what_it_may_not_describe_is_told_as_kafka_does(tmp_path: Path) -> None:
    replicas = Replicas(str(tmp_path))
    for name in ("t", "u"):
        replicas.create(name)
        replicas.append(name, b"v")
    latest = ListOffsetsPartition(0, -1, -1)
    request = ListOffsetsRequest(
        -1, 0, [ListOffsetsTopic(name, [latest, latest]) for name in ("t", "none")]
    )
    request.topics.append(ListOffsetsTopic("u", [latest]))
    api = list_offsets_api(replicas)
    answer = ask(api.handle, request, 7, rights=rights_of(on_topic(Operation.DESCRIBE, "u")))
    denied = [(ErrorCode.TOPIC_AUTHORIZATION_FAILED, -1)] * 2  # each time that it is named
    assert [
        (topic.name, [(one.error_code, one.offset) for one in topic.partitions])
        for topic in answer.topics
    ] == [("u", [(0, 1)]), ("t", denied), ("none", denied)]


@pytest.mark.parametrize("listener", ["PLAINTEXT", "OTHER"])
def test_where_rights_are_judged_a_follower_needs_no_listener(
    tmp_path: Path, listener: str
) -> None:
    replicas = Replicas(str(tmp_path))
    replicas.create("t")
    request = ListOffsetsRequest(2, 0, [ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, -1)])])
    api = list_offsets_api(replicas)
    rights = rights_of(on_topic(Operation.DESCRIBE, "t"))
    (topic,) = ask(api.handle, request, 7, listener, rights).topics
    assert topic.partitions[0].error_code == 0
