"""The admin clients of the three Python libraries: topics, configs, records, groups, cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from protocol.errors import ErrorCode
from tests.compat.python_admins import BROKER, TOPIC, Admin, Lacking, python_admin
from tests.compat.python_clients import CLIENTS, Refused
from tests.tools.waiting import wait_until


@pytest.fixture(params=CLIENTS)
def admin(request: pytest.FixtureRequest, broker: str) -> Iterator[Admin]:
    """Each library's admin client."""
    one = python_admin(str(request.param), broker)
    yield one
    one.close()


@pytest.fixture
def fresh() -> str:
    """A name that nothing has."""
    return f"admin-{uuid4().hex[:10]}"


@pytest.fixture
def filled(broker: str, admin: Admin, fresh: str) -> str:
    """A topic of two partitions with ten records in the first."""
    admin.create(fresh, 2)
    producer = Producer({"bootstrap.servers": broker})
    for n in range(10):
        producer.produce(fresh, b"%d" % n, partition=0)
    assert producer.flush(60) == 0
    return fresh


@pytest.fixture
def group(broker: str, filled: str) -> str:
    """A group without members that committed offset 4 of `filled`."""
    name = f"group-{filled}"
    consumer = Consumer({"bootstrap.servers": broker, "group.id": name})
    becomes_true(lambda: commits(consumer, TopicPartition(filled, 0, 4)))
    consumer.close()
    return name


def commits(consumer: Consumer, offset: TopicPartition) -> bool:
    """False while the coordinator is being made or loaded."""
    try:
        consumer.commit(offsets=[offset], asynchronous=False)
    except KafkaException as error:
        assert error.args[0].retriable() or error.args[0].code() == ErrorCode.NOT_COORDINATOR
        return False
    return True


def refusal(call: Callable[..., object], *arguments: object) -> int:
    with pytest.raises(Refused) as refused:
        call(*arguments)
    return refused.value.code


def or_lacking(call: Callable[..., object], *arguments: object) -> None:
    try:
        call(*arguments)
    except Lacking as lacking:
        pytest.skip(f"n/a: {lacking}")


def becomes_true(condition: Callable[[], bool]) -> None:
    """Brokers learn of a change a moment after its answer, in Kafka as here."""
    wait_until(condition, "the change, at the broker")


def test_create_list_describe_and_delete_topics(admin: Admin, fresh: str) -> None:
    admin.create(fresh, 3)
    becomes_true(lambda: fresh in admin.topics())
    leaders = admin.partition_leaders(fresh)
    assert sorted(leaders) == [0, 1, 2]
    assert set(leaders.values()) == {admin.cluster().controller_id}
    admin.delete(fresh)
    becomes_true(lambda: fresh not in admin.topics())


def test_topics_that_cannot_be_created_or_deleted(admin: Admin, fresh: str) -> None:
    admin.create(fresh, 1)
    assert refusal(admin.create, fresh, 1) == ErrorCode.TOPIC_ALREADY_EXISTS
    assert refusal(admin.create, "bad name!", 1) == ErrorCode.INVALID_TOPIC_EXCEPTION
    invalid = {"retention.ms": "soon"}
    assert refusal(admin.create, f"{fresh}-2", 1, invalid) == ErrorCode.INVALID_CONFIG
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refusal(admin.delete, f"{fresh}-3") == unknown


def test_create_partitions(admin: Admin, fresh: str) -> None:
    admin.create(fresh, 2)
    admin.grow(fresh, 5)
    becomes_true(lambda: len(admin.partition_leaders(fresh)) == 5)
    assert refusal(admin.grow, fresh, 4) == ErrorCode.INVALID_PARTITIONS
    assert refusal(admin.grow, f"{fresh}-none", 4) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_describe_and_alter_configs(admin: Admin, fresh: str) -> None:
    admin.create(fresh, 1, {"retention.ms": "86400000"})
    becomes_true(lambda: fresh in admin.topics())
    assert admin.config(TOPIC, fresh, "retention.ms") == "86400000"
    assert admin.config(TOPIC, fresh, "cleanup.policy") == "delete"
    admin.set_config(fresh, "retention.ms", "3600000")
    becomes_true(lambda: admin.config(TOPIC, fresh, "retention.ms") == "3600000")
    assert refusal(admin.set_config, fresh, "retention.ms", "soon") == ErrorCode.INVALID_CONFIG
    assert refusal(admin.set_config, fresh, "no.such.key", "1") == ErrorCode.INVALID_CONFIG


def test_describe_the_brokers_configs(admin: Admin) -> None:
    node_id = str(admin.cluster().controller_id)
    assert admin.config(BROKER, node_id, "node.id") == node_id
    assert admin.config(BROKER, node_id, "ssl.keystore.password") is None


def test_describe_the_cluster(admin: Admin, broker: str) -> None:
    described = admin.cluster()
    host, port = broker.split(":")
    assert described.brokers == [(described.controller_id, host, int(port))]
    # aiokafka asks in Metadata v0 … v5 for it
    assert described.cluster_id is None or len(described.cluster_id) == 22


def test_delete_records(admin: Admin, broker: str, filled: str) -> None:
    assert admin.delete_records(filled, 7) == 7
    assert refusal(admin.delete_records, filled, 11) == ErrorCode.OFFSET_OUT_OF_RANGE
    consumer = Consumer({"bootstrap.servers": broker, "group.id": "unused"})
    assert consumer.get_watermark_offsets(TopicPartition(filled, 0), 60) == (7, 10)
    consumer.close()


def test_list_and_describe_groups(admin: Admin, group: str) -> None:
    assert group in admin.groups()
    assert admin.group_state(group) == "Empty"


def test_a_groups_offsets(admin: Admin, group: str, filled: str) -> None:
    assert admin.group_offsets(group) == {(filled, 0): 4}


def test_set_a_groups_offset(admin: Admin, group: str, filled: str) -> None:
    or_lacking(admin.set_group_offset, group, filled, 8)
    assert admin.group_offsets(group) == {(filled, 0): 8}


def test_delete_a_groups_offset(admin: Admin, group: str, filled: str) -> None:
    or_lacking(admin.delete_group_offset, group, filled)
    assert admin.group_offsets(group) == {}


def test_delete_groups(admin: Admin, group: str) -> None:
    or_lacking(admin.delete_group, group)
    assert group not in admin.groups()
    assert refusal(admin.delete_group, group) == ErrorCode.GROUP_ID_NOT_FOUND


def test_scram_users(admin: Admin, fresh: str) -> None:
    or_lacking(admin.set_user, fresh, "SCRAM-SHA-256", "secret", 6000)
    admin.set_user(fresh, "SCRAM-SHA-512", "secret", 4096)
    both = {"SCRAM-SHA-256": 6000, "SCRAM-SHA-512": 4096}
    becomes_true(lambda: admin.users().get(fresh) == both)
    admin.delete_user(fresh, "SCRAM-SHA-256")
    becomes_true(lambda: admin.users().get(fresh) == {"SCRAM-SHA-512": 4096})
    with pytest.raises(Refused, match="Attempt to delete a user credential that does not exist"):
        admin.delete_user(fresh, "SCRAM-SHA-256")
    with pytest.raises(Refused, match="Too many iterations"):
        admin.set_user(fresh, "SCRAM-SHA-256", "secret", 16_385)
    admin.delete_user(fresh, "SCRAM-SHA-512")
    becomes_true(lambda: fresh not in admin.users())
