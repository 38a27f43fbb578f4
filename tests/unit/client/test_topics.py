"""Topics: what is asked, what answers mean, what a refusal says."""

from __future__ import annotations

import pytest

from broker.config.start_error import StartError
from client import cluster as module
from client.refusals import Refused
from client.topics import (
    add_partitions,
    check_names,
    create,
    create_for_producer,
    delete,
    listed,
    log_sizes,
    placed,
    visible,
)
from protocol.messages.create_partitions import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.describe_log_dirs import DescribeLogDirsResponse
from tests.unit.client.scripted import ScriptedCluster, topic_of
from tests.unit.client.topic_answers import cluster_of, policies

EXISTS, UNKNOWN, INVALID_PARTITIONS, DENIED = 36, 3, 37, 29


def test_a_line_for_each_topic() -> None:
    cluster = cluster_of(topic_of("b"), topic_of("a", [1, 2]))
    assert [tuple(one) for one in listed(cluster, ["b", "a"])] == [
        ("a", 2, 2, 14, 400, "compact"),
        ("b", 1, 2, 7, 200, "compact"),
    ]
    assert listed(cluster, []) == []


def test_what_is_not_known_of_a_topic() -> None:
    cluster = cluster_of(
        topic_of("a", [1, -1]),
        DescribeConfigsRequest=lambda one: policies(one, DENIED),
        DescribeLogDirsRequest=DescribeLogDirsResponse(error_code=31),
    )
    assert [tuple(one) for one in listed(cluster, ["a"])] == [("a", 2, 2, None, None, None)]


def test_internal_topics_are_shown_if_wanted() -> None:
    topics = [topic_of("b"), topic_of("__x", is_internal=True), topic_of("a")]
    assert visible(topics, internal=False) == ["a", "b"]
    assert visible(topics, internal=True) == ["__x", "a", "b"]


def test_partitions_with_what_they_hold() -> None:
    topic = topic_of("t", [2, -1])
    held = log_sizes(cluster_of(), {"t": topic})
    assert held == {("t", 0): {1: 100, 2: 100}, ("t", 1): {1: 100, 2: 100}}
    rows = placed(topic, {("t", 0): 1}, {("t", 0): 5}, held)
    assert [tuple(one) for one in rows] == [
        (0, 2, "1,2", "1,2", 1, 5, 100),
        (1, None, "1,2", "1,2", None, None, None),
    ]


def made(*results: CreatableTopicResult) -> ScriptedCluster:
    return cluster_of(CreateTopicsRequest=CreateTopicsResponse(topics=list(results)))


def test_topics_are_made_as_the_cluster_has_it() -> None:
    cluster = made(CreatableTopicResult("t", num_partitions=4, replication_factor=2))
    assert create(cluster, ["t", "t"], None, None, {"a": "1"}) == [("t", 4, 2)]
    (request,) = cluster.asked_for("CreateTopicsRequest")
    (topic,) = request.topics
    assert (topic.num_partitions, topic.replication_factor) == (-1, -1)
    assert [(one.name, one.value) for one in topic.configs] == [("a", "1")]


def test_a_topic_that_exists() -> None:
    results = (CreatableTopicResult("t", error_code=EXISTS), CreatableTopicResult("u"))
    with pytest.raises(Refused, match=r"topic t: it exists already .*\(u made\)"):
        create(made(*results), ["t", "u"], None, None, {})
    assert create(made(*results), ["t"], 1, 1, {}, if_not_exists=True) == [("u", -1, -1)]


NO_NUMBER = "Invalid value 1GB for configuration segment.bytes: Not a number of type INT"


@pytest.mark.parametrize(
    ("code", "message", "said"),
    [
        (38, "only 1 broker", "topic t: only 1 broker$"),
        (40, NO_NUMBER, rf"topic t: {NO_NUMBER} \(it is in bytes: write 1000000000\)$"),
        (DENIED, None, "Create on it"),
    ],
)
def test_a_topic_that_cannot_be(code: int, message: str | None, said: str) -> None:
    with pytest.raises(Refused, match=said):
        result = CreatableTopicResult("t", error_code=code, error_message=message)
        create(made(result), ["t"], 1, 3, {})


def deleted(*results: DeletableTopicResult) -> ScriptedCluster:
    return cluster_of(DeleteTopicsRequest=DeleteTopicsResponse(responses=list(results)))


def test_topics_are_removed() -> None:
    cluster = deleted(DeletableTopicResult("a"), DeletableTopicResult("b", error_code=UNKNOWN))
    assert delete(cluster, ["a", "b"], if_exists=True) == ["a"]
    (request,) = cluster.asked_for("DeleteTopicsRequest")
    assert request.topic_names == [one.name for one in request.topics] == ["a", "b"]
    with pytest.raises(Refused, match=r"no topic b .*\(a deleted\)"):
        delete(cluster, ["a", "b"])


@pytest.mark.parametrize(
    ("code", "said"), [(73, "delete.topic.enable=false"), (DENIED, "Delete on topic t")]
)
def test_a_topic_that_stays(code: int, said: str) -> None:
    with pytest.raises(Refused, match=said):
        delete(deleted(DeletableTopicResult("t", error_code=code)), ["t"])


@pytest.mark.parametrize(
    ("code", "message", "said"),
    [
        (UNKNOWN, None, "no topic t"),
        (INVALID_PARTITIONS, "It has 3.", "It has 3. Partitions are never taken away"),
        (DENIED, None, "Alter on topic t"),
    ],
)
def test_partitions_that_cannot_be_added(code: int, message: str | None, said: str) -> None:
    answer = CreatePartitionsResponse(results=[CreatePartitionsTopicResult("t", code, message)])
    cluster = cluster_of(CreatePartitionsRequest=answer)
    with pytest.raises(Refused, match=said):
        add_partitions(cluster, "t", 2)


def test_partitions_are_added() -> None:
    answer = CreatePartitionsResponse(results=[CreatePartitionsTopicResult("t")])
    cluster = cluster_of(CreatePartitionsRequest=answer)
    add_partitions(cluster, "t", 6, dry_run=True)
    (request,) = cluster.asked_for("CreatePartitionsRequest")
    assert request.topics[0].count == 6 and request.validate_only


@pytest.mark.parametrize("name", ["", ".", "a/b", "ä", "x" * 250])
def test_names_that_no_topic_has(name: str) -> None:
    check_names(["a", "A.b_c-9", "x" * 249])
    with pytest.raises(StartError, match="a topic cannot be called"):
        check_names([name])


def auto_create(value: str, code: int = 0) -> DescribeConfigsResponse:
    config = DescribeConfigsResourceResult("auto.create.topics.enable", value)
    return DescribeConfigsResponse(results=[DescribeConfigsResult(code, None, 4, "1", [config])])


@pytest.mark.parametrize("code", [0, 31])
def test_a_producers_topic_is_created_by_a_broker(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a login that may not see the broker's config."""
    monkeypatch.setattr(module, "PAUSE_S", 0)
    cluster = cluster_of(DescribeConfigsRequest=auto_create("true", code))
    cluster.creations.extend([UNKNOWN, UNKNOWN, 0])
    assert create_for_producer(cluster, "t") == 2
    assert [one.allow_auto_topic_creation for one in cluster.asked_for("MetadataRequest")] == [
        False,
        True,
        True,
        True,
    ]


def test_a_producers_topic_is_created_only_if_it_is_missing_and_a_broker_creates_topics() -> None:
    cluster = cluster_of(topic_of("t"), DescribeConfigsRequest=auto_create("false"))
    for name in ("t", "missing"):
        assert create_for_producer(cluster, name) is None
    assert not any(one.allow_auto_topic_creation for one in cluster.asked_for("MetadataRequest"))


def test_a_producers_topic_that_is_not_created(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = cluster_of(DescribeConfigsRequest=auto_create("true"))
    monkeypatch.setattr(cluster, "_timeout_s", -1)
    with pytest.raises(Refused, match="no topic t, and no broker .* topic create t makes it"):
        create_for_producer(cluster, "t")
    cluster.creations.append(DENIED)
    with pytest.raises(Refused, match="this takes Create on topic t"):
        create_for_producer(cluster, "t")
