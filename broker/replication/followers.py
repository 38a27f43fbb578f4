"""What the leader of a partition knows of its followers: who is in sync, what all of them have.

Owns the remote replicas of one leadership, which of them count as in sync, and how far the high
watermark may go. Never proposes another ISR (`isr_proposals`), appends, reads or sends anything.

A replica that is proposed counts as in sync until the controller has answered, and one whose
leaving is proposed still counts: `maximal_isr` is the larger of both, so that whichever the
controller has committed, nothing is acknowledged that a member of the ISR misses.

Follows Kafka's `Partition`, `PartitionState`, KIP-497, KIP-903 (broker epochs) and KIP-966 (the
high watermark stands while the ISR is smaller than min.insync.replicas).
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
"""What is larger is read from the file: then sending it costs more than finding it."""


class LeaderView:
    """What all leaders of one broker share: time, the allowed lag, the cluster, its controller."""

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
        """As of the metadata that the replicas follow."""
        self.isr_shrinks = 0
        self.isr_expands = 0
        """Proposals of theirs that came to be."""
        self.failed_isr_updates = 0
        """Those that were refused, or answered too late (Kafka's FailedIsrUpdatesPerSec)."""
        self.alter_partitions: AlterPartitionManager | None = None
        """Where proposals go; None until there is a way to the controller, and nothing is
        proposed."""

    def follow(self, brokers: Mapping[int, BrokerRegistration]) -> None:
        """The metadata tells of these brokers now."""
        self.brokers = brokers

    def isr_changed(self, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        """The controller has answered a proposal of a leader here."""
        self.isr_shrinks += len(after) < len(before)
        self.isr_expands += len(after) > len(before)

    def isr_update_failed(self) -> None:
        """A proposal was refused, or answered too late."""
        self.failed_isr_updates += 1

    def propose_to(self, manager: AlterPartitionManager) -> None:
        """There is a way to the controller."""
        self.alter_partitions = manager


class Tail(NamedTuple):
    """The batch that was appended last, as it lies in the log from `first_offset` to `end_offset`.

    Followers that have all before it wait for it: they get it without a look into the file.
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
        self.log = log
        self._view = view
        self.replicas: dict[int, Replica] = {}
        self.isr: tuple[int, ...] = ()
        self.maximal_isr: tuple[int, ...] = ()
        self.epoch_start_offset = 0
        self.tail: Tail | None = None
        """Until all in sync have it, if it is a small one."""

    def replace_log(self, log: UnifiedLog) -> None:
        """The same log lies in another directory now."""
        self.log = log

    # --- what the metadata says ------------------------------------------------------------------

    def assign(self, registration: PartitionRegistration) -> None:
        """Take the replicas: new ones are unknown, removed ones forgotten."""
        known, leader = self.replicas, registration.leader
        self.replicas = {
            one: known.get(one) or Replica(one) for one in registration.replicas if one != leader
        }

    def begin_epoch(self, registration: PartitionRegistration) -> None:
        """A leader epoch of this broker begins, at the log's end."""
        now_ms, end = self._view.now_ms(), self.log.log_end_offset
        self.epoch_start_offset = end
        for replica in self.replicas.values():
            replica.reset(end, now_ms, in_sync=replica.broker_id in registration.isr)

    def commit(self, isr: tuple[int, ...]) -> None:
        """Take the ISR that the controller has decided, or has left as it was."""
        self.isr = self.maximal_isr = isr

    def count(self, isr: tuple[int, ...]) -> None:
        """Count this larger ISR as in sync until the controller has answered."""
        self.maximal_isr = isr

    # --- the high watermark ----------------------------------------------------------------------

    @property
    def min_isr(self) -> int:
        """A topic with fewer replicas than min.insync.replicas is not unwritable (KIP-966)."""
        return min(self.log.config.min_insync_replicas, len(self.replicas) + 1)

    def advance_high_watermark(self) -> bool:
        """Move the log's high watermark to what all in sync have; whether it moved.

        It waits, too, for a replica that is about to come in sync: otherwise one that is always a
        little behind would never be let in.
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
        """One batch was appended, and nothing else."""
        self.tail = None
        if not self.advance_high_watermark() and len(batch) <= TAIL_BYTES_MAX:
            self.tail = Tail(first_offset, self.log.log_end_offset, bytes(batch))

    def _is_about_to_join(self, replica: Replica, leader_end: int) -> bool:
        view = self._view
        return replica.is_caught_up(
            leader_end, view.now_ms(), view.lag_max_ms
        ) and self.is_eligible(replica)

    def low_watermark(self, start: int) -> int:
        """The earliest log start of the leader, which is `start`, and all live followers."""
        brokers = self._view.brokers
        for broker_id, replica in self.replicas.items():
            broker = brokers.get(broker_id)
            if replica.log_start_offset < start and broker is not None and not broker.fenced:
                start = replica.log_start_offset
        return start

    # --- whose fetches count ---------------------------------------------------------------------

    def is_stale(self, broker_id: int, broker_epoch: int) -> bool:
        """Whether a fetch of this broker epoch is from before the broker's last start (KIP-903)."""
        broker = self._view.brokers.get(broker_id)
        return broker is not None and NO_BROKER_EPOCH != broker_epoch < broker.epoch

    def is_eligible(self, replica: Replica) -> bool:
        """Whether the controller would let it in: alive, staying, and the one that fetched."""
        broker = self._view.brokers.get(replica.broker_id)
        return (
            broker is not None
            and broker.active
            and replica.broker_epoch in (NO_BROKER_EPOCH, broker.epoch)
        )
