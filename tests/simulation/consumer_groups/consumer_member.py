"""Members of a group that the broker assigns, as Kafka's clients speak KIP-848.

find the coordinator → join at epoch 0 → heartbeat: take what is given, give up what is to be, say
what is left → read offsets and commit at the member's epoch. Where an answer was lost, or the
coordinator moved, the next heartbeat says everything, and the member goes on with its epoch. A
member may leave, fall silent past its session and then commit as if nothing had happened, or die;
a static one leaves for a while, and comes back under another id.
"""

from __future__ import annotations

from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
)
from simulation.sim_client import Waits
from tests.simulation.group_members import HEARTBEAT_MS, SESSION_MS, GroupMember, Key

SETTINGS = {
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": str(int(HEARTBEAT_MS)),
}
"""Of the brokers: a dead member is noticed soon."""
GIVE_UP_MS = 30_000
"""The rebalance time-out: longer than a member that is heard of ever takes."""
JOIN_EPOCH, LEAVE_EPOCH, AWAY_EPOCH = 0, -1, -2
CLIENT_IDS_FROM = 1
GONE = (
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
)


class ConsumerMember(GroupMember):
    """See the module. `generation` is its epoch: 0 or less while it is in no group."""

    def __init__(
        self,
        name: str,
        *where: Any,
        group: str,
        topics: list[str],
        instance_id: str | None,
        expression: str | None = None,
    ) -> None:
        """`expression`: it subscribes by that, which has to match all of `topics` and no other."""
        super().__init__(name, *where, group=group, topics=topics, instance_id=instance_id)
        self.expression = expression
        self.version = CLIENT_IDS_FROM if expression else self.chance.choice([0, 1])
        self.generation = JOIN_EPOCH
        self.lives = 0
        self._epoch_before = JOIN_EPOCH
        self._lost: list[tuple[Key, int]] = []
        """What it has no more, and its epoch when it had it."""
        self.said: list[Key] | None = None
        """What it last told the coordinator that it has; None: nothing that was answered."""

    def life(self) -> Waits:
        yield from self.learn_all(self.names)
        yield self.chance.random() * 3_000.0
        while not self.stopping:
            if self.coordinator is None:
                yield from self._find()
            else:
                yield from self._step()
        yield from self._leave()

    def _step(self) -> Waits:
        """What it does next, at the coordinator that it knows."""
        if self.generation <= JOIN_EPOCH:
            yield from self._beat(JOIN_EPOCH)
        else:
            yield from self._turn()

    def _turn(self) -> Waits:
        """What it does till the next time: mostly a heartbeat, or a commit."""
        yield HEARTBEAT_MS * (0.5 + self.chance.random())
        dice = self._dice()
        if dice < 0.02:
            yield from self._fall_silent()
        elif dice < 0.04:
            yield from self._leave()
        elif dice < 0.05:
            self._next_life()
            self.hang_up()
        elif dice < 0.08 and self.instance_id is not None:
            yield from self._beat(AWAY_EPOCH)
            self._next_life()
        elif dice < 0.13 and self._lost and self._lost[-1][1] < self.generation:
            yield from self._commit_late()
        elif dice < 0.6 and (yield from self._knows_offsets()):
            error = yield from self._commit()
            if error:
                yield from self._react(error)
        else:
            yield from self._beat(self.generation)

    def _dice(self) -> float:
        """What it draws for its next turn. A calm one sends a heartbeat nine times of ten: where so
        many members commit all the time, the log of offsets never comes to rest on all replicas."""
        return 0.58 + self.chance.random() / 5 if self.calm else self.chance.random()

    # --- heartbeats ----------------------------------------------------------------------------

    def _beat(self, epoch: int) -> Waits:
        """One heartbeat, and what follows from its answer."""
        topics = yield from self.know(*self.names)
        names = {topic.topic_id: topic.name for topic in topics}
        request = self._request(epoch, {name: topic_id for topic_id, name in names.items()})
        said = None if request.topic_partitions is None else list(self.assigned)
        response = yield from self._ask(request, self.version)
        if response is None:
            self.said = None
        elif response.error_code:
            yield from self._react(ErrorCode(response.error_code))
        elif epoch >= JOIN_EPOCH:
            self.said = self.said if said is None else said
            self._epoch_before = self.generation
            self.member_id, self.generation = response.member_id, response.member_epoch
            if response.assignment is not None:
                self._take(response.assignment.topic_partitions, names)

    def _request(self, epoch: int, ids: dict[str, bytes]) -> ConsumerGroupHeartbeatRequest:
        """With all that there is to say, or with what is new."""
        if epoch == JOIN_EPOCH:
            self.assigned, self.positions = [], {}
            if not self.member_id and self.version >= CLIENT_IDS_FROM:
                self.member_id = f"{self.name}-{self.lives}"
        request = ConsumerGroupHeartbeatRequest(self.group, self.member_id, epoch, self.instance_id)
        if epoch < JOIN_EPOCH:
            return request
        everything = epoch == JOIN_EPOCH or self.said is None or self.chance.random() < 0.05
        if everything:
            request.rebalance_timeout_ms = GIVE_UP_MS
            if self.expression is None:
                request.subscribed_topic_names = self.names
            else:
                request.subscribed_topic_regex = self.expression
        if everything or self.said != self.assigned:
            request.topic_partitions = self._owned(ids)
        return request

    def _owned(self, ids: dict[str, bytes]) -> list[ConsumerGroupHeartbeatRequestTopicPartitions]:
        parts: dict[str, list[int]] = {}
        for name, partition in self.assigned:
            parts.setdefault(name, []).append(partition)
        return [
            ConsumerGroupHeartbeatRequestTopicPartitions(ids[name], partitions)
            for name, partitions in parts.items()
        ]

    def _take(self, given: list[Any], names: dict[bytes, str]) -> None:
        """This is what it has from now on; what it has no more it gives up at once."""
        before = self.assigned
        self.assigned = [
            (names[topic.topic_id], partition)
            for topic in given
            if topic.topic_id in names
            for partition in topic.partitions
        ]
        self.positions = {
            key: offset for key, offset in self.positions.items() if key in self.assigned
        }
        self._lost += [(key, self._epoch_before) for key in before if key not in self.assigned]
        self.joined += 1

    def _react(self, error: ErrorCode) -> Waits:
        if error in GONE:
            self._lose_all()
        elif error is ErrorCode.UNRELEASED_INSTANCE_ID:
            self._lose_all()
            yield 1_000.0
        elif error is ErrorCode.FENCED_INSTANCE_ID:
            self._next_life()
            yield 1_000.0
        elif error is not ErrorCode.STALE_MEMBER_EPOCH:  # the next heartbeat tells the new one
            self.said = None
            yield from super()._react(error)

    def _lose_all(self) -> None:
        self.generation, self.said, self._lost = JOIN_EPOCH, None, []
        self.assigned, self.positions = [], {}

    def _next_life(self) -> None:
        """Another process: it has nothing, and another id."""
        self._lose_all()
        self.lives += 1
        self.member_id = ""

    def _leave(self) -> Waits:
        if self.coordinator is not None and self.member_id:
            yield from self._beat(LEAVE_EPOCH)
        self._next_life()

    # --- offsets -------------------------------------------------------------------------------

    def _knows_offsets(self) -> Waits:
        """Read where the group is, of what it was given; whether it knows all of it."""
        missing = [key for key in self.assigned if key not in self.positions]
        if missing:
            offsets = yield from self.committed(missing)
            if offsets is None:
                return False
            self.positions |= {key: max(offset, 0) for key, offset in offsets.items()}
        return bool(self.assigned)

    def _commit_late(self) -> Waits:
        """Commit for what it has no more, with the epoch in which it had it: as from a thread that
        does not know yet. That epoch has to be over: a commit in the member's own epoch counts,
        whatever it is for (Kafka's `ConsumerGroup.validateOffsetCommit`)."""
        now = (self.generation, self.assigned, self.positions)
        key, self.generation = self._lost.pop()
        self.assigned, self.positions = [key], {}
        error = yield from self._commit()
        self.generation, self.assigned, self.positions = now
        if error:
            yield from self._react(error)

    def _commit_version(self) -> int:
        return self.chance.choice([9, 10])

    def _reader(self, version: int) -> tuple[str | None, int]:
        return (self.member_id, self.generation) if version >= 9 else (None, -1)
