from __future__ import annotations

from typing import Any

from broker.apis.forwarded import (
    ForwardedApis,
    refuse_alter_partition_reassignments,
    refuse_alter_user_scram_credentials,
    refuse_create_acls,
    refuse_create_partitions,
    refuse_create_topics,
    refuse_delete_acls,
    refuse_delete_topics,
    refuse_elect_leaders,
)
from controller.requests.controller_apis import FORWARDED_KEYS
from protocol.api_keys import STABLE_VERSIONS, ApiKey, messages_of
from protocol.errors import ErrorCode
from protocol.message import SlicedMessage
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from tests.unit.broker.apis.api_fixture import context

FAILED = ErrorCode.UNKNOWN_SERVER_ERROR


def test_requests_go_to_the_controller_as_they_are() -> None:
    seen: list[Any] = []
    apis = ForwardedApis(lambda *arguments: seen.append(arguments)).apis()
    assert [api.key for api in apis] == [
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.ELECT_LEADERS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.UNREGISTER_CONTROLLER,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
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
    users = AlterUserScramCredentialsRequest(
        [ScramCredentialDeletion("u", 1)],
        [ScramCredentialUpsertion("v", 1), ScramCredentialUpsertion("u", 2)],
    )
    altered = refuse_alter_user_scram_credentials(users, FAILED)
    assert [(one.user, one.error_code) for one in altered.results] == [("u", -1), ("v", -1)]
    grown = refuse_create_partitions(CreatePartitionsRequest([CreatePartitionsTopic("c")]), FAILED)
    assert [(one.name, one.error_code) for one in grown.results] == [("c", -1)]
    made = refuse_create_acls(CreateAclsRequest([AclCreation(), AclCreation()]), FAILED)
    assert [one.error_code for one in made.results] == [-1, -1]
    removed = refuse_delete_acls(DeleteAclsRequest([DeleteAclsFilter()]), FAILED)
    assert [(one.error_code, one.matching_acls) for one in removed.filter_results] == [(-1, [])]
    election = ElectLeadersRequest(0, [TopicPartitions("d", [4])])
    (elected,) = refuse_elect_leaders(election, FAILED).replica_election_results
    assert (elected.topic, elected.partition_result[0].error_code) == ("d", -1)
    moves = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic("e", [ReassignablePartition(7, [1])])]
    )
    (moved,) = refuse_alter_partition_reassignments(moves, FAILED).responses
    assert (moved.name, moved.partitions[0].error_code) == ("e", -1)


def test_responses_that_clients_choose_the_length_of_are_read_in_slices() -> None:
    for key in FORWARDED_KEYS:
        response = messages_of(ApiKey(key)).response
        has_arrays = any("list[" in one for one in response.__init__.__annotations__.values())
        assert issubclass(response, SlicedMessage) == has_arrays, response
