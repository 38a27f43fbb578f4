"""The input and the output of an assignor; only types.

An assignor distributes the partitions of topics, as numbers by topic id. Nothing here depends on
their meaning, so that tasks of a streams group could use the same types. An assignor is pure: the
same input gives the same output, independent of the order of a `set` and of the time. It may run in
another thread than the loop's, so its input never changes meanwhile. Follows Kafka's
`ConsumerGroupPartitionAssignor`, `GroupSpec` and `MemberAssignment`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, TypeAlias

Assignment: TypeAlias = Mapping[bytes, tuple[int, ...]]
"""Partitions by topic id, ascending, without empty topics. Never changed, only replaced."""

GroupAssignment: TypeAlias = Mapping[str, Assignment]
"""Assignments by member id. A member without an entry gets nothing."""

NOTHING_ASSIGNED: Assignment = {}


class MemberSubscription(NamedTuple):
    """A member in the input of an assignor."""

    topic_ids: frozenset[bytes]
    """The ids of the existing topics to which it subscribes by names and regular expression.
    Members with the same subscription may share the object. Only test for membership: the order of
    a set differs between processes. Iterate over `topics` of the input instead."""
    target: Assignment = NOTHING_ASSIGNED
    """The partitions of its last target assignment, even of topics that are deleted or to which it
    no longer subscribes."""
    instance_id: str | None = None
    """The `group.instance.id` of a static member (KIP-345)."""
    rack_id: str | None = None


class Assignor(Protocol):
    """A computation of target assignments."""

    @property
    def name(self) -> str:
        """The assignor's name in members' heartbeats and in `group.consumer.assignors`."""

    def assign(
        self, members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
    ) -> GroupAssignment:
        """Assign each partition of `topics` to one of the topic's subscribers.

        `topics`: the number of partitions by topic id, for all topics with a subscriber, in the
        order of their names. `members` are in the order in which they joined.
        """
