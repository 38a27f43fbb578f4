"""The share coordinator: finds the shard of a share-partition's state, or the error without one.

A share-partition belongs to the partition of `__share_group_state` that its key hashes to, and that
partition's leader serves it. Owns the shards (through `CoordinatorRuntime`) and two timers: one
writes new snapshots of cold states, the other deletes the records that no state needs any more.
`ShareStateShard` decides. Follows Kafka's `ShareCoordinatorService` (KIP-932).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from broker.coordinator.coordinator_log import CoordinatorLog
from broker.coordinator.coordinator_partitions import partition_for
from broker.coordinator.coordinator_runtime import CoordinatorRuntime, ShardState
from broker.coordinator.outcome import ReplyWithError
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_metrics import ShareMetrics
from broker.share.state.share_state_shard import (
    ShareStateShard,
    StateAnswer,
    StateOutcome,
    WriteRequest,
)
from ground.ports import Scheduler, Timer
from ground.sliced_work import SlicedWork
from protocol.errors import ErrorCode

StateReply = ReplyWithError[StateAnswer]

_NOT_HERE = StateAnswer(message="this broker does not coordinate the share-partition")


class ShareCoordinatorSettings(NamedTuple):
    """The configs `share.coordinator.…`."""

    updates_per_snapshot: int = 500
    """The most updates between two snapshots: `snapshot.update.records.per.snapshot`."""
    cold_snapshot_interval_ms: int = 300_000
    """The age of a snapshot that is renewed: `cold.partition.snapshot.interval.ms`."""
    prune_interval_ms: int = 300_000
    """The time between two deletions of records: `state.topic.prune.interval.ms`."""
    write_timeout_ms: int = 5_000
    """The most time for the commit of a record: `write.timeout.ms`."""


class ShareTopic(NamedTuple):
    """The topics of the cluster, and the coordinator's own."""

    partition_count: Callable[[], int]
    """The number of partitions of `__share_group_state`, also before that topic exists."""
    has_partition: Callable[[bytes, int], bool]
    """Whether the cluster has a partition of a topic id."""
    delete_before: Callable[[int, int], bool]
    """The deletion of records of a partition of `__share_group_state` before an offset. Returns
    whether they are deleted; if not, the next pruning tries again."""
    has_share_groups: Callable[[], bool] = lambda: True
    """Whether the cluster has share groups (`share.version` is not 0). Otherwise no timer writes or
    deletes records."""


class ShareCoordinator:
    """The share coordinator of a broker."""

    def __init__(
        self,
        settings: ShareCoordinatorSettings,
        scheduler: Scheduler,
        coordinator_log: CoordinatorLog,
        topic: ShareTopic,
        sliced: SlicedWork | None = None,
    ) -> None:
        """Create a coordinator without partitions; `on_elected` loads them."""
        self._settings = settings
        self._scheduler = scheduler
        self._topic = topic
        self._stopped = False
        self._timers: dict[str, Timer] = {}
        self.metrics = ShareMetrics()
        self.deleted_before: dict[int, int] = {}
        """The offset before which records were deleted last, by partition."""
        self._runtime = CoordinatorRuntime(
            "share coordinator",
            coordinator_log,
            scheduler,
            lambda _: ShareStateShard(
                scheduler, topic.has_partition, settings.updates_per_snapshot, self.metrics
            ),
            settings.write_timeout_ms,
            sliced,
        )

    # -- leadership ----------------------------------------------------------------------------

    def on_elected(self, partition: int, leader_epoch: int) -> None:
        """Load the states of a partition of `__share_group_state`, which this broker now leads. The
        first call also starts the timers."""
        self._runtime.on_elected(partition, leader_epoch)
        if not self._timers and not self._stopped:
            settings = self._settings
            self._call_every("snapshots", settings.cold_snapshot_interval_ms, self.snapshot_cold)
            self._call_every("pruning", settings.prune_interval_ms, self.prune)

    def on_resigned(self, partition: int, leader_epoch: int | None = None) -> None:
        """Unload the states of `partition`, which this broker no longer leads. Ignore a
        `leader_epoch` that is older than the loaded one."""
        self._runtime.on_resigned(partition, leader_epoch)
        self.deleted_before.pop(partition, None)

    def shutdown(self) -> None:
        """Unload all states, and stop the timers. Later requests get NOT_COORDINATOR."""
        self._stopped = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers = {}
        self._runtime.shutdown()

    def _call_every(self, name: str, interval_ms: int, action: Callable[[], None]) -> None:
        """Call `action` every `interval_ms`, first after one interval, until `shutdown`."""

        def fire() -> None:
            """Set the timer again, and call `action` if the cluster has share groups."""
            self._call_every(name, interval_ms, action)
            if self._topic.has_share_groups():
                action()

        self._timers[name] = self._scheduler.call_later(interval_ms, fire)

    # -- requests ------------------------------------------------------------------------------

    def partition_for(self, key: SharePartitionKey) -> int:
        """Return the partition of `__share_group_state` that holds a share-partition's state."""
        return partition_for(key.text, self._topic.partition_count())

    def serves(self, partition: int) -> bool:
        """Return whether this broker has loaded a partition of `__share_group_state`."""
        return not isinstance(self._runtime.shard(partition), ErrorCode)

    def partition_counts(self) -> Counter[ShardState]:
        """Return the number of partitions of `__share_group_state` that this broker leads, by the
        state of their shards."""
        return self._runtime.partition_counts()

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, reply: StateReply
    ) -> None:
        """Replace a state by an empty one; errors are those of the shard and of `_submit`."""
        self._submit(key, lambda shard: shard.initialize(key, state_epoch, start_offset), reply)

    def write(self, key: SharePartitionKey, request: WriteRequest, reply: StateReply) -> None:
        """Write a leader's state; errors are those of the shard and of `_submit`."""
        begun_ms = self._scheduler.monotonic_ms()

        def written(error: ErrorCode, answer: StateAnswer) -> None:
            """Record the time of the write, and reply."""
            now_ms = self._scheduler.monotonic_ms()
            self.metrics.write_times.record(now_ms, now_ms - begun_ms)
            reply(error, answer)

        self._submit(key, lambda shard: shard.write(key, request), written)

    def read(self, key: SharePartitionKey, leader_epoch: int, reply: StateReply) -> None:
        """Read the state for a leader; `reply` gets it after the leader's epoch is committed."""
        self._submit(key, lambda shard: shard.read(key, leader_epoch), reply)

    def summary(self, key: SharePartitionKey, reply: StateReply) -> None:
        """Read the state without its batches."""
        self._submit(key, lambda shard: shard.summary(key), reply)

    def delete(self, key: SharePartitionKey, reply: StateReply) -> None:
        """Delete the state."""
        self._submit(key, lambda shard: shard.delete(key), reply)

    def _submit(
        self,
        key: SharePartitionKey,
        decide: Callable[[ShareStateShard], StateOutcome],
        reply: StateReply,
    ) -> None:
        """Run a decision of this key's shard; `reply` gets NOT_COORDINATOR or
        COORDINATOR_LOAD_IN_PROGRESS if no shard is active."""
        refuse = partial(_refuse, reply)
        if self._stopped:
            refuse(ErrorCode.NOT_COORDINATOR)
        else:
            self._runtime.submit(self.partition_for(key), decide, reply, refuse)

    # -- time and topics -----------------------------------------------------------------------

    def topics_deleted(self, topic_ids: frozenset[bytes]) -> None:
        """Delete the states of topics that the cluster has no more."""
        delete = partial(ShareStateShard.delete_topics, topic_ids=topic_ids)
        self._runtime.submit_to_all(delete, _ignore, later=True)

    def snapshot_cold(self) -> None:
        """Renew the snapshots of states that did not change for long."""
        interval_ms = self._settings.cold_snapshot_interval_ms
        renew = partial(ShareStateShard.snapshot_cold, older_than_ms=interval_ms)
        self._runtime.submit_to_all(renew, _ignore, later=True)

    def prune(self) -> None:
        """Delete the records that no state needs any more."""
        for partition in self._runtime.partitions():
            self._runtime.submit(
                partition, ShareStateShard.prunable, partial(self._prune, partition), _ignore_error
            )

    def _prune(self, partition: int, error: ErrorCode, offset: int | None) -> None:
        """Delete the records of a partition before `offset`, unless that was done before."""
        if error or not offset or offset == self.deleted_before.get(partition):
            return
        if self._topic.delete_before(partition, offset):
            self.deleted_before[partition] = offset


def _refuse(reply: StateReply, error: ErrorCode) -> None:
    """Answer that this broker does not serve the state now."""
    reply(error, _NOT_HERE)


def _ignore_error(_: ErrorCode) -> None:
    """Do nothing: the next timer tries again."""


def _ignore(_: ErrorCode, __: object) -> None:
    """Do nothing: the next timer tries again."""
