"""The look-ups of the regular expressions by which a group's members subscribe.

Owns Kafka's rules for their times and results. An expression is looked up after the heartbeat that
has it, among all topic names, and the heartbeat does not wait. The result is a record of type 16,
and the group's next epoch if other topics match than before. All expressions of a group are looked
up together. The reason is a new expression, or created or deleted topics, at least 10 s after the
last look-up; or `group.consumer.regex.refresh.interval.ms` is over. Never matches a name: `lookup`
does.

Follows Kafka's `GroupMetadataManager.maybeUpdateRegularExpressions` (KIP-848).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from broker.coordinator.coordinator_log import Record
from broker.coordinator.outcome import NOTHING, Decided, Done, Outcome, no_reply
from broker.groups.consumer.membership import Describable
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.member import Subscription
from broker.groups.consumer.state.records import epoch_record, regex_record, regex_tombstone
from broker.groups.consumer.state.topics import metadata_hash
from broker.groups.group_metrics import GroupMetrics
from controller.metadata.image import MetadataImage, TopicsImage
from ground.sliced_work import Pace, Steps
from protocol.errors import ApiError, ErrorCode

SOONEST_MS = 10_000
"""The least time between two look-ups of a group."""

TopicsByRegex = Mapping[str, Sequence[str]]
"""The sorted names of matching topics by expression."""

_NAMES_A_PIECE = 100
"""The number of topic names that take one piece of a slice to write."""


class TopicNameLookup(Protocol):
    """A search for topics by RE2 expressions, which must match a whole name."""

    def fault(self, expression: str) -> str | None:
        """Return the reason why the expression is invalid, or None if it is valid."""

    def look_up(
        self,
        expressions: Sequence[str],
        names: Sequence[str],
        may_describe: Describable,
        done: Callable[[TopicsByRegex], None],
    ) -> None:
        """Find those of `names` that match and that pass `may_describe`, in slices.

        `done` gets them, sorted, by expression, on the loop and perhaps within this call.
        """


class Expressions:
    """The expressions of one shard's groups.

    `find` returns a group by its id, `submit` runs a decision, `image()` returns the newest
    metadata, `wall_ms()` the time in ms.
    """

    def __init__(
        self,
        lookup: TopicNameLookup,
        find: Callable[[str], ConsumerGroup | None],
        submit: Callable[[Callable[[], Decided[Done]]], None],
        image: Callable[[], MetadataImage],
        wall_ms: Callable[[], int],
        refresh_interval_ms: int,
        metrics: GroupMetrics,
    ) -> None:
        self._lookup = lookup
        self._find = find
        self._submit = submit
        self._image = image
        self._wall_ms = wall_ms
        self._refresh_interval_ms = refresh_interval_ms
        self._metrics = metrics
        self._looking_up: dict[str, None] = {}
        self._seen: dict[str, TopicsImage] = {}
        """The topics of each group's last look-up. Soft state."""

    def change(
        self,
        group: ConsumerGroup,
        before: Subscription | None,
        after: Subscription,
        records: list[Record],
    ) -> bool | ApiError:
        """Return True if a member's expression changed, unless the new expression was never looked
        up. Return the error if that is invalid.

        If no member has the old expression any more, its tombstone is added to `records`.
        """
        old = "" if before is None else before.regex
        if old == after.regex:
            return False
        if after.regex:
            fault = self._lookup.fault(after.regex)
            if fault is not None:
                return ApiError(
                    ErrorCode.INVALID_REGULAR_EXPRESSION,
                    f"SubscribedTopicRegex `{after.regex}` is not a valid regular expression: "
                    f"{fault}.",
                )
        if old and group.regex_subscribers(old) == 1:
            records.append(regex_tombstone(group.group_id, old))
        return not after.regex or after.regex in group.regexes

    def may_look_up(self, group: ConsumerGroup) -> bool:
        """Return whether the last look-up of the group's expressions is more than SOONEST_MS ago,
        or never was."""
        last = group.lookups.newest_ms
        return last is None or self._wall_ms() > last + SOONEST_MS

    def is_due(self, group: ConsumerGroup) -> bool:
        """Return whether a look-up is due at a heartbeat of a member that has an expression; False
        while a look-up runs."""
        if group.group_id in self._looking_up or not self.may_look_up(group):
            return False
        return self._is_due(group, self._image().topics)

    def maybe_look_up(self, group_id: str, may_describe: Describable) -> None:
        """Look up the group's expressions if that is due, after a heartbeat of a member with one.

        The result is submitted as a decision, which writes records. The caller has checked
        `may_look_up` before the heartbeat. Topics that this member may not DESCRIBE are left out,
        even if other members of the group may.
        """
        group = self._find(group_id)
        if group is None or group_id in self._looking_up:
            return
        image = self._image()
        if not self._is_due(group, image.topics):
            return
        self._looking_up[group_id] = None
        self._seen[group_id] = image.topics

        def done(resolved: TopicsByRegex) -> None:
            """Submit the decision that stores the topics of a finished look-up."""
            self._looking_up.pop(group_id, None)
            self._submit(partial(self._store_resolved, group_id, resolved, image.offset))

        names = list(image.topics.by_name)
        self._lookup.look_up(group.subscribed_regexes(), names, may_describe, done)

    def forget(self, group_id: str) -> None:
        """Forget the topics of the last look-up of a group, which is deleted."""
        self._seen.pop(group_id, None)

    def _is_due(self, group: ConsumerGroup, topics: TopicsImage) -> bool:
        """Return True if a lookup is missing, old, or older than the present topics."""
        lookups = group.lookups
        if lookups.are_missing:
            return True
        late = self._wall_ms() > lookups.oldest_ms + self._refresh_interval_ms
        return late or self._have_names_changed(group, topics)

    def _have_names_changed(self, group: ConsumerGroup, topics: TopicsImage) -> bool:
        """Return True if topics were created or deleted since the group's last look-up.

        If not, keep `topics` as those seen, so that the next call is cheap.
        """
        seen = self._seen.get(group.group_id)
        if seen is topics:
            return False
        if seen is None or seen.by_name.keys() != topics.by_name.keys():
            return True
        self._seen[group.group_id] = topics
        return False

    def _store_resolved(
        self, group_id: str, resolved: TopicsByRegex, version: int
    ) -> Steps[Outcome[Done]]:
        """Return the outcome that writes a look-up's result, and the next epoch if other topics
        match; nothing if the group is gone."""
        group = self._find(group_id)
        if group is None:
            return NOTHING
        now, topics = self._wall_ms(), self._image().topics
        if has_new_topics(group, resolved):
            self._metrics.rebalance_began()
        records = yield from resolved_records(group, resolved, topics, version, now)
        return Outcome(no_reply, records)


def has_new_topics(group: ConsumerGroup, resolved: TopicsByRegex) -> bool:
    """Return whether a member's expression got other topics than in its last look-up."""
    return any(
        group.regex_subscribers(regex) and tuple(names) != group.topics_of(regex)
        for regex, names in resolved.items()
    )


def resolved_records(
    group: ConsumerGroup, resolved: TopicsByRegex, topics: TopicsImage, version: int, now_ms: int
) -> Steps[list[Record]]:
    """Return the records of a look-up at metadata `version`, with an epoch if topics changed."""
    records: list[Record] = []
    pace = Pace()
    for regex, names in resolved.items():
        if pace.is_full(1 + len(names) // _NAMES_A_PIECE):
            yield None
        if group.regex_subscribers(regex):
            records.append(regex_record(group.group_id, regex, list(names), version, now_ms))
    if has_new_topics(group, resolved):
        new_hash = metadata_hash(group.subscribed_topics(resolved=resolved), topics)
        records.append(epoch_record(group.group_id, group.epoch + 1, new_hash))
    return records
