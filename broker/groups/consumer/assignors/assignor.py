"""What an assignor is asked, and what it answers. Types only.

What is assigned is a number within a container: a partition of a topic, by the topic's id. Nothing
here looks into a container's key, so that a task of a streams group, by its subtopology, is
assigned in the same types. An assignor is pure: the same question has the same answer, whatever the
order of a `set` or the time; it may run on another thread than the loop's, so what it is asked does
not change meanwhile. Follows Kafka's `ConsumerGroupPartitionAssignor`, `GroupSpec` and
`MemberAssignment`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, TypeAlias

Assignment: TypeAlias = Mapping[bytes, tuple[int, ...]]
"""Partitions by topic id, ascending and without empty ones. Never changed: made anew."""

GroupAssignment: TypeAlias = Mapping[str, Assignment]
"""Assignments by member id. A member that is missing gets nothing."""

NOTHING_ASSIGNED: Assignment = {}


class MemberSubscription(NamedTuple):
    """One member as an assignor sees it."""

    topic_ids: frozenset[bytes]
    """What it is subscribed to, by names and by its regular expression; only topics that exist.
    Members with the same subscription may share the object. To be asked, not to be walked through:
    the order of a set differs from process to process; walk through `topics` instead."""
    target: Assignment = NOTHING_ASSIGNED
    """What the last target assignment gave it, also where a topic is not subscribed to any more or
    has vanished."""
    instance_id: str | None = None
    """`group.instance.id` of a static member (KIP-345)."""
    rack_id: str | None = None


class Assignor(Protocol):
    """Computes target assignments. Named by members, and by `group.consumer.assignors`."""

    @property
    def name(self) -> str:
        """By what members and the config ask for it."""

    def assign(
        self, members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
    ) -> GroupAssignment:
        """Give out every partition of `topics` that somebody is subscribed to, each to one.

        `topics`: number of partitions by topic id, of all topics that some member is subscribed
        to, in the order of their names. `members` in the order in which they joined.
        """
