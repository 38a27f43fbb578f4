"""The subscribers of each topic, which both assignors need first.

Owns only a cache. Members with equal subscriptions are looked up together, so that a group whose
members all have the same subscription costs almost nothing for each topic. Never assigns anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from broker.groups.consumer.assignors.assignor import MemberSubscription


class Subscribers:
    """The subscribers in one group, in an order that the assignor chooses."""

    __slots__ = ("_by_topic", "_joined", "_kinds", "_members", "_ranks")

    def __init__(
        self, members: Mapping[str, MemberSubscription], order: Sequence[str] | None = None
    ) -> None:
        """Index the members. `order`: all member ids; None: in the order of `members`."""
        self._members = list(members) if order is None else list(order)
        self._ranks = {member: rank for rank, member in enumerate(self._members)}
        self._kinds: dict[frozenset[bytes], list[str]] = {}
        """The members by their subscription."""
        for member in self._members:
            self._kinds.setdefault(members[member].topic_ids, []).append(member)
        self._joined: dict[tuple[int, ...], list[str]] = {}
        """The members with any of several subscriptions, by the indexes of these in `_kinds`."""
        self._by_topic: dict[bytes, list[str]] = {}

    @property
    def kinds(self) -> int:
        """The number of different subscriptions, which is the cost of a topic's first look-up."""
        return len(self._kinds)

    def to(self, topic_id: bytes) -> list[str]:
        """Return the members that subscribe to the topic, in order. The caller must not change the
        list."""
        subscribed = self._by_topic.get(topic_id)
        if subscribed is None:
            indexes = tuple(index for index, kind in enumerate(self._kinds) if topic_id in kind)
            subscribed = self._joined.get(indexes)
            if subscribed is None:
                kinds = list(self._kinds.values())
                together = [member for index in indexes for member in kinds[index]]
                subscribed = sorted(together, key=self._ranks.__getitem__)
                self._joined[indexes] = subscribed
            self._by_topic[topic_id] = subscribed
        return subscribed
