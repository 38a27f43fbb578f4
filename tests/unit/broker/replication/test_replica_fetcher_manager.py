"""Which fetcher gets which partition; how they copy is the model's test and the fetcher's."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.metrics import Metrics
from broker.replication.replica_fetcher_manager import ReplicaFetcherManager, fetcher_number
from protocol.messages.metadata_records import (
    BrokerEndpoint,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from storage.log_config import LogConfig
from tests.unit.broker.replica_fixture import Replicas, topic_id_of
from tests.unit.broker.replication.scripted_leader import ScriptedLeader, data, records

ME = 1


class Network:
    """Scripted leaders by address."""

    def __init__(self) -> None:
        self.made: list[tuple[int, str]] = []
        self.leaders: list[ScriptedLeader] = []

    def channel(self, host: str, port: int, client_id: str) -> ScriptedLeader:
        self.made.append((port, client_id))
        self.leaders.append(ScriptedLeader())
        return self.leaders[-1]


class Broker:
    """Broker 1 with fetchers; other brokers listen on the ports in `ports`."""

    def __init__(self, folder: str, **overrides: str) -> None:
        self.replicas = Replicas(folder, **overrides)
        self.network = Network()
        self.ports: dict[int, int] = {2: 92, 3: 93}
        self.metrics = Metrics()
        self.fetchers = ReplicaFetcherManager(
            self.replicas.config,
            self.network,
            self.replicas.scheduler,
            self.replicas.manager,
            lambda broker: ("host", self.ports[broker]) if broker in self.ports else None,
            self.metrics,
            lambda: 9,
        )

    def create(self, topic: str, leader: int, partitions: int = 1) -> None:
        self.replicas.create(topic, partitions, replicas=[1, 2, 3], leader=leader)
        self.run()

    def register(self, broker_id: int) -> None:
        """Metadata that tells of a broker."""
        endpoint = BrokerEndpoint("PLAINTEXT", "host", self.ports[broker_id], 0)
        self.replicas.replay(RegisterBrokerRecord(broker_id, end_points=[endpoint]))
        self.run()

    def run(self, duration_ms: float = 0) -> None:
        self.replicas.scheduler.run_for(duration_ms)

    def asked(self) -> list[list[tuple[str, int]]]:
        """What each open connection asked for last."""
        return [list(one.asked()) for one in self.network.leaders if one.waiting is not None]


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    return Broker(str(tmp_path))


def test_each_leader_has_a_fetcher_and_it_goes_with_its_last_partition(broker: Broker) -> None:
    broker.create("a", leader=2)
    broker.create("b", leader=3)
    broker.create("mine", leader=ME)
    assert broker.network.made == [(92, "broker-1-fetcher-0"), (93, "broker-1-fetcher-0")]
    assert broker.asked() == [[("a", 0)], [("b", 0)]]
    broker.replicas.move_leader("a", 3)
    broker.run()
    assert [one.closed for one in broker.network.leaders] == [1, 1, 0]  # the last: asked anew
    assert sorted(broker.asked()[0]) == [("a", 0), ("b", 0)]
    broker.replicas.move_leader("a", ME)
    broker.replicas.delete("b")
    broker.run()
    assert broker.asked() == []


def test_partitions_of_a_topic_take_turns_among_fetchers(tmp_path: Path) -> None:
    broker = Broker(str(tmp_path), **{"num.replica.fetchers": "2"})
    broker.create("a", leader=2, partitions=6)
    assert sorted(client for _, client in broker.network.made) == [
        "broker-1-fetcher-0",
        "broker-1-fetcher-1",
    ]
    assert sorted(len(one) for one in broker.asked()) == [3, 3]
    assert [fetcher_number("a", index, 2) for index in range(4)] in ([0, 1, 0, 1], [1, 0, 1, 0])


def test_another_number_of_fetchers_takes_the_partitions_over(broker: Broker) -> None:
    def copied() -> list[int]:
        return [len(one) for one in broker.fetchers._fetchers.values()]

    broker.create("a", leader=2, partitions=6)
    assert copied() == [6]
    broker.fetchers.resize(3)
    broker.run()
    assert sorted(client for _, client in broker.network.made) == [
        "broker-1-fetcher-0",
        "broker-1-fetcher-1",
        "broker-1-fetcher-2",
    ]
    assert copied() == [2, 2, 2]
    broker.fetchers.resize(1)
    broker.run()
    assert copied() == [6]
    made = len(broker.network.made)
    broker.fetchers.resize(1)
    broker.run()
    assert len(broker.network.made) == made


def test_a_leader_without_an_address_is_followed_once_it_has_one(broker: Broker) -> None:
    del broker.ports[2]
    broker.create("a", leader=2)
    assert broker.network.made == []
    broker.ports[2] = 95
    broker.register(2)
    assert broker.network.made == [(95, "broker-1-fetcher-0")]
    assert broker.asked() == [[("a", 0)]]


def test_a_leader_that_moved_is_followed_there(broker: Broker) -> None:
    broker.create("a", leader=2)
    broker.register(2)
    assert len(broker.network.made) == 1
    broker.ports[2] = 95
    broker.register(2)
    assert [port for port, _ in broker.network.made] == [92, 95]
    assert broker.network.leaders[0].closed == 1
    assert broker.asked() == [[("a", 0)]]


def test_without_a_leader_nobody_is_asked(broker: Broker) -> None:
    broker.create("a", leader=2)
    broker.replicas.move_leader("a", -1)
    broker.run()
    assert broker.asked() == []
    broker.replicas.move_leader("a", 3)
    broker.run()
    assert broker.asked() == [[("a", 0)]]


def test_a_replica_that_moved_away_is_copied_no_more_and_its_log_goes(broker: Broker) -> None:
    broker.create("a", leader=2)
    broker.replicas.replay(PartitionChangeRecord(0, topic_id_of("a"), replicas=[2, 3], isr=[2, 3]))
    broker.run()
    assert broker.asked() == []
    assert broker.replicas.manager.partition("a", 0) is None
    assert broker.replicas.logs.get(("a", 0)) is None


def test_a_topic_made_anew_under_its_name_is_another_one(broker: Broker) -> None:
    """KAFKA-14616: also where both come in one change of metadata."""
    broker.create("a", leader=2)
    old = broker.replicas.partition("a")
    broker.network.leaders[0].give(("a", data(records(0, 0), 1)))
    other = b"another id".ljust(16, b"_")
    broker.replicas.replay(
        RemoveTopicRecord(topic_id_of("a")),
        TopicRecord("a", other),
        PartitionRecord(0, other, [1, 2], [1, 2], leader=2, directories=[bytes(16)] * 2),
    )
    broker.run()
    new = broker.replicas.partition("a")
    assert old.deleted
    assert (new.topic_id, new.log.log_end_offset) == (other, 0)
    assert [topic.topic_id for topic in broker.network.leaders[-1].fetch.topics] == [other]


def test_a_log_directory_that_fails_stops_its_partitions(broker: Broker) -> None:
    broker.create("a", leader=2)
    broker.replicas.failures.fail(str(broker.replicas.config.log_dirs[0]), "a test", OSError("no"))
    broker.network.leaders[0].give()
    broker.network.leaders[0].give()
    assert broker.asked() == []


def test_metrics(broker: Broker) -> None:
    broker.create("a", leader=2)
    batch = records(0, 0)
    broker.network.leaders[0].give(("a", data(batch, 5)))
    values = {family.name: family.samples[0][1] for family in broker.metrics.families()}
    assert values["kafka_server_brokertopicmetrics_replicationbytesin"] == len(batch)
    assert values["kafka_server_replicafetchermanager_maxlag"] == 4
    assert values["kafka_server_replicafetchermanager_failedpartitionscount"] == 0


def test_after_the_shutdown_nothing_is_copied(broker: Broker) -> None:
    broker.create("a", leader=2)
    broker.fetchers.shutdown()
    broker.create("b", leader=2)
    broker.run(5000)
    assert broker.asked() == []


def test_the_followers_quota_holds_back_its_partitions(tmp_path: Path) -> None:
    broker = Broker(str(tmp_path))
    broker.replicas.create(
        "a", replicas=[1, 2], leader=2, follower_replication_throttled_replicas="0:1"
    )
    broker.replicas.manager.follower_quota.rate = 10
    broker.run()
    leader = broker.network.leaders[0]
    leader.give(("a", data(records(0, 0), 9)))
    assert broker.replicas.manager.follower_quota.is_exceeded()
    assert leader.forgotten() == [("a", 0)]
    broker.run(500)
    leader.give()
    assert leader.waiting is None
    broker.run(60_000)
    assert leader.asked() == {("a", 0): (0, 1, 0, 0)}


def test_a_log_start_that_retention_moved_is_told_to_the_leader(broker: Broker) -> None:
    broker.create("a", leader=2)
    (leader,) = broker.network.leaders
    leader.give(("a", data(records(0, 0), high_watermark=1)))
    leader.give()
    assert leader.asked() == {}, "nothing new to say"
    partition = broker.replicas.manager.partition("a", 0)
    assert partition is not None
    for log in broker.replicas.logs.logs_of({"a"}):
        log.update_config(LogConfig(retention_bytes=0))
    broker.replicas.logs.upkeep.retain()
    leader.give()
    assert leader.asked() == {("a", 0): (0, 1, 1, 0)}
