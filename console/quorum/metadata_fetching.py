"""The newest metadata records of a cluster, fetched from the leader of its quorum.

Brokers, Ottla's and Apache Kafka's, do not serve `__cluster_metadata`. The active controller does,
on its own listener, to a login with ClusterAction. DescribeQuorum says which node it is, and where
it listens. Returns only committed records. Owns the connection and the offset of the next fetch.

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
"""The offsets before the high watermark that are read first; most are no-ops, two a second."""
MISSED_MAX = 60
"""The failed attempts to connect to a leader in a row after which `read` raises StartError."""
STEPS_MAX = 16
"""The most Fetch requests of one `read`."""

_NOT_THE_LEADER = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
)
M = TypeVar("M", bound=Message)


class Leader(NamedTuple):
    """The leader of the quorum, by DescribeQuorum; `node_id` is -1 during an election.

    `address` is (host, port), None if the cluster does not report it.
    """

    node_id: int
    address: tuple[str, int] | None
    epoch: int
    high_watermark: int


def leader_of(answer: DescribeQuorumResponse) -> Leader:
    """Return the leader in an answer to DescribeQuorum, which must be without error codes."""
    partition = answer.topics[0].partitions[0]
    listeners = [
        (listener.host, listener.port)
        for node in answer.nodes
        if node.node_id == partition.leader_id
        for listener in node.listeners
        if listener.port  # 0 for an Ottla controller without a configuration file
    ]
    address = listeners[0] if listeners else None
    return Leader(partition.leader_id, address, partition.leader_epoch, partition.high_watermark)


class Client(Protocol):
    """The calls of a connection that a LeaderTail uses."""

    def send(self, request: Request, version_max: int | None = None) -> None:
        """Send a request. Raises OSError, ProtocolError."""

    def receive(self, kind: type[M]) -> M:
        """Return the next response. Raises OSError, ProtocolError."""

    def close(self) -> None:
        """Close the connection."""


class LeaderTail:
    """A reader of new metadata records at the leader: `read()` as of a `MetadataTail`.

    The caller closes it.
    """

    def __init__(self, find: Callable[[], Leader], connect: Callable[[str, int], Client]) -> None:
        """Find the leader and connect to it; during an election, `read` does this later.

        `find` asks the cluster for the leader, `connect` raises StartError. Raises Refused if the
        cluster does not report the leader's address, StartError if the connection fails.
        """
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
        """The node that the records come from, in words for the page."""
        if self._leader.node_id < 0:
            return "the next leader of the quorum (election in progress)"
        host, port = self._leader.address or ("", 0)
        return f"the leader, node {self._leader.node_id} at {host}:{port}"

    def read(self, *, with_noops: bool = True) -> list[Shown]:
        """Return the newest committed records since the last call, at most RECORDS_MAX.

        Returns none while there is no leader. Raises Refused, StartError.
        """
        batches: list[Batch] = []
        for _ in range(STEPS_MAX):
            before = self._offset
            data = self._fetched()
            if data is None:
                self._look_for_another()
                break
            self._missed = 0
            batches += self._taken(data)
            if self._offset == before:
                break
        return newest_of(batches, with_noops=with_noops)

    def close(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _look_for_another(self) -> None:
        """Find the leader again and connect to it.

        The quorum names a killed leader until it elects another, so a failed connection counts as
        an attempt. Raises StartError after MISSED_MAX attempts in a row, and Refused.
        """
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
        """Return the answer to a Fetch; None if the node is not the leader any more or is down.

        Raises Refused for other error codes.
        """
        if self._client is None:
            return None
        try:
            self._client.send(self._request())
            answer = self._client.receive(FetchResponse)
        except (OSError, ProtocolError):
            return None
        data = next((part for topic in answer.responses for part in topic.partitions), None)
        partition_code = ErrorCode.UNKNOWN_SERVER_ERROR if data is None else data.error_code
        code = answer.error_code or partition_code
        if code in _NOT_THE_LEADER:
            return None
        if code:
            reason = why(code, None, "ClusterAction on the cluster")
            raise Refused(f"the active controller does not return its records: {reason}")
        return data

    def _request(self) -> FetchRequest:
        """Return a Fetch at the current offset.

        `last_fetched_epoch` is the leader's epoch: the leader then sends records from any offset
        and checks no older epoch.
        """
        epoch = self._leader.epoch
        assert self._offset is not None, "the leader was reached"
        partition = FetchPartition(
            0, epoch, self._offset, last_fetched_epoch=epoch, partition_max_bytes=STEP_BYTES
        )
        topic = FetchTopic(METADATA_TOPIC, METADATA_TOPIC_ID, [partition])
        return FetchRequest(max_bytes=STEP_BYTES, topics=[topic])

    def _taken(self, data: PartitionData) -> list[Batch]:
        """Return the committed batches of an answer, and move the offset behind them."""
        assert self._offset is not None, "the leader was reached"
        snapshot, diverging = data.snapshot_id, data.diverging_epoch
        if snapshot is not None and snapshot.end_offset >= 0:
            self._offset = snapshot.end_offset  # the snapshot replaces the older records
        elif diverging is not None and diverging.end_offset >= 0:
            self._offset = min(self._offset, diverging.end_offset)
        batches: list[Batch] = []
        records = bytes(data.records) if isinstance(data.records, memoryview) else b""
        for position, header in iterate_batches(records, allow_partial_tail=True):
            if header.next_offset > data.high_watermark:
                break
            batches.append(Batch(records, position, header, self._offset))
            self._offset = header.next_offset
        return batches
