"""AlterPartition, ElectLeaders, reassignments and AssignReplicasToDirs as commands.

AlterPartition 2-3                 v3: the ISR with broker epochs (KIP-903)
ElectLeaders 0-2                   v1: types of election (KIP-460)
AlterPartitionReassignments 0-1    v1: the replication factor may have to stay (KIP-860)
ListPartitionReassignments 0
AssignReplicasToDirs 0

Rights on the cluster: Alter for elections and to alter reassignments, Describe to list them,
ClusterAction for the others.

Owns: answers to a request that is refused whole. Never: checks what the deciders check.
Follows Kafka's `ControllerApis`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controller.decisions.alter_partition import alter_partitions
from controller.decisions.decision import Decision, View
from controller.decisions.directories import assign_replicas
from controller.decisions.elections import elect_leaders
from controller.decisions.reassignments import alter_reassignments, list_reassignments
from controller.decisions.request_timeout import RequestTimeouts
from controller.hosting_limit import HostingLimit
from controller.quorum_controller import QuorumController
from controller.requests.rights import CLUSTER_DENIED, Sender, if_allowed
from ottla.plugins.authorizer import Operation
from protocol.errors import ApiError
from protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

Respond = Callable[[Any], None]


class PartitionRequests:
    """Handlers by API."""

    def __init__(
        self, controller: QuorumController, timeouts: RequestTimeouts, hosting: HostingLimit
    ) -> None:
        """`hosting`: what this node can hold as a broker."""
        self._controller = controller
        self._leadership = controller.leadership
        self._rules = controller.leadership.rules
        self._timeouts = timeouts
        self._hosting = hosting

    def alter_partition(
        self, context: Sender, request: AlterPartitionRequest, respond: Respond
    ) -> None:
        """Answer an AlterPartition request."""

        def decide(view: View) -> Decision[AlterPartitionResponse]:
            return alter_partitions(view, request, self._rules)

        def reply(outcome: AlterPartitionResponse | ApiError) -> None:
            if isinstance(outcome, ApiError):
                outcome = AlterPartitionResponse(error_code=outcome.code)
            respond(outcome)

        self._controller.submit(
            "alter partition", if_allowed(context, Operation.CLUSTER_ACTION, decide), reply
        )

    def elect_leaders(
        self, context: Sender, request: ElectLeadersRequest, respond: Respond
    ) -> None:
        """Answer an ElectLeaders request."""

        def decide(view: View) -> Decision[ElectLeadersResponse]:
            return elect_leaders(view, request, self._rules)

        def reply(outcome: ElectLeadersResponse | ApiError) -> None:
            if isinstance(outcome, ApiError):
                outcome = refused_elections(request, outcome)
            respond(outcome)

        if request.topic_partitions is not None and not request.topic_partitions:
            allowed = context.rights.allows_on_cluster(Operation.ALTER)
            reply(ElectLeadersResponse() if allowed else CLUSTER_DENIED)
            return
        self._timeouts.submit(
            "elect leaders",
            if_allowed(context, Operation.ALTER, decide),
            reply,
            request.timeout_ms,
        )

    def alter_reassignments(
        self, context: Sender, request: AlterPartitionReassignmentsRequest, respond: Respond
    ) -> None:
        """Answer an AlterPartitionReassignments request."""

        def decide(view: View) -> Decision[AlterPartitionReassignmentsResponse]:
            return alter_reassignments(view, request, self._rules, self._hosting)

        def reply(outcome: AlterPartitionReassignmentsResponse | ApiError) -> None:
            if isinstance(outcome, ApiError):
                outcome = refused_reassignments(request, outcome)
            respond(outcome)

        if not request.topics:
            allowed = context.rights.allows_on_cluster(Operation.ALTER)
            nothing = AlterPartitionReassignmentsResponse(error_message="")
            reply(nothing if allowed else CLUSTER_DENIED)
            return
        self._timeouts.submit(
            "alter reassignments",
            if_allowed(context, Operation.ALTER, decide),
            reply,
            request.timeout_ms,
        )

    def list_reassignments(
        self, context: Sender, request: ListPartitionReassignmentsRequest, respond: Respond
    ) -> None:
        """Answer a ListPartitionReassignments request. Its `timeout_ms` is not looked at, in Kafka
        neither."""

        def decide(view: View) -> Decision[ListPartitionReassignmentsResponse]:
            return list_reassignments(view, request)

        def reply(outcome: ListPartitionReassignmentsResponse | ApiError) -> None:
            if isinstance(outcome, ApiError):
                outcome = _refused_list(request, outcome)
            respond(outcome)

        self._controller.submit(
            "list reassignments", if_allowed(context, Operation.DESCRIBE, decide), reply
        )

    def assign_replicas_to_dirs(
        self, context: Sender, request: AssignReplicasToDirsRequest, respond: Respond
    ) -> None:
        """Answer an AssignReplicasToDirs request."""

        def decide(view: View) -> Decision[AssignReplicasToDirsResponse]:
            return assign_replicas(view, request, self._leadership)

        def reply(outcome: AssignReplicasToDirsResponse | ApiError) -> None:
            if isinstance(outcome, ApiError):
                outcome = AssignReplicasToDirsResponse(error_code=outcome.code)
            respond(outcome)

        self._controller.submit(
            "assign replicas to directories",
            if_allowed(context, Operation.CLUSTER_ACTION, decide),
            reply,
        )


def _refused_list(
    request: ListPartitionReassignmentsRequest, error: ApiError
) -> ListPartitionReassignmentsResponse:
    """The answer to one who gets no list: what it has named, and nothing about that."""
    topics = [
        OngoingTopicReassignment(
            asked.name, [OngoingPartitionReassignment(index) for index in asked.partition_indexes]
        )
        for asked in request.topics or ()
    ]
    return ListPartitionReassignmentsResponse(0, error.code, error.message, topics)


def refused_elections(request: ElectLeadersRequest, error: ApiError) -> ElectLeadersResponse:
    """The answer to elections that are refused whole; before v1 only the partitions say so."""
    return ElectLeadersResponse(
        error_code=error.code,
        replica_election_results=[
            ReplicaElectionResult(
                asked.topic,
                [PartitionResult(index, error.code, error.message) for index in asked.partitions],
            )
            for asked in request.topic_partitions or ()
        ],
    )


def refused_reassignments(
    request: AlterPartitionReassignmentsRequest, error: ApiError
) -> AlterPartitionReassignmentsResponse:
    """The answer to reassignments that are refused whole."""
    return AlterPartitionReassignmentsResponse(
        error_code=error.code,
        error_message=error.message,
        responses=[
            ReassignableTopicResponse(
                asked.name,
                [
                    ReassignablePartitionResponse(one.partition_index, error.code, error.message)
                    for one in asked.partitions
                ],
            )
            for asked in request.topics
        ],
    )
