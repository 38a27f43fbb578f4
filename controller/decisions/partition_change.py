"""The record that takes a partition to other replicas, another in-sync set, another leader.

Owns: what a PartitionChangeRecord must name so that replaying it is safe: the ISR is never emptied
unless eligible leader replicas are kept, an unclean leader starts in RECOVERING with an ISR of its
own, an ISR at `min.insync.replicas` clears the ELR, a replica that goes costs a leader epoch, and a
reassignment ends with the change that brings its last replica in sync.

Never: chooses the brokers or the partitions that are looked at.

Follows KIP-455, KIP-858, KIP-966 and Kafka's `PartitionChangeBuilder`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from controller.decisions.leader_election import Candidates, Election, elect_leader
from controller.decisions.partition_reassignment import Reassignment, complete
from controller.metadata.image import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    NO_LEADER,
    NO_LEADER_CHANGE,
    RECOVERED,
    RECOVERING,
    UNASSIGNED_DIRECTORY,
    BrokerRegistration,
    PartitionRegistration,
)
from protocol.messages.metadata_records import PartitionChangeRecord

_NOBODY: Mapping[int, BrokerRegistration] = {}


class ChangeRules(NamedTuple):
    """What holds for all partitions of one topic that one decision changes."""

    is_active: Callable[[int], bool]
    """Whether a broker is registered, not fenced and not shutting down."""
    elr_enabled: bool = False
    min_insync_replicas: int = 1
    """Of the topic, at most its replication factor; only looked at where ELR are kept."""
    unclean_shutdown: tuple[int, ...] = ()
    """Brokers that lost what they had not flushed: no proof of theirs counts any more."""
    brokers: Mapping[int, BrokerRegistration] = _NOBODY
    """For their directories; who is not in it is taken to have them all."""
    name_directories: bool = False
    """Whether the finalized metadata.version has directories in its records (3.7-IV2)."""
    election: Election = Election.ONLINE
    lost: tuple[int, ...] = ()
    """Brokers that have nothing of the partition any more, as after a disk was replaced."""


class Targets(NamedTuple):
    """What a partition is to become; None leaves it as it is."""

    isr: Sequence[int] | None = None
    replicas: Sequence[int] | None = None
    removing: Sequence[int] | None = None
    adding: Sequence[int] | None = None
    leader_recovery_state: int | None = None
    directories: Mapping[int, bytes] | None = None
    """By broker; those that are not named keep theirs."""


NO_TARGETS = Targets()


def partition_change(
    topic_id: bytes,
    index: int,
    partition: PartitionRegistration,
    rules: ChangeRules,
    targets: Targets = NO_TARGETS,
) -> PartitionChangeRecord | None:
    """The change that takes `partition` to `targets` and to the leader it then should have.

    None where nothing changes.
    """
    record = PartitionChangeRecord(partition_id=index, topic_id=topic_id)
    change = _Change(partition, rules, targets, record)
    change.find_leader()
    change.name_assignment()
    state = targets.leader_recovery_state
    if state is not None and state != partition.leader_recovery_state:
        record.leader_recovery_state = state
    return record if _changes(record) else None


def has_directory(broker: BrokerRegistration | None, directory: bytes) -> bool:
    """Whether a replica in `directory` of `broker` can be read, as far as is known."""
    if directory in (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY):
        return True
    if directory == LOST_DIRECTORY:
        return False
    # A broker that registered without directories is older than them.
    return broker is None or not broker.log_dirs or directory in broker.log_dirs


def default_directory(broker: BrokerRegistration | None) -> bytes:
    """The directory of a new replica: the broker's only one, else it will say which it took."""
    directories = () if broker is None else broker.log_dirs
    return directories[0] if len(directories) == 1 else UNASSIGNED_DIRECTORY


class _Change:
    """One change in the making: the lists it leads to."""

    def __init__(
        self,
        partition: PartitionRegistration,
        rules: ChangeRules,
        targets: Targets,
        record: PartitionChangeRecord,
    ) -> None:
        self._partition, self._rules, self._targets = partition, rules, targets
        self._record = record
        self._reassignment = Reassignment(
            _or(targets.replicas, partition.replicas),
            _or(targets.removing, partition.removing_replicas),
            _or(targets.adding, partition.adding_replicas),
        )
        isr = _or(targets.isr, partition.isr)
        self._unproven = (*rules.unclean_shutdown, *rules.lost)
        self._isr = tuple(replica for replica in isr if replica not in self._unproven)
        completed = complete(self._reassignment, self._isr)
        if completed is not None:
            self._isr = completed.isr
            self._reassignment = Reassignment(completed.replicas)
        self._elr = self._eligible()

    def _eligible(self) -> tuple[int, ...]:
        """The ELR that goes with the ISR, in the order of the replicas."""
        if not self._rules.elr_enabled or len(self._isr) >= self._rules.min_insync_replicas:
            return ()
        before = (*self._partition.isr, *self._partition.elr)
        return tuple(
            replica
            for replica in self._reassignment.replicas
            if replica in before and replica not in self._isr and replica not in self._unproven
        )

    def _last_known(self) -> tuple[int, ...]:
        """Who may lead when nobody is proven any more, once ISR and ELR are what they will be.

        First the last leader. After it those that were proven until an unclean restart: below the
        minimum nothing was acknowledged without them, so they have all of it unless they lost what
        was not flushed. Kafka keeps the last leader only; should its disk be gone, nobody is left.
        """
        partition, rules = self._partition, self._rules
        if not rules.elr_enabled or len(self._isr) >= rules.min_insync_replicas:
            return ()
        proven = (*partition.isr, *partition.elr)
        restarted = [replica for replica in rules.unclean_shutdown if replica in proven]
        first = [] if self._isr or partition.leader == NO_LEADER else [partition.leader]
        known = dict.fromkeys((*first, *partition.last_known_elr, *restarted))
        out = (*self._isr, *self._elr, *rules.lost)
        staying = self._reassignment.replicas
        # The last leader is named beside the ELR too, as Kafka does.
        return tuple(
            replica
            for replica in known
            if replica in staying
            and (replica not in out or (replica in self._elr and not self._isr))
        )

    def _readable(self, replica: int) -> bool:
        """Whether the broker, as it has registered, has the directory that its replica is in."""
        broker = self._rules.brokers.get(replica)
        named = self._targets.directories or {}
        return has_directory(broker, named.get(replica) or self._partition.directory_of(replica))

    def find_leader(self) -> None:
        """Elect, and name the leader, the ISR and the ELR that come of it."""
        partition, record, elr_enabled = self._partition, self._record, self._rules.elr_enabled
        replicas = self._reassignment.replicas
        known = [replica for replica in self._last_known() if self._readable(replica)]
        candidates = Candidates(
            replicas, self._isr, partition.leader, self._elr, known, elr_enabled
        )
        result = elect_leader(candidates, self._rules.election, self._may_lead)
        if result.leader != partition.leader:
            record.leader = result.leader
            if result.unclean:
                self._isr, self._elr = (result.leader,), ()
                if partition.leader_recovery_state != RECOVERING:
                    record.leader_recovery_state = RECOVERING
            elif result.leader in self._elr:
                # An eligible replica is alone in the new ISR until others have caught up.
                self._isr = (result.leader,)
                self._elr = tuple(replica for replica in self._elr if replica != result.leader)
        elif any(replica not in replicas for replica in partition.replicas):
            record.leader = partition.leader  # a replica goes: a new epoch shuts it out
        if self._elr != partition.elr:
            record.eligible_leader_replicas = list(self._elr)
        if self._isr != partition.isr and (self._isr or elr_enabled):
            record.isr = list(self._isr)
        last_known = () if result.unclean else self._last_known()
        if last_known != partition.last_known_elr:
            record.last_known_elr = list(last_known)

    def _may_lead(self, replica: int) -> bool:
        return self._rules.is_active(replica) and self._readable(replica)

    def name_assignment(self) -> None:
        """Name the replicas, their directories, and who comes and goes, where they change."""
        partition, record, rules = self._partition, self._record, self._rules
        replicas, removing, adding = self._reassignment
        moved = replicas != partition.replicas or self._targets.directories is not None
        if rules.name_directories and moved:
            directories = [self._directory(replica) for replica in replicas]
            if tuple(directories) != partition.directories:
                record.directories = directories
        if replicas != partition.replicas:
            record.replicas = list(replicas)
        if removing != partition.removing_replicas:
            record.removing_replicas = list(removing)
        if adding != partition.adding_replicas:
            record.adding_replicas = list(adding)

    def _directory(self, replica: int) -> bytes:
        named = self._targets.directories
        if named is not None and replica in named:
            return named[replica]
        if replica in self._partition.replicas:
            return self._partition.directory_of(replica)
        return default_directory(self._rules.brokers.get(replica))


def _or(values: Sequence[int] | None, otherwise: tuple[int, ...]) -> tuple[int, ...]:
    return otherwise if values is None else tuple(values)


def _changes(record: PartitionChangeRecord) -> bool:
    return (
        record.leader != NO_LEADER_CHANGE
        or record.isr is not None
        or record.leader_recovery_state >= RECOVERED
        or record.eligible_leader_replicas is not None
        or record.last_known_elr is not None
        or record.replicas is not None
        or record.removing_replicas is not None
        or record.adding_replicas is not None
        or record.directories is not None
    )
