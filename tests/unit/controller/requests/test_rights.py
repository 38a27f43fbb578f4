"""`rights`: what each request needs, and what it is told without. The answers are those of a
running Apache Kafka, but for the words with which that shows its own objects."""

from __future__ import annotations

from typing import Any

import pytest

from controller.metadata.image import ResourceType
from controller.requests.controller_apis import API_KEYS
from controller.requests.rights import config_denial
from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.message import Message
from protocol.messages import allocate_producer_ids as ids
from protocol.messages import alter_configs as configs
from protocol.messages import alter_partition as partitions
from protocol.messages import alter_partition_reassignments as reassign
from protocol.messages import alter_user_scram_credentials as scram
from protocol.messages import assign_replicas_to_dirs as assign
from protocol.messages import broker_heartbeat as heartbeat
from protocol.messages import broker_registration as register
from protocol.messages import controller_registration as controllers
from protocol.messages import create_partitions as grow
from protocol.messages import create_topics as create
from protocol.messages import delete_topics as delete
from protocol.messages import describe_cluster as cluster
from protocol.messages import describe_user_scram_credentials as users
from protocol.messages import elect_leaders as elect
from protocol.messages import incremental_alter_configs as changes
from protocol.messages import list_partition_reassignments as moving
from protocol.messages import unregister_broker as unregister
from protocol.messages import unregister_controller as gone
from protocol.messages import update_features as features
from tests.unit.controller.controller_fixture import OneNode, as_sent
from tests.unit.controller.rights_fixture import ListJudge, on_cluster, on_topic, rights_of

CLUSTER_DENIED = int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
TOPIC_DENIED = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
CLUSTER_TEXT = "Cluster authorization failed."

ELECT = elect.ElectLeadersRequest(0, [elect.TopicPartitions("t", [0, 1])], 100)
REASSIGN = reassign.AlterPartitionReassignmentsRequest(
    100, topics=[reassign.ReassignableTopic("t", [reassign.ReassignablePartition(0, [1])])]
)
LIST = moving.ListPartitionReassignmentsRequest(
    100, [moving.ListPartitionReassignmentsTopics("t", [0])]
)
ALTER_USERS = scram.AlterUserScramCredentialsRequest(
    [scram.ScramCredentialDeletion("z", 1), scram.ScramCredentialDeletion("a", 1)],
    [scram.ScramCredentialUpsertion("m", 1, 4096, b"s", b"p")],
)

WHOLE: list[tuple[Message, int, Operation]] = [
    (ids.AllocateProducerIdsRequest(1, 1), 0, Operation.CLUSTER_ACTION),
    (register.BrokerRegistrationRequest(7, log_dirs=[b"d" * 16]), 4, Operation.CLUSTER_ACTION),
    (heartbeat.BrokerHeartbeatRequest(1, 1), 1, Operation.CLUSTER_ACTION),
    (partitions.AlterPartitionRequest(1, 1), 3, Operation.CLUSTER_ACTION),
    (assign.AssignReplicasToDirsRequest(1, 1), 0, Operation.CLUSTER_ACTION),
    (controllers.ControllerRegistrationRequest(7), 0, Operation.CLUSTER_ACTION),
    (ELECT, 2, Operation.ALTER),
    (elect.ElectLeadersRequest(0, [], 100), 2, Operation.ALTER),
    (REASSIGN, 1, Operation.ALTER),
    (reassign.AlterPartitionReassignmentsRequest(100), 1, Operation.ALTER),
    (LIST, 0, Operation.DESCRIBE),
    (features.UpdateFeaturesRequest(100), 2, Operation.ALTER),
    (unregister.UnregisterBrokerRequest(7), 0, Operation.ALTER),
    (gone.UnregisterControllerRequest(7), 0, Operation.ALTER),
    (cluster.DescribeClusterRequest(endpoint_type=2), 1, Operation.ALTER),
    (cluster.DescribeClusterRequest(endpoint_type=1), 1, Operation.ALTER),
    (users.DescribeUserScramCredentialsRequest(None), 0, Operation.DESCRIBE),
]
"""Each with its version and what it needs of the cluster, said at the top of the answer."""

IN_PARTS = (
    create.CreateTopicsRequest.API_KEY,
    delete.DeleteTopicsRequest.API_KEY,
    grow.CreatePartitionsRequest.API_KEY,
    configs.AlterConfigsRequest.API_KEY,
    changes.IncrementalAlterConfigsRequest.API_KEY,
    scram.AlterUserScramCredentialsRequest.API_KEY,
)
"""APIs whose answers say it of each part; tested one by one."""

ELSEWHERE = (
    ApiKey.DESCRIBE_ACLS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.ALTER_CLIENT_QUOTAS,
)
"""In `test_acl_requests`, `test_quota_requests`, and the broker's `test_delegation_tokens`."""


@pytest.fixture
def node() -> OneNode:
    node = OneNode().start()
    node.register()
    topics = [create.CreatableTopic("t", 1, 1), create.CreatableTopic("shown", 1, 1)]
    node.call(create.CreateTopicsRequest(topics), 7)
    return node


def denied(node: OneNode, request: Any, version: int, *allowed: Any) -> Any:
    """The answer on the wire to one who may do no more than that; nothing may come of it."""
    end = node.node.raft.end_offset
    answer = as_sent(node.call(request, version, rights_of(allowed)), request, version)
    assert node.node.raft.end_offset == end
    return answer


def test_every_request_is_here() -> None:
    asked = {request.API_KEY for request, _, _ in WHOLE}
    assert sorted([*asked, *IN_PARTS, *ELSEWHERE]) == sorted(API_KEYS)


@pytest.mark.parametrize(
    ("request_", "version", "needed"),
    [pytest.param(*one, id=f"{type(one[0]).__name__}-{index}") for index, one in enumerate(WHOLE)],
)
def test_what_needs_a_right_on_the_cluster(
    node: OneNode, request_: Message, version: int, needed: Operation
) -> None:
    others = [(one, Resource.CLUSTER, CLUSTER_NAME) for one in Operation if one is not needed] + [
        (needed, Resource.TOPIC, CLUSTER_NAME)
    ]
    answer = denied(node, request_, version, *others)
    assert answer.error_code == CLUSTER_DENIED
    has_text = hasattr(answer, "error_message") and not isinstance(
        request_, users.DescribeUserScramCredentialsRequest
    )
    assert not has_text or answer.error_message == CLUSTER_TEXT
    judge = ListJudge(on_cluster(needed))
    allowed = node.call(request_, version, judge.rights())
    assert allowed.error_code != CLUSTER_DENIED
    assert {action.operation for action in judge.asked} == {needed}


def test_what_was_asked_is_echoed_as_kafka_does(node: OneNode) -> None:
    parts = denied(node, ELECT, 0).replica_election_results[0].partition_result
    assert [(one.partition_id, one.error_code, one.error_message) for one in parts] == [
        (0, CLUSTER_DENIED, CLUSTER_TEXT),
        (1, CLUSTER_DENIED, CLUSTER_TEXT),
    ]
    moved = denied(node, REASSIGN, 1).responses[0].partitions
    assert [(one.error_code, one.error_message) for one in moved] == [
        (CLUSTER_DENIED, CLUSTER_TEXT)
    ]
    (listed,) = denied(node, LIST, 0).topics
    assert (listed.name, listed.partitions[0].replicas) == ("t", [])
    altered = denied(node, ALTER_USERS, 0).results
    assert [(one.user, one.error_code, one.error_message) for one in altered] == [
        (user, CLUSTER_DENIED, CLUSTER_TEXT) for user in ("a", "m", "z")
    ]
    asked = users.DescribeUserScramCredentialsRequest([users.UserName("a"), users.UserName("b")])
    answer = denied(node, asked, 0)
    assert [(one.user, one.error_code) for one in answer.results] == [("", CLUSTER_DENIED)] * 2


def test_users_are_altered_by_one_who_may_alter_the_cluster(node: OneNode) -> None:
    answer = node.call(ALTER_USERS, 0, rights_of(on_cluster(Operation.ALTER)))
    assert ErrorCode.CLUSTER_AUTHORIZATION_FAILED not in [one.error_code for one in answer.results]
    assert "m" in node.node.image.scram.users


def test_bits_of_the_cluster_are_for_those_who_may_describe_it(node: OneNode) -> None:
    request = cluster.DescribeClusterRequest(True, 2)
    alters = on_cluster(Operation.ALTER)
    assert node.call(request, 1, rights_of(alters)).cluster_authorized_operations == 0
    both = alters | on_cluster(Operation.DESCRIBE)
    bits = node.call(request, 1, rights_of(both)).cluster_authorized_operations
    assert bits == 1 << Operation.ALTER | 1 << Operation.DESCRIBE


# --- topics ---------------------------------------------------------------------------------------


def test_topics_are_created_one_by_one(node: OneNode) -> None:
    names = ["n", "d", "d", "__cluster_metadata", "mine", "mine2", "t"]
    request = create.CreateTopicsRequest([create.CreatableTopic(name, 1, 1) for name in names])
    may = on_topic(Operation.CREATE, "mine", "mine2", "d")
    may |= on_topic(Operation.DESCRIBE_CONFIGS, "mine2", "n", "t")
    answer = as_sent(node.call(request, 7, rights_of(may)), request, 7)
    told = {one.name: (one.error_code, one.error_message) for one in answer.topics}
    no = (TOPIC_DENIED, "Authorization failed.")
    assert told == {
        "mine": (0, None),
        "mine2": (0, None),
        "d": (42, "Duplicate topic name."),
        "__cluster_metadata": (
            42,
            "Creation of internal topic __cluster_metadata is prohibited.",
        ),
        "n": no,
        "t": no,
    }
    hidden, shown = answer.topics[:2]
    assert (hidden.topic_config_error_code, hidden.configs) == (TOPIC_DENIED, [])
    assert (hidden.num_partitions, hidden.replication_factor) == (-1, -1)
    assert (shown.topic_config_error_code, shown.num_partitions) == (0, 1)
    assert shown.configs
    assert node.node.image.topics.get("n") is None


def test_one_who_may_create_in_the_cluster_may_create_any_topic(node: OneNode) -> None:
    judge = ListJudge(on_cluster(Operation.CREATE))
    request = create.CreateTopicsRequest([create.CreatableTopic("n", 1, 1)])
    told: list[tuple[str, bool]] = []

    class Audit:
        def told(self, _asker: Any, action: Any, verdict: Any, _count: int) -> None:
            told.append((action.name, verdict.allowed))

    answer = node.call(request, 7, judge.rights(Audit()))
    assert [one.error_code for one in answer.topics] == [0]
    assert told == []


def test_the_limits_of_a_request_count_what_is_allowed_alone(node: OneNode) -> None:
    topics = [create.CreatableTopic("n", 10_000, 1), create.CreatableTopic("mine", 1, 1)]
    request = create.CreateTopicsRequest(topics)
    answer = node.call(request, 7, rights_of(on_topic(Operation.CREATE, "mine")))
    assert [(one.name, one.error_code) for one in answer.topics] == [
        ("mine", 0),
        ("n", TOPIC_DENIED),
    ]


def test_partitions_are_added_to_topics_that_may_be_altered(node: OneNode) -> None:
    names = ["t", "shown", "not", "d", "d"]
    topics = [grow.CreatePartitionsTopic(name, 2, None) for name in names]
    request = grow.CreatePartitionsRequest(topics, 100)
    may = on_topic(Operation.ALTER, "shown", "d") | on_topic(Operation.DESCRIBE, "t", "not")
    answer = as_sent(node.call(request, 3, rights_of(may)), request, 3)
    told = {one.name: (one.error_code, one.error_message) for one in answer.results}
    no = (TOPIC_DENIED, None)
    twice = (42, "Duplicate topic name.")
    assert told == {"shown": (0, None), "t": no, "not": no, "d": twice}
    assert len(node.node.image.topics.by_name["t"].partitions) == 1


# --- configs --------------------------------------------------------------------------------------

RESOURCES = [
    (ResourceType.TOPIC, "t", 29, "Topic authorization failed."),
    (ResourceType.TOPIC, "not", 29, "Topic authorization failed."),
    (ResourceType.GROUP, "g", 30, "Group authorization failed."),
    (ResourceType.BROKER, "1", 31, CLUSTER_TEXT),
    (ResourceType.BROKER, "", 31, CLUSTER_TEXT),
    (ResourceType.CLIENT_METRICS, "m", 31, CLUSTER_TEXT),
]
"""With the error of one who may not alter its configs."""


@pytest.mark.parametrize("messages", [configs, changes])
def test_configs_are_altered_resource_by_resource(node: OneNode, messages: Any) -> None:
    request_class = next(
        getattr(messages, name) for name in dir(messages) if name.endswith("AlterConfigsRequest")
    )
    asked = [messages.AlterConfigsResource(kind, name, []) for kind, name, *_ in RESOURCES]
    request = request_class(asked, False)
    version = request_class.MAX_VERSION
    answer = denied(node, request, version)
    assert [
        (one.resource_type, one.resource_name, one.error_code, one.error_message)
        for one in answer.responses
    ] == RESOURCES
    may = on_topic(Operation.ALTER_CONFIGS, "t") | {(Operation.ALTER_CONFIGS, Resource.GROUP, "g")}
    some = denied(node, request, version, *may)
    assert [one.error_code for one in some.responses] == [0, 29, 0, 31, 31, 31]
    whole = denied(node, request, version, *on_cluster(Operation.ALTER_CONFIGS))
    told = [one.error_code for one in whole.responses]
    assert told[:3] == [29, 29, 30]
    assert 31 not in told[3:]


def test_a_kind_without_configs_is_nobodys_to_allow() -> None:
    assert config_denial(rights_of(()), Operation.ALTER_CONFIGS, 3, "x") is None
    loggers = config_denial(rights_of(()), Operation.ALTER_CONFIGS, ResourceType.BROKER_LOGGER, "1")
    assert loggers is not None


# --- who decides ----------------------------------------------------------------------------------


def test_a_node_that_does_not_decide_judges_nobody(node: OneNode) -> None:
    """It may not know of all ACLs yet: another node, or itself a little later, does."""
    judge = ListJudge()
    node.node.controller.close()
    node.node.raft.resign(node.node.raft.epoch)
    for request, version, _ in WHOLE[:6]:
        answer = node.call(request, version, judge.rights())
        assert answer.error_code == ErrorCode.NOT_CONTROLLER, request
    assert judge.asked == []


def test_what_comes_before_a_leader_may_decide_is_judged_when_it_does() -> None:
    """Only then all ACLs that were committed before are there."""
    node = OneNode()
    node.node.start()
    judge = ListJudge()
    answers: list[Any] = []
    node.send(unregister.UnregisterBrokerRequest(7), 0, answers.append, judge.rights())
    assert (judge.asked, answers) == ([], [])
    judge.allowed = on_cluster(Operation.ALTER)
    node.scheduler.run_until(lambda: bool(answers))
    assert answers[0].error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
