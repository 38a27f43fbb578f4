"""The ISR changes that a leader proposes to the controller, for a single leadership.

Owns the pending proposal (AlterPartition, KIP-497), and the rules by which replicas join and leave
the ISR. The leader proposes, the controller decides, and the partition applies the decision. Never
moves a high watermark, reads or appends.

Follows Kafka's `Partition` and KIP-903 (broker epochs).
"""

from __future__ import annotations

import logging
from typing import NamedTuple, Protocol

from broker.replication.alter_partition_manager import Altered, IsrProposal
from broker.replication.followers import Followers, LeaderView
from broker.replication.replica import NO_BROKER_EPOCH, Replica
from controller.metadata.image import RECOVERED
from protocol.errors import ErrorCode

_log = logging.getLogger(f"ottla.{__name__}")

# With these errors the controller says that it applied neither this proposal nor an earlier attempt
# at it. After any other error only the metadata shows the result.
NOT_APPLIED = (ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED)


class LedPartition(Protocol):
    """The partition that this broker leads, as seen by its proposals."""

    topic_id: bytes
    index: int
    node_id: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]

    def take_isr(self, isr: tuple[int, ...], partition_epoch: int) -> None:
        """Set the ISR that the controller has decided and its partition epoch, and advance the high
        watermark."""


class IsrChange(NamedTuple):
    """A proposed ISR, compared by identity: an older proposal's answer is not an answer to it."""

    isr: tuple[int, ...]


class IsrProposals:
    """The ISR proposals of a single leadership, one at a time."""

    __slots__ = ("_followers", "_partition", "_pending", "_view")

    def __init__(self, partition: LedPartition, followers: Followers, view: LeaderView) -> None:
        self._partition = partition
        self._followers = followers
        self._view = view
        self._pending: IsrChange | None = None

    def commit(self, isr: tuple[int, ...]) -> None:
        """Set the committed ISR, changed or not, and drop the pending proposal. If a proposal was
        pending, count the ISR's shrinking or expansion for the metrics."""
        if self._pending is not None:
            self._view.isr_changed(self._followers.isr, isr)
        self._pending = None
        self._followers.commit(isr)

    def end(self) -> None:
        """Drop the pending proposal because this broker leads no more; its answer is ignored."""
        self._pending = None

    # --- leaving the ISR -----------------------------------------------------------------------

    def shrink(self) -> None:
        """Propose to the controller an ISR without the replicas that lag for more than
        `replica.lag.time.max.ms`. Do nothing if none does, or while a proposal is pending."""
        late = self._out_of_sync()
        if late:
            followers, partition = self._followers, self._partition
            lags = ", ".join(repr(followers.replicas[broker_id]) for broker_id in late)
            end = followers.log.log_end_offset
            _log.info("%r: out of sync (end %d): %s", partition, end, lags)
            self._propose(tuple(broker_id for broker_id in followers.isr if broker_id not in late))

    def _out_of_sync(self) -> tuple[int, ...]:
        """Return the ISR members that lack records older than `replica.lag.time.max.ms`.

        Return () while a proposal is pending, or before the controller is reachable.
        """
        followers, view = self._followers, self._view
        if self._pending is not None or view.alter_partitions is None:
            return ()
        end = followers.log.log_end_offset
        return tuple(
            broker_id
            for broker_id, replica in followers.replicas.items()
            if replica.log_end_offset != end
            and broker_id in followers.isr
            and not replica.is_caught_up(end, view.now_ms(), view.lag_max_ms)
        )

    # --- joining the ISR -----------------------------------------------------------------------

    def expand(self) -> None:
        """Propose to the controller a replica that may join now, without waiting for its next
        fetch.

        The answer to a proposal calls this for the next replica. Propose only replicas that have
        caught up lately. Otherwise a replica that has just been removed for its lag would rejoin at
        once while the high watermark stands still.
        """
        view = self._view
        for replica in self._followers.replicas.values():
            if view.now_ms() - replica.caught_up_ms <= view.lag_max_ms:
                self.expand_by(replica)

    def expand_by(self, replica: Replica) -> None:
        """Propose to the controller an ISR with `replica`, if the replica has every committed
        record. From then on it counts as in sync. Do nothing while a proposal is pending.

        It must also have reached the start of this leader epoch: records below that may be
        committed before the leader's high watermark shows it.
        """
        followers, end = self._followers, replica.log_end_offset
        if self._pending is not None or replica.broker_id in followers.isr:
            return
        if self._view.alter_partitions is None:
            return
        if end < followers.log.high_watermark or end < followers.epoch_start_offset:
            return
        if not followers.is_eligible(replica):
            return
        isr = (*followers.isr, replica.broker_id)
        followers.count_in_sync(isr)
        _log.info("%r: %r is in sync (ISR %s)", self._partition, replica, self._partition.isr)
        self._propose(isr)

    # --- the controller ------------------------------------------------------------------------

    def _propose(self, isr: tuple[int, ...]) -> None:
        """Send an ISR to the controller as the pending proposal.

        No other proposal may be pending.
        """
        assert self._pending is None, "one proposal at a time"
        manager, partition = self._view.alter_partitions, self._partition
        assert manager is not None, "proposed without a way to the controller"
        change = self._pending = IsrChange(isr)
        proposal = IsrProposal(
            partition.topic_id,
            partition.index,
            partition.leader_epoch,
            partition.partition_epoch,
            self._broker_epochs(isr, (partition.node_id, manager.broker_epoch())),
            RECOVERED,  # a leader elected uncleanly has recovered by leading
        )
        manager.submit(proposal, lambda answer: self._answered(change, answer))

    def _broker_epochs(self, isr: tuple[int, ...], own: tuple[int, int]) -> list[tuple[int, int]]:
        """Return pairs of broker and broker epoch (-1: unknown); `own` is this broker's pair."""
        epochs = []
        for broker_id in isr:
            replica = self._followers.replicas.get(broker_id)
            if broker_id == own[0]:
                epochs.append(own)
            elif replica is None or replica.broker_epoch is None:
                epochs.append((broker_id, NO_BROKER_EPOCH))
            else:
                epochs.append((broker_id, replica.broker_epoch))
        return epochs

    def _answered(self, change: IsrChange, answer: Altered | ErrorCode) -> None:
        """Apply the ISR of an accepted proposal to the partition, then propose the next replica.
        Ignore the answer if newer metadata has replaced the proposal.

        A failed proposal is counted. If the controller certainly did not apply it, the committed
        ISR counts again. After an unclear error, the proposed ISR stays pending until the metadata
        decides.
        """
        if self._pending is not change:
            return  # newer metadata has replaced this proposal
        partition = self._partition
        if isinstance(answer, ErrorCode):
            self._view.isr_update_failed()
            if answer in NOT_APPLIED:
                partition.take_isr(partition.isr, partition.partition_epoch)
            else:
                # The controller may have applied it: `change` counts until the metadata shows the
                # result.
                _log.info("%r: ISR %s refused: %s", partition, change.isr, answer.name)
            return
        if (
            answer.leader_epoch != partition.leader_epoch
            or answer.partition_epoch < partition.partition_epoch
        ):
            self._view.isr_update_failed()
            return
        _log.info("%r: ISR %s is now %s", partition, partition.isr, answer.isr)
        partition.take_isr(answer.isr, answer.partition_epoch)
        self.expand()  # another replica may have waited for this answer
