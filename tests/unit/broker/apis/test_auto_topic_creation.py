from __future__ import annotations

from typing import Any

import pytest

from broker.apis.auto_topic_creation import AutoTopicCreation
from broker.config.parse import single_node_config
from broker.requests.context import RequestContext, Respond
from controller.requests.rights import EVERYTHING
from ground.sliced_work import in_one_go
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.unit.broker.apis.api_fixture import context

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class Controller:
    def __init__(self) -> None:
        self.asked: list[tuple[RequestContext, CreateTopicsRequest, Respond]] = []
        self.asked_by_node: list[tuple[CreateTopicsRequest, Respond]] = []

    def __call__(self, asked_in: RequestContext, request: Any, respond: Respond) -> None:
        self.asked.append((asked_in, request, respond))

    def by_node(self, request: CreateTopicsRequest, respond: Respond) -> None:
        self.asked_by_node.append((request, respond))


@pytest.fixture
def controller() -> Controller:
    return Controller()


@pytest.fixture
def creation(controller: Controller) -> AutoTopicCreation:
    config = single_node_config({"num.partitions": "3", "offsets.topic.num.partitions": "7"})
    return AutoTopicCreation(config, controller, controller.by_node)


def create(
    creation: AutoTopicCreation, *names: str, client: RequestContext | None = None
) -> dict[str, ErrorCode]:
    """Create them for a client that may create all."""
    asking = client or context(ApiKey.METADATA, 13)
    return in_one_go(creation.create(names, EVERYTHING, asking))


def test_asks_once_until_the_controller_has_answered(
    creation: AutoTopicCreation, controller: Controller
) -> None:
    client = context(ApiKey.METADATA, 13)
    assert create(creation, "a", "b", client=client) == {"a": UNKNOWN, "b": UNKNOWN}
    assert create(creation, "a", client=client) == {"a": UNKNOWN}
    assert len(controller.asked) == 1
    asked_in, request, respond = controller.asked[0]
    assert (asked_in.api_key, asked_in.api_version) == (ApiKey.CREATE_TOPICS, 7)
    assert asked_in.connection_id == client.connection_id
    assert [(t.name, t.num_partitions, t.replication_factor) for t in request.topics] == [
        ("a", 3, 1),
        ("b", 3, 1),
    ]
    respond(CreateTopicsResponse())
    create(creation, "a", "c", client=client)
    assert [t.name for t in controller.asked[1][1].topics] == ["a", "c"]


def test_names_that_no_topic_can_have_are_refused_here(
    creation: AutoTopicCreation, controller: Controller
) -> None:
    answers = create(creation, "bad name!", "")
    assert list(answers.values()) == [ErrorCode.INVALID_TOPIC_EXCEPTION] * 2
    assert controller.asked == []


def test_internal_topics_have_their_own_configs(
    creation: AutoTopicCreation, controller: Controller
) -> None:
    names = ["__consumer_offsets", "__transaction_state", "__share_group_state"]
    create(creation, *names)
    topics = controller.asked[0][1].topics
    assert [(t.name, t.num_partitions) for t in topics] == list(
        zip(names, (7, 50, 50), strict=True)
    )
    configs = [{one.name: one.value for one in topic.configs} for topic in topics]
    # as an Apache Kafka with the same settings creates them
    assert configs[0] == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    }
    assert configs[1] == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "1",
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    }
    assert configs[2] == {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "min.insync.replicas": "1",
        "retention.ms": "-1",
        "segment.bytes": "104857600",
    }


def test_a_limit_that_is_reached_is_told_to_people_once(
    creation: AutoTopicCreation, controller: Controller, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):  # the client asks again, many times
        create(creation, "a")
        full = CreatableTopicResult(
            "a", error_code=ErrorCode.POLICY_VIOLATION, error_message="full"
        )
        controller.asked[-1][2](CreateTopicsResponse(topics=[full]))
    assert [one.getMessage() for one in caplog.records] == ["topic a is not created: full"]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.NONE, 0),
        (ErrorCode.TOPIC_ALREADY_EXISTS, 0),
        (ErrorCode.INVALID_REPLICATION_FACTOR, 2),
        (None, 2),
    ],
)
def test_all_who_wait_for_an_internal_topic_hear_that_it_is_not_made(
    creation: AutoTopicCreation, controller: Controller, error: ErrorCode | None, told: int
) -> None:
    heard: list[str] = []
    for _ in range(2):
        creation.create_internal("__consumer_offsets", lambda: heard.append("refused"))
    assert controller.asked == [], "the client need not have the right to create topics"
    ((_, respond),) = controller.asked_by_node
    topic = CreatableTopicResult("__consumer_offsets", error_code=error or 0)
    respond(None if error is None else CreateTopicsResponse(topics=[topic]))
    assert len(heard) == told
