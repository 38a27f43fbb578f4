"""Clusters that are wrong on purpose: each mutant breaks one promise of replication or the quorum.

As in `mutants.py`, a mutant is a context in which real classes have methods replaced; it runs on
three brokers. `CLUSTER_MUTANTS` names each with the invariants that may catch it; some only in a
story that is told on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from broker.coordinator.coordinator_runtime import ShardContext
from broker.node.broker_server import BrokerServer
from broker.replication import partition_reads
from broker.replication.followed_partition import FollowedPartition
from broker.replication.followers import Followers
from broker.replication.isr_proposals import IsrProposals
from broker.replication.partition import Partition
from broker.replication.replica import Replica
from controller.decisions.cluster_control import ClusterControl
from controller.raft.quorum_state import Role
from controller.raft.raft import Raft
from controller.raft.raft_log import RaftLog
from protocol.errors import ErrorCode
from storage.directories.log_dirs import leave_clean_marker
from storage.log.producer_state import ProducerStateManager
from storage.log.unified_log import UnifiedLog
from tests.simulation.mutants import Mutant, stale_generation_commits, table_of
from tests.simulation.simulation import Failure, Simulation
from tests.simulation.stories import (
    power_lost_beside_one_other,
    stale_generation,
    voters_die_after_their_votes,
)


@contextmanager
def ack_before_the_high_watermark() -> Iterator[None]:
    """acks=all is answered once the leader has appended."""
    with patch.object(Partition, "is_replicated_to", lambda self, offset: ErrorCode.NONE):
        yield


@contextmanager
def any_two_replicas_commit() -> Iterator[None]:
    """The high watermark is what two replicas have, in sync or not."""

    def advance(self: Followers) -> bool:
        ends = [one.log_end_offset for one in self.replicas.values()]
        second = max([end for end in ends if end >= 0], default=0)
        end = min(second, self.log.log_end_offset)
        if end <= self.log.high_watermark:
            return False
        self.log.high_watermark = end
        return True

    with patch.object(Followers, "advance_high_watermark", advance):
        yield


@contextmanager
def fetches_of_old_epochs_count() -> Iterator[None]:
    """A leader counts a follower's fetch of whatever epoch, and of whatever history."""
    with no_epoch_fence(), no_truncation():
        yield


@contextmanager
def truncation_to_the_high_watermark() -> Iterator[None]:
    """A follower cuts its log where its own high watermark is (before KIP-101)."""

    def begin(self: FollowedPartition) -> None:
        log = self.partition.log
        if log.high_watermark < log.log_end_offset:
            log.truncate_to(log.high_watermark)

    with (
        patch.object(FollowedPartition, "begin", begin),
        patch.object(partition_reads, "_diverging_epoch", lambda log, offset, epoch: None),
    ):
        yield


@contextmanager
def no_truncation() -> Iterator[None]:
    """A follower keeps what its leader does not have, and goes on from there."""
    with patch.object(partition_reads, "_diverging_epoch", lambda log, offset, epoch: None):
        yield


@contextmanager
def no_epoch_fence() -> Iterator[None]:
    """A Fetch of any leader epoch is answered."""
    real = Partition.check_leader_epoch

    def check(self: Partition, current_leader_epoch: int, only_leader: bool = True) -> ErrorCode:
        return real(self, -1, only_leader)

    with patch.object(Partition, "check_leader_epoch", check):
        yield


@contextmanager
def votes_twice() -> Iterator[None]:
    """A voter gives its vote to whoever asks for it."""

    def would_grant(self: Raft, vote: Any) -> bool:
        if not self.log.epochs.is_up_to_date(vote.last_epoch, vote.end_offset):
            return False
        return bool(vote.pre_vote or self.role is not Role.LEADER)

    with patch.object(Raft, "_would_grant", would_grant):
        yield


@contextmanager
def votes_not_fsynced() -> Iterator[None]:
    """The vote is in memory when it is given."""

    def persist(self: RaftLog, election: Any, done: Callable[[Exception | None], None]) -> None:
        self._environment.blocking.submit(lambda: None, lambda _, error: done(error))

    with patch.object(RaftLog, "persist_election", persist):
        yield


@contextmanager
def followers_do_not_know_producers() -> Iterator[None]:
    """The state that finds duplicates is the leader's alone."""
    real = UnifiedLog.append_as_follower

    def append(self: UnifiedLog, *arguments: Any) -> Any:
        with patch.object(ProducerStateManager, "replay", lambda self, header, marker=None: None):
            return real(self, *arguments)

    with patch.object(UnifiedLog, "append_as_follower", append):
        yield


@contextmanager
def offsets_acknowledged_before_replication() -> Iterator[None]:
    """A coordinator answers once its own log has it."""

    def after_commit(self: ShardContext, done: Any, wanted: int) -> None:
        done(ErrorCode.NONE)

    with patch.object(ShardContext, "_after_commit", after_commit):
        yield


@contextmanager
def every_stop_is_clean() -> Iterator[None]:
    """The marker of a clean stop is there from the start on."""
    real = BrokerServer._loaded

    def loaded(self: BrokerServer, error: Exception | None, done: Any) -> None:
        real(self, error, done)
        for log_dir in self.logs.online_dirs:
            leave_clean_marker(self.ports.filesystem, log_dir, self.broker_epoch())

    with patch.object(BrokerServer, "_loaded", loaded):
        yield


@contextmanager
def isr_joined_below_the_epochs_start() -> Iterator[None]:
    """A follower is in sync as soon as it fetches."""
    real = IsrProposals.expand_by

    def expand_by(self: IsrProposals, replica: Replica) -> None:
        end = self._followers.log.log_end_offset
        known, replica.log_end_offset = replica.log_end_offset, end
        real(self, replica)
        replica.log_end_offset = known

    with patch.object(IsrProposals, "expand_by", expand_by):
        yield


@contextmanager
def lags_are_forgiven_alone() -> Iterator[None]:
    """A leader leaves out whoever lags without asking the controller."""
    real = Followers.advance_high_watermark

    def advance(self: Followers) -> bool:
        lagging = [
            one.broker_id
            for one in self.replicas.values()
            if not one.is_caught_up(self.log.log_end_offset, self._view.now_ms(), 500.0)
        ]
        kept = self.maximal_isr
        self.maximal_isr = tuple(one for one in kept if one not in lagging)
        moved = real(self)
        self.maximal_isr = kept
        return moved

    with patch.object(Followers, "advance_high_watermark", advance):
        yield


@contextmanager
def unclean_brokers_stay_in_sync() -> Iterator[None]:
    """The controller takes every broker that comes back for one that stopped cleanly."""
    real = ClusterControl.register

    def register(self: ClusterControl, view: Any, request: Any) -> Any:
        before = view.image.brokers.get(request.broker_id)
        if before is not None:
            request.previous_broker_epoch = before.epoch
        return real(self, view, request)

    with patch.object(ClusterControl, "register", register):
        yield


Story = Callable[[int], None]
SEEDS_MAX = 60
FIRST_SEED = {
    "truncation to the high watermark": 12,
    "no truncation": 2,
    "a voter votes twice": 2,
    "vote not fsynced": 18,
    "in sync before it has everything": 15,
}
"""Where the first that is caught comes late."""

CLUSTER_MUTANTS: dict[str, tuple[Mutant, tuple[str, ...], Story | None]] = {
    "ack before the high watermark": (ack_before_the_high_watermark, ("I1", "I20"), None),
    "any two replicas commit": (any_two_replicas_commit, ("I14", "I1"), None),
    "fetches of old epochs count": (fetches_of_old_epochs_count, ("I2", "I5", "I7"), None),
    "truncation to the high watermark": (
        truncation_to_the_high_watermark,
        ("I1", "I2", "I3", "I5", "I7", "I13", "I14"),
        None,
    ),
    "no truncation": (no_truncation, ("I2", "I5", "I7", "I13"), None),
    "no epoch fence on Fetch": (no_epoch_fence, ("I5",), None),
    "a voter votes twice": (votes_twice, ("I12", "assertion"), None),
    "vote not fsynced": (votes_not_fsynced, ("I12", "assertion"), voters_die_after_their_votes),
    "followers do not know producers": (followers_do_not_know_producers, ("I3", "I4", "I9"), None),
    "offsets acknowledged before replication": (
        offsets_acknowledged_before_replication,
        ("I16", "I17"),
        None,
    ),
    "generation not checked on commit": (
        stale_generation_commits,
        ("I17", "assertion"),
        stale_generation,
    ),
    "every stop is clean": (
        every_stop_is_clean,
        ("I1", "I5", "I14"),
        power_lost_beside_one_other,
    ),
    "an unclean stop does not count": (
        unclean_brokers_stay_in_sync,
        ("I1", "I5", "I14"),
        power_lost_beside_one_other,
    ),
    "in sync before it has everything": (isr_joined_below_the_epochs_start, ("I14", "I1"), None),
    "a lagging replica is left out at once": (
        lags_are_forgiven_alone,
        ("I1", "I5", "I14"),
        None,
    ),
}
"""Mutant → how to make it, the invariants that catch it, and the story in which; else by chance."""


def cluster_failure(name: str) -> Failure | None:
    """The first seed in which a mutant is caught; None where nobody notices."""
    make, _, story = CLUSTER_MUTANTS[name]
    first = FIRST_SEED.get(name, 0)
    for seed in (*range(first, SEEDS_MAX), *range(first)):
        try:
            with make():
                if story is None:
                    Simulation(seed, brokers=3).run()
                else:
                    story(seed)
        except Failure as failure:
            return failure
    return None


def cluster_table() -> list[str]:
    """As `mutants.table`."""
    return table_of(CLUSTER_MUTANTS, cluster_failure)
