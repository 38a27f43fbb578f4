"""Policies at the controller: whole requests. What they are told is what Kafka was seen to
tell."""

from __future__ import annotations

from typing import Any

import pytest

from controller.metadata.image import ResourceType
from controller.policies import Policies
from ground.ports import AnswerTimeout
from ground.sim_scheduler import SimBlocking, SimScheduler
from ottla.plugins.policies import (
    AlterConfigPolicy,
    AlteredConfigs,
    CreateTopicPolicy,
    NewTopic,
    PolicyViolation,
)
from protocol.errors import ErrorCode
from protocol.messages import alter_configs as replacing
from protocol.messages import incremental_alter_configs as incremental
from protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.unit.controller.controller_fixture import OneNode

SET, DELETE, APPEND = 0, 1, 2


class Topics(CreateTopicPolicy):
    def __init__(self) -> None:
        self.asked: list[NewTopic] = []

    def validate(self, topic: NewTopic) -> None:
        self.asked.append(topic)
        if "bad" in topic.name:
            raise PolicyViolation("no bad topics")
        if "late" in topic.name:
            raise AnswerTimeout("no answer within 5 ms")
        if "boom" in topic.name:
            raise ValueError("a bug")


class Configs(AlterConfigPolicy):
    def __init__(self) -> None:
        self.asked: list[AlteredConfigs] = []

    def validate(self, altered: AlteredConfigs) -> None:
        self.asked.append(altered)
        if altered.configs.get("retention.ms") == "77777":
            raise PolicyViolation("no 77777")
        if altered.configs.get("retention.ms") == "88888":
            raise ValueError("a bug")


class Node(OneNode):
    """With both policies, which answer in virtual time."""

    def __init__(self, **settings: Any) -> None:
        self.topics, self.configs = Topics(), Configs()
        scheduler = SimScheduler(1)
        blocking = SimBlocking(scheduler, 5)
        policies = Policies(self.topics, self.configs, blocking.submit)
        super().__init__(scheduler=scheduler, policies=policies, **settings)
        self.start()
        self.register()

    def create(self, *topics: CreatableTopic, **options: Any) -> dict[str, tuple[int, str | None]]:
        answer = self.call(CreateTopicsRequest(list(topics), **options), 7)
        return {one.name: (one.error_code, one.error_message) for one in answer.topics}

    def alter(self, *changes: Any, name: str = "t", **options: Any) -> tuple[int, str | None]:
        configs = [incremental.AlterableConfig(*one) for one in changes]
        kind = options.pop("kind", ResourceType.TOPIC)
        resource = incremental.AlterConfigsResource(kind, name, configs)
        request = incremental.IncrementalAlterConfigsRequest([resource], **options)
        (answer,) = self.call(request, 1).responses
        return answer.error_code, answer.error_message


def topic(name: str, partitions: int = 1, **configs: str) -> CreatableTopic:
    texts = [CreatableTopicConfig(key.replace("_", "."), text) for key, text in configs.items()]
    return CreatableTopic(name, partitions, -1, configs=texts)


GOOD = (0, None)


def test_a_topic_is_shown_with_the_defaults_that_hold() -> None:
    node = Node(num_partitions=3)
    assert node.create(topic("t", -1, retention_ms="1000")) == {"t": GOOD}
    assert node.topics.asked == [NewTopic("t", 3, 1, None, {"retention.ms": "1000"})]
    assert node.configs.asked == [AlteredConfigs("TOPIC", "t", {"retention.ms": "1000"})]
    assert node.create(topic("plain")) == {"plain": GOOD}
    assert len(node.configs.asked) == 1, "one without configs is none for the other policy"


def test_assignments_are_shown_in_place_of_numbers() -> None:
    node = Node()
    assigned = [CreatableReplicaAssignment(0, [1]), CreatableReplicaAssignment(1, [1])]
    node.create(CreatableTopic("t", -1, -1, assigned))
    assert node.topics.asked == [NewTopic("t", None, None, {0: (1,), 1: (1,)}, {})]


@pytest.mark.parametrize("validate_only", [False, True])
def test_one_that_is_refused_does_not_stop_the_others(validate_only: bool) -> None:
    node = Node()
    told = node.create(
        topic("bad"), topic("good"), topic("boom"), topic("last"), validate_only=validate_only
    )
    assert told == {
        "bad": (ErrorCode.POLICY_VIOLATION, "no bad topics"),
        "good": GOOD,
        "boom": (ErrorCode.UNKNOWN_SERVER_ERROR, None),
        "last": GOOD,
    }
    names = list(node.node.image.topics.by_name)
    assert names == ([] if validate_only else ["good", "last"])


def test_a_topic_whose_configs_are_refused_is_not_asked_about_again() -> None:
    node = Node()
    told = node.create(topic("bad", retention_ms="77777"))
    assert told == {"bad": (ErrorCode.POLICY_VIOLATION, "no 77777")}
    assert node.topics.asked == []


def test_what_the_controller_refuses_no_policy_is_asked_about() -> None:
    node = Node()
    node.create(topic("t"))
    node.topics.asked.clear()
    told = node.create(
        topic("t"), topic("bad name"), topic("none", 0), topic("odd", retention_ms="x")
    )
    assert [code for code, _ in told.values()] == [
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_PARTITIONS,
        ErrorCode.INVALID_CONFIG,
    ]
    assert node.topics.asked == node.configs.asked == []


def test_one_that_does_not_answer_refuses_and_the_rest_does_not_wait_for_it() -> None:
    node = Node()
    told = node.create(topic("first"), topic("late"), topic("other"))
    text = "The policy could not be asked: no answer within 5 ms."
    late = (ErrorCode.POLICY_VIOLATION, text)
    assert told == {"first": GOOD, "late": late, "other": late}
    assert len(node.topics.asked) == 2


def test_what_was_refused_at_first_stays_refused_though_it_would_be_taken_now() -> None:
    """Or a topic that is deleted meanwhile could be made again behind the policy's back."""
    node = Node()
    node.create(topic("bad-not-yet".replace("bad", "x")), topic("slow"))
    node.topics.asked.clear()
    answers: list[Any] = []
    again = CreateTopicsRequest([topic("slow"), topic("next")])
    node.send(again, 7, answers.append)
    while not node.topics.asked:  # `slow` was refused: it is there
        node.scheduler.step()
    node.send(DeleteTopicsRequest([DeleteTopicState("slow")], timeout_ms=1000), 6, answers.append)
    node.scheduler.run_until(lambda: len(answers) == 2)
    created = next(one for one in answers if hasattr(one, "topics"))
    codes = {one.name: one.error_code for one in created.topics}
    assert codes == {"slow": ErrorCode.TOPIC_ALREADY_EXISTS, "next": 0}
    assert [one.name for one in node.topics.asked] == ["next"]


def test_the_clients_time_runs_on_while_a_policy_is_asked() -> None:
    node = Node()
    told = node.create(topic("t"), timeout_ms=0)
    assert told == {"t": (ErrorCode.REQUEST_TIMED_OUT, None)}
    assert node.topics.asked == []


# --- configs -------------------------------------------------------------------------------------


def node_with_topic() -> Node:
    node = Node()
    node.create(topic("t", retention_ms="1000", cleanup_policy="compact"))
    node.configs.asked.clear()
    return node


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ([("retention.ms", SET, "1000")], {}),
        (
            [("retention.ms", SET, "2000"), ("segment.ms", SET, "5000")],
            {"retention.ms": "2000", "segment.ms": "5000"},
        ),
        ([("retention.ms", DELETE, None)], {"retention.ms": None}),
        ([("segment.bytes", DELETE, None)], {}),
        ([("cleanup.policy", APPEND, "delete")], {"cleanup.policy": "compact,delete"}),
    ],
)
def test_what_changes_is_shown(changes: Any, shown: Any) -> None:
    node = node_with_topic()
    assert node.alter(*changes) == GOOD
    assert node.configs.asked == [AlteredConfigs("TOPIC", "t", shown)]


@pytest.mark.parametrize("validate_only", [False, True])
def test_a_change_that_is_refused_is_not_made(validate_only: bool) -> None:
    node = node_with_topic()
    told = node.alter(("retention.ms", SET, "77777"), validate_only=validate_only)
    assert told == (ErrorCode.POLICY_VIOLATION, "no 77777")
    told = node.alter(("retention.ms", SET, "88888"), validate_only=validate_only)
    assert told == (ErrorCode.UNKNOWN_SERVER_ERROR, None)
    assert node.node.image.topic_config("t", "retention.ms") == "1000"


def test_what_replace_takes_away_without_a_name_is_not_shown() -> None:
    node = node_with_topic()
    configs = [replacing.AlterableConfig("retention.ms", "3000")]
    resource = replacing.AlterConfigsResource(ResourceType.TOPIC, "t", configs)
    (answer,) = node.call(replacing.AlterConfigsRequest([resource]), 2).responses
    assert answer.error_code == 0
    assert node.configs.asked == [AlteredConfigs("TOPIC", "t", {"retention.ms": "3000"})]
    assert node.node.image.topic_config("t", "cleanup.policy") is None


def test_no_policy_is_asked_about_what_cannot_be() -> None:
    node = node_with_topic()
    assert node.alter(("retention.ms", SET, "x"))[0] == ErrorCode.INVALID_CONFIG
    assert node.alter(("retention.ms", SET, "1"), name="gone")[0] == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    assert node.configs.asked == []


def test_of_a_broker_what_is_set_again_is_shown_too() -> None:
    node = Node()
    for _ in range(2):
        change = ("log.cleaner.threads", SET, "2")
        assert node.alter(change, name="1", kind=ResourceType.BROKER) == GOOD
    assert (
        node.configs.asked
        == [
            AlteredConfigs("BROKER", "1", {"log.cleaner.threads": "2"}),
        ]
        * 2
    )
