"""Leaders and coordinators of share groups that are wrong on purpose: each mutant breaks one rule.

As in `tests.simulation.mutants`, a mutant is a context in which real classes have methods replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

from broker.share.dead_letters.dead_letter_writer import DeadLetterWriter
from broker.share.delivery import share_partition
from broker.share.delivery.in_flight import Run
from broker.share.delivery.in_flight_window import InFlightWindow
from broker.share.delivery.settings import DeliverySettings, GroupDeliverySettings
from broker.share.delivery.share_partition import SharePartition
from broker.share.persister import Persister
from broker.share.record_state import AcknowledgeType, RecordState
from broker.share.share_partitions import SharePartitions
from broker.share.state.share_state_shard import StateAnswer
from protocol.errors import ErrorCode
from tests.simulation.mutants import Mutant, table_of
from tests.simulation.plans import Plan
from tests.simulation.share_groups.share_coordinator_mutants import COORDINATOR_MUTANTS
from tests.simulation.share_states import an_earlier_leader_stays_fenced
from tests.simulation.simulation import Failure, Simulation


@contextmanager
def locks_keep_nobody_off() -> Iterator[None]:
    """A record that a member has is given to another."""

    def is_available(self: Run) -> bool:
        return self.state in (RecordState.AVAILABLE, RecordState.ACQUIRED) and self.change is None

    with patch.object(Run, "is_available", property(is_available)):
        yield


@contextmanager
def _states(changed: dict[AcknowledgeType, RecordState]) -> Iterator[None]:
    """An acknowledgement of some types has another result."""
    real = share_partition.state_after

    def state_after(kind: AcknowledgeType, *arguments: Any, **options: Any) -> RecordState:
        return changed.get(kind, real(kind, *arguments, **options))

    with patch.object(share_partition, "state_after", state_after):
        yield


@contextmanager
def no_limit_of_deliveries() -> Iterator[None]:
    """A record is delivered again and again."""
    real = share_partition.state_after

    def state_after(kind: Any, _deliveries: int, limit: int, **options: Any) -> RecordState:
        return real(kind, 0, limit, **options)

    with patch.object(share_partition, "state_after", state_after):
        yield


@contextmanager
def answered_before_it_is_persisted() -> Iterator[None]:
    """An acknowledgement is answered at once, and written 0.4 s later."""
    real = SharePartitions._persist

    def persist(self: SharePartitions, key: Any, ready: Any, write: Any, done: Any) -> None:
        later = partial(real, self, key, ready, write, lambda _error, _reason: None)
        self._scheduler.call_later(400.0, later)
        done(ErrorCode.NONE, None)

    with patch.object(SharePartitions, "_persist", persist):
        yield


@contextmanager
def nothing_is_persisted() -> Iterator[None]:
    """The share coordinator never hears of an acknowledgement."""

    def write(self: Persister, _key: Any, _request: Any, reply: Any) -> None:
        self._scheduler.call_later(1.0, partial(reply, ErrorCode.NONE, StateAnswer()))

    with patch.object(Persister, "write", write):
        yield


@contextmanager
def failed_writes_count() -> Iterator[None]:
    """A leader goes on as if all were persisted."""
    real = SharePartition.persisted

    def persisted(self: SharePartition, write: Any, *, is_written: bool, now_ms: float) -> Any:
        return real(self, write, is_written=True, now_ms=now_ms)

    with patch.object(SharePartition, "persisted", persisted):
        yield


@contextmanager
def deliveries_are_not_loaded() -> Iterator[None]:
    """A new leader counts deliveries from the beginning."""
    real = SharePartitions._install

    def install(self: SharePartitions, key: Any, loading: Any, state: StateAnswer) -> None:
        batches = [
            one._replace(deliveries=0) if one.state is RecordState.AVAILABLE else one
            for one in state.batches
        ]
        real(self, key, loading, state._replace(batches=batches))

    with patch.object(SharePartitions, "_install", install):
        yield


@contextmanager
def deliveries_count_twice() -> Iterator[None]:
    """A delivery counts for two, but for the first."""
    real = Run.deliver

    def deliver(self: Run, lock_until_ms: float) -> None:
        real(self, lock_until_ms)
        self.deliveries += 1

    with patch.object(Run, "deliver", deliver):
        yield


@contextmanager
def states_are_not_loaded() -> Iterator[None]:
    """A new leader knows the start offset alone."""
    real = SharePartitions._install

    def install(self: SharePartitions, key: Any, loading: Any, state: StateAnswer) -> None:
        real(self, key, loading, state._replace(batches=()))

    with patch.object(SharePartitions, "_install", install):
        yield


@contextmanager
def anybody_acknowledges() -> Iterator[None]:
    """A member acknowledges records that another has acquired."""

    def is_acquired_by(self: Run, member: str) -> bool:
        return self.state is RecordState.ACQUIRED

    with patch.object(Run, "is_acquired_by", is_acquired_by):
        yield


@contextmanager
def locks_never_expire() -> Iterator[None]:
    """A member that is gone keeps its records."""
    with patch.object(SharePartition, "expire_locks", lambda self, now_ms: None):
        yield


@contextmanager
def renewals_are_forgotten() -> Iterator[None]:
    """A lock that is renewed ends when it would have."""
    with patch.object(Run, "renew", lambda self, lock_until_ms: None):
        yield


@contextmanager
def the_start_passes_open_records() -> Iterator[None]:
    """The start offset moves over a record that is not finished, where a later one is."""

    def last_final(self: InFlightWindow) -> int | None:
        finals = [
            run.last
            for batch in self.batches
            for run in batch.runs
            if run.change is None and run.state.is_final
        ]
        return max(finals, default=None)

    with patch.object(InFlightWindow, "_last_final", last_final):
        yield


@contextmanager
def nobody_reads_committed() -> Iterator[None]:
    """A group is given what is not committed, though it does not want it."""
    real = GroupDeliverySettings.of

    def of(self: GroupDeliverySettings, group_id: str) -> DeliverySettings:
        return real(self, group_id)._replace(reads_committed=False)

    with patch.object(GroupDeliverySettings, "of", of):
        yield


@contextmanager
def aborted_records_are_delivered() -> Iterator[None]:
    """Records of aborted transactions are delivered."""
    with patch.object(SharePartition, "archive_aborted", lambda self, ranges, aborted: ranges):
        yield


@contextmanager
def no_dead_letters() -> Iterator[None]:
    """Records that are rejected or given up are archived without a dead letter."""

    def bury(self: DeadLetterWriter, _key: Any, _letter: Any, done: Any) -> None:
        self._scheduler.call_soon(done)

    with patch.object(DeadLetterWriter, "bury", bury):
        yield


@contextmanager
def dead_letters_are_forgotten() -> Iterator[None]:
    """A new leader does not go on with what was on its way to the dead-letter topic."""
    real = SharePartitions._install

    def install(self: SharePartitions, key: Any, loading: Any, state: StateAnswer) -> None:
        batches = [
            one._replace(state=RecordState.ARCHIVED) if one.state is RecordState.ARCHIVING else one
            for one in state.batches
        ]
        real(self, key, loading, state._replace(batches=batches))

    with patch.object(SharePartitions, "_install", install):
        yield


SHARE_MUTANTS: dict[str, tuple[Mutant, Sequence[str]]] = {
    "locks keep nobody off": (locks_keep_nobody_off, ("I30",)),
    "accepted records come back": (
        partial(_states, {AcknowledgeType.ACCEPT: RecordState.AVAILABLE}),
        ("I30",),
    ),
    "rejected records come back": (
        partial(_states, {AcknowledgeType.REJECT: RecordState.AVAILABLE}),
        ("I30",),
    ),
    "released records are lost": (
        partial(_states, {AcknowledgeType.RELEASE: RecordState.ARCHIVED}),
        ("I31",),
    ),
    "no limit of deliveries": (no_limit_of_deliveries, ("I30",)),
    "answered before it is persisted": (answered_before_it_is_persisted, ("I30",)),
    "nothing is persisted": (nothing_is_persisted, ("I30", "I31")),
    "failed writes count": (failed_writes_count, ("I30", "I31")),
    "deliveries are not loaded": (deliveries_are_not_loaded, ("I30",)),
    "deliveries count twice": (deliveries_count_twice, ("I30",)),
    "states are not loaded": (states_are_not_loaded, ("I30",)),
    "anybody acknowledges": (anybody_acknowledges, ("I30",)),
    "locks never expire": (locks_never_expire, ("I13",)),
    "renewals are forgotten": (renewals_are_forgotten, ("I30",)),
    "the start passes open records": (the_start_passes_open_records, ("I30", "I31")),
    "nobody reads committed": (nobody_reads_committed, ("I31",)),
    "aborted records are delivered": (aborted_records_are_delivered, ("I31",)),
    "no dead letters": (no_dead_letters, ("I31",)),
    "dead letters are forgotten": (dead_letters_are_forgotten, ("I31",)),
    **COORDINATOR_MUTANTS,
}
"""Mutant → how to make it, and the invariants that catch it."""
QUICK = (
    "locks keep nobody off",
    "accepted records come back",
    "released records are lost",
    "answered before it is persisted",
    "nothing is persisted",
    "deliveries are not loaded",
    "states are not loaded",
    "the start passes open records",
    "no dead letters",
    "old leaders write",
    "the start falls",
    "members run ahead",
    "share groups take in consumers",
)
"""Those that the first seeds catch; `python -m tests.simulation --mutants` has all of them."""
STORIES: dict[str, Callable[[int], None]] = {
    "old leaders write": an_earlier_leader_stays_fenced,
}
FIRST_SEED = {"anybody acknowledges": 14, "renewals are forgotten": 5}
"""Where the first that is caught comes late."""
SEEDS_MAX = 20


def plan_of(seed: int) -> Plan:
    """A seed's cluster with share groups, and without what is not about them."""
    return replace(Plan.cluster(seed).with_shares(), limited=False)


def share_failure(name: str) -> Failure | None:
    """The first seed in which a mutant is caught; None where nobody notices."""
    make, _ = SHARE_MUTANTS[name]
    tell = STORIES.get(name, _by_chance)
    for seed in range(FIRST_SEED.get(name, 0), SEEDS_MAX):
        try:
            with make():
                tell(seed)
        except Failure as failure:
            return failure
    return None


def _by_chance(seed: int) -> None:
    Simulation(seed, plan_of(seed)).run()


def share_table() -> list[str]:
    """Return the table of README.md, as `mutants.table` does."""
    return table_of(SHARE_MUTANTS, share_failure)
