"""The share groups of a partition leader: sessions, share-partitions, and the fetches that wait.

    connection closed, session closed ──► the member's records are released
    last session of a group gone      ──► its share-partitions are dropped
    leadership lost, topic deleted    ──► the partition's share-partitions are dropped
    data, release, expired lock, load ──► waiting fetches are tried again

Owns the connections between these parts, and the watch on the logs of loaded share-partitions.
Never reads records (`broker.apis.share_fetch`), and decides nothing about them. Follows Kafka's
`SharePartitionManager` (KIP-932).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import NamedTuple

from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from broker.share.delivery.acquisition import AcquiredRange
from broker.share.delivery.settings import DeliverySettings
from broker.share.delivery.share_partition import AcknowledgedBatch
from broker.share.led_logs import LedLogs
from broker.share.sessions import MemberKey, ShareSession, ShareSessions, TopicIdPartition
from broker.share.share_metrics import ShareGroupMetrics
from broker.share.share_partitions import Answered, Bury, SharePartitions, StateStore
from broker.share.state.share_log import SharePartitionKey
from protocol.errors import ErrorCode


class ShareOutside(NamedTuple):
    """The parts of a node that share groups at a leader use."""

    replicas: ReplicaManager
    store: StateStore
    """The share coordinators."""
    settings: Callable[[str], DeliverySettings]
    """The configs of a group."""
    bury: Bury
    """The writer of records to a group's dead-letter topic."""
    share_version: Callable[[], int]
    """The finalized level of `share.version`; 0: the cluster has no share groups."""
    sessions_max: int
    """The most sessions of this broker: `group.share.max.share.sessions`."""


class SharePartitionManager:
    """The share groups of the partitions that this broker leads."""

    def __init__(self, outside: ShareOutside) -> None:
        """Create without sessions and share-partitions."""
        self._outside = outside
        self._replicas = outside.replicas
        self._scheduler = outside.replicas.scheduler
        self.settings = outside.settings
        self.purgatory = outside.replicas.share_fetch_purgatory
        self.metrics = ShareGroupMetrics()
        self.sessions = ShareSessions(outside.sessions_max)
        self.led = LedLogs(outside.replicas, outside.settings)
        self.partitions = SharePartitions(
            self._scheduler,
            outside.store,
            self.led,
            outside.settings,
            self._wake,
            outside.bury,
            self.metrics,
        )

    @property
    def is_enabled(self) -> bool:
        """True if the cluster's `share.version` has share groups."""
        return self._outside.share_version() >= 1

    # -- share-partitions ------------------------------------------------------------------------

    def load(self, key: SharePartitionKey, failed: Answered) -> None:
        """Load a share-partition unless it is there or on its way, and watch its log. `failed` gets
        the error of a load that this call began."""
        self.partitions.load(key, failed)
        if self.partitions.of_partition(key.topic_id, key.partition):
            replica = self._replicas.partition_by_id(key.topic_id, key.partition)
            if replica is not None:
                replica.listeners[self] = None

    def partition_changed(self, partition: Partition) -> None:
        """Try the fetches that wait for data of a partition, or drop its share-partitions if this
        broker does not lead it any more (`PartitionListener`)."""
        if not partition.is_leader or partition.log.offline:
            partition.listeners.pop(self, None)
            self.partitions.drop_partition(partition.topic_id, partition.index)
        self.purgatory.check(TopicIdPartition(partition.topic_id, partition.index))

    def _wake(self, key: SharePartitionKey) -> None:
        """Try the fetches that wait for a share-partition. Watch its log no longer if no group has
        the partition."""
        if not self.partitions.of_partition(key.topic_id, key.partition):
            replica = self._replicas.partition_by_id(key.topic_id, key.partition)
            if replica is not None:
                replica.listeners.pop(self, None)
        self.purgatory.check(key, partial(self._may_have_room, key))

    def _may_have_room(self, key: SharePartitionKey) -> bool:
        """Return whether a member may acquire records of a share-partition. The first fetches that
        wait take all that an acknowledgement made room for; the others need not read the log."""
        ready = self.partitions.ready(key)
        return ready is None or ready.partition.can_acquire()

    def acknowledge(
        self,
        key: SharePartitionKey,
        member_id: str,
        batches: Sequence[AcknowledgedBatch],
        done: Answered,
    ) -> None:
        """Acknowledge records; `done` is called after the share coordinator has written that."""
        self.partitions.acknowledge(key, member_id, batches, partial(self._written, batches, done))

    def _written(
        self,
        batches: Sequence[AcknowledgedBatch],
        done: Answered,
        error: ErrorCode,
        reason: str | None,
    ) -> None:
        """Count acknowledgements that were written, and pass the result on."""
        if error is ErrorCode.NONE:
            self.metrics.records_acknowledged(batches)
        done(error, reason)

    def take_back(
        self, key: SharePartitionKey, member_id: str, ranges: Sequence[AcquiredRange]
    ) -> None:
        """Make records available again that a fetch acquired just now, but does not answer with.
        The delivery does not count."""
        ready = self.partitions.ready(key)
        if ready is not None:
            ready.partition.take_back_acquisition(member_id, ranges)
            self.purgatory.check(key)

    # -- sessions --------------------------------------------------------------------------------

    def close_session(self, key: MemberKey) -> None:
        """Close the session of a member and release its records. Do nothing without a session."""
        session = self.sessions.find(key)
        if session is not None:
            self.sessions.close(key)
            self._release(session)

    def connection_closed(self, connection: Hashable) -> None:
        """Close the session of a client's connection, and release its records. If the group has no
        member here any more, drop its share-partitions."""
        session, was_open = self.sessions.connection_closed(connection)
        if session is None:
            return
        if was_open:
            self.metrics.session_evicted()
            self._release(session)
        group_id = session.key.group_id
        if not self.sessions.has_members(group_id):
            self.partitions.drop_group(group_id)
            self.metrics.forget_group(group_id)

    def _release(self, session: ShareSession) -> None:
        """Release the records that the member of a closed session has acquired, and end the fetches
        of the session that wait."""
        for topic_id, index in session.partitions:
            key = SharePartitionKey(session.key.group_id, topic_id, index)
            self.partitions.release(key, session.key.member_id)
        self.purgatory.check(session.key)

    def metadata_changed(self) -> None:
        """Forget all sessions and share-partitions if `share.version` was set back to 0."""
        if self.is_enabled:
            return
        members, loaded = self.sessions.members(), self.partitions.keys()
        self.sessions.clear()
        for key in loaded:
            self.partitions.drop(key)
        for member in members:
            self.purgatory.check(member)
