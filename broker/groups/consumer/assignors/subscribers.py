"""Who is subscribed to which topic: what both assignors ask first.

Owns nothing. Members with the same subscription are looked at once, so that a group whose members
all have the same costs nothing for each topic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from broker.groups.consumer.assignors.assignor import MemberSubscription


class Subscribers:
    """Of one group, in an order that the assignor chooses."""

    __slots__ = ("_by_topic", "_found", "_kinds", "_members", "_ranks")

    def __init__(
        self, members: Mapping[str, MemberSubscription], order: Sequence[str] | None = None
    ) -> None:
        """`order`: all member ids; that of `members` if there is none."""
        self._members = list(members) if order is None else list(order)
        self._ranks = {member: rank for rank, member in enumerate(self._members)}
        self._kinds: dict[frozenset[bytes], list[str]] = {}
        """Members by what they are subscribed to."""
        for member in self._members:
            self._kinds.setdefault(members[member].topic_ids, []).append(member)
        self._found: dict[tuple[int, ...], list[str]] = {}
        """By the places in `_kinds` of those that have a topic."""
        self._by_topic: dict[bytes, list[str]] = {}

    @property
    def kinds(self) -> int:
        """How many different subscriptions there are: what the first look at a topic costs."""
        return len(self._kinds)

    def to(self, topic_id: bytes) -> list[str]:
        """The members that are subscribed to it; not to be changed."""
        found = self._by_topic.get(topic_id)
        if found is None:
            which = tuple(index for index, kind in enumerate(self._kinds) if topic_id in kind)
            found = self._found.get(which)
            if found is None:
                kinds = list(self._kinds.values())
                together = [member for index in which for member in kinds[index]]
                found = sorted(together, key=self._ranks.__getitem__)
                self._found[which] = found
            self._by_topic[topic_id] = found
        return found
