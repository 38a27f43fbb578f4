"""Fetches in a broker's name, and consumers that are sent to, and served by, followers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.apis.fetch.api import FetchApi
from broker.config.keys import LEADER_RATE
from broker.replication.replica_selector import RACK_AWARE
from broker.replication.replication_quota import LEADER_REPLICAS
from broker.requests.context import RequestContext
from controller.authorization.rights import UNLIMITED
from controller.metadata.image import ResourceType
from protocol.errors import ErrorCode
from protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from protocol.messages.metadata_records import ConfigRecord
from protocol.record_batch import iterate_batches
from tests.unit.broker.replica_fixture import topic_id_of
from tests.unit.broker.replication.leader_fixture import TOPIC, Leader
from tests.unit.broker.sliced_fixture import Turns

MIB = 1 << 20


class Fetcher:
    """A reader of one partition of the leader, with or without a session."""

    def __init__(self, leader: Leader, replica_id: int = -1, rack: str = "") -> None:
        self.leader = leader
        self.api = FetchApi(leader.replicas.config, leader.replicas.manager, Turns().answers)
        self.replica_id = replica_id
        self.rack = rack
        self.session_id, self.epoch = 0, -1
        self.answers: list[FetchResponse] = []

    def open(self, offset: int, **options: Any) -> None:
        self.session_id, self.epoch = 0, 0
        self.fetch(offset, **options)
        self.session_id, self.epoch = self.answers[-1].session_id, 1
        assert self.session_id

    def fetch(
        self,
        offset: int | None,
        *,
        version: int = 17,
        wait_ms: int = 0,
        partition_max_bytes: int = MIB,
        leader_epoch: int | None = None,
        last_epoch: int = -1,
        broker_epoch: int | None = None,
    ) -> None:
        topic_id = topic_id_of(TOPIC)
        now = self.leader.partition.leader_epoch if leader_epoch is None else leader_epoch
        asked = FetchPartition(0, now, offset or 0, last_epoch, 0, partition_max_bytes)
        topics = [] if offset is None else [FetchTopic(TOPIC, topic_id, [asked])]
        if version >= 13:
            topics = [] if offset is None else [FetchTopic("", topic_id, [asked])]
        epoch = self.replica_id * 10 if broker_epoch is None else broker_epoch
        by_state = version >= 15 and self.replica_id >= 0
        request = FetchRequest(
            replica_id=-1 if by_state else self.replica_id,
            replica_state=ReplicaState(self.replica_id, epoch) if by_state else None,
            max_wait_ms=wait_ms,
            min_bytes=1,
            session_id=self.session_id,
            session_epoch=self.epoch,
            topics=topics,
            rack_id=self.rack,
        )
        context = RequestContext(1, version, 1, "me", "here", "PLAINTEXT", "c", UNLIMITED)
        self.api.handle(context, request, self.answers.append)
        if self.epoch > 0:
            self.epoch += 1

    def told(self) -> PartitionData | None:
        """What the last answer says of the partition."""
        partitions = [one for topic in self.answers[-1].responses for one in topic.partitions]
        return partitions[0] if partitions else None

    def one(self) -> PartitionData:
        told = self.told()
        assert told is not None
        return told


def offsets(partition: PartitionData) -> list[int]:
    records: Any = partition.records
    data = records if isinstance(records, bytes) else records.read()
    return [h.base_offset for _, h in iterate_batches(memoryview(data), allow_partial_tail=True)]


@pytest.fixture
def leader(tmp_path: Path) -> Leader:
    return Leader(str(tmp_path), replicas=(1, 2))


@pytest.mark.parametrize("version", [4, 11, 12, 15, 18])
def test_a_follower_reads_to_the_logs_end_and_moves_the_watermark(
    leader: Leader, version: int
) -> None:
    leader.append(2)
    follower = Fetcher(leader, 2)
    follower.fetch(1, version=version)
    assert offsets(follower.one()) == [1]
    # The answer tells what this fetch has made of the watermark.
    assert (follower.one().high_watermark, leader.high_watermark) == (1, 1)


def test_no_position_is_noted_of_a_fetch_that_is_refused(leader: Leader) -> None:
    leader.append(3)
    first = leader.partition.leader_epoch
    leader.replicas.move_leader(TOPIC, 1)
    leader.append(2)
    follower = Fetcher(leader, 2)
    follower.fetch(5, leader_epoch=first)
    assert follower.one().error_code == ErrorCode.FENCED_LEADER_EPOCH
    follower.fetch(9)
    assert follower.one().error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    follower.fetch(5, broker_epoch=1)
    assert follower.one().error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    follower.fetch(5, last_epoch=first)
    diverging = follower.one().diverging_epoch
    assert diverging is not None
    assert (diverging.epoch, diverging.end_offset) == (first, 3)
    assert leader.high_watermark == 0
    Fetcher(leader, 3).fetch(5)
    assert leader.high_watermark == 0


def test_an_append_wakes_a_parked_follower_and_its_next_fetch_an_ack(leader: Leader) -> None:
    follower = Fetcher(leader, 2)
    follower.open(0)
    follower.fetch(None, wait_ms=500)
    assert len(follower.answers) == 1
    leader.append(1)
    leader.replicas.scheduler.run_for(0)
    assert offsets(follower.one()) == [0]
    assert leader.partition.is_replicated_to(1) is None
    follower.fetch(1, wait_ms=500)
    assert leader.partition.is_replicated_to(1) == ErrorCode.NONE


def test_a_consumer_is_woken_when_all_have_what_it_waits_for(leader: Leader) -> None:
    consumer, follower = Fetcher(leader), Fetcher(leader, 2)
    consumer.fetch(0, wait_ms=5000)
    leader.append(1)
    assert consumer.answers == []
    follower.fetch(1)
    assert offsets(consumer.one()) == [0]


def test_an_append_alone_wakes_no_consumer(leader: Leader, monkeypatch: Any) -> None:
    """It would read again for nothing: what is not replicated is not shown."""
    consumer, follower = Fetcher(leader), Fetcher(leader, 2)
    follower.fetch(0)
    consumer.open(0)
    consumer.fetch(None, wait_ms=5000)
    looked: list[object] = []
    purgatory = leader.replicas.manager.fetch_purgatory
    check = purgatory.check
    monkeypatch.setattr(purgatory, "check", lambda key: (looked.append(key), check(key))[1])
    leader.append(1)
    assert looked == [leader.partition]  # nobody waits for that without a session
    follower.fetch(1)
    assert offsets(consumer.one()) == [0]


def test_a_consumer_hears_of_a_new_leader_though_the_watermark_stands(leader: Leader) -> None:
    consumer = Fetcher(leader)
    consumer.open(0)
    consumer.fetch(None, wait_ms=5000)
    leader.replicas.move_leader(TOPIC, 1)
    assert consumer.one().error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_a_session_stands_in_for_its_idle_partitions(leader: Leader) -> None:
    """A follower in sync that goes on fetching is not late when something is written at last."""
    leader.append(1)
    follower = Fetcher(leader, 2)
    follower.open(1)
    for _ in range(100):
        leader.run(1_000)
        follower.fetch(None)
    leader.append(1)
    leader.partition.shrink_isr()
    assert leader.proposed() is None
    leader.run(30_001)  # and now it does not fetch
    leader.partition.shrink_isr()
    assert leader.proposed() == [1]


def test_a_session_stands_in_for_nothing_that_moved(leader: Leader) -> None:
    """It goes on fetching, but of this partition it does not take what is new."""
    leader.append(1)
    follower = Fetcher(leader, 2)
    follower.open(1)
    leader.append(1)
    for _ in range(31):
        leader.run(1_000)
        follower.fetch(None)
    leader.partition.shrink_isr()
    assert leader.proposed() == [1]


def test_a_late_fetch_of_another_connection_does_not_hide_where_a_follower_is(
    leader: Leader,
) -> None:
    """Found by the simulator: nothing was acknowledged any more, and nobody left the ISR."""
    leader.append(2)
    follower = Fetcher(leader, 2)
    follower.open(1)
    follower.fetch(2)
    follower.fetch(None)  # it was told the high watermark, and its session stands in for it
    Fetcher(leader, 2).open(1)  # sent before all that, on a connection that is gone
    follower.fetch(None)
    assert leader.partition.followers is not None
    assert leader.partition.followers.replicas[2].log_end_offset == 2


def test_a_follower_that_wants_a_partition_no_more_is_late_in_time(leader: Leader) -> None:
    leader.append(1)
    follower = Fetcher(leader, 2)
    follower.open(1)
    (session,) = leader.replicas.manager.sessions
    session.forget((topic_id_of(TOPIC), 0))
    for _ in range(31):
        leader.run(1_000)
        follower.fetch(None)
    leader.append(1)
    leader.partition.shrink_isr()
    assert leader.proposed() == [1]


def test_a_session_belongs_to_who_opened_it(leader: Leader) -> None:
    follower, consumer = Fetcher(leader, 2), Fetcher(leader)
    follower.open(0)
    consumer.session_id, consumer.epoch = follower.session_id, 1
    consumer.fetch(None)
    assert consumer.answers[-1].error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_follower_is_told_at_once_where_the_log_starts_now(leader: Leader) -> None:
    """A DeleteRecords waits for its word."""
    leader.append(2)
    follower = Fetcher(leader, 2)
    follower.open(2)
    follower.fetch(None, wait_ms=500)
    leader.partition.delete_records(1)
    leader.replicas.scheduler.run_for(0)
    assert follower.one().log_start_offset == 1


# --- the leader's throttle -----------------------------------------------------------------------


def throttle(leader: Leader, rate: int) -> None:
    leader.replicas.replay(
        ConfigRecord(ResourceType.BROKER, "1", LEADER_RATE, str(rate)),
        ConfigRecord(ResourceType.TOPIC, TOPIC, LEADER_REPLICAS, "0:1,0:2"),
    )


def test_a_throttled_follower_waits_for_the_rate(leader: Leader) -> None:
    leader.append(2)
    leader.commit([1])
    throttle(leader, 50)
    follower = Fetcher(leader, 2)
    follower.open(0, partition_max_bytes=1)
    assert offsets(follower.one()) == [0]  # what goes over the rate makes the next ones wait
    follower.fetch(1)
    assert follower.told() is None or follower.one().records == b""
    leader.run(3_000)
    follower.fetch(None)
    assert offsets(follower.one()) == [1]


def test_a_follower_in_sync_is_not_throttled(leader: Leader) -> None:
    leader.append(2)
    throttle(leader, 1)
    follower = Fetcher(leader, 2)
    follower.fetch(0, partition_max_bytes=1)
    follower.fetch(1)
    assert offsets(follower.one()) == [1]


# --- KIP-392 -------------------------------------------------------------------------------------


@pytest.fixture
def racks(tmp_path: Path) -> Leader:
    leader = Leader(str(tmp_path), **{"replica.selector.class": RACK_AWARE})
    for broker_id, rack in ((1, "a"), (2, "b"), (3, "b")):
        leader.replicas.register(broker_id, broker_id * 10, rack=rack)
    leader.append(3)
    for broker_id in (2, 3):
        leader.fetch(broker_id, 3)
    return leader


def preferred(leader: Leader, rack: str, offset: int = 1, version: int = 17) -> int:
    consumer = Fetcher(leader, rack=rack)
    consumer.fetch(offset, version=version)
    return consumer.one().preferred_read_replica


def test_a_consumer_is_sent_to_its_rack(racks: Leader) -> None:
    consumer = Fetcher(racks, rack="b")
    consumer.fetch(1, wait_ms=500)
    assert (consumer.one().preferred_read_replica, consumer.one().records) == (3, b"")
    assert consumer.one().high_watermark == 3


def test_it_stays_where_the_leader_is_as_near(racks: Leader) -> None:
    assert preferred(racks, "a") == -1
    assert preferred(racks, "c") == -1
    assert preferred(racks, "") == -1


def test_of_its_rack_the_replica_that_has_most(racks: Leader) -> None:
    racks.append(1)
    racks.fetch(2, 4)
    assert preferred(racks, "b") == 2
    assert preferred(racks, "b", offset=4) == 2


def test_a_replica_that_cannot_answer_is_not_named(racks: Leader) -> None:
    racks.commit([1, 2])
    assert preferred(racks, "b") == 2
    racks.replicas.register(2, 20, rack="b", fenced=True)
    assert preferred(racks, "b") == -1


def test_without_a_selector_nobody_is_sent_away(leader: Leader) -> None:
    leader.replicas.register(2, 20, rack="b")
    leader.append(1)
    leader.fetch(2, 1)
    assert preferred(leader, "b", 0) == -1


def test_a_follower_is_told_of_the_watermark_at_once_where_consumers_read_it(
    racks: Leader,
) -> None:
    two, three = Fetcher(racks, 2), Fetcher(racks, 3)
    two.open(3)
    three.open(3)
    racks.append(1)
    two.fetch(4)
    two.fetch(None, wait_ms=500)
    answered = len(two.answers)
    three.fetch(4)
    racks.replicas.scheduler.run_for(0)
    assert len(two.answers) == answered + 1
    assert two.one().high_watermark == 4


def test_a_follower_answers_consumers_up_to_its_own_watermark(leader: Leader) -> None:
    leader.append(3)
    leader.fetch(2, 2)
    leader.replicas.move_leader(TOPIC, 2)
    consumer = Fetcher(leader, rack="b")
    consumer.fetch(0)
    assert (offsets(consumer.one()), consumer.one().high_watermark) == ([0, 1], 2)
    consumer.fetch(3)
    assert (consumer.one().error_code, consumer.one().records) == (0, b"")
    consumer.fetch(4)
    assert consumer.one().error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    consumer.fetch(0, version=10)  # a client before KIP-392 wants the leader
    assert consumer.one().error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


# --- KIP-951 -------------------------------------------------------------------------------------


def test_who_asks_the_wrong_broker_is_told_the_leader(leader: Leader) -> None:
    leader.replicas.move_leader(TOPIC, 2)
    follower, consumer = Fetcher(leader, 3), Fetcher(leader)
    consumer.fetch(0, leader_epoch=0)
    follower.fetch(0)
    told, response = follower.one().current_leader, consumer.answers[-1]
    assert follower.one().error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert told is not None
    assert (told.leader_id, told.leader_epoch) == (2, leader.partition.leader_epoch)
    assert follower.answers[-1].node_endpoints == []  # as in an Apache Kafka
    (node,) = response.node_endpoints
    assert (node.node_id, node.host, node.port) == (2, "host-2", 9092)
    follower.fetch(0, version=15)
    assert follower.one().current_leader is None
    follower.fetch(0, leader_epoch=0)
    assert follower.one().error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert follower.one().current_leader is not None
