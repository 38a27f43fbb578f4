"""Groups that are converted wrongly on purpose: each mutant breaks one rule of the way from the
classic protocol to the consumer protocol, or back. As in `consumer_mutants`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from broker.groups.consumer import migration, protocol
from broker.groups.consumer.classic_members import ClassicMembers
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.group import Committer
from ground.sliced_work import Steps
from protocol.errors import ErrorCode
from protocol.messages.group_records import ConsumerGroupMetadataKey, GroupMetadataKey


def _nothing(*_: object) -> Steps[dict[bytes, tuple[int, ...]]]:
    yield from ()
    return {}


@contextmanager
def conversions_forget_assignments() -> Iterator[None]:
    """Members of a group that is converted have nothing any more."""
    with patch.object(migration, "_read_assignment", _nothing):
        yield


@contextmanager
def the_way_back_forgets_assignments() -> Iterator[None]:
    """Members of a group that is a classic one again are assigned nothing."""
    with patch.object(migration, "assignment_bytes", lambda named, topics, version: b""):
        yield


@contextmanager
def conversions_leave_the_classic_group() -> Iterator[None]:
    """The record of the classic group stays where a consumer group is made of it."""
    real = protocol.upgrade_records

    def upgrade_records(classic: Any, topics: Any) -> Any:
        records = yield from real(classic, topics)
        return [
            one for one in records if int.from_bytes(one[0][:2], "big") != GroupMetadataKey.API_KEY
        ]

    with patch.object(protocol, "upgrade_records", upgrade_records):
        yield


@contextmanager
def the_way_back_counts_anew() -> Iterator[None]:
    """A group that is a classic one again begins at generation 1."""
    real = migration.GroupMetadataValue

    def value(protocol_type: str, _generation: int, *more: Any) -> Any:
        return real(protocol_type, 1, *more)

    with patch.object(migration, "GroupMetadataValue", value):
        yield


@contextmanager
def the_way_back_keeps_the_consumer_group() -> Iterator[None]:
    """The record of the consumer group stays where it is a classic one again."""
    real = protocol.downgrade_records

    def downgrade_records(*arguments: Any, **options: Any) -> Any:
        kept = ConsumerGroupMetadataKey.API_KEY
        records = yield from real(*arguments, **options)
        return [one for one in records if int.from_bytes(one[0][:2], "big") != kept]

    with patch.object(protocol, "downgrade_records", downgrade_records):
        yield


@contextmanager
def classic_members_hear_of_nothing() -> Iterator[None]:
    """Heartbeats of classic members never say that there is something to give up or to take."""
    real = ClassicMembers.heartbeat

    def heartbeat(self: ClassicMembers, group: ConsumerGroup, request: Any) -> ErrorCode:
        error = real(self, group, request)
        return ErrorCode.NONE if error is ErrorCode.REBALANCE_IN_PROGRESS else error

    with patch.object(ClassicMembers, "heartbeat", heartbeat):
        yield


@contextmanager
def classic_members_own_nothing() -> Iterator[None]:
    """What a classic member says that it has is not looked at."""
    with patch.object(ClassicMembers, "_owned", _nothing):
        yield


@contextmanager
def any_generation_commits() -> Iterator[None]:
    """A classic member of a consumer group commits in any generation."""
    real = ConsumerGroup.commit_error

    def commit_error(self: ConsumerGroup, committer: Committer) -> ErrorCode:
        error = real(self, committer)
        return ErrorCode.NONE if error is ErrorCode.ILLEGAL_GENERATION else error

    with patch.object(ConsumerGroup, "commit_error", commit_error):
        yield


MIGRATION_MUTANTS = {
    "conversions forget assignments": (conversions_forget_assignments, ("I28", "I23")),
    "the way back forgets assignments": (the_way_back_forgets_assignments, ("I28",)),
    "conversions leave the classic group": (conversions_leave_the_classic_group, ("I28",)),
    "the way back counts anew": (the_way_back_counts_anew, ("I28",)),
    "the way back keeps the consumer group": (the_way_back_keeps_the_consumer_group, ("I28",)),
    "classic members hear of nothing": (
        classic_members_hear_of_nothing,
        ("I29", "I23", "I13", "I18", "I20", "I24"),
    ),
    "classic members own nothing": (classic_members_own_nothing, ("I23",)),
    "any generation commits": (any_generation_commits, ("I25", "I17")),
}
"""Mutant → how to make it, and the invariants that catch it."""
