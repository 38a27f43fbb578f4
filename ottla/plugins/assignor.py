"""Who consumes what in a group that the broker assigns: the class that an assignor of one's own
extends.

As Kafka's `ConsumerGroupPartitionAssignor` (KIP-848), in names of topics instead of ids.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Member(NamedTuple):
    """A member of the group."""

    member_id: str
    instance_id: str | None
    """`group.instance.id` of a static member."""
    rack_id: str | None
    """`client.rack`."""
    topics: tuple[str, ...]
    """What it is subscribed to, by names and by its regular expression."""
    assigned: Mapping[str, tuple[int, ...]]
    """Partitions by topic, as they were given to it last; also those of topics that it is not
    subscribed to any more."""


class Topic(NamedTuple):
    """A topic that at least one member is subscribed to."""

    name: str
    partition_count: int
    racks: tuple[tuple[str, ...], ...]
    """`broker.rack` of each replica, by partition; brokers without one are left out."""


class ConsumerGroupAssignor(ABC):
    """Gives out partitions (`group.consumer.assignors`, where it stands beside `uniform` and
    `range`). Members ask for it by its name, `group.remote.assignor` at the client; groups whose
    members ask for none have the first of the list.

    It is asked in a thread, whenever members, subscriptions or topics have changed; about several
    groups at a time, so it must not change what it holds without a lock. One that raises, or has
    not answered within `ottla.plugins.timeout.ms`, leaves the group with the assignment that it
    has: newcomers get nothing until it is asked again, and answers. Name the same on all brokers:
    a group may move to any.
    """

    name: str = ""
    """By what members ask for it. Not empty."""

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027  not all need it
        """Called once, before the first question. `settings` are those of the node."""

    @abstractmethod
    def assign(
        self, members: Mapping[str, Member], topics: Mapping[str, Topic]
    ) -> Mapping[str, Mapping[str, Iterable[int]]]:
        """Partitions by topic, by member id. Each goes to at most one member, who is subscribed to
        its topic; an answer that does otherwise is not used. Nobody consumes what is given to
        nobody. `members` by member id, in the order in which they joined, `topics` by name;
        neither may be changed."""
