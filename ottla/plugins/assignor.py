"""The class that an assignor for consumer groups extends.

It decides which member consumes which partitions in a group of the new protocol (KIP-848), where
the broker assigns. It is Kafka's `ConsumerGroupPartitionAssignor`, with names of topics instead of
their ids.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Member(NamedTuple):
    """A member of the consumer group that is assigned."""

    member_id: str
    instance_id: str | None
    """The `group.instance.id` of a static member; None for a dynamic member."""
    rack_id: str | None
    """The member's `client.rack`; None if it has none."""
    topics: tuple[str, ...]
    """The topics to which the member is subscribed, by name or by a regular expression."""
    assigned: Mapping[str, tuple[int, ...]]
    """The partitions by topic that the member was assigned last. They may include topics to which
    the member is no longer subscribed."""


class Topic(NamedTuple):
    """A topic to which at least one member is subscribed."""

    name: str
    partition_count: int
    racks: tuple[tuple[str, ...], ...]
    """The `broker.rack` of each replica, by partition. Brokers without a rack are left out."""


class ConsumerGroupAssignor(ABC):
    """An assignor that `group.consumer.assignors` lists, beside `uniform` and `range`. A client
    chooses one by its name in `group.remote.assignor`. A group whose members name none uses the
    first of the list.

    The broker calls it in a thread, whenever members, subscriptions or topics have changed. It may
    be called for several groups at the same time, so guard shared state by a lock. If it raises, or
    does not answer within `ottla.plugins.timeout.ms`, the group keeps the assignment that it has.
    New members then get no partitions until a later call succeeds. Set the same class on all
    brokers, because a group may move to any of them.
    """

    name: str = ""
    """The name by which members choose this assignor; not empty."""

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027  not all need it
        """Read the node's settings: the value of each key in its file. Does nothing unless a
        subclass overrides it. The broker calls this once, before the first `assign`; if it raises,
        the node does not start."""

    @abstractmethod
    def assign(
        self, members: Mapping[str, Member], topics: Mapping[str, Topic]
    ) -> Mapping[str, Mapping[str, Iterable[int]]]:
        """Return the partitions of each member: by member id, then by topic.

        Assign each existing partition to at most one member, and only to a member that is
        subscribed to its topic. After any other result the broker logs an error, and the group
        keeps its assignment. A partition that no member is assigned is not consumed. A member that
        is left out gets none. `members` is by member id, in the order in which they joined;
        `topics` is by name. Do not modify either.
        """
