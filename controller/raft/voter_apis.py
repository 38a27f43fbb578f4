"""The APIs that change the voters of the quorum (KIP-853).

    AddRaftVoter 0-1   RemoveRaftVoter 0   UpdateRaftVoter 0

v1 of AddRaftVoter: whether the reply follows the commit (KIP-1186).

Rights: Alter on the cluster; ClusterAction on it for UpdateRaftVoter, which a voter sends.

Owns: the checks of such a request, and the form of its response. Never: decides on a change
(`controller.raft.voter_changes`).

Follows Kafka's `KafkaRaftClient`, `RaftUtil` and `ControllerApis`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from controller.raft import raft_messages as m
from controller.raft.quorum_addresses import QuorumAddresses
from controller.raft.raft_client import RaftClient
from controller.settings import ControllerSettings
from controller.voter_set import ReplicaKey, Voter, VoterEndpoint
from protocol.errors import ErrorCode
from protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from protocol.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from protocol.messages.update_raft_voter import (
    CurrentLeader,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from protocol.primitives import ZERO_UUID

Respond = Callable[[Any], None]
VoterRequest: TypeAlias = AddRaftVoterRequest | RemoveRaftVoterRequest | UpdateRaftVoterRequest

VOTER_KEYS = (
    AddRaftVoterRequest.API_KEY,
    RemoveRaftVoterRequest.API_KEY,
    UpdateRaftVoterRequest.API_KEY,
)
"""The APIs of `VoterApis.handle`, each with all versions of Kafka."""

_TEXTS = {
    ErrorCode.REQUEST_TIMED_OUT: "The request timed out.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: (
        "For requests intended only for the leader, this error indicates that the broker is not "
        "the current leader. For requests intended for any replica, this error indicates that the "
        "broker is not a replica of the topic partition."
    ),
}


class VoterApis:
    """The handler of these APIs."""

    def __init__(
        self, settings: ControllerSettings, raft: RaftClient, addresses: QuorumAddresses
    ) -> None:
        self._settings = settings
        self._raft = raft
        self._addresses = addresses

    def handle(self, request: VoterRequest, respond: Respond) -> None:
        """Answer a valid request through `respond` after the leader's change of the voters, and an
        invalid one at once. The caller has checked the sender's right."""
        fault = self._fault(request)
        if fault is not None:
            respond(self._response(request, fault))
            return
        key = ReplicaKey(request.voter_id, request.voter_directory_id)
        message: m.AddVoter | m.RemoveVoter | m.UpdateVoter
        if isinstance(request, AddRaftVoterRequest):
            message = m.AddVoter(_voter(key, request), request.ack_when_committed)
        elif isinstance(request, RemoveRaftVoterRequest):
            message = m.RemoveVoter(key)
        else:
            levels = request.k_raft_version_feature
            versions = (levels.min_supported_version, levels.max_supported_version)
            voter = _voter(key, request)._replace(kraft_versions=versions)
            message = m.UpdateVoter(request.current_leader_epoch, voter)
        self._raft.receive(
            m.Received(
                request.voter_id,
                message,
                lambda reply: respond(self._response(request, reply)),
            )
        )

    def _fault(self, request: VoterRequest) -> m.VoterReply | None:
        """Return the reply that rejects a request; None if it is valid."""
        now = self._raft.durable_leader_and_epoch
        refusal = m.VoterReply(ErrorCode.INVALID_REQUEST, "", *now)
        if request.cluster_id not in (None, self._settings.cluster_id):
            text = (
                f'The given id "{request.cluster_id}" doesn\'t match the cluster id '
                f'"{self._settings.cluster_id}"'
            )
            return refusal._replace(error=ErrorCode.INCONSISTENT_CLUSTER_ID, error_message=text)
        if not self._raft.is_running:
            return refusal._replace(error=ErrorCode.BROKER_NOT_AVAILABLE)
        epoch = getattr(request, "current_leader_epoch", now.epoch)
        if epoch != now.epoch:
            return None  # Raft fences the epoch of UpdateRaftVoter
        if not self._raft.is_leader:
            return refusal._replace(error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if request.voter_id < 0 or request.voter_directory_id == ZERO_UUID:
            kind = "Add" if isinstance(request, AddRaftVoterRequest) else "Remove"
            return refusal._replace(
                error_message=f"{kind} voter request didn't include a valid voter"
            )
        if isinstance(request, RemoveRaftVoterRequest):
            return None
        return self._endpoint_fault(request, refusal)

    def _endpoint_fault(
        self, request: AddRaftVoterRequest | UpdateRaftVoterRequest, refusal: m.VoterReply
    ) -> m.VoterReply | None:
        """Return the reply to a request without this quorum's listener, or with levels of
        `kraft.version` that are none; None if it is valid."""
        listener = self._addresses.listener
        endpoints = _endpoints(request)
        if listener not in [endpoint.listener for endpoint in endpoints]:
            given = ", ".join(
                f"ListenerName({e.listener})={e.host}/<unresolved>:{e.port}" for e in endpoints
            )
            return refusal._replace(
                error_message=(
                    f"Add voter request didn't include the endpoint (Endpoints(endpoints={{{given}"
                    f"}})) for the default listener ListenerName({listener})"
                )
            )
        if isinstance(request, UpdateRaftVoterRequest):
            levels = request.k_raft_version_feature
            if not 0 <= levels.min_supported_version <= levels.max_supported_version:
                return refusal
        return None

    def _response(self, request: VoterRequest, reply: m.VoterReply) -> object:
        """Return the response with a reply."""
        code = reply.error
        if isinstance(request, UpdateRaftVoterRequest):
            leader = CurrentLeader(-1 if reply.leader_id is None else reply.leader_id, reply.epoch)
            address = None if reply.leader_id is None else self._addresses.of(reply.leader_id)
            if address is not None:
                leader.host, leader.port = address
            return UpdateRaftVoterResponse(0, code, leader)
        text = reply.error_message
        if text is None and code is not ErrorCode.NONE:
            text = _TEXTS.get(code, "")
        if isinstance(request, AddRaftVoterRequest):
            return AddRaftVoterResponse(0, code, text)
        return RemoveRaftVoterResponse(0, code, text)


def denied_voters(request: VoterRequest) -> object:
    """Return the response with CLUSTER_AUTHORIZATION_FAILED."""
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    if isinstance(request, UpdateRaftVoterRequest):
        return UpdateRaftVoterResponse(0, code)
    if isinstance(request, AddRaftVoterRequest):
        return AddRaftVoterResponse(0, code, _TEXTS[code])
    return RemoveRaftVoterResponse(0, code, _TEXTS[code])


def _voter(key: ReplicaKey, request: AddRaftVoterRequest | UpdateRaftVoterRequest) -> Voter:
    """Return the voter that a request describes."""
    return Voter(key, _endpoints(request))


def _endpoints(
    request: AddRaftVoterRequest | UpdateRaftVoterRequest,
) -> tuple[VoterEndpoint, ...]:
    """Return a voter's endpoints. As in Kafka, the names of listeners are in upper case, and the
    last endpoint of a name counts."""
    by_name = {
        e.name.upper(): VoterEndpoint(e.name.upper(), e.host, e.port) for e in request.listeners
    }
    return tuple(by_name.values())
