"""Coordinators of consumer groups that are wrong on purpose: each mutant breaks one rule of
reconciliation. All are caught by chance.

As in `tests.simulation.mutants`, a mutant is a context in which real classes have methods replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from broker.groups.consumer import heartbeat
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.timers import MemberTimers
from protocol.errors import ErrorCode
from protocol.messages.group_records import ConsumerGroupMetadataKey
from tests.simulation.mutants import Mutant
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
    with patch.object(MemberTimers, "heard", lambda self, group_id, member_id, timeout_ms: None):
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


CONSUMER_MUTANTS: dict[str, tuple[Mutant, Sequence[str]]] = {
    "everything is free": (everything_is_free, ("I23",)),
    "revocations are not awaited": (revocations_are_not_awaited, ("I23",)),
    "revocations are forgotten": (revocations_are_forgotten, ("I23",)),
    "any epoch commits": (any_epoch_commits, ("I25", "I17")),
    "members never expire": (members_never_expire, ("I13", "I18", "I20", "I24")),
    "epochs are not loaded": (epochs_are_not_loaded, ("I24",)),
}
"""Mutant → how to make it, and the invariants that catch it."""
SEEDS_MAX = 20


def plan_of(seed: int) -> Plan:
    """A seed's cluster with a group that the broker assigns, and without what is not about it."""
    plan = Plan.cluster(seed)
    return replace(plan, assigned=True, transactional=False, secured=False, limited=False)


def consumer_failure(name: str) -> Failure | None:
    """The first seed in which a mutant is caught; None where nobody notices."""
    make, _ = CONSUMER_MUTANTS[name]
    for seed in range(SEEDS_MAX):
        try:
            with make():
                Simulation(seed, plan_of(seed)).run()
        except Failure as failure:
            return failure
    return None
