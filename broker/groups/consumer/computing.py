"""Has target assignments computed, of which a large one takes longer than one turn of the loop.

Owns which groups have one in the making, one each, and which failures were told: each heartbeat
asks again, so a kind of failure is a line, and then none until it succeeds. Where a target is there
at once, it becomes part of the heartbeat that asked; else it is written by itself when it is done,
and till then the group is Assigning and goes on with the target that it has. Changes no group.
Follows KIP-848, and KIP-1263 for the later answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from broker.coordinator.outcome import NOTHING, Decided, Done, Outcome, no_reply
from broker.groups.consumer.assignors.assignor import Assignment, GroupAssignment
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.member import ConsumerMember
from broker.groups.consumer.surroundings import Surroundings
from broker.groups.consumer.target import question, target_records, voted_assignor
from ground.sliced_work import Steps

log = logging.getLogger(f"ottla.{__name__}")


class Computing:
    """The target assignments of one shard that are being computed."""

    def __init__(
        self,
        surroundings: Surroundings,
        find: Callable[[str], ConsumerGroup | None],
        submit: Callable[[Callable[[], Decided[Done]]], None],
        wall_ms: Callable[[], int],
    ) -> None:
        self._surroundings = surroundings
        self._find = find
        self._submit = submit
        self._wall_ms = wall_ms
        self._groups: dict[str, None] = {}
        self._failures: dict[str, dict[tuple[str, str], None]] = {}
        """By group: assignors and what they raised, of which it was told already."""

    def begin(
        self,
        group: ConsumerGroup,
        members: Sequence[ConsumerMember],
        targets: Mapping[str, Assignment],
        epoch: int,
    ) -> list[GroupAssignment]:
        """The target of `members` for `epoch`, where it is there at once; else nothing.

        `targets`: those that `group` does not know of yet.
        """
        group_id, assignors = group.group_id, self._surroundings.assignors
        if group_id in self._groups:
            return []
        named = (member.subscription.assignor for member in members)
        assignor = assignors[voted_assignor(named, assignors.names)]
        asked = question(group, members, targets, self._surroundings.topics())
        self._groups[group_id] = None

        def done(answer: GroupAssignment | None, error: Exception | None) -> None:
            self._groups.pop(group_id, None)
            if answer is None:
                # The next heartbeat asks again.
                self._failed(group_id, assignor.name, error)
            else:
                self._failures.pop(group_id, None)
                self._submit(partial(self._install, group_id, answer, epoch))

        at_once = assignor.begin(asked.members, asked.topics, done)
        if at_once:
            del self._groups[group_id]
            self._failures.pop(group_id, None)
        return at_once

    def forget(self, group_id: str) -> None:
        """The group is gone."""
        self._failures.pop(group_id, None)

    def _failed(self, group_id: str, assignor: str, error: Exception | None) -> None:
        told = self._failures.setdefault(group_id, {})
        kind = (assignor, type(error).__name__)
        if kind not in told:
            told[kind] = None
            log.error("group %s: %s assigns nothing: %s", group_id, assignor, error, exc_info=error)

    def _install(self, group_id: str, answer: GroupAssignment, epoch: int) -> Steps[Outcome[Done]]:
        """The target that was asked for in `epoch`; meanwhile the group may have gone on."""
        group = self._find(group_id)
        if group is None or not group.assignment_epoch < epoch <= group.epoch:
            return NOTHING
        members, now_ms = list(group.members), self._wall_ms()
        records = yield from target_records(group, members, answer, epoch, now_ms)
        return Outcome(no_reply, records)
