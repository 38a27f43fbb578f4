"""CreateTopics where rights and a policy both have their say."""

from __future__ import annotations

from typing import Any

import pytest

from controller.authorization.rights import UNLIMITED
from controller.decisions.decision import Decision, DecisionView
from controller.policies import Policies
from controller.requests import topic_creation
from controller.requests.topic_creation import (
    CONFIGS_FROM,
    TOPICS_KEPT,
    WRITTEN_A_SLICE,
    TopicCreation,
)
from ground.sim_scheduler import SimBlocking, SimScheduler
from ottla.plugins.authorizer import Operation
from ottla.plugins.policies import CreateTopicPolicy, NewTopic, PolicyViolation
from protocol.errors import ErrorCode
from protocol.frames.encoded_items import EncodedItems
from protocol.frames.message_codec import encode_response
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tests.unit.controller.controller_fixture import OneNode
from tests.unit.controller.rights_fixture import ListJudge, on_topic

DENIED = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")


class Small(CreateTopicPolicy):
    def __init__(self) -> None:
        self.asked: list[str] = []

    def validate(self, topic: NewTopic) -> None:
        self.asked.append(topic.name)
        assert topic.num_partitions is not None
        if topic.num_partitions > 2:
            raise PolicyViolation("at most 2 partitions")


def node_with(policy: CreateTopicPolicy | None) -> OneNode:
    scheduler = SimScheduler(1)
    blocking = SimBlocking(scheduler, 5)
    policies = None if policy is None else Policies(policy, None, blocking.submit)
    node = OneNode(scheduler=scheduler, policies=policies).start()
    node.register()
    return node


def told(answer: Any) -> dict[str, tuple[int, str | None]]:
    return {one.name: (one.error_code, one.error_message) for one in answer.topics}


def wanted(*sizes: int) -> CreateTopicsRequest:
    return CreateTopicsRequest([CreatableTopic(f"t{size}", size, 1) for size in sizes])


def test_who_may_not_create_a_topic_learns_nothing_of_the_policy() -> None:
    policy = Small()
    node = node_with(policy)
    rights = ListJudge(on_topic(Operation.CREATE, "t1", "t5")).rights()
    answers = told(node.call(wanted(1, 2, 5, 6), 7, rights))
    assert answers == {
        "t1": (0, None),
        "t2": DENIED,
        "t5": (ErrorCode.POLICY_VIOLATION, "at most 2 partitions"),
        "t6": DENIED,
    }
    assert policy.asked == ["t1", "t5"]
    assert list(node.node.image.topics.by_name) == ["t1"]


def test_a_right_that_is_lost_while_the_policy_is_asked_is_lost() -> None:
    judge = ListJudge(on_topic(Operation.CREATE, "t1"))

    class Slow(CreateTopicPolicy):
        def validate(self, topic: NewTopic) -> None:
            judge.allowed.clear()

    node = node_with(Slow())
    assert told(node.call(wanted(1), 7, judge.rights())) == {"t1": DENIED}
    assert list(node.node.image.topics.by_name) == []


def test_a_policy_sees_what_the_answer_hides() -> None:
    policy = Small()
    rights = ListJudge(on_topic(Operation.CREATE, "t5", "t1")).rights()
    answer = node_with(policy).call(wanted(5, 1), 7, rights)
    made = next(one for one in answer.topics if one.name == "t1")
    assert made.topic_config_error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert (made.num_partitions, list(made.configs)) == (-1, [])


def test_without_a_policy_there_is_one_command() -> None:
    node = node_with(None)
    rights = ListJudge(on_topic(Operation.CREATE, "t1")).rights()
    assert told(node.call(wanted(1, 2), 7, rights)) == {"t1": (0, None), "t2": DENIED}


def many(count: int, *, alike: bool = True) -> CreateTopicsRequest:
    """Topics that all set one config: the same, or each its own."""
    topics = [
        CreatableTopic(f"t{number}", 1, 1, configs=[CreatableTopicConfig("retention.ms", value)])
        for number in range(count)
        for value in (["1000"] if alike else [str(1000 + number)])
    ]
    return CreateTopicsRequest(topics)


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("version", [4, 5, 7])
def test_an_answer_about_many_topics_has_the_same_bytes(
    version: int, alike: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = [one for n in range(TOPICS_KEPT + 3) for one in on_topic(Operation.CREATE, f"t{n}")]
    listed += [
        one for n in range(TOPICS_KEPT) for one in on_topic(Operation.DESCRIBE_CONFIGS, f"t{n}")
    ]
    rights = ListJudge(listed).rights()
    count, frames = TOPICS_KEPT + 4, []
    for kept in (TOPICS_KEPT, count):
        monkeypatch.setattr(topic_creation, "TOPICS_KEPT", kept)
        answer = node_with(None).call(many(count, alike=alike), version, rights)
        written = isinstance(answer.topics[0].configs, EncodedItems)
        assert written == (kept < count and version >= 5)
        frames.append(encode_response(answer, version, 7).joined())
    assert frames[0] == frames[1]


def slices_of(request: CreateTopicsRequest, version: int) -> int:
    node = node_with(None)
    slices: list[int] = []

    def decide(view: DecisionView) -> Decision[None]:
        creation = TopicCreation(
            node.node.controller, UNLIMITED, request.topics, True, version=version
        )
        slices.append(sum(1 for _ in creation._decide(view)))
        return Decision(None)

    node.node.controller.submit("test", decide, lambda _: None)
    return slices[0]


def test_configs_are_written_in_slices_and_once_where_topics_are_alike() -> None:
    count = 2 * WRITTEN_A_SLICE + 1
    decided = slices_of(many(count), CONFIGS_FROM - 1)
    assert slices_of(many(count), CONFIGS_FROM) == decided
    assert slices_of(many(count, alike=False), CONFIGS_FROM) == decided + 2
