"""The APIs between the nodes of the quorum, and DescribeQuorum.

    Vote 0-2   BeginQuorumEpoch 0-1   EndQuorumEpoch 0-1   FetchSnapshot 0-1
    Fetch 4-18, of the metadata partition   DescribeQuorum 0-2

Rights: ClusterAction on the cluster; Describe on it for DescribeQuorum.
`controller.raft.voter_apis` has the APIs that change the voters.

Owns: the checks of such a request, and the form of its response. Raft processes a valid request: it
goes to `RaftClient.receive`, with a callback for the reply. Never: reads or changes the quorum's
state itself.

Differs from Kafka, which first follows the epoch of each request. Here a Vote or BeginQuorumEpoch
for another voter changes nothing. In a static quorum, neither does a Vote of a node that is not a
voter. The same holds for a request with an epoch that is too far ahead (`EPOCHS_AHEAD`).

Follows KIP-595, KIP-630, KIP-836, KIP-853, KIP-996 and Kafka's `KafkaRaftClient`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from controller.authorization.rights import Rights
from controller.metadata.snapshot import BOOTSTRAP_SNAPSHOT, SnapshotId
from controller.raft import raft_messages as m
from controller.raft.leader_state import ReplicaProgress
from controller.raft.quorum_addresses import QuorumAddresses
from controller.raft.raft_client import RaftClient
from controller.raft.raft_fetches import RaftFetches, denied_fetch
from controller.raft.raft_log import METADATA_PARTITION, RaftLog
from controller.raft.voter_apis import VOTER_KEYS, VoterApis, denied_voters
from controller.settings import ControllerSettings
from controller.voter_set import ReplicaKey
from ground.ports import Scheduler
from ottla.plugins.authorizer import Operation
from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode
from protocol.messages import begin_quorum_epoch as begin
from protocol.messages import describe_quorum as describe
from protocol.messages import end_quorum_epoch as end
from protocol.messages import fetch_snapshot as snapshots
from protocol.messages import vote as voting
from protocol.messages.add_raft_voter import AddRaftVoterRequest
from protocol.messages.fetch import FetchRequest
from protocol.messages.remove_raft_voter import RemoveRaftVoterRequest

Respond = Callable[[Any], None]
T = TypeVar("T")

_TOPIC = METADATA_PARTITION.topic

LAST_EPOCH = 2**31 - 1
"""The largest int32: a quorum that has reached this epoch can never elect a leader again."""
EPOCHS_AHEAD = 1_000_000
"""The number of epochs by which a request may be ahead: more elections than a quorum has in weeks.
A node that is further behind learns the epoch from the responses to its own requests, which come
from the voters' addresses. So a client of an open listener cannot use up all epochs.
"""

_MESSAGES = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "This node does not lead the metadata quorum.",
}

API_KEYS = (
    voting.VoteRequest.API_KEY,
    begin.BeginQuorumEpochRequest.API_KEY,
    end.EndQuorumEpochRequest.API_KEY,
    FetchRequest.API_KEY,
    snapshots.FetchSnapshotRequest.API_KEY,
    describe.DescribeQuorumRequest.API_KEY,
    *VOTER_KEYS,
)
"""The APIs of `RaftApis.handle`, each with all versions of Kafka."""
_OPERATIONS = {
    describe.DescribeQuorumRequest.API_KEY: Operation.DESCRIBE,
    AddRaftVoterRequest.API_KEY: Operation.ALTER,
    RemoveRaftVoterRequest.API_KEY: Operation.ALTER,
}
"""The operation on the cluster that an API needs, if it is not ClusterAction."""


class RaftRequestContext(Protocol):
    """The version of a request, and the rights of its sender."""

    @property
    def api_version(self) -> int:
        """The version of the request."""

    @property
    def rights(self) -> Rights:
        """The rights of its sender."""


class RaftApis:
    """The request handlers by API key."""

    def __init__(
        self,
        settings: ControllerSettings,
        raft: RaftClient,
        log: RaftLog,
        scheduler: Scheduler,
        addresses: QuorumAddresses,
    ) -> None:
        """Take requests for the Raft of this node; the Fetches that wait are answered when `raft`
        changes. `addresses` also gets the endpoints that leaders tell."""
        self._settings = settings
        self._raft = raft
        self._log = log
        self._scheduler = scheduler
        self._addresses = addresses
        self._fetches = RaftFetches(settings, raft, log, scheduler, addresses)
        self._handlers: dict[int, Callable[[RaftRequestContext, Any, Respond], None]] = {
            voting.VoteRequest.API_KEY: self._handle_vote,
            begin.BeginQuorumEpochRequest.API_KEY: self._handle_begin_epoch,
            end.EndQuorumEpochRequest.API_KEY: self._handle_end_epoch,
            FetchRequest.API_KEY: self._fetches.handle,
            snapshots.FetchSnapshotRequest.API_KEY: self._handle_fetch_snapshot,
            describe.DescribeQuorumRequest.API_KEY: self._handle_describe,
        }
        voters = VoterApis(settings, raft, addresses)
        for api_key in VOTER_KEYS:
            self._handlers[api_key] = lambda _, request, respond: voters.handle(request, respond)

    def handle(self, context: RaftRequestContext, request: Any, respond: Respond) -> None:
        """Answer a request, now or later, through `respond`. The sender needs a right on the
        cluster, ClusterAction for most requests (`_OPERATIONS`); otherwise the response is
        CLUSTER_AUTHORIZATION_FAILED."""
        key = request.API_KEY
        operation = _OPERATIONS.get(key, Operation.CLUSTER_ACTION)
        if context.rights.allows_on_cluster(operation):
            self._handlers[key](context, request, respond)
        elif isinstance(request, FetchRequest):
            respond(denied_fetch(request, context.api_version))
        elif key in VOTER_KEYS:
            respond(denied_voters(request))
        else:
            respond(_denied(key))

    # --- votes and epochs ----------------------------------------------------------------------

    def _refusal(self, request: Any) -> ErrorCode:
        """Return the error that rejects a whole Vote, BeginQuorumEpoch or EndQuorumEpoch: another
        cluster, not the metadata partition alone, or a node that stops. NONE if it is valid."""
        if request.cluster_id not in (None, self._settings.cluster_id):
            return ErrorCode.INCONSISTENT_CLUSTER_ID
        if not _is_metadata_partition(request.topics):
            return ErrorCode.INVALID_REQUEST
        if not self._raft.is_running:
            return ErrorCode.BROKER_NOT_AVAILABLE
        return ErrorCode.NONE

    def _is_for_another(self, voter_id: int, directory_id: bytes) -> bool:
        """Return whether a request names another voter than this node, or another directory of it.
        A negative `voter_id` or a zero `directory_id` names none."""
        if voter_id < 0:
            return False
        own = (bytes(16), self._settings.directory_id)
        return voter_id != self._settings.node_id or directory_id not in own

    def _handle_vote(
        self, _context: RaftRequestContext, request: voting.VoteRequest, respond: Respond
    ) -> None:
        """Pass a Vote to Raft, and respond with Raft's reply. Respond with an error to an invalid
        Vote, and without the vote to a sender that can never lead; neither changes Raft."""
        refusal = self._refusal(request)
        if refusal is not ErrorCode.NONE:
            respond(voting.VoteResponse(refusal))
            return
        requested = request.topics[0].partitions[0]

        def answer(error: ErrorCode, reply: m.VoteReply) -> None:
            """Respond with `error` for the partition, and with the epoch, leader and vote of
            `reply`."""
            partition = voting.VoteResponsePartitionData(
                0, error, _id(reply.leader_id), reply.epoch, reply.granted
            )
            topics = [voting.VoteResponseTopicData(_TOPIC, [partition])]
            nodes = self._node_endpoints(voting.NodeEndpoint, reply.leader_id)
            respond(voting.VoteResponse(ErrorCode.NONE, topics, nodes))

        def on_reply(reply: m.VoteReply) -> None:
            """Respond with Raft's reply, and with FENCED_LEADER_EPOCH if the epoch of the request
            is older."""
            fenced = requested.replica_epoch < reply.epoch
            answer(ErrorCode.FENCED_LEADER_EPOCH if fenced else ErrorCode.NONE, reply)

        error = self._vote_fault(request, requested)
        if error is not ErrorCode.NONE or self._can_never_lead(requested):
            answer(
                error, m.VoteReply(*self._raft.durable_leader_and_epoch, False, requested.pre_vote)
            )
            return
        vote = m.Vote(
            requested.replica_epoch,
            ReplicaKey(requested.replica_id, requested.replica_directory_id),
            requested.last_offset_epoch,
            requested.last_offset,
            requested.pre_vote,
        )
        self._raft.receive(m.Received(requested.replica_id, vote, on_reply))

    def _vote_fault(
        self, request: voting.VoteRequest, requested: voting.VoteRequestPartitionData
    ) -> ErrorCode:
        """Return the error of a vote request. NONE if it is valid, or if its epoch is earlier than
        this node's, which Raft itself rejects."""
        if requested.last_offset < 0 or requested.last_offset_epoch < 0:
            return ErrorCode.INVALID_REQUEST
        # A candidate has raised its epoch above all that its log has; a prospective has not.
        latest = requested.replica_epoch if requested.pre_vote else requested.replica_epoch - 1
        if requested.last_offset_epoch > latest:
            return ErrorCode.INVALID_REQUEST
        if requested.replica_epoch < self._raft.epoch:
            return ErrorCode.NONE  # Raft itself fences it, after its own epoch is durable
        if requested.replica_id < 0:
            return ErrorCode.INVALID_REQUEST
        if self._is_for_another(request.voter_id, requested.voter_directory_id):
            return ErrorCode.INVALID_VOTER_KEY
        return ErrorCode.NONE

    def _can_never_lead(self, requested: voting.VoteRequestPartitionData) -> bool:
        """Return whether a later epoch is one that its sender can never lead: the sender is no
        voter of a static quorum, uses this node's id, or is too far ahead. Otherwise any node could
        depose the leader, or use up the epochs of a quorum of one.

        A voter of a dynamic quorum may not know all the others yet, so there any node may ask.
        """
        if requested.replica_epoch <= self._raft.epoch:
            return False
        return not self._may_lead(requested.replica_id, requested.replica_epoch)

    def _may_lead(self, node_id: int, epoch: int) -> bool:
        """Return whether `node_id`, the sender of a request, may lead `epoch`, which is this node's
        or a later one."""
        if epoch >= LAST_EPOCH or epoch - self._raft.epoch > EPOCHS_AHEAD:
            return False
        return node_id != self._settings.node_id and self._raft.can_lead(node_id, epoch)

    def _handle_begin_epoch(
        self, _context: RaftRequestContext, request: begin.BeginQuorumEpochRequest, respond: Respond
    ) -> None:
        """Pass a BeginQuorumEpoch to Raft, which may follow its leader, and respond with Raft's
        epoch and leader. Respond with an error to an invalid request."""

        def answer(code: ErrorCode, error: ErrorCode, epoch: int, leader_id: int | None) -> None:
            """Respond with the top-level error `code`, or else with `error`, epoch and leader for
            the partition."""
            if code is not ErrorCode.NONE:
                respond(begin.BeginQuorumEpochResponse(code))
                return
            partition = begin.BeginQuorumEpochResponsePartitionData(0, error, _id(leader_id), epoch)
            topics = [begin.BeginQuorumEpochResponseTopicData(_TOPIC, [partition])]
            nodes = self._node_endpoints(begin.NodeEndpoint, leader_id)
            respond(begin.BeginQuorumEpochResponse(ErrorCode.NONE, topics, nodes))

        refusal = self._refusal(request)
        if refusal is not ErrorCode.NONE:
            answer(refusal, ErrorCode.NONE, 0, None)
            return
        requested = request.topics[0].partitions[0]
        is_stranger = self._is_for_another(request.voter_id, requested.voter_directory_id)
        message = m.BeginQuorumEpoch(requested.leader_epoch, requested.leader_id)
        self._learn(requested.leader_id, request.leader_endpoints)
        self._epoch_request(message, is_stranger, answer)

    def _handle_end_epoch(
        self, context: RaftRequestContext, request: end.EndQuorumEpochRequest, respond: Respond
    ) -> None:
        """Pass an EndQuorumEpoch to Raft, by which its leader resigns, and respond with Raft's
        epoch and leader. Respond with an error to an invalid request."""

        def answer(code: ErrorCode, error: ErrorCode, epoch: int, leader_id: int | None) -> None:
            """Respond with the top-level error `code`, or else with `error`, epoch and leader for
            the partition."""
            if code is not ErrorCode.NONE:
                respond(end.EndQuorumEpochResponse(code))
                return
            partition = end.EndQuorumEpochResponsePartitionData(0, error, _id(leader_id), epoch)
            topics = [end.EndQuorumEpochResponseTopicData(_TOPIC, [partition])]
            nodes = self._node_endpoints(end.NodeEndpoint, leader_id)
            respond(end.EndQuorumEpochResponse(ErrorCode.NONE, topics, nodes))

        refusal = self._refusal(request)
        if refusal is not ErrorCode.NONE:
            answer(refusal, ErrorCode.NONE, 0, None)
            return
        requested = request.topics[0].partitions[0]
        # Version 1 has the candidates with their directories, version 0 only their ids.
        if context.api_version >= 1:
            successors = tuple(c.candidate_id for c in requested.preferred_candidates)
        else:
            successors = tuple(requested.preferred_successors)
        message = m.EndQuorumEpoch(requested.leader_epoch, requested.leader_id, successors)
        self._learn(requested.leader_id, request.leader_endpoints)
        self._epoch_request(message, False, answer)

    def _epoch_request(
        self,
        message: m.BeginQuorumEpoch | m.EndQuorumEpoch,
        is_for_another: bool,
        answer: Callable[[ErrorCode, ErrorCode, int, int | None], None],
    ) -> None:
        """Pass a leader's message to Raft, or answer it with an error: INVALID_REQUEST if its
        sender cannot lead that epoch, INVALID_VOTER_KEY if it is for another voter. `answer` gets
        the response's error, the partition's error, the epoch and the leader."""
        raft = self._raft
        error = ErrorCode.NONE
        # An earlier epoch is fenced by Raft itself, after its own epoch is durable.
        if message.epoch >= raft.epoch:
            if not self._may_lead(message.leader_id, message.epoch):
                error = ErrorCode.INVALID_REQUEST
            elif is_for_another:
                error = ErrorCode.INVALID_VOTER_KEY
        if error is not ErrorCode.NONE:
            answer(ErrorCode.NONE, error, *raft.durable_leader_and_epoch)
            return

        def on_reply(reply: m.EpochReply) -> None:
            """Pass Raft's reply to `answer`, with FENCED_LEADER_EPOCH if the epoch of the request
            is older."""
            fenced = message.epoch < reply.epoch
            code = ErrorCode.FENCED_LEADER_EPOCH if fenced else ErrorCode.NONE
            answer(ErrorCode.NONE, code, reply.epoch, reply.leader_id)

        raft.receive(m.Received(message.leader_id, message, on_reply))

    def _node_endpoints(
        self, endpoint: Callable[[int, str, int], T], leader_id: int | None
    ) -> list[T]:
        """Return the leader's endpoint in a list, which is empty if it is unknown."""
        address = None if leader_id is None else self._addresses.of(leader_id)
        return [] if leader_id is None or address is None else [endpoint(leader_id, *address)]

    def _learn(
        self, leader_id: int, endpoints: Iterable[begin.LeaderEndpoint | end.LeaderEndpoint]
    ) -> None:
        """Note the endpoint that a leader tells, of the listener that this node uses."""
        for endpoint in endpoints:
            if endpoint.name == self._addresses.listener:
                self._addresses.learned(leader_id, endpoint.host, endpoint.port)

    # --- snapshots -----------------------------------------------------------------------------

    def _handle_fetch_snapshot(
        self,
        _context: RaftRequestContext,
        request: snapshots.FetchSnapshotRequest,
        respond: Respond,
    ) -> None:
        """Pass a FetchSnapshot to Raft. If this node leads, respond with a part of the snapshot,
        which is read in a thread; otherwise with an error and the leader."""
        if request.cluster_id not in (None, self._settings.cluster_id):
            respond(snapshots.FetchSnapshotResponse(0, ErrorCode.INCONSISTENT_CLUSTER_ID))
            return
        if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
            respond(snapshots.FetchSnapshotResponse(0, ErrorCode.INVALID_REQUEST))
            return
        topic, requested = request.topics[0], request.topics[0].partitions[0]
        if not _is_metadata_partition(request.topics):
            unknown = snapshots.FetchSnapshotResponsePartitionSnapshot(
                requested.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
            topics = [snapshots.FetchSnapshotResponseTopicSnapshot(topic.name, [unknown])]
            respond(snapshots.FetchSnapshotResponse(0, ErrorCode.NONE, topics))
            return
        snapshot = (requested.snapshot_id.end_offset, requested.snapshot_id.epoch)
        message = m.FetchSnapshot(
            requested.current_leader_epoch,
            ReplicaKey(request.replica_id, requested.replica_directory_id),
            snapshot,
            requested.position,
        )

        def on_reply(reply: m.SnapshotReply | m.EpochReply) -> None:
            """Read the part and respond with it, or respond with the error of a node that does not
            lead."""
            if isinstance(reply, m.EpochReply):
                code = epoch_error(message.epoch, reply.epoch)
                respond(self._snapshot_response(code, reply.epoch, reply.leader_id))
            else:
                self._read_part(reply, request.max_bytes, respond)

        self._raft.receive(m.Received(request.replica_id, message, on_reply))

    def _read_part(self, reply: m.SnapshotReply, max_bytes: int, respond: Respond) -> None:
        """Read a part of a snapshot in a thread, and respond with it. Respond with
        SNAPSHOT_NOT_FOUND or POSITION_OUT_OF_RANGE if this node does not have it."""

        def refuse(code: ErrorCode) -> None:
            respond(self._snapshot_response(code, reply.epoch, reply.leader_id))

        snapshot_id = SnapshotId(*reply.snapshot)
        if snapshot_id not in self._log.snapshots or snapshot_id == BOOTSTRAP_SNAPSHOT:
            refuse(ErrorCode.SNAPSHOT_NOT_FOUND)
            return
        if reply.position < 0:
            refuse(ErrorCode.POSITION_OUT_OF_RANGE)
            return

        def read(part: tuple[int, bytes] | None, error: Exception | None) -> None:
            """Respond with `part` (file size, bytes), or with an error if the file is gone or ends
            before the position."""
            if error is not None or part is None:
                refuse(ErrorCode.SNAPSHOT_NOT_FOUND)  # removed since the check above
            elif reply.position >= part[0]:
                refuse(ErrorCode.POSITION_OUT_OF_RANGE)
            else:
                size, data = part
                filled = reply._replace(size=size, data=data)
                respond(self._snapshot_response(ErrorCode.NONE, *filled[:2], filled))

        limit = max(1, min(max_bytes, self._settings.quorum_fetch_snapshot_max_bytes))
        self._log.read_snapshot_part(snapshot_id, reply.position, limit, read)

    def _snapshot_response(
        self,
        code: ErrorCode,
        epoch: int,
        leader_id: int | None,
        reply: m.SnapshotReply | None = None,
    ) -> snapshots.FetchSnapshotResponse:
        """Return the response with the error `code`, or, if it is NONE, with the part in `reply`;
        both name the leader."""
        partition = snapshots.FetchSnapshotResponsePartitionSnapshot(
            0, code, current_leader=snapshots.LeaderIdAndEpoch(_id(leader_id), epoch)
        )
        if reply is not None:
            partition.snapshot_id = snapshots.FetchSnapshotResponseSnapshotId(*reply.snapshot)
            partition.size, partition.position = reply.size, reply.position
            partition.unaligned_records = reply.data or b""
        topics = [snapshots.FetchSnapshotResponseTopicSnapshot(_TOPIC, [partition])]
        nodes = self._node_endpoints(snapshots.NodeEndpoint, leader_id)
        return snapshots.FetchSnapshotResponse(0, ErrorCode.NONE, topics, nodes)

    # --- DescribeQuorum ------------------------------------------------------------------------

    def _handle_describe(
        self,
        _context: RaftRequestContext,
        request: describe.DescribeQuorumRequest,
        respond: Respond,
    ) -> None:
        """Respond with the leader's view of voters and observers: end offset, times of the last
        fetch and of the last time caught up. NOT_LEADER_OR_FOLLOWER if this node does not lead."""
        topics = request.topics
        leading = self._raft.leading
        if not _is_metadata_partition(topics):
            respond(_describe_refusal(topics, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            return
        if leading is None:
            respond(_describe_refusal(topics, ErrorCode.NOT_LEADER_OR_FOLLOWER))
            return
        high_watermark = leading.high_watermark
        partition = describe.DescribeQuorumResponsePartitionData(
            partition_index=0,
            leader_id=leading.node_id,
            leader_epoch=leading.epoch,
            high_watermark=-1 if high_watermark is None else high_watermark,
            current_voters=[
                self._replica(ReplicaKey(key.id, self._log.voters.directory_of(key.id)), progress)
                for key, progress in sorted(leading.voters.items(), key=lambda item: item[0])
            ],
            observers=[
                self._replica(key, progress)
                for key, progress in sorted(leading.observers.items(), key=lambda item: item[0])
            ],
        )
        nodes = [
            describe.Node(voter.key.id, [describe.Listener(*place) for place in voter.endpoints])
            for voter in self._log.voters.latest.voters
        ]
        topic = describe.DescribeQuorumResponseTopicData(_TOPIC, [partition])
        respond(describe.DescribeQuorumResponse(topics=[topic], nodes=nodes))

    def _replica(self, key: ReplicaKey, progress: ReplicaProgress) -> describe.ReplicaState:
        """Return the progress of a replica for DescribeQuorum. This node itself is always caught
        up."""
        if key.id == self._settings.node_id:
            now_ms = self._scheduler.wall_ms()
            return describe.ReplicaState(
                *key,
                log_end_offset=self._raft.end_offset,
                last_fetch_timestamp=now_ms,
                last_caught_up_timestamp=now_ms,
            )
        return describe.ReplicaState(
            *key,
            progress.end_offset,
            self._wall_ms(progress.fetched_ms),
            self._wall_ms(progress.caught_up_ms),
        )

    def _wall_ms(self, monotonic_ms: float) -> int:
        """Convert a monotonic time to milliseconds since 1970. Return -1 for a negative time, which
        means never."""
        if monotonic_ms < 0:
            return -1
        ago_ms = self._scheduler.monotonic_ms() - monotonic_ms
        return self._scheduler.wall_ms() - round(ago_ms)


def epoch_error(requested_epoch: int, epoch: int) -> ErrorCode:
    """Return the error of a request that only a leader answers, on a node of `epoch` that does not
    lead it."""
    if requested_epoch < epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if requested_epoch > epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    return ErrorCode.NOT_LEADER_OR_FOLLOWER


def _id(leader_id: int | None) -> int:
    """Return the id as a response has it: -1 for None."""
    return -1 if leader_id is None else leader_id


def _denied(api_key: int) -> object:
    """Return the response with CLUSTER_AUTHORIZATION_FAILED, for a sender without the right that
    the API needs."""
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    if api_key == describe.DescribeQuorumRequest.API_KEY:
        return describe.DescribeQuorumResponse(code, _MESSAGES[code])
    response: object = messages_of(ApiKey(api_key)).response(error_code=code)
    return response


def _is_metadata_partition(topics: list[Any]) -> bool:
    """Return whether a request is for the metadata partition alone."""
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        return False
    partition = topics[0].partitions[0]
    index = partition.partition if hasattr(partition, "partition") else partition.partition_index
    name = topics[0].name if hasattr(topics[0], "name") else topics[0].topic_name
    return bool(name == _TOPIC and index == METADATA_PARTITION.partition)


def _describe_refusal(
    topics: list[describe.DescribeQuorumRequestTopicData], code: ErrorCode
) -> describe.DescribeQuorumResponse:
    """Return a response with this error for each requested partition."""
    return describe.DescribeQuorumResponse(
        topics=[
            describe.DescribeQuorumResponseTopicData(
                topic.topic_name,
                [
                    describe.DescribeQuorumResponsePartitionData(
                        partition.partition_index, code, _MESSAGES[code]
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in topics
        ]
    )
