"""The followers of a partition, as its leader sees them: their progress and which are in sync.

Owns the remote replicas of a single leadership, which of them count as in sync, and the limit of
the high watermark. Never proposes an ISR (`isr_proposals`), appends, reads or sends anything.

A replica that is proposed to join the ISR counts as in sync until the controller has answered, and
a replica that is proposed to leave still counts. `maximal_isr` is the larger of both sets. So
whichever the controller has committed, nothing is acknowledged that a member of the ISR lacks.

Follows Kafka's `Partition` and `PartitionState`, KIP-497, KIP-903 (broker epochs) and KIP-966 (the
high watermark stands still while the ISR is smaller than min.insync.replicas).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from broker.replication.alter_partition_manager import AlterPartitionManager
from broker.replication.replica import NO_BROKER_EPOCH, Replica
from controller.metadata.image import BrokerRegistration, PartitionRegistration
from ground.ports import Scheduler
from storage.log.unified_log import UnifiedLog

TAIL_BYTES_MAX = 16 * 1024
"""The largest size of a `LastAppend`: to read a larger batch costs less than to send it."""


class LeaderView:
    """State that all leaders of a broker share: clock, allowed lag, brokers, and the controller."""

    __slots__ = (
        "alter_partitions",
        "brokers",
        "failed_isr_updates",
        "isr_expands",
        "isr_shrinks",
        "lag_max_ms",
        "now_ms",
    )

    def __init__(self, scheduler: Scheduler, lag_max_ms: float) -> None:
        self.now_ms = scheduler.monotonic_ms
        self.lag_max_ms = lag_max_ms
        self.brokers: Mapping[int, BrokerRegistration] = {}
        """The registered brokers, as of the metadata that the replicas follow."""
        self.isr_shrinks = 0
        self.isr_expands = 0
        """ISR expansions that the controller has committed."""
        self.failed_isr_updates = 0
        """Proposals that were rejected, or answered too late (Kafka's FailedIsrUpdatesPerSec)."""
        self.alter_partitions: AlterPartitionManager | None = None
        """The sender of proposals; None, without proposals, until the controller is reachable."""

    def set_brokers(self, brokers: Mapping[int, BrokerRegistration]) -> None:
        """Set the brokers that the metadata names now."""
        self.brokers = brokers

    def isr_changed(self, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        """Count in `isr_shrinks` or `isr_expands` an ISR that the controller has changed on a
        proposal."""
        self.isr_shrinks += len(after) < len(before)
        self.isr_expands += len(after) > len(before)

    def isr_update_failed(self) -> None:
        """Count a proposal that was rejected, or answered too late."""
        self.failed_isr_updates += 1

    def propose_to(self, manager: AlterPartitionManager) -> None:
        """Set the sender of proposals; from now on leaders propose."""
        self.alter_partitions = manager


class LastAppend(NamedTuple):
    """The last appended batch, as it is in the log from `first_offset` to `end_offset`.

    Followers that have everything before it receive it without a read from the file.
    """

    first_offset: int
    end_offset: int
    batch: bytes


class Followers:
    """The remote replicas of a partition that this broker leads."""

    __slots__ = (
        "_view",
        "epoch_start_offset",
        "isr",
        "log",
        "maximal_isr",
        "replicas",
        "tail",
    )

    def __init__(self, log: UnifiedLog, view: LeaderView) -> None:
        """Begin without replicas; `assign` sets them. `log` is the leader's own."""
        self.log = log
        self._view = view
        self.replicas: dict[int, Replica] = {}
        self.isr: tuple[int, ...] = ()
        self.maximal_isr: tuple[int, ...] = ()
        self.epoch_start_offset = 0
        self.tail: LastAppend | None = None
        """The last appended batch, if it is small, until all in-sync replicas have it."""

    def replace_log(self, log: UnifiedLog) -> None:
        """Use the log from its new directory after a move."""
        self.log = log

    # --- metadata --------------------------------------------------------------------------------

    def assign(self, registration: PartitionRegistration) -> None:
        """Set the replicas of the metadata, without the leader: new followers start without
        progress, removed ones are dropped."""
        current_replicas, leader = self.replicas, registration.leader
        self.replicas = {
            broker_id: current_replicas.get(broker_id) or Replica(broker_id)
            for broker_id in registration.replicas
            if broker_id != leader
        }

    def begin_epoch(self, registration: PartitionRegistration) -> None:
        """Begin a leader epoch of this broker: its start is the log's end. Followers in the ISR
        count as caught up now, the others as never."""
        now_ms, end = self._view.now_ms(), self.log.log_end_offset
        self.epoch_start_offset = end
        for replica in self.replicas.values():
            replica.reset(end, now_ms, in_sync=replica.broker_id in registration.isr)

    def commit(self, isr: tuple[int, ...]) -> None:
        """Set the ISR that the controller has committed, changed or not."""
        self.isr = self.maximal_isr = isr

    def count_in_sync(self, isr: tuple[int, ...]) -> None:
        """Count this larger ISR as in sync until the controller has answered."""
        self.maximal_isr = isr

    # --- the high watermark ----------------------------------------------------------------------

    @property
    def min_isr(self) -> int:
        """The smallest ISR that accepts acks=all.

        That is min.insync.replicas, or the number of replicas if it is smaller (KIP-966).
        """
        return min(self.log.config.min_insync_replicas, len(self.replicas) + 1)

    def advance_high_watermark(self) -> bool:
        """Move the high watermark to the end that all in-sync replicas have, unless the ISR is
        smaller than `min_isr`.

        Return whether it moved. It also waits for replicas that are about to join the ISR.
        Otherwise a replica that is always a little behind would never join.
        """
        log = self.log
        end = lowest = log.log_end_offset
        for broker_id, replica in self.replicas.items():
            if replica.log_end_offset < lowest and (
                broker_id in self.maximal_isr or self._is_about_to_join(replica, end)
            ):
                lowest = replica.log_end_offset
        if lowest <= log.high_watermark or len(self.isr) < self.min_isr:
            return False
        log.update_high_watermark(lowest)
        if lowest == end:
            self.tail = None
        return True

    def appended(self, first_offset: int, batch: memoryview) -> None:
        """Advance the high watermark after the append of exactly this batch. If it does not move,
        keep a small batch in `tail` for the followers."""
        self.tail = None
        if not self.advance_high_watermark() and len(batch) <= TAIL_BYTES_MAX:
            self.tail = LastAppend(first_offset, self.log.log_end_offset, bytes(batch))

    def _is_about_to_join(self, replica: Replica, leader_end: int) -> bool:
        """Return True if the replica has caught up lately and the controller would accept it."""
        view = self._view
        return replica.is_caught_up(
            leader_end, view.now_ms(), view.lag_max_ms
        ) and self.is_eligible(replica)

    def low_watermark(self, start: int) -> int:
        """Return the earliest log start of the leader and all followers whose brokers are not
        fenced; `start` is that of the leader."""
        brokers = self._view.brokers
        for broker_id, replica in self.replicas.items():
            broker = brokers.get(broker_id)
            if replica.log_start_offset < start and broker is not None and not broker.fenced:
                start = replica.log_start_offset
        return start

    # --- broker epochs ---------------------------------------------------------------------------

    def is_stale(self, broker_id: int, broker_epoch: int) -> bool:
        """Return whether this broker epoch is older than the broker's last start (KIP-903)."""
        broker = self._view.brokers.get(broker_id)
        return broker is not None and NO_BROKER_EPOCH != broker_epoch < broker.epoch

    def is_eligible(self, replica: Replica) -> bool:
        """Return whether the controller would accept the replica into the ISR.

        Its broker must be active, and registered with the epoch of the replica's last fetch.
        """
        broker = self._view.brokers.get(replica.broker_id)
        return (
            broker is not None
            and broker.active
            and replica.broker_epoch in (NO_BROKER_EPOCH, broker.epoch)
        )
