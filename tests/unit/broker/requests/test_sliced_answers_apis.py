"""Answers of many items: in slices of bounded work, and the same bytes as in one piece."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from broker.apis.alter_replica_log_dirs import AlterReplicaLogDirsApi
from broker.apis.auto_topic_creation import AutoTopicCreation
from broker.apis.broker_loggers import BrokerLoggers
from broker.apis.consumer_groups import ConsumerGroupsApi
from broker.apis.delete_records import DeleteRecordsApi
from broker.apis.describe_acls import DescribeAclsApi
from broker.apis.describe_configs import DescribeConfigsApi
from broker.apis.describe_log_dirs import DescribeLogDirsApi
from broker.apis.describe_producers import DescribeProducersApi
from broker.apis.describe_topic_partitions import DescribeTopicPartitionsApi
from broker.apis.describe_user_scram_credentials import DescribeUserScramCredentialsApi
from broker.apis.encoded_topics import EncodedTopics
from broker.apis.group_admin import GroupAdminApi
from broker.apis.group_offsets import GroupOffsetsApi
from broker.apis.list_config_resources import ListConfigResourcesApi
from broker.apis.list_offsets import ListOffsetsApi
from broker.apis.metadata import MetadataApi
from broker.apis.offset_for_leader_epoch import OffsetForLeaderEpochApi
from broker.apis.transaction_admin import TransactionAdminApi
from broker.apis.transactions import TransactionsApi
from broker.apis.txn_offset_commit import TxnOffsetCommitApi
from broker.apis.write_txn_markers import WriteTxnMarkersApi
from broker.config.parse import single_node_config
from broker.requests.context import Handle
from broker.requests.sliced_answers import SlicedAnswers
from controller.authorization.rights import UNLIMITED, Rights
from controller.metadata.image import MetadataImage
from ground.sliced_work import BULK_AT_ONCE, PIECES_AT_ONCE, Pace
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.frames import encoded_items
from protocol.frames.message_codec import encode_response
from protocol.message import Message
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.create_acls import AclCreation
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.describe_acls import DescribeAclsRequest
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
)
from protocol.messages.describe_topic_partitions import TopicRequest as TopicRequestOfPages
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.list_config_resources import ListConfigResourcesRequest
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.list_transactions import ListTransactionsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offset_commit import OffsetCommitRequestTopic
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from protocol.messages.txn_offset_commit import TxnOffsetCommitRequestTopic
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.clients.group_conversation import committing
from tests.clients.transactional_offsets_conversation import committing_in_transaction
from tests.unit.broker.apis.api_fixture import CLUSTER_ID, NODE_ID, Cluster, context
from tests.unit.broker.groups.playbook import TOPIC_ID, GroupNode
from tests.unit.broker.replica_fixture import Replicas
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.broker.transactions.desk import Desk
from tests.unit.controller.rights_fixture import acls_of, on_topic, rights_of

MANY = 2 * PIECES_AT_ONCE + 10
NAMES = [f"name-{number}" for number in range(MANY)]
TOPIC = 2


class Long:
    """One API, asked in slices and in one piece."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.turns = Turns()
        self._monkeypatch = monkeypatch

    @property
    def answers(self) -> SlicedAnswers:
        """Where the API has its answers made."""
        return self.turns.answers

    def compare(
        self,
        handle: Handle,
        request: Message,
        version: int,
        rights: Rights = UNLIMITED,
        slices: int = MANY // PIECES_AT_ONCE,
        answer: int = 2 * MANY,
    ) -> None:
        """It takes so many slices at least, and the answer is that of one piece."""
        sliced = self._ask(handle, request, version, rights)
        assert sliced == [] and self.turns.run() >= slices
        with self._monkeypatch.context() as patched:
            patched.setattr(Pace, "is_full", lambda *_: False)
            patched.setattr(encoded_items, "KEPT_PIECES", 1 << 30)
            whole = self._ask(handle, request, version, rights)
            self.turns.run()
        assert len(whole) == 1 and len(whole[0]) > answer
        assert sliced == whole

    def _ask(self, handle: Handle, request: Any, version: int, rights: Rights) -> list[bytes]:
        answers: list[bytes] = []

        def respond(response: Any) -> None:
            answers.append(encode_response(response, version, 7).joined())

        handle(context(request.API_KEY, version, rights=rights), request, respond)
        return answers


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> Long:
    return Long(monkeypatch)


@pytest.fixture(scope="module")
def image() -> MetadataImage:
    """Of many topics, of which some set something; and one of many partitions."""
    cluster = Cluster()
    for name in NAMES:
        cluster.topic(name)
    cluster.topic("wide", MANY)
    for name in NAMES[::100]:
        cluster.set_topic_config(name, "retention.ms", "1000")
    return cluster.image


@pytest.fixture
def cluster(image: MetadataImage) -> Cluster:
    cluster = Cluster()
    cluster.image = image
    return cluster


@pytest.mark.parametrize("version", range(1, 5))
def test_configs_of_many_topics(long: Long, cluster: Cluster, version: int) -> None:
    api = DescribeConfigsApi(cluster, single_node_config(), BrokerLoggers(), long.answers)
    names = [*NAMES[:300], "no such topic"]
    resources = [
        DescribeConfigsResource(TOPIC, name, ["retention.ms"] if name.endswith("1") else None)
        for name in names
    ]
    request = DescribeConfigsRequest(resources, True, True)
    long.compare(api.handle, request, version, slices=2)
    some = {(Operation.DESCRIBE_CONFIGS, Resource.TOPIC, name) for name in names[::2]}
    long.compare(api.handle, request, version, rights_of(some), slices=1)


@pytest.mark.parametrize("limit", [MANY, 10_000])
def test_pages_of_partitions(long: Long, cluster: Cluster, limit: int) -> None:
    api = DescribeTopicPartitionsApi(cluster, limit, long.answers)
    request = DescribeTopicPartitionsRequest(response_partition_limit=limit)
    long.compare(api.handle, request, 0)
    some = {(Operation.DESCRIBE, Resource.TOPIC, name) for name in NAMES[1:]}
    long.compare(api.handle, request, 0, rights_of(some))


@pytest.mark.parametrize("version", range(2))
def test_names_of_many_resources(long: Long, cluster: Cluster, version: int) -> None:
    for name in NAMES:
        cluster.set_config(16, name, "interval.ms", "1000")
    api = ListConfigResourcesApi(cluster, long.answers)
    long.compare(api.handle, ListConfigResourcesRequest([]), version)


@pytest.mark.parametrize("version", range(1, 4))
@pytest.mark.parametrize("about", [MANY, 2])
def test_many_acls(long: Long, cluster: Cluster, version: int, about: int) -> None:
    """About many things, or about two."""
    made = [
        AclCreation(TOPIC, NAMES[number % about], 3, f"User:{name}", "*", 3, 3)
        for number, name in enumerate(NAMES)
    ]
    cluster.image = cluster.image._replace(acls=acls_of(made))
    request = DescribeAclsRequest(1, None, 1, None, None, 1, 1)
    api = DescribeAclsApi(cluster, long.answers)
    may = {(Operation.DESCRIBE, Resource.CLUSTER, "kafka-cluster")}
    long.compare(api.handle, request, version, rights_of(may), slices=2)


def test_logs_of_a_directory(long: Long, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replicas = Replicas(str(tmp_path))
    replicas.create("a", PIECES_AT_ONCE)
    replicas.create("b")
    usage = replicas.logs.usage(replicas.config.log_dirs[0])
    monkeypatch.setattr(replicas.logs, "usage", lambda _: usage)  # others use that disk, too
    api = DescribeLogDirsApi(replicas.config.log_dirs, replicas.logs, long.answers)
    long.compare(api.handle, DescribeLogDirsRequest(None), 5, slices=1)


def test_producers_of_many_partitions(long: Long, tmp_path: Path) -> None:
    replicas = Replicas(str(tmp_path))
    replicas.create("t")
    api = DescribeProducersApi(replicas.manager, long.answers)
    request = DescribeProducersRequest([TopicRequest(name, [0, 1]) for name in ("t", *NAMES)])
    long.compare(api.handle, request, 0)


@pytest.mark.parametrize("version", [1, 6, 11])
def test_offsets_of_many_partitions(long: Long, tmp_path: Path, version: int) -> None:
    replicas = Replicas(str(tmp_path))
    replicas.create("t")
    api = ListOffsetsApi(replicas.config, replicas.manager, long.answers)
    asked = [ListOffsetsPartition(number % (MANY - 5), -1, -1) for number in range(MANY)]
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(name, asked) for name in ("t", "u")])
    long.compare(api.handle, request, version)
    some = {(Operation.DESCRIBE, Resource.TOPIC, "t")}
    long.compare(api.handle, request, version, rights_of(some))


@pytest.mark.parametrize("version", [3, 4])
def test_ends_of_many_leader_epochs(long: Long, tmp_path: Path, version: int) -> None:
    replicas = Replicas(str(tmp_path))
    replicas.create("t")
    handle = OffsetForLeaderEpochApi(replicas.manager, long.answers).handle
    asked = [OffsetForLeaderPartition(index, -1, 0) for index in range(MANY)]
    topics = [OffsetForLeaderTopic(name, asked[:1]) for name in NAMES]
    request = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("t", asked), *topics])
    long.compare(handle, request, version)
    long.compare(handle, request, version, rights_of(on_topic(Operation.DESCRIBE, *NAMES[::2])))


def test_credentials_of_many_users(long: Long, cluster: Cluster) -> None:
    handle = DescribeUserScramCredentialsApi(cluster, long.answers).handle
    request = DescribeUserScramCredentialsRequest([UserName(name) for name in (*NAMES, "u", "u")])
    long.compare(handle, request, 0)


def test_markers_of_many_partitions(long: Long, tmp_path: Path, node: GroupNode) -> None:
    replicas = Replicas(str(tmp_path))
    replicas.create("t")
    handle = WriteTxnMarkersApi(replicas.manager, node.coordinator, 1, long.answers).handle
    topics = [WritableTxnMarkerTopic(name, [0]) for name in NAMES]
    markers = [WritableTxnMarker(7, 0, True, topics, 0)]
    markers += [WritableTxnMarker(pid, 0, True, topics[:1], 0) for pid in range(MANY)]
    markers.append(WritableTxnMarker(8, 0, True, [WritableTxnMarkerTopic("t", [*range(MANY)])], 0))
    request = WriteTxnMarkersRequest(markers)
    long.compare(handle, request, 2)
    long.compare(handle, request, 2, rights_of(()))


@pytest.fixture(scope="module")
def node() -> GroupNode:
    """The coordinator of many groups."""
    node = GroupNode()
    wire = node.connect()
    for name in NAMES:
        wire.call(committing(name, 1), 9)
    return node


@pytest.mark.parametrize("version", [0, 3, 4, 5])
def test_many_groups_are_listed(long: Long, node: GroupNode, version: int) -> None:
    api = GroupAdminApi(node.coordinator, long.answers)
    long.compare(api.list_groups, ListGroupsRequest([], []), version)
    some = {(Operation.DESCRIBE, Resource.GROUP, name) for name in NAMES[1:]}
    long.compare(api.list_groups, ListGroupsRequest([], []), version, rights_of(some))


@pytest.mark.parametrize("version", range(7))
def test_many_groups_are_described(long: Long, node: GroupNode, version: int) -> None:
    api = GroupAdminApi(node.coordinator, long.answers)
    request = DescribeGroupsRequest([*NAMES, "none"], True)
    long.compare(api.describe, request, version)
    some = {(Operation.DESCRIBE, Resource.GROUP, name) for name in NAMES[::2]}
    long.compare(api.describe, request, version, rights_of(some))


@pytest.mark.parametrize("version", range(2))
def test_many_consumer_groups_are_described(long: Long, node: GroupNode, version: int) -> None:
    apis = ConsumerGroupsApi(node.coordinator, long.answers).apis()
    (describe,) = (api.handle for api in apis if api.key is ApiKey.CONSUMER_GROUP_DESCRIBE)
    request = ConsumerGroupDescribeRequest(NAMES)
    long.compare(describe, request, version)
    long.compare(describe, request, version, rights_of(()))


def test_topics_of_a_heartbeat_are_judged_in_slices(long: Long, node: GroupNode) -> None:
    beat = ConsumerGroupsApi(node.coordinator, long.answers).heartbeat
    request = ConsumerGroupHeartbeatRequest("new", "m", 7, subscribed_topic_names=NAMES)
    topics = {(Operation.DESCRIBE, Resource.TOPIC, name) for name in NAMES}
    for some in (topics, set[Any]()):
        may = {(Operation.READ, Resource.GROUP, "new"), *some}
        long.compare(beat, request, 1, rights_of(may), answer=20)


@pytest.mark.parametrize("version", [0, 2])
def test_many_groups_are_deleted(long: Long, node: GroupNode, version: int) -> None:
    api = GroupAdminApi(node.coordinator, long.answers)
    absent = [f"absent-{name}" for name in NAMES]
    request = DeleteGroupsRequest([*absent, *absent[:2]])
    long.compare(api.delete, request, version)
    some = {(Operation.DELETE, Resource.GROUP, name) for name in absent[1:3]}
    long.compare(api.delete, request, version, rights_of(some))


@pytest.mark.parametrize("version", [8, 9])
def test_offsets_of_many_groups(long: Long, node: GroupNode, version: int) -> None:
    api = GroupOffsetsApi(node, node.coordinator, long.answers)
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(name) for name in NAMES])
    long.compare(api.fetch, request, version)
    long.compare(api.fetch, request, version, rights_of(()))


@pytest.mark.parametrize("version", [9, 10])
def test_offsets_of_many_topics_are_committed(long: Long, node: GroupNode, version: int) -> None:
    commit = GroupOffsetsApi(node, node.coordinator, long.answers).commit
    request = committing("g", 1, topic_id=TOPIC_ID, partitions=range(MANY))
    request.topics += [
        OffsetCommitRequestTopic(name, TOPIC_ID, request.topics[0].partitions[:1])
        for name in ("conversation", *NAMES)
    ]
    long.compare(commit, request, version)
    long.compare(commit, request, version, rights_of(()))
    some = {(Operation.READ, Resource.GROUP, "g"), (Operation.READ, Resource.TOPIC, NAMES[1])}
    long.compare(commit, request, version, rights_of(some))


def test_offsets_of_many_topics_are_committed_in_a_transaction(long: Long, node: GroupNode) -> None:
    commit = TxnOffsetCommitApi(node, node.coordinator, long.answers).handle
    request = committing_in_transaction("g", 1, partitions=range(MANY), transactional_id="t")
    request.topics += [
        TxnOffsetCommitRequestTopic(name, partitions=request.topics[0].partitions[:1])
        for name in ("conversation", *NAMES)
    ]
    long.compare(commit, request, 5)
    long.compare(commit, request, 5, rights_of(()))
    some = {
        (Operation.WRITE, Resource.TRANSACTIONAL_ID, "t"),
        (Operation.READ, Resource.GROUP, "g"),
    }
    long.compare(commit, request, 5, rights_of(some))


def test_offsets_of_many_topics_are_deleted(long: Long, node: GroupNode) -> None:
    node.connect().call(committing("deleted", 1), 9)
    delete = GroupOffsetsApi(node, node.coordinator, long.answers).delete
    many = [OffsetDeleteRequestPartition(index) for index in range(MANY)]
    topics = [OffsetDeleteRequestTopic(name, many[:1]) for name in NAMES]
    topics.append(OffsetDeleteRequestTopic("conversation", many))
    request = OffsetDeleteRequest("deleted", topics)
    long.compare(delete, request, 0)
    some = {(Operation.DELETE, Resource.GROUP, "deleted")}
    long.compare(delete, request, 0, rights_of(some))


def test_many_filters_of_groups_are_read_in_slices(long: Long, node: GroupNode) -> None:
    api = GroupAdminApi(node.coordinator, long.answers)
    long.compare(api.list_groups, ListGroupsRequest([*NAMES, "Empty"], []), 5, slices=4)


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("key_type", [0, 2])
def test_coordinators_of_many_keys(
    long: Long, node: GroupNode, version: int, key_type: int
) -> None:
    find = node.finder(long.answers).handle
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[*NAMES, *NAMES[:2]])
    long.compare(find, request, version)
    some = {(Operation.DESCRIBE, Resource.GROUP, name) for name in NAMES[::2]}
    long.compare(find, request, version, rights_of(some))


@pytest.fixture(scope="module")
def desk() -> Desk:
    """The coordinator of many transactions."""
    desk = Desk()
    for name in NAMES:
        desk.init(name)
    return desk


@pytest.mark.parametrize("version", range(3))
def test_many_transactions_are_listed(long: Long, desk: Desk, version: int) -> None:
    api = TransactionAdminApi(desk.coordinator, long.answers)
    long.compare(api.list_transactions, ListTransactionsRequest(), version)


def test_many_filters_of_transactions_are_read_in_slices(long: Long, desk: Desk) -> None:
    api = TransactionAdminApi(desk.coordinator, long.answers)
    filters = [*(str(number) for number in range(2 * BULK_AT_ONCE)), "Empty"]
    long.compare(api.list_transactions, ListTransactionsRequest(filters), 2, slices=4)
    ids = [*range(2 * BULK_AT_ONCE), 1000]
    long.compare(api.list_transactions, ListTransactionsRequest([], ids), 2, slices=4)


@pytest.mark.parametrize("version", [2, 3, 5])
@pytest.mark.parametrize("index", [0, 1])
def test_many_partitions_are_added_to_transactions(
    long: Long, cluster: Cluster, desk: Desk, version: int, index: int
) -> None:
    """Partitions that there are, and others; of one transaction, and of many."""
    add = TransactionsApi(cluster, desk.coordinator, len, long.answers).add_partitions
    topics = [AddPartitionsToTxnTopic(name, [index]) for name in NAMES]
    topics.append(AddPartitionsToTxnTopic("wide", list(range(MANY + index))))
    request = AddPartitionsToTxnRequest([], NAMES[0], 1000, 0, topics)
    if version == 5:
        many = [AddPartitionsToTxnTransaction(name, 0, 0, True, topics[-3:-1]) for name in NAMES]
        many.append(AddPartitionsToTxnTransaction(NAMES[0], 1000, 0, False, topics))
        request = AddPartitionsToTxnRequest(many)
    long.compare(add, request, version)
    if version < 5:
        long.compare(add, request, version, rights_of(()))
        some = {(Operation.WRITE, Resource.TRANSACTIONAL_ID, NAMES[0])}
        long.compare(add, request, version, rights_of(some))


def test_many_transactions_are_described(long: Long, desk: Desk) -> None:
    api = TransactionAdminApi(desk.coordinator, long.answers)
    long.compare(api.describe, DescribeTransactionsRequest([*NAMES, "none"]), 0)


# --- requests that name many things ---------------------------------------------------------------


class Named(NamedTuple):
    """A request, and who answers it."""

    handle: Handle
    request: Message
    version: int


def named(node: str, long: Long, cluster: Cluster, replicas: Replicas) -> Named:
    """The request called `node`, of things of which there are none, or few."""
    answers = long.answers
    metadata = MetadataApi(
        cluster,
        CLUSTER_ID,
        NODE_ID,
        True,
        AutoTopicCreation(single_node_config(), _nobody, _nobody),
        EncodedTopics(1 << 20),
        answers,
    )
    configs = DescribeConfigsApi(cluster, single_node_config(), BrokerLoggers(), answers)
    log_dirs = replicas.config.log_dirs
    names = [f"unknown-{number}" for number in range(MANY)]
    by_name = [MetadataRequestTopic(name=name) for name in names]
    by_id = [MetadataRequestTopic(number.to_bytes(16), None) for number in range(1, MANY)]
    resources = [DescribeConfigsResource(TOPIC, name) for name in names]
    pages = [TopicRequestOfPages(name) for name in reversed(names)]
    indexes = [DeleteRecordsPartition(number, 1) for number in range(MANY)]
    moved = [AlterReplicaLogDirTopic(name, [0]) for name in names]
    deletion, move = (
        DeleteRecordsApi(replicas.manager, answers),
        AlterReplicaLogDirsApi(log_dirs, replicas.manager, answers),
    )
    return {
        "metadata by names": Named(metadata.handle, MetadataRequest(by_name, False), 12),
        "metadata that creates": Named(metadata.handle, MetadataRequest(by_name), 12),
        "metadata by ids": Named(metadata.handle, MetadataRequest(by_id), 12),
        "configs": Named(configs.handle, DescribeConfigsRequest(resources), 4),
        "pages": Named(
            DescribeTopicPartitionsApi(cluster, 2000, answers).handle,
            DescribeTopicPartitionsRequest(pages),
            0,
        ),
        "deletions": Named(
            deletion.handle,
            DeleteRecordsRequest([DeleteRecordsTopic("t", indexes)], 1000),
            2,
        ),
        "deletions in topics": Named(
            deletion.handle,
            DeleteRecordsRequest([DeleteRecordsTopic(name, []) for name in names], 1000),
            2,
        ),
        "moves": Named(
            move.handle, AlterReplicaLogDirsRequest([AlterReplicaLogDir(log_dirs[0], moved)]), 2
        ),
        "moves of nothing": Named(
            move.handle,
            AlterReplicaLogDirsRequest(
                [AlterReplicaLogDir("/x", [AlterReplicaLogDirTopic(name, [])]) for name in names]
            ),
            2,
        ),
    }[node]


def _nobody(*_: object) -> None:
    """Answers nothing."""


@pytest.mark.parametrize(
    ("request_of", "denied", "allowed"),
    [
        ("metadata by names", 5, 4),
        ("metadata that creates", 5, 4),
        ("metadata by ids", 2, 2),
        ("configs", 2, 2),
        ("pages", 5, 4),
        ("deletions", 2, 2),
        ("deletions in topics", 5, 2),
        ("moves", 4, 4),
        ("moves of nothing", 4, 4),
    ],
)
def test_requests_that_name_many_things(
    long: Long, cluster: Cluster, tmp_path: Path, request_of: str, denied: int, allowed: int
) -> None:
    """`denied` and `allowed`: turns of the loop that it takes to refuse it all, and to do it."""
    replicas = Replicas(str(tmp_path))
    replicas.create("t")
    handle, request, version = named(request_of, long, cluster, replicas)
    long.compare(handle, request, version, rights_of(()), denied)
    long.compare(handle, request, version, UNLIMITED, allowed)
