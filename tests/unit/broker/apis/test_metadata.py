from __future__ import annotations

from typing import Any

import pytest

from broker.apis.auto_topic_creation import AutoTopicCreation
from broker.apis.encoded_topics import EncodedTopics
from broker.apis.metadata import MetadataApi, refuse_metadata
from broker.config.parse import single_node_config
from controller.authorization.rights import UNLIMITED, Rights
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.unit.broker.apis.api_fixture import CLUSTER_ID, LOST, NODE_ID, Cluster, ask
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import (
    Allowed,
    Heard,
    ListJudge,
    on_cluster,
    on_topic,
    rights_of,
)

VERSIONS = range(14)
UNKNOWN_ID = b"\x01" * 16


class Server:
    def __init__(self, cluster: Cluster, auto_create: bool = True) -> None:
        self.created: list[str] = []
        creation = AutoTopicCreation(single_node_config(), self._create, self._create_own)
        self.encoded = EncodedTopics(1024 * 1024)
        self.turns = Turns()
        self.api = MetadataApi(
            cluster,
            CLUSTER_ID,
            NODE_ID,
            auto_create,
            creation,
            self.encoded,
            self.turns.answers,
        )

    def _create(self, _: object, request: Any, __: object) -> None:
        self.created += [topic.name for topic in request.topics]

    def _create_own(self, _: object, __: object) -> None:
        raise AssertionError("no client's topic is the node's")

    def ask(
        self,
        *names: str,
        version: int = 13,
        listener: str = "PLAINTEXT",
        rights: Rights = UNLIMITED,
        **options: bool,
    ) -> MetadataResponse:
        topics = [MetadataRequestTopic(name=name) for name in names]
        return self.ask_raw(topics, version, listener, rights, **options)

    def ask_raw(
        self,
        topics: list[MetadataRequestTopic] | None,
        version: int = 13,
        listener: str = "PLAINTEXT",
        rights: Rights = UNLIMITED,
        **options: bool,
    ) -> MetadataResponse:
        request = MetadataRequest(topics, **options)
        response = ask(self.api.handle, request, version, listener, rights)
        assert isinstance(response, MetadataResponse)
        return response


def answers(response: MetadataResponse) -> list[tuple[str | None, int]]:
    return [(topic.name, topic.error_code) for topic in response.topics]


@pytest.mark.parametrize("version", VERSIONS)
def test_brokers_and_a_topic_in_every_version(version: int) -> None:
    cluster = Cluster([1, 2])
    cluster.topic("t", 2, replicas=[1, 2])
    response = Server(cluster).ask("t", version=version)
    assert [(b.node_id, b.host, b.port) for b in response.brokers] == [
        (1, "plaintext-1", 9092),
        (2, "plaintext-2", 9092),
    ]
    assert answers(response) == [("t", 0)]
    partition = response.topics[0].partitions[1]
    assert (partition.partition_index, partition.leader_id) == (1, 1)
    assert partition.replica_nodes == partition.isr_nodes == [1, 2]
    assert partition.leader_epoch == (4 if version >= 7 else -1)
    assert response.cluster_id == (CLUSTER_ID if version >= 2 else None)
    assert response.controller_id == (1 if version >= 1 else -1)
    assert (response.topics[0].topic_id != bytes(16)) == (version >= 10)


def test_brokers_are_those_of_the_listener() -> None:
    cluster = Cluster()
    cluster.register(2, listeners=["OUTSIDE"], rack="r2")
    cluster.register(3, fenced=True)
    response = Server(cluster).ask(listener="OUTSIDE")
    assert [(b.node_id, b.host, b.port, b.rack) for b in response.brokers] == [
        (1, "outside-1", 19092, None),
        (2, "outside-2", 19092, "r2"),
    ]


def test_a_broker_that_shuts_down_is_named_where_it_leads_what_was_asked_about() -> None:
    cluster = Cluster([1, 2])
    cluster.topic("mine", replicas=[1, 2], leader=1)
    cluster.topic("moved", replicas=[1, 2], leader=2)
    cluster.shut_down(1)
    server = Server(cluster)
    assert [one.node_id for one in server.ask("moved").brokers] == [2]
    assert [one.node_id for one in server.ask().brokers] == [2]
    response = server.ask("moved", "mine")
    assert [one.node_id for one in response.brokers] == [1, 2]
    assert response.controller_id == 2


@pytest.mark.parametrize("version", VERSIONS)
def test_all_topics_are_an_empty_list_in_v0_and_null_later(version: int) -> None:
    cluster = Cluster()
    cluster.topic("a")
    cluster.topic("__consumer_offsets")
    server = Server(cluster)
    everything = server.ask_raw([] if version == 0 else None, version)
    assert answers(everything) == [("a", 0), ("__consumer_offsets", 0)]
    assert [topic.is_internal for topic in everything.topics] == [False, version >= 1]
    if version:
        assert server.ask_raw([], version).topics == []
    assert server.created == []


def test_a_missing_topic_is_created_when_both_sides_allow_it() -> None:
    server = Server(Cluster())
    response = server.ask("new", "new", "bad name!", "__consumer_offsets")
    assert answers(response) == [
        ("new", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("bad name!", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("__consumer_offsets", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert [topic.is_internal for topic in response.topics] == [False, False, True]
    assert server.created == ["new", "__consumer_offsets"]


@pytest.mark.parametrize("version", range(4))
def test_before_v4_a_client_cannot_forbid_creation(version: int) -> None:
    server = Server(Cluster())
    server.ask("new", version=version)
    assert server.created == ["new"]


def test_nothing_is_created_against_the_will_of_either_side() -> None:
    refused = [
        ("new", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("bad name!", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]
    client_forbids = Server(Cluster())
    response = client_forbids.ask("new", "bad name!", allow_auto_topic_creation=False)
    assert answers(response) == refused
    server_forbids = Server(Cluster(), auto_create=False)
    assert answers(server_forbids.ask("new", "bad name!")) == refused
    assert client_forbids.created == server_forbids.created == []


@pytest.mark.parametrize("version", [12, 13])
def test_topics_by_id(version: int) -> None:
    cluster = Cluster()
    known = cluster.topic("t")
    server = Server(cluster)
    response = server.ask_raw(
        [
            MetadataRequestTopic(UNKNOWN_ID, None),
            MetadataRequestTopic(known, None),
            MetadataRequestTopic(name="ignored"),
        ],
        version,
    )
    assert [(t.name, t.topic_id, t.error_code) for t in response.topics] == [
        (None, UNKNOWN_ID, ErrorCode.UNKNOWN_TOPIC_ID),
        ("t", known, 0),
    ]
    assert server.created == []


@pytest.mark.parametrize("version", [10, 11])
def test_ids_before_v12_are_refused(version: int) -> None:
    response = Server(Cluster()).ask_raw([MetadataRequestTopic(UNKNOWN_ID, None)], version)
    assert [(t.name, t.topic_id, t.error_code) for t in response.topics] == [
        ("", UNKNOWN_ID, ErrorCode.INVALID_REQUEST)
    ]
    assert response.brokers == []


def test_neither_name_nor_id_is_refused() -> None:
    response = Server(Cluster()).ask_raw([MetadataRequestTopic(name=None)])
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert answers(response) == [("", ErrorCode.INVALID_REQUEST)]


def test_a_partition_without_leader() -> None:
    cluster = Cluster()
    cluster.topic("t", leader=-1, isr=[])
    partition = Server(cluster).ask("t").topics[0].partitions[0]
    assert partition.error_code == ErrorCode.LEADER_NOT_AVAILABLE
    assert (partition.leader_id, partition.leader_epoch) == (-1, 4)


def test_a_leader_on_another_listener() -> None:
    cluster = Cluster()
    cluster.register(2, listeners=["OUTSIDE"])
    cluster.topic("t", replicas=[2], leader=2)
    server = Server(cluster)

    def error(version: int, listener: str = "PLAINTEXT") -> int:
        response = server.ask("t", version=version, listener=listener)
        return response.topics[0].partitions[0].error_code

    assert error(5) == ErrorCode.LEADER_NOT_AVAILABLE
    assert error(6) == ErrorCode.LISTENER_NOT_FOUND
    assert error(6, "OUTSIDE") == 0


def test_offline_replicas_and_how_v0_tells_of_them() -> None:
    cluster = Cluster()
    cluster.register(2, fenced=True)
    cluster.topic("t", replicas=[1, 2], isr=[1])
    server = Server(cluster)
    partition = server.ask("t").topics[0].partitions[0]
    assert (partition.error_code, partition.replica_nodes) == (0, [1, 2])
    assert partition.offline_replicas == [2]
    partition = server.ask("t", version=0).topics[0].partitions[0]
    assert partition.error_code == ErrorCode.REPLICA_NOT_AVAILABLE
    assert (partition.replica_nodes, partition.isr_nodes) == ([1], [1])


def test_a_replica_in_a_lost_directory_is_offline() -> None:
    cluster = Cluster()
    cluster.topic("t", directory=LOST)
    assert Server(cluster).ask("t").topics[0].partitions[0].offline_replicas == [1]


def test_authorized_operations_when_asked_for() -> None:
    cluster = Cluster()
    cluster.topic("t")
    server = Server(cluster)
    options = {
        "include_topic_authorized_operations": True,
        "include_cluster_authorized_operations": True,
    }
    response = server.ask("t", "none", "bad!", "", version=10, **options)
    # what an Apache Kafka without authorizer answers
    assert [t.error_code for t in response.topics] == [0, 3, 17, 17]
    assert [t.topic_authorized_operations for t in response.topics] == [3576] * 4
    assert response.cluster_authorized_operations == 8096
    response = server.ask("t", version=10)
    assert response.topics[0].topic_authorized_operations == -(2**31)
    assert response.cluster_authorized_operations == -(2**31)


def test_refusal_names_every_topic() -> None:
    request = MetadataRequest([MetadataRequestTopic(name="a")])
    response = refuse_metadata(request, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert answers(response) == [("a", -1)]
    assert refuse_metadata(MetadataRequest(None), ErrorCode.UNKNOWN_SERVER_ERROR).error_code == -1


DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
SEES = on_topic(Operation.DESCRIBE, "new", "other", "bad name")
MANY = ("other", "new", "hidden", "bad name")


def test_a_topic_that_it_may_not_describe_is_neither_shown_nor_made() -> None:
    cluster = Cluster()
    cluster.topic("t", 2)
    server = Server(cluster)
    judge = ListJudge(on_cluster(Operation.CREATE))
    for name in ("t", "none", "__consumer_offsets"):
        (topic,) = server.ask(name, rights=judge.rights()).topics
        assert (topic.error_code, topic.name, topic.topic_id) == (DENIED, name, bytes(16))
        assert (topic.is_internal, topic.partitions) == (False, [])
    assert server.created == []


@pytest.mark.parametrize(
    ("may_create", "errors", "created"),
    [
        (set(), [DENIED, DENIED, DENIED, DENIED], []),
        (on_topic(Operation.CREATE, "new", "hidden"), [3, DENIED, DENIED, DENIED], ["new"]),
        (on_cluster(Operation.CREATE), [3, 3, 17, DENIED], ["other", "new"]),
    ],
)
def test_what_it_may_create_is_asked_of_the_cluster_then_of_each_topic(
    may_create: set[Allowed], errors: list[int], created: list[str]
) -> None:
    server = Server(Cluster())
    response = server.ask(*MANY, rights=rights_of(SEES | may_create))
    assert sorted(code for _, code in answers(response)) == sorted(map(int, errors))
    assert answers(response)[-1] == ("hidden", DENIED)
    assert server.created == created


def test_no_right_to_create_is_needed_where_nothing_would_be_created() -> None:
    judge = ListJudge(SEES)
    server = Server(Cluster())
    response = server.ask(*MANY, rights=judge.rights(), allow_auto_topic_creation=False)
    assert dict(answers(response)) == {"other": 3, "new": 3, "bad name": 17, "hidden": DENIED}
    assert Operation.CREATE not in [action.operation for action in judge.asked]


def test_of_hidden_topics_the_audit_hears_only_where_they_are_named() -> None:
    cluster = Cluster()
    for name in ("seen", "hidden"):
        cluster.topic(name)
    audit = Heard()
    rights = ListJudge(on_topic(Operation.DESCRIBE, "seen")).rights(audit)
    assert answers(Server(cluster).ask_raw(None, rights=rights)) == [("seen", 0)]
    assert audit.names == []
    Server(cluster).ask("seen", "hidden", rights=rights)
    assert audit.names == ["seen", "hidden"]


def test_the_audit_hears_of_no_bits() -> None:
    cluster = Cluster()
    cluster.topic("t")
    audit = Heard()
    rights = ListJudge(on_topic(Operation.DESCRIBE, "t")).rights(audit)
    response = Server(cluster).ask("t", rights=rights, include_topic_authorized_operations=True)
    assert response.topics[0].topic_authorized_operations == 1 << Operation.DESCRIBE
    assert audit.names == ["t"]
