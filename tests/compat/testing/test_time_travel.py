"""Clocks that a test moves, as clients see it: what is due is done, and the rest goes on."""

from __future__ import annotations

import base64
import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from broker.security.sasl.server_mechanism import SaslRefused
from controller.metadata.scram_credential import ScramMechanism, salted_password
from ottla.testing import Broker, Cluster
from ottla.testing.contents import Contents
from ottla.testing.errors import Misuse
from ottla.testing.topic import NotAsExpected
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from tests.clients.transactional_clients import open_producer, open_reader
from tests.clients.transactional_faces import Failed, Fenced, TopicReader
from tests.clients.wire_client import WireClient
from tests.tools.ports import free_port

WITHIN_S = 60.0
MECHANISM = "SCRAM-SHA-256"
FOR_EVER = {"retention.ms": "-1"}
PATIENT = {
    "controller.quorum.fetch.timeout.ms": "60000",
    "broker.session.timeout.ms": "60000",
    "replica.lag.time.max.ms": "60000",
}
"""Of a cluster: no node is given up that a busy machine holds up. The clock goes on by more."""


@contextmanager
def consuming(broker: Contents, servers: str, client: str, topic: str) -> Iterator[list[bytes]]:
    """A member of the group `app`, in a thread, which commits what it reads: its values. What it
    could not commit, since it was out of the group, it reads again."""
    reader = open_reader(client, servers, topic, group="app")
    found: list[bytes] = []
    ended = threading.Event()

    def poll() -> None:
        while not ended.is_set():
            _read_and_commit(reader, found)

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        broker.wait_for_group("app", members=1, timeout=WITHIN_S)
        yield found
    finally:
        ended.set()
        thread.join(WITHIN_S)
        reader.close()


def _read_and_commit(reader: TopicReader, found: list[bytes]) -> None:
    rows = reader.poll(0.05)
    found.extend(row.value for row in rows)
    if rows:
        with contextlib.suppress(Failed):
            reader.commit({row.partition: row.offset + 1 for row in rows})


def members(broker: Contents) -> list[Any]:
    return [one["member"] for one in broker.call("group.describe", {"group": "app"})["members"]]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as one:
        yield one


def test_what_is_older_than_its_retention_is_deleted(broker: Broker) -> None:
    orders, kept = broker.topic("orders"), broker.topic("kept", configs=FOR_EVER)
    for topic in (orders, kept):
        topic.seed(["old"] * 3)
    broker.advance(days=6)
    assert len(orders.records()) == 3
    broker.advance(days=2)
    assert orders.records() == [] and orders.ends() == {0: 3} and len(kept.records()) == 3
    (new,) = orders.seed(["new"])
    assert [one.offset for one in orders.consume(1)] == [new.offset] == [3]
    assert new.timestamp - kept.records()[0].timestamp >= 8 * 24 * 3600 * 1000
    broker.restart()
    assert broker.is_ahead and [one.value for one in orders.records()] == [b"new"]
    assert orders.seed(["later"])[0].timestamp >= new.timestamp
    broker.stop()
    broker.advance(days=1)
    broker.start()
    assert orders.seed(["a day later"])[0].timestamp - new.timestamp >= 24 * 3600 * 1000


def test_time_never_goes_back(broker: Broker) -> None:
    for wrong in ({"days": -1}, {"hours": 1, "minutes": -61}):
        with pytest.raises(Misuse, match="time goes on and never back"):
            broker.advance(**wrong)
    assert not broker.is_ahead
    broker.advance()
    before = broker.topic("orders").seed(["x"])[0].timestamp
    broker.advance(seconds=0.5)
    assert broker.topic("orders").seed(["x"])[0].timestamp >= before + 500


@pytest.mark.parametrize("client", ["confluent-kafka", "aiokafka"])
def test_a_member_is_out_and_joins_again(broker: Broker, client: str) -> None:
    topic = broker.topic("orders", configs=FOR_EVER)
    topic.seed(["before"])
    with consuming(broker, broker.bootstrap_servers, client, topic.name) as found:
        broker.wait_idle("app")
        (member,) = members(broker)
        for _ in range(5):
            broker.advance(seconds=1)  # less than its session
        assert members(broker) == [member]
        broker.advance(minutes=1)
        assert member not in members(broker)
        topic.seed(["after"])
        broker.wait_idle("app", timeout=WITHIN_S)
        broker.wait_for_group("app", members=1, timeout=WITHIN_S)
        assert set(found) == {b"before", b"after"} and member not in members(broker)


def test_small_steps_disturb_nobody(broker: Broker) -> None:
    topic = broker.topic("orders")
    sent = []
    with consuming(broker, broker.bootstrap_servers, "confluent-kafka", topic.name) as found:
        (member,) = members(broker)
        for number in range(20):
            broker.advance(seconds=0.4)
            sent += [one.value for one in topic.seed([str(number)])]
        broker.wait_idle("app", topics=[topic])
        assert found == sent and members(broker) == [member]


@pytest.mark.parametrize("client", ["confluent-kafka", "kafka-python"])
def test_a_transaction_that_was_open_for_too_long_is_aborted(broker: Broker, client: str) -> None:
    topic = broker.topic("orders")
    producer = open_producer(client, broker.bootstrap_servers, "writer", timeout_ms=60_000)
    producer.begin()
    producer.send(topic.name, 0, b"never")
    producer.flush()
    topic.seed(["behind it"])
    broker.advance(seconds=30)
    assert topic.consume() == []
    broker.advance(minutes=1)
    assert [one.value for one in topic.consume(1)] == [b"behind it"]
    with pytest.raises(Fenced):
        producer.commit()
    producer.close()


def test_offsets_of_a_group_without_members_expire(broker: Broker) -> None:
    topic = broker.topic("orders", configs=FOR_EVER)
    topic.seed(["x"])
    with consuming(broker, broker.bootstrap_servers, "aiokafka", topic.name):
        broker.wait_idle("app", topics=[topic])
    broker.wait_for_group("app", members=0, state="Empty")
    broker.advance(days=6)
    broker.assert_committed("app", topic)
    broker.advance(days=2)
    with pytest.raises(NotAsExpected, match="it is not there .there are: none.(.|\n)*nothing"):
        broker.assert_committed("app", topic, timeout=0.05)
    with consuming(broker, broker.bootstrap_servers, "confluent-kafka", topic.name) as found:
        broker.wait_idle("app", topics=[topic])
        assert found == [b"x"], "it begins anew"


def test_a_delegation_token_expires_and_who_is_logged_in_stays_so() -> None:
    one, port = Broker(), free_port()
    module = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    one.properties |= {
        "listeners": f"PLAINTEXT://127.0.0.1:{one.port},SASL_PLAINTEXT://127.0.0.1:{port}",
        "listener.name.sasl_plaintext.sasl.enabled.mechanisms": MECHANISM,
        f"listener.name.sasl_plaintext.{MECHANISM.lower()}.sasl.jaas.config": module,
        "listener.security.protocol.map": ",".join(
            ("PLAINTEXT:PLAINTEXT", "SASL_PLAINTEXT:SASL_PLAINTEXT", "CONTROLLER:PLAINTEXT")
        ),
        "delegation.token.secret.key": "a key for tokens",
    }
    with one, WireClient(one.port) as admin, WireClient(port) as ann:
        salted = salted_password(ScramMechanism.SCRAM_SHA_256, "password", b"salt", 4096)
        user = ScramCredentialUpsertion("ann", ScramMechanism.SCRAM_SHA_256, 4096, b"salt", salted)
        admin.call(AlterUserScramCredentialsRequest([], [user]), 0)
        ann.log_in(MECHANISM, "ann", "password")
        made = ann.call(CreateDelegationTokenRequest(max_lifetime_ms=3_600_000), 3)
        secret = base64.b64encode(made.hmac).decode()
        with WireClient(port) as by_token:
            by_token.log_in(MECHANISM, made.token_id, secret, by_token=True)
        one.advance(minutes=50)
        assert len(ann.call(DescribeDelegationTokenRequest(None), 3).tokens) == 1
        one.advance(minutes=80)
        assert ann.call(DescribeDelegationTokenRequest(None), 3).tokens == []
        with WireClient(port) as late, pytest.raises(SaslRefused):
            late.log_in(MECHANISM, made.token_id, secret, by_token=True)


def test_a_cluster_stays_whole() -> None:
    """Nobody is elected, nobody is fenced, no replica leaves the in-sync set."""
    with Cluster(3, properties=PATIENT) as cluster:
        topic = cluster.topic(
            "orders", 3, configs={"retention.ms": "-1", "min.insync.replicas": "3"}
        )
        before = [one.call("controller.show") for one in cluster.brokers]
        leaders = [topic.leader(partition) for partition in range(3)]
        with consuming(cluster, cluster.bootstrap_servers, "confluent-kafka", topic.name) as found:
            for how in ({"seconds": 2}, {"minutes": 10}, {"days": 8}):
                cluster.advance(**how)
                topic.seed(["x"] * 6)
                cluster.wait_idle("app", topics=[topic], timeout=WITHIN_S)
            assert len(found) >= 18
        assert [one.call("controller.show") for one in cluster.brokers] == before
        assert [topic.leader(partition) for partition in range(3)] == leaders
        assert not any("fenced" in one.output() for one in cluster.brokers)
        cluster.broker(2).advance(hours=1)
        topic.seed(["x"] * 3)
        assert [one.call("controller.show") for one in cluster.brokers] == before
        sent = cluster.requests("JoinGroup")
        assert sent and [one.time_ms for one in sent] == sorted(one.time_ms for one in sent)
        assert {one.node_id for one in cluster.requests()} == {1, 2, 3}
        dropped = cluster.reset()
        assert dropped["topics"] == [topic.name] and dropped["groups"] == ["app"]
        assert cluster.topics() == [] and cluster.requests("JoinGroup") == []
