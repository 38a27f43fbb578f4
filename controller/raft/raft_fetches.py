"""Fetch of the metadata partition: answered at once, or held until there is something new.

A Fetch without new records waits up to its max_wait_ms. Its response is sent earlier if the log
grows, if there is a high watermark that its sender does not know yet (KIP-1166), or if the epoch
ends. Uncommitted records are sent too, because they are committed only after replicas have them.
The rights of a Fetch that has waited are checked again.

Owns: the requests that wait, one for each replica and `MAX_WAITING` in all; further ones get an
empty response at once. Never: decides which records a replica may have (`controller.raft.raft`).

Follows KIP-595 and Kafka's `KafkaRaftClient.handleFetchRequest` and `ThresholdPurgatory`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from controller.authorization.rights import Rights
from controller.raft import raft_messages as m
from controller.raft.quorum_addresses import QuorumAddresses
from controller.raft.raft_client import RaftClient
from controller.raft.raft_log import (
    METADATA_PARTITION,
    METADATA_TOPIC_ID,
    MetadataLogFailure,
    RaftLog,
)
from controller.settings import ControllerSettings
from controller.voter_set import ReplicaKey
from ground.ports import Scheduler, Timer
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from protocol.messages import fetch as fetching

MAX_WAITING = 1_000
VERSION_WITH_IDS = 13
VERSION_WITH_REPLICA_STATE = 15
VERSION_WITH_LEADER_ENDPOINT = 17


Respond = Callable[[fetching.FetchResponse], None]


class FetchContext(Protocol):
    """The version of a request, and the rights of its sender."""

    @property
    def api_version(self) -> int:
        """The version of the request."""

    @property
    def rights(self) -> Rights:
        """The rights of its sender."""


@dataclass(slots=True, eq=False)
class _PendingFetch:
    """A Fetch that has no response yet."""

    message: m.Fetch
    max_bytes: int
    max_wait_ms: int
    high_watermark: int
    """The high watermark that its sender knows; -1: none."""
    respond: Respond
    version: int
    request: fetching.FetchRequest
    rights: Rights
    timer: Timer | None = None


class RaftFetches:
    """The handler of Fetch."""

    def __init__(
        self,
        settings: ControllerSettings,
        raft: RaftClient,
        log: RaftLog,
        scheduler: Scheduler,
        addresses: QuorumAddresses,
    ) -> None:
        """Answer the Fetches that wait whenever `raft` reports that the log has grown, more is
        committed or the leader has changed."""
        self._settings = settings
        self._raft = raft
        self._log = log
        self._scheduler = scheduler
        self._addresses = addresses
        self._waiting: dict[_PendingFetch, None] = {}
        raft.watch(self._answer_ready)

    def handle(
        self, context: FetchContext, request: fetching.FetchRequest, respond: Respond
    ) -> None:
        """Answer a Fetch through `respond`, at once if it is invalid, this node does not lead or
        the logs diverge. Without new records or a new high watermark, the answer takes up to its
        `max_wait_ms`. The caller has checked the sender's right."""
        version = context.api_version
        if request.cluster_id not in (None, self._settings.cluster_id):
            respond(fetching.FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID))
            return
        if not _is_metadata_partition(request.topics, version):
            respond(fetching.FetchResponse(error_code=ErrorCode.INVALID_REQUEST))
            return
        if not self._raft.is_running:
            respond(fetching.FetchResponse(error_code=ErrorCode.BROKER_NOT_AVAILABLE))
            return
        partition = request.topics[0].partitions[0]
        replica_id = request.replica_id
        if version >= VERSION_WITH_REPLICA_STATE:
            state = request.replica_state  # None: an omitted field has its default, no replica
            replica_id = -1 if state is None else state.replica_id
        if (
            request.max_wait_ms < 0
            or partition.fetch_offset < 0
            or not 0 <= partition.last_fetched_epoch <= partition.current_leader_epoch
            or replica_id == self._settings.node_id
        ):
            respond(
                self._refusal(
                    ErrorCode.INVALID_REQUEST, self._raft.durable_leader_and_epoch, version
                )
            )
            return
        message = m.Fetch(
            partition.current_leader_epoch,
            ReplicaKey(replica_id, partition.replica_directory_id),
            partition.fetch_offset,
            partition.last_fetched_epoch,
        )
        limit = self._settings.quorum_fetch_max_bytes
        max_bytes = max(0, min(limit, request.max_bytes, partition.partition_max_bytes))
        pending = _PendingFetch(
            message,
            max_bytes,
            request.max_wait_ms,
            partition.high_watermark,
            respond,
            version,
            request,
            context.rights,
        )
        self._raft.receive(
            m.Received(replica_id, message, lambda reply: self._on_reply(pending, reply))
        )

    # --- answers -------------------------------------------------------------------------------

    def _on_reply(self, pending: _PendingFetch, reply: m.FetchReply | m.EpochReply) -> None:
        """Process Raft's reply to a Fetch: respond, or hold the Fetch."""
        if isinstance(reply, m.EpochReply):
            self._reject(pending, reply)
        elif reply.read_from is None:
            pending.respond(self._response(reply, b"", pending.version))
        elif (
            pending.max_wait_ms == 0 or self._has_news(pending) or len(self._waiting) >= MAX_WAITING
        ):
            self._answer(pending)
        else:
            self._hold(pending)

    def _hold(self, pending: _PendingFetch) -> None:
        """Let a Fetch wait for news, at most its own wait time. Answer a waiting Fetch of the same
        replica at once."""
        replica = pending.message.replica
        for other in [
            fetch for fetch in self._waiting if replica.id >= 0 and fetch.message.replica == replica
        ]:
            self._release(other)  # the replica fetches on a new connection, so nothing reads this
            self._answer_late(other)
        pending.timer = self._scheduler.call_later(
            pending.max_wait_ms, lambda: self._timed_out(pending)
        )
        self._waiting[pending] = None

    def _release(self, pending: _PendingFetch) -> None:
        """Stop the wait of a Fetch, which the caller answers."""
        self._waiting.pop(pending, None)
        if pending.timer is not None:
            pending.timer.cancel()

    def _timed_out(self, pending: _PendingFetch) -> None:
        """Answer a Fetch whose wait time is over, with or without records."""
        self._release(pending)
        self._answer_late(pending)

    def _answer_ready(self) -> None:
        """Answer the waiting Fetches with news, or all if this node no longer leads."""
        for pending in list(self._waiting):
            if pending in self._waiting and (not self._leads(pending) or self._has_news(pending)):
                self._release(pending)
                self._answer_late(pending)

    def _answer_late(self, pending: _PendingFetch) -> None:
        """Answer a Fetch that has waited: CLUSTER_AUTHORIZATION_FAILED if its sender has lost
        ClusterAction meanwhile."""
        if pending.rights.allows_on_cluster(Operation.CLUSTER_ACTION):
            self._answer(pending)
        else:
            pending.respond(denied_fetch(pending.request, pending.version))

    def _leads(self, pending: _PendingFetch) -> bool:
        """Return whether this node still leads the epoch that the Fetch names."""
        return self._raft.is_leader and self._raft.epoch == pending.message.epoch

    def _has_news(self, pending: _PendingFetch) -> bool:
        """Return whether there are records, or a high watermark, that the sender does not have."""
        if self._log.end_offset > pending.message.offset:
            return True
        return self._known_high_watermark() > pending.high_watermark

    def _known_high_watermark(self) -> int:
        """Return the high watermark; -1 while it is not known."""
        high_watermark = self._raft.high_watermark
        return -1 if high_watermark is None else high_watermark

    def _reject(self, pending: _PendingFetch, reply: m.EpochReply) -> None:
        """Answer a Fetch with the error that its epoch has on this node, which does not lead it:
        FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH or NOT_LEADER_OR_FOLLOWER."""
        epoch = pending.message.epoch
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if epoch != reply.epoch:
            fenced = epoch < reply.epoch
            code = ErrorCode.FENCED_LEADER_EPOCH if fenced else ErrorCode.UNKNOWN_LEADER_EPOCH
        pending.respond(self._refusal(code, reply, pending.version))

    def _answer(self, pending: _PendingFetch) -> None:
        """Respond with the present records from the requested offset on, maybe none, or with an
        error. Raft has checked that the sender's log does not diverge."""
        raft, message = self._raft, pending.message
        if not self._leads(pending):
            self._reject(pending, self._raft.durable_leader_and_epoch)
            return
        offset, end = message.offset, self._log.end_offset
        records = b""
        try:
            # If a snapshot moved the log's start past the offset, the next Fetch learns of it.
            if self._log.start_offset <= offset < end:
                records = self._log.read_slice(offset, end, pending.max_bytes)
        except MetadataLogFailure:
            code = ErrorCode.UNKNOWN_SERVER_ERROR
            pending.respond(
                self._refusal(code, self._raft.durable_leader_and_epoch, pending.version)
            )
            return
        fetched = (offset, message.last_fetched_epoch)
        high_watermark = raft.high_watermark
        reply = m.FetchReply(message.epoch, self._settings.node_id, high_watermark, fetched)
        pending.respond(self._response(reply, records, pending.version))

    def _response(
        self, reply: m.FetchReply, records: bytes, version: int
    ) -> fetching.FetchResponse:
        """Return the response to a valid Fetch, with the records, or the diverging epoch or
        snapshot of `reply`."""
        partition = self._partition_data(ErrorCode.NONE, reply.epoch, reply.leader_id)
        if reply.high_watermark is not None:
            partition.high_watermark = reply.high_watermark
        partition.records = records
        if reply.diverging is not None:
            partition.diverging_epoch = fetching.EpochEndOffset(*reply.diverging)
        if reply.snapshot is not None:
            partition.snapshot_id = fetching.SnapshotId(*reply.snapshot)
        return self._whole_response(partition, reply.leader_id, version)

    def _refusal(
        self, code: ErrorCode, reply: m.EpochReply, version: int
    ) -> fetching.FetchResponse:
        """Return the response with the error `code` for the partition, and with the epoch and
        leader in `reply`."""
        partition = self._partition_data(code, reply.epoch, reply.leader_id)
        return self._whole_response(partition, reply.leader_id, version)

    def _partition_data(
        self, code: ErrorCode, epoch: int, leader_id: int | None
    ) -> fetching.PartitionData:
        """Return the partition of a response, without records and high watermark."""
        return fetching.PartitionData(
            partition_index=METADATA_PARTITION.partition,
            error_code=code,
            high_watermark=-1,
            log_start_offset=self._log.start_offset,
            current_leader=fetching.LeaderIdAndEpoch(-1 if leader_id is None else leader_id, epoch),
            records=b"",
        )

    def _whole_response(
        self, partition: fetching.PartitionData, leader_id: int | None, version: int
    ) -> fetching.FetchResponse:
        """Return the response with a partition, and with the leader's endpoint if the version has
        it."""
        nodes = []
        address = None if leader_id is None else self._addresses.of(leader_id)
        if address is not None and version >= VERSION_WITH_LEADER_ENDPOINT:
            assert leader_id is not None
            nodes = [fetching.NodeEndpoint(leader_id, *address)]
        topic = fetching.FetchableTopicResponse(
            METADATA_PARTITION.topic, METADATA_TOPIC_ID, [partition]
        )
        return fetching.FetchResponse(responses=[topic], node_endpoints=nodes)


def denied_fetch(request: fetching.FetchRequest, version: int) -> fetching.FetchResponse:
    """Return the response to a sender without ClusterAction: CLUSTER_AUTHORIZATION_FAILED at the
    top. Versions before 13 get it in each partition too, because the oldest have no top-level
    error."""
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    response = fetching.FetchResponse(error_code=code)
    for topic in request.topics if version < VERSION_WITH_IDS else ():
        partitions = [
            fetching.PartitionData(partition.partition, code, -1, records=b"")
            for partition in topic.partitions
        ]
        response.responses.append(
            fetching.FetchableTopicResponse(topic.topic, partitions=partitions)
        )
    return response


def _is_metadata_partition(topics: list[fetching.FetchTopic], version: int) -> bool:
    """Return whether a Fetch is for the metadata partition alone."""
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        return False
    if version >= VERSION_WITH_IDS:
        is_metadata = topics[0].topic_id == METADATA_TOPIC_ID
    else:
        is_metadata = topics[0].topic == METADATA_PARTITION.topic
    return is_metadata and topics[0].partitions[0].partition == METADATA_PARTITION.partition
