"""A reset as clients see it: nothing is there of each kind of thing that a test leaves behind."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ShareConsumer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from ottla.testing import Broker
from ottla.testing.errors import OttlaError
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    OpData,
)
from protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch
from tests.clients.transactional_clients import open_producer, open_reader
from tests.clients.wire_client import WireClient
from tests.tools.waiting import wait_until

WITHIN_S = 60.0
SECURED = {
    # A producer whose connection was dropped asks again for its topic, at any time.
    "auto.create.topics.enable": "false",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture(scope="module")
def secured() -> Iterator[Broker]:
    with Broker(SECURED) as one:
        yield one


@pytest.fixture
def broker(secured: Broker) -> Broker:
    secured.reset()
    return secured


def asked(broker: Broker, ask: Callable[[AdminClient], Any]) -> Any:
    """What an AdminClient tells; the first thing, where it promises several."""
    client = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    promised = ask(client)
    future = next(iter(promised.values())) if isinstance(promised, dict) else promised
    return future.result(WITHIN_S)


def groups(broker: Broker) -> list[str]:
    return [one.group_id for one in asked(broker, AdminClient.list_consumer_groups).valid]


def test_topics_groups_and_transactions_are_gone(broker: Broker) -> None:
    topic = broker.topic("orders", exact=True)
    topic.seed(["x"] * 3)
    reader = open_reader("kafka-python", broker.bootstrap_servers, "orders", group="app")
    wait_until(lambda: reader.poll(0.05), "a record")
    reader.commit({0: 2})
    reader.close()
    producer = open_producer("confluent-kafka", broker.bootstrap_servers, "writer")
    producer.begin()
    producer.send("orders", 0, b"open")
    producer.flush()
    dropped = broker.reset()
    assert dropped["topics"] == ["orders"] and dropped["groups"] == ["app"]
    assert dropped["transactional_ids"] == ["writer"] and dropped["connections"]
    assert broker.topics() == groups(broker) == []
    assert broker.requests("Produce") == []
    orders = broker.topic("orders", exact=True)
    orders.seed(["new"])
    assert [one.value for one in orders.consume()] == [b"new"]
    reader = open_reader("aiokafka", broker.bootstrap_servers, "orders", group="app")
    rows = wait_until(lambda: reader.poll(0.2), "a record: nothing is committed")
    assert [row.value for row in rows] == [b"new"]
    reader.close()
    again = open_producer("kafka-python", broker.bootstrap_servers, "writer")
    again.begin()
    again.send("orders", 0, b"its first")
    again.commit()
    again.close()
    producer.close()
    assert [one.value for one in orders.consume(1)] == [b"its first"]


def of_cluster(broker: Broker, key: str) -> tuple[str, bool]:
    """A broker's config, and whether it was set at run time."""
    resource = ConfigResource(ResourceType.BROKER, "1")
    entry = asked(broker, lambda client: client.describe_configs([resource]))[key]
    return entry.value, entry.source == ConfigSource.DYNAMIC_BROKER_CONFIG.value


def set_at_run_time(broker: Broker, key: str, value: str) -> None:
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    asked(broker, lambda client: client.incremental_alter_configs([resource]))


def test_configs_are_as_at_first_also_where_no_helper_came_before() -> None:
    with Broker() as broker:
        before = of_cluster(broker, "log.retention.ms")
        set_at_run_time(broker, "log.retention.ms", "60000")
        assert of_cluster(broker, "log.retention.ms") == ("60000", True)
        broker.restart()
        assert of_cluster(broker, "log.retention.ms") == ("60000", True)
        broker.reset()
        assert of_cluster(broker, "log.retention.ms") == before


def acls(broker: Broker) -> list[AclBinding]:
    every = AclBindingFilter(
        ResourceType.ANY,
        None,
        ResourcePatternType.ANY,
        None,
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    return list(asked(broker, lambda client: client.describe_acls(every)))


def users(broker: Broker) -> list[str]:
    return list(asked(broker, AdminClient.describe_user_scram_credentials))


def test_users_and_acls_are_gone(broker: Broker) -> None:
    rule = AclBinding(
        ResourceType.TOPIC,
        "orders",
        ResourcePatternType.PREFIXED,
        "User:alice",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    asked(broker, lambda client: client.create_acls([rule]))
    secret = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    user = UserScramCredentialUpsertion("alice", secret, b"password", b"salt")
    asked(broker, lambda client: client.alter_user_scram_credentials([user]))
    assert acls(broker) == [rule] and users(broker) == ["alice"]
    broker.reset()
    assert acls(broker) == [] and users(broker) == []


def test_faults_and_connections_are_gone(broker: Broker) -> None:
    broker.fail("Metadata", "UNKNOWN_SERVER_ERROR")
    broker.faults.fill_disk()
    with socket.create_connection(("127.0.0.1", broker.port), WITHIN_S) as idle:
        wait_until(lambda: broker.reset()["connections"], "a connection that is dropped")
        assert idle.recv(1) == b""
    broker.topic("orders").seed(["x"])
    assert [one.value for one in broker.topic("orders").consume()] == [b"x"]


@contextmanager
def going_on(broker: Broker, client: str) -> Iterator[list[bytes]]:
    """A consumer in a thread, as one that an earlier test has forgotten: what it has read."""
    reader = open_reader(client, broker.bootstrap_servers, "orders", group="left")
    found: list[bytes] = []
    ended = threading.Event()

    def poll() -> None:
        while not ended.is_set():
            found.extend(row.value for row in reader.poll(0.05))

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join(WITHIN_S)
        reader.close()


@pytest.mark.parametrize("client", ["confluent-kafka", "aiokafka"])
def test_a_consumer_that_goes_on_comes_back_to_a_broker_as_new(broker: Broker, client: str) -> None:
    broker.topic("orders", exact=True).seed(["old"])
    with going_on(broker, client) as found:
        wait_until(lambda: found == [b"old"], "the record")
        dropped = broker.reset()
        assert dropped["groups"] == ["left"] and dropped["connections"]
        mine = broker.topic("mine")
        mine.seed(["new"])
        assert [one.value for one in mine.consume(1)] == [b"new"]
        # A librdkafka that has seen that its topic is gone joins again only when it is back.
        broker.topic("orders", exact=True).seed(["again"])
        wait_until(lambda: found == [b"old", b"again"], "the record of the new topic")
        broker.wait_for_group("left", timeout=WITHIN_S)


def produced(client: WireClient, size: int) -> int:
    """How long its client is to wait after a record of so many bytes, in milliseconds."""
    batch = build_batch([Record(-1, 0, None, b"x" * size)])
    data = TopicProduceData("orders", partition_data=[PartitionProduceData(0, bytes(batch))])
    answer = client.call(ProduceRequest(None, 1, 60_000, [data]), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0
    return int(answer.throttle_time_ms)


def test_a_share_group_goes_with_its_members_and_configs(broker: Broker) -> None:
    broker.topic("jobs", exact=True).seed(["old"])
    broker.configure_group("workers", {"share.auto.offset.reset": "earliest"})
    member = ShareConsumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "workers"})
    member.subscribe(["jobs"])
    wait_until(lambda: list(member.poll(0.5)), "a record comes")
    # The member's session would outlive the reset.
    assert broker.reset()["groups"] == ["workers"]
    resource = ConfigResource(ResourceType.GROUP, "workers")
    configs = asked(broker, lambda client: client.describe_configs([resource]))
    assert configs["share.auto.offset.reset"].value == "latest"
    member.close()


def test_quotas_are_gone_and_so_is_what_was_used_of_them(broker: Broker) -> None:
    rates = {
        ("client-id", "wire"): ("producer_byte_rate", 1_000.0),
        ("user", None): ("controller_mutation_rate", 0.001),
        ("ip", None): ("connection_creation_rate", 1_000.0),
    }
    entries = [
        AlterClientQuotasRequestEntryData(
            [AlterClientQuotasRequestEntityData(*whom)], [OpData(key, rate)]
        )
        for whom, (key, rate) in rates.items()
    ]
    for _ in range(2):
        broker.topic("orders", exact=True)
        with WireClient(broker.port) as client:
            assert client.call(DescribeClientQuotasRequest(), 1).entries == []
            done = client.call(AlterClientQuotasRequest(entries), 1)
            assert [one.error_code for one in done.entries] == [0, 0, 0]
            wait_until(
                lambda: len(client.call(DescribeClientQuotasRequest(), 1).entries) == 3,
                "three quotas",
            )
            assert produced(client, 100) == 0, "nobody has taken anything yet"
            assert produced(client, 20_000) > 5_000
        broker.reset()


def test_what_cannot_be_brought_back_is_told(tmp_path: Path) -> None:
    """A user that was there at first has another password: nobody knows the one before."""

    def give_password(to: Broker, password: bytes) -> None:
        secret = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        user = UserScramCredentialUpsertion("alice", secret, password)
        asked(to, lambda client: client.alter_user_scram_credentials([user]))

    with Broker(data_dir=tmp_path) as first:
        give_password(first, b"first")
    with Broker(data_dir=tmp_path) as second:
        second.reset()
        assert users(second) == ["alice"]
        give_password(second, b"second")
        with pytest.raises(OttlaError, match="a user that was there at first was changed: start"):
            second.reset()
