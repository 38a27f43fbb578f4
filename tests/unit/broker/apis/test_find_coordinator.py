"""FindCoordinator: the leader of a group's partition, once there is one."""

from __future__ import annotations

import pytest

from broker.apis.auto_topic_creation import OFFSETS_TOPIC, SHARE_TOPIC, TRANSACTION_TOPIC
from broker.apis.find_coordinator import LOOK_AGAIN_MS, MADE_WITHIN_MS
from broker.coordinator.coordinator_partitions import partition_for
from controller.metadata.image import TopicsImage
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.unit.broker.groups.playbook import PARTITIONS, GroupNode
from tests.unit.controller.rights_fixture import rights_of

GROUP, TRANSACTION, SHARE = 0, 1, 2
SHARE_KEY = "g:AAECAwQFBgcICQoLDA0ODw:0"


def _ask(node: GroupNode, version: int, key_type: int = GROUP) -> tuple[int, int, str, int]:
    request = FindCoordinatorRequest(key="g", key_type=key_type, coordinator_keys=["g"])
    answer = node.connect().call(request, version)
    one = answer if version < 4 else answer.coordinators[0]
    return one.error_code, one.node_id, one.host, one.port


FOUND = (ErrorCode.NONE, 1, "localhost", 9092)
NOT_YET = (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, "", -1)


@pytest.mark.parametrize("version", range(7))
def test_the_leader_of_the_groups_partition(version: int) -> None:
    assert _ask(GroupNode(), version) == FOUND


@pytest.mark.parametrize("version", range(7))
def test_the_answer_is_held_while_the_topic_is_made_until_the_coordinator_serves(
    version: int,
) -> None:
    """Kafka says COORDINATOR_NOT_AVAILABLE at once; librdkafka then waits for a second."""
    node = GroupNode()
    made, node.image = node.image, node.image._replace(topics=TopicsImage())
    partition = partition_for("g", PARTITIONS)
    node.coordinator.on_resigned(partition)
    client = node.connect()
    request = FindCoordinatorRequest(key="g", coordinator_keys=["h", "g", "i"])
    client.send(request, version)
    node.scheduler.run_for(100)
    assert node.created == [OFFSETS_TOPIC]
    node.image = made
    later = node.connect()
    later.send(request, version)
    node.scheduler.run_for(100)
    assert (client.waiting, later.waiting) == (1, 1), "its shard is not loaded"
    node.coordinator.on_elected(partition, 9)
    for one in (client.receive(), later.receive()):
        for found in [one] if version < 4 else one.coordinators:
            assert (found.error_code, found.node_id) == (ErrorCode.NONE, 1)


def test_a_coordinator_that_is_loaded_again_is_named_at_once() -> None:
    """As in Kafka: held is only the first answer, while the topic is made."""
    node = GroupNode()
    node.coordinator.on_resigned(partition_for("g", PARTITIONS))
    client = node.connect()
    client.send(FindCoordinatorRequest(coordinator_keys=["g"]), 6)
    assert client.answered


@pytest.mark.parametrize("version", range(7))
def test_the_topic_is_asked_for_and_waited_for_with_a_bound(version: int) -> None:
    node = GroupNode()
    node.image = node.image._replace(topics=TopicsImage())
    began_ms = node.scheduler.monotonic_ms()
    assert _ask(node, version) == NOT_YET
    assert node.created == [OFFSETS_TOPIC]
    waited_ms = node.scheduler.monotonic_ms() - began_ms
    assert MADE_WITHIN_MS <= waited_ms <= MADE_WITHIN_MS + LOOK_AGAIN_MS


def test_where_the_controller_makes_no_topic_the_answer_is_not_held() -> None:
    node = GroupNode()
    node.image = node.image._replace(topics=TopicsImage())
    client = node.connect()
    client.send(FindCoordinatorRequest(coordinator_keys=["g"]), 6)
    node.refused[0]()
    node.scheduler.run_until(lambda: client.answered, limit_ms=LOOK_AGAIN_MS)
    assert client.receive().coordinators[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_partition_without_a_leader_or_with_one_that_is_gone() -> None:
    node = GroupNode()
    topic = node.image.topics.by_name[OFFSETS_TOPIC]
    partition = partition_for("g", PARTITIONS)
    for leader in (-1, 7):
        registration = topic.partitions[partition]._replace(leader=leader)
        changed = topic._replace(partitions={**topic.partitions, partition: registration})
        topics = TopicsImage({OFFSETS_TOPIC: changed}, {})
        image, node.image = node.image, node.image._replace(topics=topics)
        assert _ask(node, 6) == _ask(node, 2) == NOT_YET
        node.image = image
    node.image = node.image._replace(brokers={1: node.image.brokers[1]._replace(fenced=True)})
    assert _ask(node, 6) == NOT_YET
    assert node.created == []


def test_a_partition_that_does_not_exist() -> None:
    node = GroupNode()
    topic = node.image.topics.by_name[OFFSETS_TOPIC]._replace(partitions={})
    node.image = node.image._replace(topics=TopicsImage({OFFSETS_TOPIC: topic}, {}))
    assert _ask(node, 6) == NOT_YET


def test_a_transactional_id_belongs_to_a_topic_of_its_own() -> None:
    node = GroupNode()
    topic = node.image.topics.by_name[OFFSETS_TOPIC]
    for version in range(1, 7):
        assert _ask(node, version, TRANSACTION) == NOT_YET
    assert node.created == [TRANSACTION_TOPIC] * 6
    topics = TopicsImage({TRANSACTION_TOPIC: topic._replace(name=TRANSACTION_TOPIC)}, {})
    as_a_group = [_ask(node, version) for version in range(1, 7)]
    node.image = node.image._replace(topics=topics)
    assert [_ask(node, version, TRANSACTION) for version in range(1, 7)] == as_a_group


@pytest.mark.parametrize("key_type", [SHARE, 3, -1, 127])
def test_other_keys_are_refused(key_type: int) -> None:
    for version in range(1, 7):
        assert _ask(GroupNode(), version, key_type)[:2] == (ErrorCode.INVALID_REQUEST, -1)


def test_a_share_partition_belongs_to_a_topic_of_its_own_from_v6_on() -> None:
    node = GroupNode()
    request = FindCoordinatorRequest(SHARE_KEY, SHARE, ["g", SHARE_KEY, "g:x:0"])
    wire = node.connect()
    assert wire.call(request, 3).error_code == ErrorCode.INVALID_REQUEST
    assert {one.error_code for one in wire.call(request, 5).coordinators} == {
        ErrorCode.INVALID_REQUEST
    }
    assert node.created == []
    invalid = ErrorCode.INVALID_REQUEST
    codes = [one.error_code for one in wire.call(request, 6).coordinators]
    assert codes == [invalid, ErrorCode.COORDINATOR_NOT_AVAILABLE, invalid]
    assert node.created == [SHARE_TOPIC]
    topic = node.image.topics.by_name[OFFSETS_TOPIC]._replace(name=SHARE_TOPIC)
    node.image = node.image._replace(topics=TopicsImage({SHARE_TOPIC: topic}, {}))
    found = wire.call(request, 6).coordinators
    assert [one.error_code for one in found] == [invalid, ErrorCode.NONE, invalid]
    assert (found[1].node_id, found[1].port) == (1, 9092)


def test_only_brokers_may_look_for_the_coordinator_of_a_share_partition() -> None:
    node = GroupNode()
    request = FindCoordinatorRequest(key_type=SHARE, coordinator_keys=["g", SHARE_KEY])
    denied = node.connect(rights=rights_of(())).call(request, 6)
    assert [one.error_code for one in denied.coordinators] == [
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    ] * 2
    assert node.created == []


def test_success_has_the_words_that_kafka_gives_it() -> None:
    """Of an Apache Kafka: the name of no error, and later nothing; never null."""
    connection = GroupNode().connect()
    assert connection.call(FindCoordinatorRequest(key="g"), 3).error_message == "NONE"
    (one,) = connection.call(FindCoordinatorRequest(coordinator_keys=["g"]), 4).coordinators
    assert one.error_message == ""


def test_several_keys_at_once() -> None:
    request = FindCoordinatorRequest(coordinator_keys=["a", "b", ""])
    answer = GroupNode().connect().call(request, 6)
    assert [(one.key, one.error_code) for one in answer.coordinators] == [
        ("a", 0),
        ("b", 0),
        ("", 0),
    ]
    assert GroupNode().connect().call(FindCoordinatorRequest(), 6).coordinators == []


def test_refusal_of_everything() -> None:
    api = GroupNode().apis
    refuse = next(one.refuse for one in api.values() if one.key.name == "FIND_COORDINATOR")
    assert refuse is not None
    answer = refuse(FindCoordinatorRequest(coordinator_keys=["a"]), ErrorCode.UNKNOWN_SERVER_ERROR)
    assert (answer.error_code, answer.coordinators[0].error_code) == (-1, -1)


def test_for_a_key_that_is_denied_no_topic_is_made() -> None:
    node = GroupNode()
    node.image = node.image._replace(topics=TopicsImage())
    rights = rights_of({(Operation.DESCRIBE, Resource.GROUP, "b")})
    wire = node.connect(rights=rights)
    denied = wire.call(FindCoordinatorRequest(coordinator_keys=["a", "c"]), 6)
    assert {one.error_code for one in denied.coordinators} == {ErrorCode.GROUP_AUTHORIZATION_FAILED}
    wire.call(FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=["b"]), 6)
    wire.call(FindCoordinatorRequest(key_type=SHARE, coordinator_keys=["b"]), 6)
    assert node.created == []
    both = wire.call(FindCoordinatorRequest(coordinator_keys=["a", "b"]), 6)
    assert [one.error_code for one in both.coordinators] == [
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ]
    assert node.created == [OFFSETS_TOPIC]
