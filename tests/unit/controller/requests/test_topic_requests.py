"""`topic_requests`: whole requests. Words and versions: `test_controller_apis`."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.unit.controller.controller_fixture import OneNode


def registered(**settings: object) -> OneNode:
    node = OneNode(**settings).start()  # type: ignore[arg-type]
    node.register()
    return node


def test_a_topic_is_in_the_image_when_the_answer_comes() -> None:
    node = registered()
    answers: list[object] = []
    seen: list[bool] = []
    request = CreateTopicsRequest([CreatableTopic("foo", 1, 1)])

    def respond(answer: object) -> None:
        answers.append(answer)
        seen.append(node.node.image.topics.get("foo") is not None)

    from tests.unit.controller.controller_fixture import Context

    node.node.apis.handle(Context(7), request, respond)
    assert answers == []
    node.settle()
    assert seen == [True]


def test_deletion_can_be_disabled() -> None:
    node = registered(delete_topic_enable=False)
    request = DeleteTopicsRequest([DeleteTopicState("foo")], ["foo"])
    new, old = node.call(request, 6), node.call(request, 2)
    assert new.responses[0].error_code == ErrorCode.TOPIC_DELETION_DISABLED
    assert old.responses[0].error_code == ErrorCode.INVALID_REQUEST


def test_by_id() -> None:
    node = registered()
    node.call(CreateTopicsRequest([CreatableTopic("foo", 2, 1)]), 7)
    topic = node.node.image.topics.get("foo")
    assert topic is not None
    answer = node.call(DeleteTopicsRequest([DeleteTopicState(None, topic.id)], timeout_ms=1), 6)
    assert [(r.name, r.topic_id, r.error_code) for r in answer.responses] == [("foo", topic.id, 0)]
    assert node.node.image.topics.by_name == {}


def test_by_name_and_by_id_at_once_is_a_duplicate() -> None:
    node = registered()
    node.call(CreateTopicsRequest([CreatableTopic("foo", 1, 1)]), 7)
    topic = node.node.image.topics.get("foo")
    assert topic is not None
    states = [DeleteTopicState("foo"), DeleteTopicState(None, topic.id)]
    answer = node.call(DeleteTopicsRequest(states, timeout_ms=1), 6)
    assert [r.error_code for r in answer.responses] == [ErrorCode.INVALID_REQUEST]
    assert node.node.image.topics.get("foo") is topic


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_whose_time_is_up_is_told_so_of_each_topic_and_nothing_else(
    timeout_ms: int, validate_only: bool
) -> None:
    """As a running Kafka: whatever is wrong with a topic, in the request's order."""
    node = registered()
    end = node.node.raft.end_offset
    names = ["foo", "b!", "__cluster_metadata", "d", "d", ""]
    topics = [CreatableTopic(name, 1, 1) for name in names]
    created = node.call(CreateTopicsRequest(topics, timeout_ms, validate_only), 7)
    assert [(one.name, one.error_code, one.error_message) for one in created.topics] == [
        (name, 7, None) for name in names
    ]
    growing = [CreatePartitionsTopic(name, 2, None) for name in names]
    grown = node.call(CreatePartitionsRequest(growing, timeout_ms, validate_only), 3)
    assert [(one.name, one.error_code, one.error_message) for one in grown.results] == [
        (name, 7, None) for name in names
    ]
    by_id = b"i" * 16
    states = [DeleteTopicState("foo"), DeleteTopicState(None, by_id), DeleteTopicState("d", by_id)]
    deleted = node.call(DeleteTopicsRequest(states, timeout_ms=timeout_ms), 6)
    assert [(one.name, one.topic_id, one.error_code) for one in deleted.responses] == [
        ("foo", bytes(16), 7),
        (None, by_id, 7),
        ("d", by_id, 7),
    ]
    assert node.node.raft.end_offset == end


def test_not_the_controller() -> None:
    node = OneNode()
    request = CreateTopicsRequest([CreatableTopic("foo", 1, 1)])
    answer = node.call(request, 7)
    assert answer.topics[0].error_code == ErrorCode.NOT_CONTROLLER
