"""What a request is about: over all served requests, by what Kafka's definitions say of fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from protocol.api_keys import STABLE_VERSIONS, ApiKey
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from protocol.messages.fetch import FetchRequest, FetchTopic, ReplicaState
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from protocol.messages.produce import ProduceRequest, TopicProduceData
from testbed.faults.subjects import (
    asks_for_all_topics,
    groups_of,
    is_of_a_node,
    split,
    topics_of,
    transactional_ids_of,
)
from tests.messages.message_values import Case, Struct, cases

NOT_SERVED = ("Share", "Streams", "ConsumerGroup", "Telemetry", "RaftVoter")
ID = bytes(range(16))


def requests() -> list[Case]:
    found = []
    for one in cases():
        key = one.definition.get("apiKey")
        if one.definition["type"] != "request" or key not in list(map(int, STABLE_VERSIONS)):
            continue
        if not any(word in one.name for word in NOT_SERVED):
            found.append(one)
    return found


def named(struct: Struct, message: Any, version: int, kind: str) -> Iterator[str]:
    """The values of all fields that the definitions say are of this kind."""
    for field, attribute in struct.at(version):
        value = getattr(message, attribute)
        if field.get("entityType") == kind and field["type"] in ("string", "[]string"):
            values = value if isinstance(value, list) else [value]
            yield from (one for one in values if one)
        elif field["type"].removeprefix("[]")[0].isupper() and value:
            nested = struct.nested(field, attribute)
            for one in value if isinstance(value, list) else [value]:
                yield from named(nested, one, version, kind)


@pytest.mark.parametrize(
    ("kind", "found_in"),
    [
        ("topicName", lambda _api, request: topics_of(request, lambda _id: None)),
        ("groupId", groups_of),
        ("transactionalId", transactional_ids_of),
    ],
)
def test_nothing_that_a_request_names_is_overlooked(kind: str, found_in: Any) -> None:
    count = 0
    for one in requests():
        api = ApiKey(one.definition["apiKey"])
        for version in range(STABLE_VERSIONS[api][0], STABLE_VERSIONS[api][1] + 1):
            message = one.instance(version, "limits")
            wanted = set(named(one.struct, message, version, kind))
            count += len(wanted)
            assert wanted <= set(found_in(api, message)), (one.name, version)
    assert count > 10


def test_a_topic_is_known_by_its_id() -> None:
    request = FetchRequest(topics=[FetchTopic(topic_id=ID), FetchTopic(topic_id=ID[::-1])])
    assert list(topics_of(request, {ID: "a"}.get)) == ["a"]


def test_resources_are_topics_and_groups() -> None:
    request = DescribeConfigsRequest(
        [DescribeConfigsResource(kind, name) for kind, name in ((2, "t"), (4, "1"), (32, "g"))]
    )
    assert list(topics_of(request, lambda _id: None)) == ["t"]
    assert list(groups_of(ApiKey.DESCRIBE_CONFIGS, request)) == ["g"]


def test_a_coordinator_is_looked_for_by_groups_or_by_transactional_ids() -> None:
    api = ApiKey.FIND_COORDINATOR
    assert list(groups_of(api, FindCoordinatorRequest("g"))) == ["g"]
    request = FindCoordinatorRequest("", 1, ["x", "y"])
    assert list(groups_of(api, request)) == []
    assert list(transactional_ids_of(api, request)) == ["x", "y"]


@pytest.mark.parametrize(
    ("api", "version", "request_", "expected"),
    [
        (ApiKey.METADATA, 12, MetadataRequest(None), True),
        (ApiKey.METADATA, 12, MetadataRequest([]), False),
        (ApiKey.METADATA, 0, MetadataRequest([]), True),
        (ApiKey.OFFSET_FETCH, 7, OffsetFetchRequest(topics=None), True),
        (
            ApiKey.OFFSET_FETCH,
            8,
            OffsetFetchRequest(topics=[], groups=[OffsetFetchRequestGroup("g", topics=None)]),
            True,
        ),
        (ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, DescribeTopicPartitionsRequest([]), True),
        (
            ApiKey.DESCRIBE_TOPIC_PARTITIONS,
            0,
            DescribeTopicPartitionsRequest([TopicRequest("a")]),
            False,
        ),
        (ApiKey.DELETE_TOPICS, 1, DeleteTopicsRequest([]), False),
    ],
)
def test_who_names_no_topic_may_ask_for_all(
    api: ApiKey, version: int, request_: Any, expected: bool
) -> None:
    assert asks_for_all_topics(api, version, request_) is expected


def test_followers_and_other_nodes_are_told_from_clients() -> None:
    assert is_of_a_node(ApiKey.FETCH, FetchRequest(replica_state=ReplicaState(2)), "")
    assert is_of_a_node(ApiKey.FETCH, FetchRequest(replica_id=2), "")
    assert not is_of_a_node(ApiKey.FETCH, FetchRequest(), "app")
    assert is_of_a_node(ApiKey.BROKER_HEARTBEAT, MetadataRequest(), "")
    assert not is_of_a_node(ApiKey.METADATA, MetadataRequest([MetadataRequestTopic()]), "")
    assert is_of_a_node(ApiKey.METADATA, MetadataRequest(), "node-2")


def test_a_request_is_taken_apart_by_topics() -> None:
    request = ProduceRequest("t", -1, 5, [TopicProduceData(name) for name in ("a", "b", "c")])
    meant, rest = split(request, lambda name: name == "b", lambda _id: None)
    assert [one.name for one in meant.topic_data] == ["b"]  # type: ignore[attr-defined]
    assert rest is not None and [one.name for one in rest.topic_data] == ["a", "c"]  # type: ignore[attr-defined]
    assert rest.acks == -1  # type: ignore[attr-defined]
    assert len(request.topic_data) == 3
    assert split(request, lambda _name: True, lambda _id: None) == (request, None)
    names = DeleteTopicsRequest(topic_names=["a", "b"])
    meant, rest = split(names, lambda name: name == "a", lambda _id: None)
    assert (meant.topic_names, rest.topic_names) == (["a"], ["b"])  # type: ignore[attr-defined, union-attr]
