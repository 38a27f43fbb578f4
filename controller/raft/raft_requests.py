"""Raft's messages as Kafka's requests, and Kafka's responses as Raft's messages.

Owns: the field of each value, and the checks of a peer's response: one topic, one partition, and
records that are complete, undamaged, and follow the requested offset. Never: sends.

A static quorum (kraft.version 0) has no directory ids of voters, so those fields are zero; a node
sends its own id all the same, as Kafka does. In a dynamic quorum they are those in the log.

Follows KIP-595, KIP-630, KIP-853, KIP-996, KIP-1166 and Kafka's `RaftUtil` and `KafkaRaftClient`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from controller.metadata.version import KRAFT_VERSION
from controller.raft import raft_messages as m
from controller.raft.quorum_voters import QuorumVoters, voter_records
from controller.raft.raft_log import METADATA_PARTITION, METADATA_TOPIC_ID
from controller.settings import ControllerSettings
from protocol.errors import ErrorCode
from protocol.messages import add_raft_voter as adding
from protocol.messages import begin_quorum_epoch as begin
from protocol.messages import end_quorum_epoch as end
from protocol.messages import fetch as fetching
from protocol.messages import fetch_snapshot as snapshots
from protocol.messages import remove_raft_voter as removing
from protocol.messages import update_raft_voter as updating
from protocol.messages import vote as voting
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.record_batch import CorruptBatch, crc_is_valid, iterate_batches

Request = (
    voting.VoteRequest
    | begin.BeginQuorumEpochRequest
    | end.EndQuorumEpochRequest
    | fetching.FetchRequest
    | snapshots.FetchSnapshotRequest
    | adding.AddRaftVoterRequest
    | removing.RemoveRaftVoterRequest
    | updating.UpdateRaftVoterRequest
    | ApiVersionsRequest
)
Elections = voting.VoteResponse | begin.BeginQuorumEpochResponse | end.EndQuorumEpochResponse
VoterChanges = (
    adding.AddRaftVoterResponse
    | removing.RemoveRaftVoterResponse
    | updating.UpdateRaftVoterResponse
)
Response = (
    Elections
    | fetching.FetchResponse
    | snapshots.FetchSnapshotResponse
    | VoterChanges
    | ApiVersionsResponse
)
T = TypeVar("T")

CLIENT_SOFTWARE_NAME = "ottla-raft"
CLIENT_SOFTWARE_VERSION = "1"
MAX_WAIT_MS = 500
"""The time in milliseconds for which a leader may hold a Fetch without new records."""

_TOPIC = METADATA_PARTITION.topic
_LEADER_ERRORS = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)


class UnusableResponse(Exception):
    """A peer's response that is invalid or of no use."""


class NotAllowed(Exception):
    """A peer's response that this node lacks the right to take part."""


class OtherCluster(Exception):
    """A response from a node of another cluster."""

    def __init__(self) -> None:
        super().__init__(
            "it belongs to another cluster (INCONSISTENT_CLUSTER_ID; this node's cluster.id is in "
            "meta.properties of its data folder)"
        )


class PeerStopping(Exception):
    """A response of a peer that shuts down and no longer takes part."""


class RaftRequests:
    """The requests of a node to the other voters."""

    def __init__(self, settings: ControllerSettings, voters: QuorumVoters) -> None:
        """`voters` are those in this node's log."""
        self._settings = settings
        self._voters = voters

    def request(self, to: int, message: m.Message, high_watermark: int | None) -> Request:
        """Return the request that carries `message` to voter `to`. Only a Fetch contains
        `high_watermark`; None: it is not known."""
        if isinstance(message, m.Fetch):
            return self._fetch_request(message, high_watermark)
        if isinstance(message, m.FetchSnapshot):
            return self._fetch_snapshot_request(message)
        if isinstance(message, m.Vote):
            return self._vote_request(to, message)
        if isinstance(message, m.BeginQuorumEpoch):
            return self._begin_epoch_request(to, message)
        if isinstance(message, m.EndQuorumEpoch):
            return self._end_epoch_request(message)
        return self._voter_request(message)

    def _vote_request(self, to: int, vote: m.Vote) -> voting.VoteRequest:
        partition = voting.VoteRequestPartitionData(
            replica_epoch=vote.epoch,
            replica_id=vote.candidate.id,
            replica_directory_id=vote.candidate.directory_id,
            voter_directory_id=self._voters.directory_of(to),
            last_offset_epoch=vote.last_epoch,
            last_offset=vote.end_offset,
            pre_vote=vote.pre_vote,
        )
        topic = voting.VoteRequestTopicData(_TOPIC, [partition])
        return voting.VoteRequest(self._settings.cluster_id, to, [topic])

    def _begin_epoch_request(
        self, to: int, message: m.BeginQuorumEpoch
    ) -> begin.BeginQuorumEpochRequest:
        partition = begin.BeginQuorumEpochRequestPartitionData(
            voter_directory_id=self._voters.directory_of(to),
            leader_id=message.leader_id,
            leader_epoch=message.epoch,
        )
        topic = begin.BeginQuorumEpochRequestTopicData(_TOPIC, [partition])
        return begin.BeginQuorumEpochRequest(
            self._settings.cluster_id, to, [topic], self._own_endpoints(begin.LeaderEndpoint)
        )

    def _end_epoch_request(self, message: m.EndQuorumEpoch) -> end.EndQuorumEpochRequest:
        partition = end.EndQuorumEpochRequestPartitionData(
            leader_id=message.leader_id,
            leader_epoch=message.epoch,
            preferred_successors=list(message.successors),
            preferred_candidates=[
                end.ReplicaInfo(voter, self._voters.directory_of(voter))
                for voter in message.successors
            ],
        )
        topic = end.EndQuorumEpochRequestTopicData(_TOPIC, [partition])
        return end.EndQuorumEpochRequest(
            self._settings.cluster_id, [topic], self._own_endpoints(end.LeaderEndpoint)
        )

    def _own_endpoints(self, endpoint: Callable[[str, str, int], T]) -> list[T]:
        """Return this node's endpoints as a voter; none if they are not known."""
        own = self._settings.own_voter
        return [] if own is None else [endpoint(*place) for place in own.endpoints]

    def _voter_request(self, message: m.Message) -> Request:
        """Return the request that changes the voters, or asks a replica to become one for its
        levels of `kraft.version`."""
        if isinstance(message, m.AskVersions):
            return ApiVersionsRequest(CLIENT_SOFTWARE_NAME, CLIENT_SOFTWARE_VERSION)
        cluster_id = self._settings.cluster_id
        if isinstance(message, m.RemoveVoter):
            return removing.RemoveRaftVoterRequest(cluster_id, *message.key)
        assert isinstance(message, m.AddVoter | m.UpdateVoter)
        voter = message.voter
        if isinstance(message, m.AddVoter):
            return adding.AddRaftVoterRequest(
                cluster_id,
                self._settings.quorum_request_timeout_ms,
                *voter.key,
                [adding.Listener(*place) for place in voter.endpoints],
                message.ack_when_committed,
            )
        return updating.UpdateRaftVoterRequest(
            cluster_id,
            message.epoch,
            *voter.key,
            [updating.Listener(*place) for place in voter.endpoints],
            updating.KRaftVersionFeature(*voter.kraft_versions),
        )

    def _fetch_request(self, message: m.Fetch, high_watermark: int | None) -> fetching.FetchRequest:
        partition = fetching.FetchPartition(
            current_leader_epoch=message.epoch,
            fetch_offset=message.offset,
            last_fetched_epoch=message.last_fetched_epoch,
            partition_max_bytes=self._settings.quorum_fetch_max_bytes,
            replica_directory_id=message.replica.directory_id,
            high_watermark=-1 if high_watermark is None else high_watermark,
        )
        return fetching.FetchRequest(
            cluster_id=self._settings.cluster_id,
            replica_state=fetching.ReplicaState(replica_id=message.replica.id),
            max_wait_ms=MAX_WAIT_MS,
            max_bytes=self._settings.quorum_fetch_max_bytes,
            topics=[fetching.FetchTopic(_TOPIC, METADATA_TOPIC_ID, [partition])],
        )

    def _fetch_snapshot_request(self, message: m.FetchSnapshot) -> snapshots.FetchSnapshotRequest:
        partition = snapshots.FetchSnapshotRequestPartitionSnapshot(
            current_leader_epoch=message.epoch,
            snapshot_id=snapshots.FetchSnapshotRequestSnapshotId(*message.snapshot),
            position=message.position,
            replica_directory_id=message.replica.directory_id,
        )
        return snapshots.FetchSnapshotRequest(
            cluster_id=self._settings.cluster_id,
            replica_id=message.replica.id,
            max_bytes=self._settings.quorum_fetch_snapshot_max_bytes,
            topics=[snapshots.FetchSnapshotRequestTopicSnapshot(_TOPIC, [partition])],
        )


# --- responses -----------------------------------------------------------------------------------


def message_of(message: m.Message, response: Response) -> m.Message:
    """Return the reply in `response` to the request with `message`, as Raft receives it.

    Raises UnusableResponse, NotAllowed, OtherCluster and PeerStopping; MetadataRecordError if the
    leader sent a control record that this release does not know.
    """
    try:
        if isinstance(response, fetching.FetchResponse):
            assert isinstance(message, m.Fetch)
            return _fetch_reply(message, response)
        if isinstance(response, snapshots.FetchSnapshotResponse):
            assert isinstance(message, m.FetchSnapshot)
            return _snapshot_reply(message, response)
        if isinstance(response, ApiVersionsResponse):
            return _versions(response)
        if isinstance(response, VoterChanges):
            return _voter_reply(response)
        return _election_reply(message, response)
    except CorruptBatch as error:
        raise UnusableResponse(str(error)) from error


def _versions(response: ApiVersionsResponse) -> m.Versions:
    """Return the levels of `kraft.version` in a replica's ApiVersions response. Raises
    UnusableResponse if it has none."""
    if response.error_code != ErrorCode.NONE:
        raise UnusableResponse(ErrorCode(response.error_code).name)
    for feature in response.supported_features:
        if feature.name == KRAFT_VERSION:
            return m.Versions((feature.min_version, feature.max_version))
    return m.Versions((0, 0))


def _voter_reply(response: VoterChanges) -> m.VoterReply:
    """Return the reply to a request that changes the voters. Raises as `_check` does for the errors
    that no leader gives."""
    code = ErrorCode(response.error_code)
    if isinstance(response, updating.UpdateRaftVoterResponse):
        leader = response.current_leader or updating.CurrentLeader()
        return m.VoterReply(code, None, leader.leader_epoch, _optional(leader.leader_id))
    return m.VoterReply(code, response.error_message)


def _election_reply(message: m.Message, response: Elections) -> m.VoteReply | m.EpochReply:
    """Return the reply to a Vote, BeginQuorumEpoch or EndQuorumEpoch. The error of an older or
    unknown epoch is part of the reply; others raise as `_check` does."""
    _check(response.error_code)
    topics: Sequence[Any] = response.topics  # all three have the same fields for the leader
    partition = _only(_only(topics).partitions)
    leader_id = _optional(partition.leader_id)
    if isinstance(message, m.Vote):
        if partition.error_code not in (ErrorCode.NONE, ErrorCode.FENCED_LEADER_EPOCH):
            _check(partition.error_code)
        granted = partition.vote_granted and partition.error_code == ErrorCode.NONE
        return m.VoteReply(partition.leader_epoch, leader_id, granted, message.pre_vote)
    if partition.error_code not in _LEADER_ERRORS:
        _check(partition.error_code)
    return m.EpochReply(partition.leader_epoch, leader_id)


def _fetch_reply(message: m.Fetch, response: fetching.FetchResponse) -> m.Message:
    """Return the reply to a Fetch: an EpochReply if the node does not lead that epoch, otherwise a
    FetchReply. It has the batches, the point where the logs diverge, or the snapshot to fetch.
    Raises CorruptBatch, and as `_check` does."""
    _check(response.error_code)
    partition = _only(_only(response.responses).partitions)
    # An omitted tagged field has its default.
    current = partition.current_leader or fetching.LeaderIdAndEpoch()
    epoch, leader_id = current.leader_epoch, _optional(current.leader_id)
    if partition.error_code in _LEADER_ERRORS:
        return m.EpochReply(epoch, leader_id)
    _check(partition.error_code)
    if leader_id is None:
        raise UnusableResponse("records without a leader")
    high_watermark = _optional(partition.high_watermark)
    position = (message.offset, message.last_fetched_epoch)
    reply = m.FetchReply(epoch, leader_id, high_watermark, position)
    diverging = partition.diverging_epoch or fetching.EpochEndOffset()
    snapshot = partition.snapshot_id or fetching.SnapshotId()
    if diverging.epoch >= 0:
        return reply._replace(diverging=(diverging.epoch, diverging.end_offset))
    if snapshot.end_offset >= 0 or snapshot.epoch >= 0:
        if snapshot.end_offset < 0 or snapshot.epoch < 0:
            raise UnusableResponse(f"half a snapshot id: {snapshot.end_offset}, {snapshot.epoch}")
        return reply._replace(snapshot=(snapshot.end_offset, snapshot.epoch))
    if partition.records:
        records = memoryview(partition.records)  # type: ignore[arg-type]
        batches, size = followers_batches(records, *position, epoch)
        reply = reply._replace(batches=batches, records=records[:size])
    return reply


def followers_batches(
    records: memoryview, offset: int, last_epoch: int, leader_epoch: int
) -> tuple[tuple[m.AppendedBatch, ...], int]:
    """Return the complete batches in `records` and their size in bytes. Raises CorruptBatch if a
    batch is damaged, does not follow a log that ends at `offset` in `last_epoch`, or has a later
    epoch than the leader, and MetadataRecordError if a control record is unknown."""
    batches: list[m.AppendedBatch] = []
    size = 0
    for position, header in iterate_batches(records, allow_partial_tail=True):
        if not crc_is_valid(records, position, header):
            raise CorruptBatch(f"the batch at offset {header.base_offset} has a wrong CRC")
        epoch = header.partition_leader_epoch
        if header.base_offset != offset or not last_epoch <= epoch <= leader_epoch:
            raise CorruptBatch(
                f"a batch at {header.base_offset} in epoch {epoch} after offset {offset} in epoch "
                f"{last_epoch}, from a leader of epoch {leader_epoch}"
            )
        offset, last_epoch = header.next_offset, epoch
        size = position + header.size_in_bytes
        changes = (
            tuple(voter_records(records[position : position + header.size_in_bytes]))
            if header.is_control
            else ()
        )
        batches.append(m.AppendedBatch(epoch, header.base_offset, header.next_offset, changes))
    return tuple(batches), size


def _snapshot_reply(
    message: m.FetchSnapshot, response: snapshots.FetchSnapshotResponse
) -> m.Message:
    """Return the reply to a FetchSnapshot: an EpochReply if the node does not lead that epoch,
    otherwise a SnapshotReply with the part, or without data if the snapshot is gone. Raises as
    `_check` does."""
    _check(response.error_code)
    partition = _only(_only(response.topics).partitions)
    current = partition.current_leader or snapshots.LeaderIdAndEpoch()
    epoch, leader_id = current.leader_epoch, _optional(current.leader_id)
    if partition.error_code in _LEADER_ERRORS:
        return m.EpochReply(epoch, leader_id)
    if leader_id is None:
        raise UnusableResponse("a part of a snapshot without a leader")
    reply = m.SnapshotReply(epoch, leader_id, message.snapshot, message.position)
    not_found = (ErrorCode.SNAPSHOT_NOT_FOUND, ErrorCode.POSITION_OUT_OF_RANGE)
    if partition.error_code in not_found:
        return reply
    _check(partition.error_code)
    data = memoryview(partition.unaligned_records or b"")  # type: ignore[arg-type]
    snapshot = (partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
    if snapshot != message.snapshot or partition.position != message.position:
        raise UnusableResponse(f"not the part of the snapshot that was asked for: {snapshot}")
    if not data or partition.position + len(data) > partition.size:
        raise UnusableResponse(f"{len(data)} bytes at {partition.position} of {partition.size}")
    return reply._replace(size=partition.size, data=data)


def _check(error_code: int) -> None:
    """Return if there is no error. Otherwise raise PeerStopping, NotAllowed or OtherCluster for
    their codes, UnusableResponse for all others."""
    if error_code == ErrorCode.BROKER_NOT_AVAILABLE:
        raise PeerStopping
    if error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        raise NotAllowed
    if error_code == ErrorCode.INCONSISTENT_CLUSTER_ID:
        raise OtherCluster
    if error_code != ErrorCode.NONE:
        raise UnusableResponse(ErrorCode(error_code).name)


def _only(values: Sequence[T]) -> T:
    """Return the only value. Raises UnusableResponse if there is no value or more."""
    if len(values) != 1:
        raise UnusableResponse(f"{len(values)} topics or partitions in place of one")
    return values[0]


def _optional(value: int) -> int | None:
    """Return the value, or None if it is negative."""
    return None if value < 0 else value
