"""APIs that a broker only forwards to the controller, which decides (KIP-590).

    CreateTopics v2-7   DeleteTopics v1-6   CreatePartitions v0-3   ElectLeaders v0-2
    AlterPartitionReassignments v0-1   ListPartitionReassignments v0   AlterUserScramCredentials v0
    AlterClientQuotas v0-1
    CreateAcls v1-3   DeleteAcls v1-3   UpdateFeatures v0-2   UnregisterBroker v0
    UnregisterController v0
    DescribeQuorum v0-2   AddRaftVoter v0-1   RemoveRaftVoter v0

Behaviour: a client may send them to any broker, which forwards them. On a node that is its own
controller, forwarding is a function call. The behaviour of these APIs is in
`controller.requests.controller_apis`; in `controller.raft.raft_apis` for DescribeQuorum, and in
`controller.raft.voter_apis` for the voters.

Rights: the controller authorizes the client.

AlterConfigs and IncrementalAlterConfigs are first handled here: `broker.apis.alter_configs`.
"""

from __future__ import annotations

from broker.requests.context import Api, Handle
from controller.requests.acl_requests import refused_creations, refused_deletions
from controller.requests.partition_requests import refused_elections, refused_reassignments
from controller.requests.quota_requests import refused_quotas
from controller.requests.scram_requests import refused_credentials
from ground.sliced_work import in_one_go
from protocol.api_keys import ApiKey
from protocol.errors import ApiError, ErrorCode
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse


class ForwardedApis:
    """The APIs that a broker only forwards."""

    def __init__(self, controller: Handle) -> None:
        self._controller = controller

    def apis(self) -> list[Api]:
        """Return the APIs that only the controller answers."""
        return [
            Api(ApiKey.CREATE_TOPICS, 2, 7, self._controller, refuse_create_topics),
            Api(ApiKey.DELETE_TOPICS, 1, 6, self._controller, refuse_delete_topics),
            Api(ApiKey.CREATE_ACLS, 1, 3, self._controller, refuse_create_acls),
            Api(ApiKey.DELETE_ACLS, 1, 3, self._controller, refuse_delete_acls),
            Api(ApiKey.CREATE_PARTITIONS, 0, 3, self._controller, refuse_create_partitions),
            Api(ApiKey.ELECT_LEADERS, 0, 2, self._controller, refuse_elect_leaders),
            Api(
                ApiKey.ALTER_PARTITION_REASSIGNMENTS,
                0,
                1,
                self._controller,
                refuse_alter_partition_reassignments,
            ),
            Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0, self._controller),
            Api(
                ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
                0,
                0,
                self._controller,
                refuse_alter_user_scram_credentials,
            ),
            Api(ApiKey.ALTER_CLIENT_QUOTAS, 0, 1, self._controller, refuse_alter_client_quotas),
            Api(ApiKey.UPDATE_FEATURES, 0, 2, self._controller),
            Api(ApiKey.UNREGISTER_BROKER, 0, 0, self._controller),
            Api(ApiKey.UNREGISTER_CONTROLLER, 0, 0, self._controller),
            Api(ApiKey.DESCRIBE_QUORUM, 0, 2, self._controller),
            Api(ApiKey.ADD_RAFT_VOTER, 0, 1, self._controller),
            Api(ApiKey.REMOVE_RAFT_VOTER, 0, 0, self._controller),
        ]


def refuse_create_topics(request: CreateTopicsRequest, error: ErrorCode) -> CreateTopicsResponse:
    """Return a response with `error` for every topic."""
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(topic.name, error_code=int(error), error_message=None)
            for topic in request.topics
        ]
    )


def refuse_delete_topics(request: DeleteTopicsRequest, error: ErrorCode) -> DeleteTopicsResponse:
    """Return a response with `error` for every topic, given by name or by id."""
    topics = [*request.topics, *(DeleteTopicState(name) for name in request.topic_names)]
    return DeleteTopicsResponse(
        responses=[DeletableTopicResult(topic.name, topic.topic_id, int(error)) for topic in topics]
    )


def refuse_create_partitions(
    request: CreatePartitionsRequest, error: ErrorCode
) -> CreatePartitionsResponse:
    """Return a response with `error` for every topic."""
    return CreatePartitionsResponse(
        results=[CreatePartitionsTopicResult(topic.name, int(error)) for topic in request.topics]
    )


def refuse_elect_leaders(request: ElectLeadersRequest, error: ErrorCode) -> ElectLeadersResponse:
    """Return a response with `error` for every partition, because v0 has no other place for it."""
    return in_one_go(refused_elections(request, ApiError(error)))


def refuse_alter_partition_reassignments(
    request: AlterPartitionReassignmentsRequest, error: ErrorCode
) -> AlterPartitionReassignmentsResponse:
    """Return a response with `error` for every partition."""
    return in_one_go(refused_reassignments(request, ApiError(error)))


def refuse_alter_user_scram_credentials(
    request: AlterUserScramCredentialsRequest, error: ErrorCode
) -> AlterUserScramCredentialsResponse:
    """Return a response with `error` for every user."""
    return in_one_go(refused_credentials(request, ApiError(error)))


def refuse_alter_client_quotas(
    request: AlterClientQuotasRequest, error: ErrorCode
) -> AlterClientQuotasResponse:
    """Return a response with `error` for every entry."""
    return in_one_go(refused_quotas(request, ApiError(error)))


def refuse_create_acls(request: CreateAclsRequest, error: ErrorCode) -> CreateAclsResponse:
    """Return a response with `error` for every ACL."""
    return in_one_go(refused_creations(request, ApiError(error)))


def refuse_delete_acls(request: DeleteAclsRequest, error: ErrorCode) -> DeleteAclsResponse:
    """Return a response with `error` for every filter."""
    return in_one_go(refused_deletions(request, ApiError(error)))
