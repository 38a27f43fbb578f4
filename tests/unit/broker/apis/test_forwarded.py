from __future__ import annotations

from typing import Any

from broker.apis.forwarded import (
    ForwardedApis,
    refuse_create_partitions,
    refuse_create_topics,
    refuse_delete_topics,
)
from protocol.api_keys import STABLE_VERSIONS, ApiKey
from protocol.errors import ErrorCode
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.unit.broker.apis.api_fixture import context

FAILED = ErrorCode.UNKNOWN_SERVER_ERROR


def test_requests_go_to_the_controller_as_they_are() -> None:
    seen: list[Any] = []
    apis = ForwardedApis(lambda *arguments: seen.append(arguments)).apis()
    assert [api.key for api in apis] == [
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
    ]
    for api in apis:
        assert (api.oldest, api.latest) == STABLE_VERSIONS[api.key]
    client, request = context(ApiKey.CREATE_TOPICS, 7), CreateTopicsRequest()
    apis[0].handle(client, request, print)
    assert seen == [(client, request, print)]


def test_refusals_name_everything() -> None:
    created = refuse_create_topics(CreateTopicsRequest([CreatableTopic("a")]), FAILED)
    assert [(one.name, one.error_code) for one in created.topics] == [("a", -1)]
    request = DeleteTopicsRequest([DeleteTopicState(None, b"i" * 16)], ["b"])
    deleted = refuse_delete_topics(request, FAILED)
    assert [(one.name, one.topic_id, one.error_code) for one in deleted.responses] == [
        (None, b"i" * 16, -1),
        ("b", bytes(16), -1),
    ]
    grown = refuse_create_partitions(CreatePartitionsRequest([CreatePartitionsTopic("c")]), FAILED)
    assert [(one.name, one.error_code) for one in grown.results] == [("c", -1)]
