"""Members of a group whose topics come, grow, go and are made again under their names.

As `ConsumerMember`, by topic ids, whatever their names are now: some of the topics are always
there, others are what the admin makes of them. A member changes what it is subscribed to, by names
and by an expression, and commits nothing: offsets go with their topics.
"""

from __future__ import annotations

from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
)
from simulation.sim_client import Waits
from tests.simulation.consumer_groups.consumer_member import (
    CLIENT_IDS_FROM,
    GIVE_UP_MS,
    JOIN_EPOCH,
    ConsumerMember,
)

CHANGE_CHANCE = 0.08
"""Of a heartbeat: it brings another subscription."""


class ChurningMember(ConsumerMember):
    """See the module. `topics` are those that are always there."""

    def __init__(self, *arguments: Any, churning: list[str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.version = CLIENT_IDS_FROM
        self.churning = churning
        self.subscribed = [*self.names, *churning]
        self.regex = ""
        self._has: dict[bytes, list[int]] = {}
        self._told: dict[bytes, list[int]] | None = None
        """What it last said that it has."""
        self._changes = False

    def _beat(self, epoch: int) -> Waits:
        """One heartbeat, and what follows from its answer."""
        self._maybe_change(epoch)
        request = self._heartbeat_request(epoch)
        told = None if request.topic_partitions is None else dict(self._has)
        response = yield from self._ask(request, self.version)
        if response is None:
            self._told, self.said = None, None
        elif response.error_code:
            yield from self._react(ErrorCode(response.error_code))
        elif epoch >= JOIN_EPOCH:
            self._changes = False
            self._told = self._told if told is None else told
            self.said = []
            self.member_id, self.generation = response.member_id, response.member_epoch
            if response.assignment is not None:
                self._has = {
                    topic.topic_id: list(topic.partitions)
                    for topic in response.assignment.topic_partitions
                }
                self.joined += 1
                self.assigned = [("", 0)] if self._has else []

    def _maybe_change(self, epoch: int) -> None:
        if not self.calm and epoch > JOIN_EPOCH and self.chance.random() < CHANGE_CHANCE:
            some = [name for name in self.churning if self.chance.random() < 0.5]
            self.subscribed = [*self.names, *some]
            self.regex = self.chance.choice(["", "|".join(self.churning), "g.*"])
            self._changes = True

    def _heartbeat_request(self, epoch: int) -> ConsumerGroupHeartbeatRequest:
        if epoch == JOIN_EPOCH:
            self._lose_all()
            if not self.member_id:
                self.member_id = f"{self.name}-{self.lives}"
        request = ConsumerGroupHeartbeatRequest(self.group, self.member_id, epoch, self.instance_id)
        if epoch < JOIN_EPOCH:
            return request
        everything = epoch == JOIN_EPOCH or self._told is None or self._changes
        if everything:
            request.rebalance_timeout_ms = GIVE_UP_MS
            request.subscribed_topic_names = self.subscribed
            request.subscribed_topic_regex = self.regex
        if everything or self._told != self._has:
            request.topic_partitions = [
                ConsumerGroupHeartbeatRequestTopicPartitions(*one) for one in self._has.items()
            ]
        return request

    def _react(self, error: ErrorCode) -> Waits:
        # What this answer was to tell may have been decided: the next heartbeat says everything.
        self._told = None
        yield from super()._react(error)

    def _lose_all(self) -> None:
        super()._lose_all()
        self._has, self._told = {}, None

    def _knows_offsets(self) -> Waits:
        """It does not commit."""
        return False
        yield

    def _commit(self) -> Waits:
        """See above."""
        return ErrorCode.NONE
        yield
