"""The computations of target assignments, a large one of which takes many turns of the loop.

Owns the set of groups with a computation in progress, one each, and the failures that are logged
already. Each heartbeat tries again, so each kind of failure is logged once until a computation
succeeds. A target that is complete at once becomes part of the heartbeat that needs it. A later
target has a write of its own; until then the group is Assigning and keeps its present target. Never
changes a group. Follows KIP-848, and KIP-1263 for the later answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from broker.coordinator.outcome import NOTHING, Decided, Done, Outcome, no_reply
from broker.groups.consumer.assignors.assignor import Assignment, GroupAssignment
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.member import ConsumerMember
from broker.groups.consumer.surroundings import ConsumerGroupInputs
from broker.groups.consumer.target import make_assignor_input, target_records, voted_assignor
from ground.sliced_work import Steps

log = logging.getLogger(f"ottla.{__name__}")


class Computing:
    """The target assignments of one shard that are being computed."""

    def __init__(
        self,
        surroundings: ConsumerGroupInputs,
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
        """The failures that are logged already, by group: assignor and type of the exception."""

    def begin(
        self,
        group: ConsumerGroup,
        members: Sequence[ConsumerMember],
        targets: Mapping[str, Assignment],
        epoch: int,
    ) -> list[GroupAssignment]:
        """Compute the target of `members` for `epoch`. Return it in a list if it is complete now.

        Else return an empty list; the target is submitted later, or a computation for the group was
        already in progress. `targets`: the earlier targets by member id that `group` lacks.
        """
        group_id, assignors = group.group_id, self._surroundings.assignors
        if group_id in self._groups:
            return []
        votes = (member.subscription.assignor for member in members)
        assignor = assignors[voted_assignor(votes, assignors.names)]
        assignor_input = make_assignor_input(group, members, targets, self._surroundings.topics())
        self._groups[group_id] = None

        def done(answer: GroupAssignment | None, error: Exception | None) -> None:
            """Submit the write of the computed target, or log the error.

            The next heartbeat computes again after an error.
            """
            self._groups.pop(group_id, None)
            if answer is None:
                # The next heartbeat tries again.
                self._log_failure(group_id, assignor.name, error)
            else:
                self._failures.pop(group_id, None)
                self._submit(partial(self._install, group_id, answer, epoch))

        answers = assignor.begin(assignor_input.members, assignor_input.topics, done)
        if answers:
            del self._groups[group_id]
            self._failures.pop(group_id, None)
        return answers

    def forget(self, group_id: str) -> None:
        """Forget the failures of a group, which is deleted."""
        self._failures.pop(group_id, None)

    def _log_failure(self, group_id: str, assignor: str, error: Exception | None) -> None:
        """Log an error of the group's assignor at ERROR, once for each type until a computation
        succeeds."""
        logged = self._failures.setdefault(group_id, {})
        kind = (assignor, type(error).__name__)
        if kind not in logged:
            logged[kind] = None
            log.error("group %s: %s assigns nothing: %s", group_id, assignor, error, exc_info=error)

    def _install(self, group_id: str, answer: GroupAssignment, epoch: int) -> Steps[Outcome[Done]]:
        """Return the outcome that writes the target for `epoch`; nothing if the group has a newer
        target or is gone."""
        group = self._find(group_id)
        if group is None or not group.assignment_epoch < epoch <= group.epoch:
            return NOTHING
        members, now_ms = list(group.members), self._wall_ms()
        records = yield from target_records(group, members, answer, epoch, now_ms)
        return Outcome(no_reply, records)
