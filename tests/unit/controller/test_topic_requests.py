"""`controller.topic_requests`: whole requests. Words and versions: `test_controller_apis`."""

from __future__ import annotations

from protocol.errors import ErrorCode
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
    answer = node.call(DeleteTopicsRequest([DeleteTopicState(None, topic.id)]), 6)
    assert [(r.name, r.topic_id, r.error_code) for r in answer.responses] == [("foo", topic.id, 0)]
    assert node.node.image.topics.by_name == {}


def test_by_name_and_by_id_at_once_is_a_duplicate() -> None:
    node = registered()
    node.call(CreateTopicsRequest([CreatableTopic("foo", 1, 1)]), 7)
    topic = node.node.image.topics.get("foo")
    assert topic is not None
    states = [DeleteTopicState("foo"), DeleteTopicState(None, topic.id)]
    answer = node.call(DeleteTopicsRequest(states), 6)
    assert [r.error_code for r in answer.responses] == [ErrorCode.INVALID_REQUEST]
    assert node.node.image.topics.get("foo") is topic


def test_not_the_controller() -> None:
    node = OneNode()
    request = CreateTopicsRequest([CreatableTopic("foo", 1, 1)])
    answer = node.call(request, 7)
    assert answer.topics[0].error_code == ErrorCode.NOT_CONTROLLER
