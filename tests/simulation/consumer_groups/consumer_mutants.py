"""Coordinators of consumer groups that are wrong on purpose: each mutant breaks one rule of
reconciliation. Most are caught by chance; `STORIES` has those that chance rarely meets.

As in `tests.simulation.mutants`, a mutant is a context in which real classes have methods replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from broker.groups.consumer import computing, departure, heartbeat
from broker.groups.consumer import target as targets
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.timers import MemberTimers
from broker.groups.reconciliation.member_state import (
    STABLE,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
)
from broker.groups.reconciliation.position import MemberPosition
from protocol.errors import ErrorCode
from protocol.messages.group_records import ConsumerGroupMetadataKey
from tests.simulation.consumer_groups.conversion_stories import a_classic_member_hands_over
from tests.simulation.consumer_groups.migration_mutants import MIGRATION_MUTANTS
from tests.simulation.mutants import Mutant, table_of
from tests.simulation.plans import Plan
from tests.simulation.simulation import Failure, Simulation


@contextmanager
def everything_is_free() -> Iterator[None]:
    """A member is given its target, whoever has some of it."""
    with patch.object(ConsumerGroup, "is_free", lambda self, topic_id, partition: True):
        yield


@contextmanager
def revocations_are_not_awaited() -> Iterator[None]:
    """What a member is to give up is given to others before it says that it has."""
    real = heartbeat.reconcile

    def reconcile(before: Any, target: Any, _owned: Any, is_free: Any) -> Any:
        return real(before, target, {}, is_free)

    with patch.object(heartbeat, "reconcile", reconcile):
        yield


@contextmanager
def revocations_are_forgotten() -> Iterator[None]:
    """What a member has still to give up nobody holds."""
    real = ConsumerGroup._set_position

    def set_position(self: ConsumerGroup, member_id: str, position: Any) -> None:
        real(self, member_id, position)
        for topic_id, partitions in ({} if position is None else position.revoking).items():
            for partition in partitions:
                self._holders.get(topic_id, {}).pop(partition, None)

    with patch.object(ConsumerGroup, "_set_position", set_position):
        yield


@contextmanager
def any_epoch_commits() -> Iterator[None]:
    """An offset commit is taken whatever its member and epoch are."""
    with patch.object(ConsumerGroup, "commit_error", lambda self, committer: ErrorCode.NONE):
        yield


@contextmanager
def members_never_expire() -> Iterator[None]:
    """Who is silent for ever keeps what it has."""

    def extend_session(self: MemberTimers, group_id: str, member_id: str, timeout_ms: int) -> None:
        """Never end the session."""

    with patch.object(MemberTimers, "extend_session", extend_session):
        yield


@contextmanager
def epochs_are_not_loaded() -> Iterator[None]:
    """A new coordinator begins to count anew."""
    real = ConsumerGroup.replay

    def replay(self: ConsumerGroup, key: Any, value: Any, offset: int) -> None:
        before = self.epoch
        real(self, key, value, offset)
        if isinstance(key, ConsumerGroupMetadataKey) and self.epoch != before + 1:
            self.epoch = before + 1

    with patch.object(ConsumerGroup, "replay", replay):
        yield


@contextmanager
def older_epochs_commit() -> Iterator[None]:
    """An older epoch counts for partitions that the member has not, too."""
    with patch.object(MemberPosition, "has_since", lambda self, epoch, container, number: True):
        yield


@contextmanager
def nobody_gets_what_was_not_free() -> Iterator[None]:
    """A member that waits for others is not given what they let go."""
    real = heartbeat.reconcile

    def reconcile(before: Any, target: Any, owned: Any, is_free: Any) -> Any:
        waits = before.state is UNRELEASED_PARTITIONS and before.epoch == target.epoch
        return before if waits else real(before, target, owned, is_free)

    with patch.object(heartbeat, "reconcile", reconcile):
        yield


@contextmanager
def revoking_members_move_on() -> Iterator[None]:
    """A member is at the target's epoch while it has something to give up."""
    real = heartbeat.reconcile

    def reconcile(before: Any, target: Any, owned: Any, is_free: Any) -> Any:
        after = real(before, target, owned, is_free)
        told = after.state is UNREVOKED_PARTITIONS and before.state is not UNREVOKED_PARTITIONS
        return after._replace(epoch=target.epoch, state=STABLE) if told else after

    with patch.object(heartbeat, "reconcile", reconcile):
        yield


@contextmanager
def nobody_is_told_to_give_up() -> Iterator[None]:
    """What a member has that it shall not have it keeps, and is at the target all the same."""
    real = heartbeat.reconcile

    def reconcile(before: Any, target: Any, owned: Any, is_free: Any) -> Any:
        after = real(before, target, owned, is_free)
        if after.state is not UNREVOKED_PARTITIONS:
            return after
        return after._replace(
            epoch=target.epoch, state=STABLE, assigned=before.assigned, revoking={}
        )

    with patch.object(heartbeat, "reconcile", reconcile):
        yield


@contextmanager
def epochs_of_members_fall() -> Iterator[None]:
    """A member that arrives is one epoch behind where it was told to be."""
    real = heartbeat.reconcile

    def reconcile(before: Any, target: Any, owned: Any, is_free: Any) -> Any:
        after = real(before, target, owned, is_free)
        return after if after.epoch < 4 else after._replace(epoch=after.epoch - 2)

    with patch.object(heartbeat, "reconcile", reconcile):
        yield


@contextmanager
def who_is_away_has_nothing() -> Iterator[None]:
    """A static member that leaves for a while loses what it has."""
    real = MemberPosition.away

    def away(self: Any) -> Any:
        return real(self)._replace(assigned={})

    with patch.object(MemberPosition, "away", away):
        yield


@contextmanager
def successors_take_nothing_over() -> Iterator[None]:
    """Who comes in the place of a static member has nothing of what that had."""
    real = MemberPosition.taken_over

    def taken_over(self: Any) -> Any:
        return real(self)._replace(assigned={})

    with patch.object(MemberPosition, "taken_over", taken_over):
        yield


@contextmanager
def departures_count_for_nothing() -> Iterator[None]:
    """Where a member goes the group's epoch stays, and so does the target."""
    real = departure.epoch_record

    def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> Any:
        return real(group_id, epoch - 1, metadata_hash)

    with patch.object(departure, "epoch_record", epoch_record):
        yield


@contextmanager
def targets_leave_something_out() -> Iterator[None]:
    """The assignor gives the last partition of each topic to nobody."""
    real = targets.make_assignor_input

    def make_assignor_input(*arguments: Any) -> Any:
        asked = real(*arguments)
        return asked._replace(topics={one: count - 1 for one, count in asked.topics.items()})

    with patch.object(computing, "make_assignor_input", make_assignor_input):
        yield


CONSUMER_MUTANTS: dict[str, tuple[Mutant, Sequence[str]]] = {
    "everything is free": (everything_is_free, ("I23",)),
    "revocations are not awaited": (revocations_are_not_awaited, ("I23",)),
    "revocations are forgotten": (revocations_are_forgotten, ("I23",)),
    "any epoch commits": (any_epoch_commits, ("I25", "I17")),
    "members never expire": (members_never_expire, ("I13", "I18", "I20", "I24")),
    "epochs are not loaded": (epochs_are_not_loaded, ("I24", "I26", "I27")),
    "older epochs commit": (older_epochs_commit, ("I25", "I17")),
    "nobody gets what was not free": (
        nobody_gets_what_was_not_free,
        ("I29", "I13", "I18", "I20", "I24"),
    ),
    "revoking members move on": (revoking_members_move_on, ("I24",)),
    "nobody is told to give up": (
        nobody_is_told_to_give_up,
        ("I29", "I13", "I23", "I24", "I27"),
    ),
    "epochs of members fall": (epochs_of_members_fall, ("I29", "I24", "I27")),
    "who is away has nothing": (who_is_away_has_nothing, ("I27",)),
    "successors take nothing over": (successors_take_nothing_over, ("I27",)),
    "departures count for nothing": (
        departures_count_for_nothing,
        ("I13", "I18", "I20", "I24"),
    ),
    "targets leave something out": (targets_leave_something_out, ("I24",)),
    **MIGRATION_MUTANTS,
}
"""Mutant → how to make it, and the invariants that catch it."""
QUICK = (
    "everything is free",
    "nobody gets what was not free",
    "classic members hear of nothing",
    "revoking members move on",
    "epochs of members fall",
    "who is away has nothing",
    "successors take nothing over",
    "targets leave something out",
    "conversions forget assignments",
    "classic members own nothing",
    "any generation commits",
)
"""Those that the first seeds catch; `python -m tests.simulation --mutants` has all of them."""
STORIES: dict[str, Callable[[int], None]] = {
    "classic members own nothing": a_classic_member_hands_over,
    "any generation commits": a_classic_member_hands_over,
}
FIRST_SEED = {"any epoch commits": 5, "older epochs commit": 5}
"""Where the first that is caught comes late."""
SEEDS_MAX = 20


def plan_of(seed: int) -> Plan:
    """A seed's cluster with groups that the broker assigns, and without what is not about them."""
    return replace(Plan.cluster(seed).with_groups(), limited=False)


def consumer_failure(name: str) -> Failure | None:
    """The first seed in which a mutant is caught; None where nobody notices."""
    make, _ = CONSUMER_MUTANTS[name]
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


def consumer_table() -> list[str]:
    """As `mutants.table`."""
    return table_of(CONSUMER_MUTANTS, consumer_failure)
