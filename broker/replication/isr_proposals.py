"""Who is proposed for the ISR of one leadership, and what the controller answers.

Owns the proposal under way (AlterPartition, KIP-497), and the rules by which a leader proposes: who
may come into the ISR and who must leave it. It proposes; the controller decides, and the partition
takes what was decided. Never moves a high watermark, reads or appends.

Follows Kafka's `Partition` and KIP-903 (broker epochs).
"""

from __future__ import annotations

import logging
from typing import NamedTuple, Protocol

from broker.replication.alter_partition_manager import Altered, Proposal
from broker.replication.followers import Followers, LeaderView
from broker.replication.replica import NO_BROKER_EPOCH, Replica
from controller.metadata.image import RECOVERED
from protocol.errors import ErrorCode

_log = logging.getLogger(f"ottla.{__name__}")

# By these the controller says that nothing was changed, by this proposal nor by an earlier try of
# it. After any other refusal the metadata alone tells what is so.
NOT_APPLIED = (ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED)


class LedPartition(Protocol):
    """The partition that this broker leads, as its proposals know it."""

    topic_id: bytes
    index: int
    node_id: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]

    def take_isr(self, isr: tuple[int, ...], partition_epoch: int) -> None:
        """The controller has decided: this ISR is in force, as of that epoch."""


class IsrChange(NamedTuple):
    """A proposed ISR. Identity tells the answer to this proposal from that to an older one."""

    isr: tuple[int, ...]


class IsrProposals:
    """The proposals of one leadership, one at a time."""

    __slots__ = ("_followers", "_partition", "_pending", "_view")

    def __init__(self, partition: LedPartition, followers: Followers, view: LeaderView) -> None:
        self._partition = partition
        self._followers = followers
        self._view = view
        self._pending: IsrChange | None = None

    def commit(self, isr: tuple[int, ...]) -> None:
        """Count what the controller has decided, or has left as it was; nothing is under way."""
        if self._pending is not None:
            self._view.isr_changed(self._followers.isr, isr)
        self._pending = None
        self._followers.commit(isr)

    def end(self) -> None:
        """This broker leads no more: an answer that comes now says nothing."""
        self._pending = None

    # --- who leaves ----------------------------------------------------------------------------

    def shrink(self) -> None:
        """Propose an ISR without those that lag for longer than `replica.lag.time.max.ms`."""
        late = self._out_of_sync()
        if late:
            followers, partition = self._followers, self._partition
            lags = ", ".join(repr(followers.replicas[broker_id]) for broker_id in late)
            end = followers.log.log_end_offset
            _log.info("%r: out of sync (end %d): %s", partition, end, lags)
            self._propose(tuple(one for one in followers.isr if one not in late))

    def _out_of_sync(self) -> tuple[int, ...]:
        """Members of the ISR that miss what the leader had `replica.lag.time.max.ms` ago."""
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

    # --- who comes in --------------------------------------------------------------------------

    def expand(self) -> None:
        """Propose whoever may come in now, without a fetch: so only replicas that have fetched
        lately, lest one that was just found to lag comes back, as it would where the high
        watermark stands."""
        view = self._view
        for replica in self._followers.replicas.values():
            if view.now_ms() - replica.caught_up_ms <= view.lag_max_ms:
                self.expand_by(replica)

    def expand_by(self, replica: Replica) -> None:
        """Propose the ISR with `replica`, where that has all that is committed.

        It must have reached this epoch's start, too: what lies below may be committed while the
        high watermark does not know it yet.
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
        followers.count(isr)
        _log.info("%r: %r is in sync (ISR %s)", self._partition, replica, self._partition.isr)
        self._propose(isr)

    # --- the controller ------------------------------------------------------------------------

    def _propose(self, isr: tuple[int, ...]) -> None:
        assert self._pending is None, "one proposal at a time"
        manager, partition = self._view.alter_partitions, self._partition
        assert manager is not None, "proposed without a way to the controller"
        change = self._pending = IsrChange(isr)
        proposal = Proposal(
            partition.topic_id,
            partition.index,
            partition.leader_epoch,
            partition.partition_epoch,
            self._broker_epochs(isr, (partition.node_id, manager.broker_epoch())),
            RECOVERED,  # an unclean leader has recovered by leading
        )
        manager.submit(proposal, lambda answer: self._answered(change, answer))

    def _broker_epochs(self, isr: tuple[int, ...], own: tuple[int, int]) -> list[tuple[int, int]]:
        """(broker, the epoch that it fetched with, or -1) for a proposal; `own` is ours."""
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
        if self._pending is not change:
            return  # the metadata has told more since
        partition = self._partition
        if isinstance(answer, ErrorCode):
            self._view.isr_update_failed()
            if answer in NOT_APPLIED:
                partition.take_isr(partition.isr, partition.partition_epoch)
            else:
                # It may have been applied: `change` counts until the metadata tells.
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
        self.expand()  # another may have waited for this answer
