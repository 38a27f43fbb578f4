"""The record that gives a partition other replicas, another in-sync set or another leader.

Owns: the fields that a PartitionChangeRecord must contain so that its replay is safe. The ISR
becomes empty only if eligible leader replicas (ELR) are kept. An unclean leader starts in
RECOVERING as the only member of the ISR. An ISR of `min.insync.replicas` clears the ELR. The
removal of a replica raises the leader epoch. A reassignment ends with the change that brings its
last replica in sync.

Never: chooses the brokers or the partitions.

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

_NO_BROKERS: Mapping[int, BrokerRegistration] = {}


class ChangeRules(NamedTuple):
    """The conditions of one decision, common to all partitions of a topic."""

    is_active: Callable[[int], bool]
    """Whether a broker is registered, not fenced and not shutting down."""
    elr_enabled: bool = False
    min_insync_replicas: int = 1
    """The topic's minimum, at most its replication factor; only used if ELR are kept."""
    unclean_shutdown: tuple[int, ...] = ()
    """Brokers that lost records that were not flushed; their replicas no longer count as proven."""
    brokers: Mapping[int, BrokerRegistration] = _NO_BROKERS
    """The registered brokers with their directories; a broker that is missing has all of them."""
    name_directories: bool = False
    """Whether the finalized metadata.version has directories in its records (3.7-IV2)."""
    election: Election = Election.ONLINE
    lost: tuple[int, ...] = ()
    """Brokers that have lost their whole replica, for example by a replaced disk."""


class Targets(NamedTuple):
    """The wanted state of a partition; None leaves a value as it is."""

    isr: Sequence[int] | None = None
    replicas: Sequence[int] | None = None
    removing: Sequence[int] | None = None
    adding: Sequence[int] | None = None
    leader_recovery_state: int | None = None
    directories: Mapping[int, bytes] | None = None
    """The directory of each broker's replica; the other replicas keep theirs."""


NO_TARGETS = Targets()


def partition_change(
    topic_id: bytes,
    index: int,
    partition: PartitionRegistration,
    rules: ChangeRules,
    targets: Targets = NO_TARGETS,
) -> PartitionChangeRecord | None:
    """Return the record that changes `partition` to `targets`, with the leader it then should have.

    None if nothing changes.
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
    """Return whether a replica in `directory` can be read, as far as the broker's registration
    shows. True for a directory that is not assigned yet."""
    if directory in (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY):
        return True
    if directory == LOST_DIRECTORY:
        return False
    # A broker that registered without directories runs a release that has none.
    return broker is None or not broker.log_dirs or directory in broker.log_dirs


def default_directory(broker: BrokerRegistration | None) -> bytes:
    """Return the directory of a new replica: the broker's only one, else UNASSIGNED_DIRECTORY,
    because the broker will choose."""
    directories = () if broker is None else broker.log_dirs
    return directories[0] if len(directories) == 1 else UNASSIGNED_DIRECTORY


class _Change:
    """A change in progress: the lists of replicas, ISR and ELR that result from it."""

    def __init__(
        self,
        partition: PartitionRegistration,
        rules: ChangeRules,
        targets: Targets,
        record: PartitionChangeRecord,
    ) -> None:
        """Compute the replicas, ISR and ELR that `targets` lead to. A reassignment whose replicas
        are all in sync ends here. `record` is filled by `find_leader` and `name_assignment`."""
        self._partition, self._rules, self._targets = partition, rules, targets
        self._record = record
        self._reassignment = Reassignment(
            _or_default(targets.replicas, partition.replicas),
            _or_default(targets.removing, partition.removing_replicas),
            _or_default(targets.adding, partition.adding_replicas),
        )
        isr = _or_default(targets.isr, partition.isr)
        self._unproven = (*rules.unclean_shutdown, *rules.lost)
        self._isr = tuple(replica for replica in isr if replica not in self._unproven)
        completed = complete(self._reassignment, self._isr)
        if completed is not None:
            self._isr = completed.isr
            self._reassignment = Reassignment(completed.replicas)
        self._elr = self._eligible()

    def _eligible(self) -> tuple[int, ...]:
        """Return the ELR that belongs to the ISR, in the order of the replicas; empty while ELR are
        off or the ISR has the minimum size."""
        if not self._rules.elr_enabled or len(self._isr) >= self._rules.min_insync_replicas:
            return ()
        before = (*self._partition.isr, *self._partition.elr)
        return tuple(
            replica
            for replica in self._reassignment.replicas
            if replica in before and replica not in self._isr and replica not in self._unproven
        )

    def _new_last_known_elr(self) -> tuple[int, ...]:
        """Return the replicas that may lead if ISR and ELR become empty, as the record keeps them.

        The last leader is first. Then come replicas that were proven until an unclean restart:
        below the minimum nothing was acknowledged without them, so they have all records unless
        they lost unflushed ones. Kafka keeps the last leader only; if its disk is lost, no replica
        is left to elect.
        """
        partition, rules = self._partition, self._rules
        if not rules.elr_enabled or len(self._isr) >= rules.min_insync_replicas:
            return ()
        proven = (*partition.isr, *partition.elr)
        restarted = [replica for replica in rules.unclean_shutdown if replica in proven]
        first = [] if self._isr or partition.leader == NO_LEADER else [partition.leader]
        candidates = dict.fromkeys((*first, *partition.last_known_elr, *restarted))
        excluded = (*self._isr, *self._elr, *rules.lost)
        staying = self._reassignment.replicas
        # While the ISR is empty, the last leader stays in the list beside the ELR, as in Kafka.
        return tuple(
            replica
            for replica in candidates
            if replica in staying
            and (replica not in excluded or (replica in self._elr and not self._isr))
        )

    def _readable(self, replica: int) -> bool:
        """Return whether the broker's registration has the directory of its replica, as `targets`
        or the partition assigns it."""
        broker = self._rules.brokers.get(replica)
        directories = self._targets.directories or {}
        return has_directory(
            broker, directories.get(replica) or self._partition.directory_of(replica)
        )

    def find_leader(self) -> None:
        """Elect a leader. Put it, the ISR, the ELR and the last known ELR into the record where
        they change; an unclean leader also sets RECOVERING."""
        partition, record, elr_enabled = self._partition, self._record, self._rules.elr_enabled
        replicas = self._reassignment.replicas
        last_known_elr = [
            replica for replica in self._new_last_known_elr() if self._readable(replica)
        ]
        candidates = Candidates(
            replicas, self._isr, partition.leader, self._elr, last_known_elr, elr_enabled
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
            record.leader = partition.leader  # a new epoch shuts out the replica that is removed
        if self._elr != partition.elr:
            record.eligible_leader_replicas = list(self._elr)
        if self._isr != partition.isr and (self._isr or elr_enabled):
            record.isr = list(self._isr)
        last_known = () if result.unclean else self._new_last_known_elr()
        if last_known != partition.last_known_elr:
            record.last_known_elr = list(last_known)

    def _may_lead(self, replica: int) -> bool:
        """Return whether the replica's broker is active and has the replica's directory."""
        return self._rules.is_active(replica) and self._readable(replica)

    def name_assignment(self) -> None:
        """Put the replicas, their directories, and those added and removed into the record where
        they change."""
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
        """Return the directory id of a replica: the requested one, the present one, or that of a
        new replica."""
        directories = self._targets.directories
        if directories is not None and replica in directories:
            return directories[replica]
        if replica in self._partition.replicas:
            return self._partition.directory_of(replica)
        return default_directory(self._rules.brokers.get(replica))


def _or_default(values: Sequence[int] | None, default: tuple[int, ...]) -> tuple[int, ...]:
    return default if values is None else tuple(values)


def _changes(record: PartitionChangeRecord) -> bool:
    """Return whether the record sets any field besides the topic and the partition."""
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
