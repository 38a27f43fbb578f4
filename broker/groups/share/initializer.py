"""The initializations of share-partitions that the share coordinator has not answered yet.

    initializing ──► the share coordinator ──► initialized, or not there after an error
     (record 15)                                          (record 15)

Owns the number of unanswered requests of each group of a shard, and since when topics initialize.
Begins what a heartbeat or AlterShareGroupOffsets has decided, and submits the record of the result.
A partition whose initialization failed is not there again: the next heartbeat begins it again. If
this broker became the coordinator meanwhile, no answer comes: then a topic begins again after
`group.share.initialize.retry.interval.ms`. Never decides which partitions to initialize. Follows
the persister's part of Kafka's `GroupCoordinatorService` (KIP-932).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from broker.coordinator.outcome import NOTHING, Decided, Done, Outcome
from broker.groups.share.initialization import state_topics_record
from broker.groups.share.ports import ShareStates, StateReply
from broker.groups.share.share_group import ShareGroup
from broker.groups.share.state_rounds import StateAnswers, ask_all
from broker.share.state.share_log import SharePartitionKey
from ground.ports import Scheduler
from protocol.errors import ErrorCode

log = logging.getLogger(f"ottla.{__name__}")

_NO_FAILURE = (ErrorCode.NONE, ErrorCode.FENCED_STATE_EPOCH)

Submit = Callable[[Callable[[], Decided[Done]], Callable[[ErrorCode, Done], None]], None]


class Initialization(NamedTuple):
    """Share-partitions of a group whose state has to begin."""

    group_id: str
    state_epoch: int
    start_offsets: Mapping[SharePartitionKey, int]
    """The start offset of each partition; -1: its leader chooses."""


class Initializer:
    """The initializations of one shard's groups.

    `find` returns a group by its id. `submit` runs the decision about a result.
    """

    def __init__(
        self,
        states: Callable[[], ShareStates],
        scheduler: Scheduler,
        retry_ms: int,
        find: Callable[[str], ShareGroup | None],
        submit: Submit,
    ) -> None:
        self._states = states
        self._scheduler = scheduler
        self._retry_ms = retry_ms
        self._find = find
        self._submit = submit
        self._unanswered: dict[str, int] = {}
        self._asked: set[SharePartitionKey] = set()
        self._since_ms: dict[str, float] = {}
        self._failures: dict[str, ErrorCode] = {}
        """The last error of each group that is logged already."""

    def topics_changed(self, group_id: str) -> None:
        """Remember when the topics of a group were last written: initializing ones wait from now
        on."""
        self._since_ms[group_id] = self._scheduler.monotonic_ms()

    def forget(self, group_id: str) -> None:
        """Forget a group that is deleted."""
        self._since_ms.pop(group_id, None)
        self._failures.pop(group_id, None)

    def retried(self, group: ShareGroup) -> frozenset[bytes]:
        """Return the ids of topics that initialize for too long, and from which no answer comes."""
        group_id = group.group_id
        if not group.state_topics.initializing or group_id in self._unanswered:
            return frozenset()
        due_ms = self._since_ms.get(group_id, 0.0) + self._retry_ms
        if self._scheduler.monotonic_ms() < due_ms:
            return frozenset()
        return frozenset(group.state_topics.initializing)

    def begin(
        self,
        asked: Initialization,
        done: Callable[[ErrorCode, StateAnswers], None] | None = None,
    ) -> None:
        """Ask the share coordinator to initialize partitions, and write the result.

        Then `done` gets NONE, or the error of that write, and the answer for each partition.
        Without `done`, partitions whose answer is still to come are not asked for: a heartbeat may
        have decided to begin again before the first initialization could begin. The second would
        replace a state that is already in use.
        """
        group_id, keys = asked.group_id, list(asked.start_offsets)
        if done is None:
            keys = [key for key in keys if key not in self._asked]
            if not keys:
                return
        self._asked.update(keys)
        self._unanswered[group_id] = self._unanswered.get(group_id, 0) + 1

        def ask(key: SharePartitionKey, reply: StateReply) -> None:
            """Initialize one partition."""
            self._states().initialize(key, asked.state_epoch, asked.start_offsets[key], reply)

        ask_all(keys, ask, partial(self._answered, group_id, done))

    def _answered(
        self,
        group_id: str,
        done: Callable[[ErrorCode, StateAnswers], None] | None,
        answers: StateAnswers,
    ) -> None:
        """Submit the record of the result."""
        self._unanswered[group_id] -= 1
        if not self._unanswered[group_id]:
            del self._unanswered[group_id]
        self._asked.difference_update(answers)
        self._log_failure(group_id, answers)

        def written(error: ErrorCode, reply: Done) -> None:
            """Call `done` after the record is committed, or with the error of its write."""
            reply(error)
            if done is not None:
                done(error, answers)

        self._submit(partial(self._finish, group_id, answers), written)

    def _finish(self, group_id: str, answers: StateAnswers) -> Outcome[Done]:
        """Return the outcome that writes which partitions are initialized and which have failed."""
        group = self._find(group_id)
        if group is None:
            return NOTHING
        good: dict[bytes, list[int]] = {}
        failed: dict[bytes, list[int]] = {}
        for key, (error, _) in answers.items():
            result = good if error is ErrorCode.NONE else failed
            result.setdefault(key.topic_id, []).append(key.partition)
        topics = group.state_topics.finish(good).give_up(failed)
        if topics == group.state_topics:
            return NOTHING
        return NOTHING._replace(records=[state_topics_record(group_id, topics)])

    def _log_failure(self, group_id: str, answers: StateAnswers) -> None:
        """Log at WARNING that partitions could not be initialized, once until the error changes:
        later heartbeats try again. FENCED_STATE_EPOCH is no failure, because the group's next
        coordinator has initialized them."""
        failed = [error for error, _ in answers.values() if error not in _NO_FAILURE]
        if not failed:
            self._failures.pop(group_id, None)
        elif self._failures.get(group_id) is not failed[0]:
            self._failures[group_id] = failed[0]
            log.warning(
                "share group %s: %d of %d partitions could not be initialized: %s",
                *(group_id, len(failed), len(answers), failed[0].name),
            )
