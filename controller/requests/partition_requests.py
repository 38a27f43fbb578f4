"""AlterPartition, ElectLeaders, reassignments and AssignReplicasToDirs as commands.

AlterPartition 2-3                 v3: the ISR with broker epochs (KIP-903)
ElectLeaders 0-2                   v1: types of election (KIP-460)
AlterPartitionReassignments 0-1    v1: whether the replication factor may change (KIP-860)
ListPartitionReassignments 0
AssignReplicasToDirs 0

Rights on the cluster: Alter for elections and to alter reassignments, Describe to list them,
ClusterAction for the others.

Owns: the responses to a request that is rejected whole. Never: repeats the deciders' checks.
Follows Kafka's `ControllerApis`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controller.decisions.alter_partition import alter_partitions
from controller.decisions.decision import Decision, DecisionView
from controller.decisions.directories import assign_replicas
from controller.decisions.elections import elect_leaders
from controller.decisions.reassignments import alter_reassignments, list_reassignments
from controller.hosting_limit import HostingLimit
from controller.quorum_controller import QuorumController
from controller.requests.long_requests import LongRequests, map_parts_in_slices
from controller.requests.rights import CLUSTER_DENIED, RequestSender, if_allowed
from ground.sliced_work import Steps
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
    """The handlers of these APIs."""

    def __init__(
        self, controller: QuorumController, long: LongRequests, hosting: HostingLimit
    ) -> None:
        """`hosting` has the number of replicas that this node can hold as a broker."""
        self._controller = controller
        self._leadership = controller.leadership
        self._rules = controller.leadership.rules
        self._long = long
        self._hosting = hosting

    def alter_partition(
        self, context: RequestSender, request: AlterPartitionRequest, respond: Respond
    ) -> None:
        """Change the ISRs that a leader requests, and respond after the commit. Needs ClusterAction
        on the cluster."""

        def decide(view: DecisionView) -> Decision[AlterPartitionResponse]:
            return alter_partitions(view, request, self._rules)

        def reply(outcome: AlterPartitionResponse | ApiError) -> None:
            """Respond with the outcome, or with its error at the top."""
            if isinstance(outcome, ApiError):
                outcome = AlterPartitionResponse(error_code=outcome.code)
            respond(outcome)

        self._controller.submit(
            "alter partition", if_allowed(context, Operation.CLUSTER_ACTION, decide), reply
        )

    def elect_leaders(
        self, context: RequestSender, request: ElectLeadersRequest, respond: Respond
    ) -> None:
        """Elect leaders of the named partitions, or of all, and respond after the commit, with a
        result for each. Needs Alter on the cluster. An empty list of partitions gets an empty
        response at once."""

        def decide(view: DecisionView) -> Steps[Decision[ElectLeadersResponse]]:
            return elect_leaders(view, request, self._rules)

        def answer(outcome: ElectLeadersResponse | ApiError) -> Steps[ElectLeadersResponse]:
            """Return the outcome, or the response with its error for every partition."""
            if isinstance(outcome, ApiError):
                return (yield from refused_elections(request, outcome))
            return outcome

        if request.topic_partitions is not None and not request.topic_partitions:
            allowed = context.rights.allows_on_cluster(Operation.ALTER)
            nothing = ElectLeadersResponse() if allowed else CLUSTER_DENIED
            self._long.respond_with("elect leaders", nothing, answer, respond)
            return
        self._long.submit(
            "elect leaders",
            if_allowed(context, Operation.ALTER, decide),
            answer,
            respond,
            request.timeout_ms,
        )

    def alter_reassignments(
        self, context: RequestSender, request: AlterPartitionReassignmentsRequest, respond: Respond
    ) -> None:
        """Begin or cancel reassignments of partitions, and respond after the commit, with a result
        for each. Needs Alter on the cluster. A request without topics gets an empty response at
        once."""

        def decide(view: DecisionView) -> Steps[Decision[AlterPartitionReassignmentsResponse]]:
            return alter_reassignments(view, request, self._rules, self._hosting)

        def answer(
            outcome: AlterPartitionReassignmentsResponse | ApiError,
        ) -> Steps[AlterPartitionReassignmentsResponse]:
            """Return the outcome, or the response with its error for every partition."""
            if isinstance(outcome, ApiError):
                return (yield from refused_reassignments(request, outcome))
            return outcome

        if not request.topics:
            allowed = context.rights.allows_on_cluster(Operation.ALTER)
            nothing = AlterPartitionReassignmentsResponse(error_message="")
            self._long.respond_with(
                "alter reassignments", nothing if allowed else CLUSTER_DENIED, answer, respond
            )
            return
        self._long.submit(
            "alter reassignments",
            if_allowed(context, Operation.ALTER, decide),
            answer,
            respond,
            request.timeout_ms,
        )

    def list_reassignments(
        self, context: RequestSender, request: ListPartitionReassignmentsRequest, respond: Respond
    ) -> None:
        """Respond with the reassignments in progress, of the named partitions or of all. Needs
        Describe on the cluster. `timeout_ms` is ignored, as in Kafka."""

        def decide(view: DecisionView) -> Steps[Decision[ListPartitionReassignmentsResponse]]:
            return list_reassignments(view, request)

        def answer(
            outcome: ListPartitionReassignmentsResponse | ApiError,
        ) -> Steps[ListPartitionReassignmentsResponse]:
            """Return the outcome, or the response with its error."""
            if isinstance(outcome, ApiError):
                return (yield from _refused_list(request, outcome))
            return outcome

        self._long.submit(
            "list reassignments", if_allowed(context, Operation.DESCRIBE, decide), answer, respond
        )

    def assign_replicas_to_dirs(
        self, context: RequestSender, request: AssignReplicasToDirsRequest, respond: Respond
    ) -> None:
        """Set the log directories in which a broker has its replicas, and respond after the commit.
        Needs ClusterAction on the cluster."""

        def decide(view: DecisionView) -> Decision[AssignReplicasToDirsResponse]:
            return assign_replicas(view, request, self._leadership)

        def reply(outcome: AssignReplicasToDirsResponse | ApiError) -> None:
            """Respond with the outcome, or with its error at the top."""
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
) -> Steps[ListPartitionReassignmentsResponse]:
    """Return the response with `error` at the top. It repeats the requested partitions without
    their replicas."""
    topics = yield from map_parts_in_slices(
        request.topics or (),
        lambda topic: topic.partition_indexes,
        OngoingPartitionReassignment,
        lambda topic, partitions: OngoingTopicReassignment(topic.name, partitions),
    )
    return ListPartitionReassignmentsResponse(0, error.code, error.message, topics)


def refused_elections(request: ElectLeadersRequest, error: ApiError) -> Steps[ElectLeadersResponse]:
    """Return the response with `error` for every requested partition, and at the top, which version
    0 does not have."""
    results = yield from map_parts_in_slices(
        request.topic_partitions or (),
        lambda topic: topic.partitions,
        lambda index: PartitionResult(index, error.code, error.message),
        lambda topic, partitions: ReplicaElectionResult(topic.topic, partitions),
    )
    return ElectLeadersResponse(error_code=error.code, replica_election_results=results)


def refused_reassignments(
    request: AlterPartitionReassignmentsRequest, error: ApiError
) -> Steps[AlterPartitionReassignmentsResponse]:
    """Return the response with `error` at the top and for every requested partition."""
    topics = yield from map_parts_in_slices(
        request.topics,
        lambda topic: topic.partitions,
        lambda partition: ReassignablePartitionResponse(
            partition.partition_index, error.code, error.message
        ),
        lambda topic, partitions: ReassignableTopicResponse(topic.name, partitions),
    )
    return AlterPartitionReassignmentsResponse(
        error_code=error.code, error_message=error.message, responses=topics
    )
