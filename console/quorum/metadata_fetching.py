"""The newest metadata records of a cluster whose files are elsewhere: fetched from its leader.

Brokers give nobody `__cluster_metadata`, neither Ottla's nor Apache Kafka's; the active controller
does, on its own listener, to who has ClusterAction. So the quorum is asked who leads it and where
that one listens. Shows what is committed alone. Owns the connection and where it has read to.

Follows KIP-595 (Fetch with epochs, as an observer of no id), KIP-853 (where voters listen).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from broker.config.start_error import StartError
from client.cluster_status import METADATA_TOPIC
from client.refusals import Refused, why
from console.quorum.metadata_folder import STEP_BYTES
from console.quorum.metadata_shown import Batch, Shown, newest_of
from controller.raft.raft_log import METADATA_TOPIC_ID
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import Request
from protocol.message import Message
from protocol.messages.describe_quorum import DescribeQuorumResponse
from protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from protocol.record_batch import iterate_batches

TAIL_OFFSETS = 10_000
"""So many before the end are read first; most are no-ops, two a second."""
MISSED_MAX = 60
"""Looks after which a leader that cannot be reached is given up."""
STEPS_MAX = 16
"""Fetches of one look."""

_ELECTED_ANEW = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
)
M = TypeVar("M", bound=Message)


class Leader(NamedTuple):
    """Of the quorum: where it listens, None if nobody says so; its epoch, and what is agreed on."""

    node_id: int
    address: tuple[str, int] | None
    epoch: int
    high_watermark: int


def leader_of(answer: DescribeQuorumResponse) -> Leader:
    """As the quorum tells it, in an answer without errors."""
    found = answer.topics[0].partitions[0]
    listeners = [
        (one.host, one.port)
        for node in answer.nodes
        if node.node_id == found.leader_id
        for one in node.listeners
        if one.port  # Ottla's without a configuration file has none
    ]
    address = listeners[0] if listeners else None
    return Leader(found.leader_id, address, found.leader_epoch, found.high_watermark)


class Client(Protocol):
    """A connection."""

    def send(self, request: Request, version_max: int | None = None) -> None:
        """Raises OSError, ProtocolError."""

    def receive(self, kind: type[M]) -> M:
        """Raises OSError, ProtocolError."""

    def close(self) -> None:
        """Hang up."""


class LeaderTail:
    """`tail.read()` again and again, as of a `MetadataTail`; `close()` at the end."""

    def __init__(self, find: Callable[[], Leader], connect: Callable[[str, int], Client]) -> None:
        """`connect` raises StartError. Raises Refused where nobody says where the leader listens,
        StartError where it lets nobody in. In an election there is none: it is waited for."""
        self._find = find
        self._connect = connect
        self._client: Client | None = None
        self._missed = 0
        self._leader = find()
        self._offset: int | None = None
        if self._leader.node_id >= 0:
            self._reach()

    @property
    def source(self) -> str:
        """Where the records come from."""
        if self._leader.node_id < 0:
            return "the next leader of the quorum (election in progress)"
        host, port = self._leader.address or ("", 0)
        return f"the leader, node {self._leader.node_id} at {host}:{port}"

    def read(self, *, with_noops: bool = True) -> list[Shown]:
        """The newest of what was agreed on and not read yet; nothing while there is no leader.
        Raises Refused, StartError."""
        found: list[Batch] = []
        for _ in range(STEPS_MAX):
            before = self._offset
            data = self._fetched()
            if data is None:
                self._look_for_another()
                break
            self._missed = 0
            found += self._taken(data)
            if self._offset == before:
                break
        return newest_of(found, with_noops=with_noops)

    def close(self) -> None:
        """Hang up."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _look_for_another(self) -> None:
        """One that was killed is named as leader until another is elected."""
        self.close()
        self._leader = self._find()
        try:
            if self._leader.node_id >= 0:
                self._reach()
        except StartError:
            self._missed += 1
            if self._missed > MISSED_MAX:
                raise

    def _reach(self) -> None:
        if self._leader.address is None:
            raise Refused("the cluster does not report the address of its active controller")
        self._client = self._connect(*self._leader.address)
        if self._offset is None:
            self._offset = max(self._leader.high_watermark - TAIL_OFFSETS, 0)

    def _fetched(self) -> PartitionData | None:
        """None: another leads by now, or this one is gone."""
        if self._client is None:
            return None
        try:
            self._client.send(self._request())
            answer = self._client.receive(FetchResponse)
        except (OSError, ProtocolError):
            return None
        data = next((one for topic in answer.responses for one in topic.partitions), None)
        of_data = ErrorCode.UNKNOWN_SERVER_ERROR if data is None else data.error_code
        code = answer.error_code or of_data
        if code in _ELECTED_ANEW:
            return None
        if code:
            reason = why(code, None, "ClusterAction on the cluster")
            raise Refused(f"the active controller does not return its records: {reason}")
        return data

    def _request(self) -> FetchRequest:
        """An observer that has all of the leader's epoch may begin anywhere."""
        epoch = self._leader.epoch
        assert self._offset is not None, "the leader was reached"
        partition = FetchPartition(
            0, epoch, self._offset, last_fetched_epoch=epoch, partition_max_bytes=STEP_BYTES
        )
        topic = FetchTopic(METADATA_TOPIC, METADATA_TOPIC_ID, [partition])
        return FetchRequest(max_bytes=STEP_BYTES, topics=[topic])

    def _taken(self, data: PartitionData) -> list[Batch]:
        assert self._offset is not None, "the leader was reached"
        snapshot, diverging = data.snapshot_id, data.diverging_epoch
        if snapshot is not None and snapshot.end_offset >= 0:
            self._offset = snapshot.end_offset  # what lay before is in it
        elif diverging is not None and diverging.end_offset >= 0:
            self._offset = min(self._offset, diverging.end_offset)
        found: list[Batch] = []
        records = bytes(data.records) if isinstance(data.records, memoryview) else b""
        for position, header in iterate_batches(records, allow_partial_tail=True):
            if header.next_offset > data.high_watermark:
                break
            found.append(Batch(records, position, header, self._offset))
            self._offset = header.next_offset
        return found
