"""The regular expressions by which a group's members subscribe: when they are looked up, and then.

Owns Kafka's rules of that. An expression is looked up beside the heartbeat that brings it, among
all names of topics; the result is a record of type 16, and where it gave other topics than before
also the group's next epoch. All expressions of a group are looked up together: where one is new, or
topics came or went, but no sooner than 10 s after the last time; and every
`group.consumer.regex.refresh.interval.ms`. Never matches a name: `lookup` does.

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
"""Between two look-ups of one group."""

Found = Mapping[str, Sequence[str]]
"""Names of topics, sorted, by expression."""

_NAMES_A_PIECE = 100
"""Names of topics that it takes one piece of work to write."""


class TopicNameLookup(Protocol):
    """Finds topics by expressions of RE2, which have to match a whole name."""

    def fault(self, expression: str) -> str | None:
        """Why this is no expression; None where it is one."""

    def look_up(
        self,
        expressions: Sequence[str],
        names: Sequence[str],
        may_describe: Describable,
        done: Callable[[Found], None],
    ) -> None:
        """Find those of `names` that match and `may_describe` shows, in slices; `done` is called on
        the loop, perhaps now."""


class Expressions:
    """The expressions of one shard's groups. `find` a group that is there by its id; `submit` what
    is to be decided; `image()` is the newest metadata, `wall_ms()` the time."""

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
        """The topics among which a group's expressions were looked up last. Soft."""

    def change(
        self,
        group: ConsumerGroup,
        before: Subscription | None,
        after: Subscription,
        records: list[Record],
    ) -> bool | ApiError:
        """Whether what a member's expression gives is another now; or why it is no expression.

        An expression that nobody has any more is taken out of the log (in `records`). Of a new one
        nothing is known before it is looked up.
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
        """Whether the last look-up of the group's expressions is long enough ago."""
        last = group.lookups.newest_ms
        return last is None or self._wall_ms() > last + SOONEST_MS

    def is_due(self, group: ConsumerGroup) -> bool:
        """Whether a look-up is to be begun when a member is heard of that has an expression."""
        if group.group_id in self._looking_up or not self.may_look_up(group):
            return False
        return self._is_due(group, self._image().topics)

    def maybe_look_up(self, group_id: str, may_describe: Describable) -> None:
        """A member that subscribes by an expression was heard of, and `may_look_up` was true before
        that: look up what is not known, or may be another now.

        Topics that this member may not DESCRIBE are not found, though others of the group might."""
        group = self._find(group_id)
        if group is None or group_id in self._looking_up:
            return
        image = self._image()
        if not self._is_due(group, image.topics):
            return
        self._looking_up[group_id] = None
        self._seen[group_id] = image.topics

        def done(found: Found) -> None:
            self._looking_up.pop(group_id, None)
            self._submit(partial(self._resolved, group_id, found, image.offset))

        names = list(image.topics.by_name)
        self._lookup.look_up(group.subscribed_regexes(), names, may_describe, done)

    def forget(self, group_id: str) -> None:
        """The group is gone."""
        self._seen.pop(group_id, None)

    def _is_due(self, group: ConsumerGroup, topics: TopicsImage) -> bool:
        lookups = group.lookups
        if lookups.are_missing:
            return True
        late = self._wall_ms() > lookups.oldest_ms + self._refresh_interval_ms
        return late or self._other_topics(group, topics)

    def _other_topics(self, group: ConsumerGroup, topics: TopicsImage) -> bool:
        seen = self._seen.get(group.group_id)
        if seen is topics:
            return False
        if seen is None or seen.by_name.keys() != topics.by_name.keys():
            return True
        self._seen[group.group_id] = topics
        return False

    def _resolved(self, group_id: str, found: Found, version: int) -> Steps[Outcome[Done]]:
        group = self._find(group_id)
        if group is None:
            return NOTHING
        now, topics = self._wall_ms(), self._image().topics
        if is_news(group, found):
            self._metrics.rebalance_began()
        records = yield from resolved_records(group, found, topics, version, now)
        return Outcome(no_reply, records)


def is_news(group: ConsumerGroup, found: Found) -> bool:
    """Whether a look-up gave other topics than the last one, for an expression of members."""
    return any(
        group.regex_subscribers(regex) and tuple(names) != group.topics_of(regex)
        for regex, names in found.items()
    )


def resolved_records(
    group: ConsumerGroup, found: Found, topics: TopicsImage, version: int, now_ms: int
) -> Steps[list[Record]]:
    """The records of a look-up at metadata `version`, and the next epoch where topics differ."""
    records: list[Record] = []
    pace = Pace()
    for regex, names in found.items():
        if pace.is_full(1 + len(names) // _NAMES_A_PIECE):
            yield None
        if group.regex_subscribers(regex):
            records.append(regex_record(group.group_id, regex, list(names), version, now_ms))
    if is_news(group, found):
        new_hash = metadata_hash(group.subscribed_topics(resolved=found), topics)
        records.append(epoch_record(group.group_id, group.epoch + 1, new_hash))
    return records
