from __future__ import annotations

import pytest

from broker.apis.describe_topic_partitions import (
    DescribeTopicPartitionsApi,
    refuse_describe_topic_partitions,
)
from controller.authorization.rights import UNLIMITED, Rights
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsRequestCursor,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from tests.unit.broker.apis.api_fixture import Cluster, ask
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import Heard, ListJudge, on_topic, rights_of

LIMIT = 4


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.topic("b", 6)
    cluster.topic("a", 1)
    cluster.topic("c", 2)
    return cluster


def describe(
    cluster: Cluster,
    *names: str,
    limit: int = 2000,
    cursor: tuple[str, int] | None = None,
    rights: Rights = UNLIMITED,
) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest(
        [TopicRequest(name) for name in names],
        limit,
        None if cursor is None else DescribeTopicPartitionsRequestCursor(*cursor),
    )
    response = ask(
        DescribeTopicPartitionsApi(cluster, LIMIT, Turns().answers).handle,
        request,
        0,
        rights=rights,
    )
    assert isinstance(response, DescribeTopicPartitionsResponse)
    return response


def page(response: DescribeTopicPartitionsResponse) -> list[tuple[str | None, list[int]]]:
    return [(t.name, [p.partition_index for p in t.partitions]) for t in response.topics]


def cursor_of(response: DescribeTopicPartitionsResponse) -> tuple[str, int] | None:
    cursor = response.next_cursor
    return None if cursor is None else (cursor.topic_name, cursor.partition_index)


def test_pages_run_through_all_topics_by_name(cluster: Cluster) -> None:
    first = describe(cluster)
    assert page(first) == [("a", [0]), ("b", [0, 1, 2])]
    assert cursor_of(first) == ("b", 3)
    second = describe(cluster, cursor=("b", 3))
    assert page(second) == [("b", [3, 4, 5]), ("c", [0])]
    assert cursor_of(second) == ("c", 1)
    last = describe(cluster, cursor=("c", 1))
    assert page(last) == [("c", [1])]
    assert cursor_of(last) is None


def test_topics_asked_for_are_sorted_and_given_once(cluster: Cluster) -> None:
    response = describe(cluster, "c", "a", "c")
    assert page(response) == [("a", [0]), ("c", [0, 1])]
    assert cursor_of(response) is None


def test_the_request_may_lower_the_limit_but_never_to_nothing(cluster: Cluster) -> None:
    assert page(describe(cluster, "c", limit=1)) == [("c", [0])]
    for limit in (0, -1):
        response = describe(cluster, "a", "c", limit=limit)
        assert page(response) == [("a", [0])]
        # the page is full where the next topic begins
        assert cursor_of(response) == ("c", 0)


def test_replicas_are_lists_and_never_null(cluster: Cluster) -> None:
    cluster.register(2, fenced=True)
    cluster.topic("two", replicas=[1, 2], isr=[1])
    partition = describe(cluster, "two").topics[0].partitions[0]
    # the Java admin client streams over them unseen
    assert partition.eligible_leader_replicas == partition.last_known_elr == []
    assert (partition.leader_id, partition.leader_epoch, partition.isr_nodes) == (1, 4, [1])
    assert (partition.replica_nodes, partition.offline_replicas) == ([1, 2], [2])


def test_a_partition_without_leader_says_so_without_an_error(cluster: Cluster) -> None:
    cluster.topic("gone", leader=-1, isr=[])
    partition = describe(cluster, "gone").topics[0].partitions[0]
    assert (partition.leader_id, partition.error_code) == (-1, 0)


def test_topics_that_do_not_exist_take_no_room(cluster: Cluster) -> None:
    response = describe(cluster, "a", "no", "bad name!", limit=2)
    assert [(t.name, t.error_code) for t in response.topics] == [
        ("a", 0),
        ("bad name!", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("no", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert cursor_of(response) is None


def test_internal_topics_and_operations(cluster: Cluster) -> None:
    cluster.topic("__consumer_offsets")
    topic = describe(cluster, "__consumer_offsets").topics[0]
    assert topic.is_internal
    assert topic.topic_authorized_operations == 3576


def test_a_cursor_beyond_a_topic_gives_none_of_its_partitions(cluster: Cluster) -> None:
    assert page(describe(cluster, "b", "c", cursor=("b", 60))) == [("b", []), ("c", [0, 1])]


def test_a_cursor_between_topics_goes_on_with_the_next(cluster: Cluster) -> None:
    assert page(describe(cluster, cursor=("bb", 5))) == [("c", [0, 1])]


@pytest.mark.parametrize("cursor", [("a", -1), ("bb", 0), ("z", 0)])
def test_a_cursor_that_makes_no_sense(cluster: Cluster, cursor: tuple[str, int]) -> None:
    response = describe(cluster, "a", "b", cursor=cursor)
    assert [t.error_code for t in response.topics] == [ErrorCode.INVALID_REQUEST] * 2
    assert [t.topic_authorized_operations for t in response.topics] == [-(2**31)] * 2


def test_refusal_names_every_topic() -> None:
    request = DescribeTopicPartitionsRequest([TopicRequest("a")])
    response = refuse_describe_topic_partitions(request, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert [(t.name, t.error_code) for t in response.topics] == [("a", -1)]


def test_of_hidden_topics_all_is_silent_and_a_cursor_goes_on_behind_them(
    cluster: Cluster,
) -> None:
    audit = Heard()
    rights = ListJudge(on_topic(Operation.DESCRIBE, "a", "c")).rights(audit)
    response = describe(cluster, rights=rights)
    assert page(response) == [("a", [0]), ("c", [0, 1])]
    assert {topic.topic_authorized_operations for topic in response.topics} == {1 << 8}
    assert page(describe(cluster, cursor=("b", 3), rights=rights)) == [("c", [0, 1])]
    assert audit.names == []


def test_hidden_topics_that_are_named_are_denied_on_each_page(cluster: Cluster) -> None:
    rights = rights_of(on_topic(Operation.DESCRIBE, "a", "c"))
    for cursor, seen in ((None, "a"), (("c", 0), "c")):
        names = ("a", "b", "c", "d")
        response = describe(cluster, *names, limit=1, cursor=cursor, rights=rights)
        first, *others = response.topics
        assert (first.name, first.error_code) == (seen, 0)
        denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert {topic.name: topic.error_code for topic in others} == (
            {"b": denied, "d": denied} if cursor is None else {"d": denied}
        )
        for topic in others:
            assert (topic.topic_id, topic.topic_authorized_operations) == (bytes(16), -(2**31))
