"""The last client of a simulation: it reads everything, once all is healed."""

from __future__ import annotations

from typing import Any

from controller.metadata.topic_names import INTERNAL_TOPICS
from protocol.errors import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest, Member
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.primitives import ZERO_UUID
from simulation.sim_client import Waits
from simulation.sim_trace import Violation
from tests.simulation.consumers import EARLIEST, TOPIC_IDS_FROM
from tests.simulation.data_invariants import Place, ReadPartition
from tests.simulation.fetched_batches import bounds_of, committed_of, records_of
from tests.simulation.group_members import ELSEWHERE, GroupMember
from tests.simulation.sim_actor import Topic
from tests.simulation.transactions import GroupKey

LATEST = -1
READ_COMMITTED = 1
"""At rest a reader of this isolation is given everything, and is told what was aborted."""
LOOKS_MAX = 10
SETTLED = ("Stable", "Empty")
SETTLE_WITHIN_MS = 15_000.0
"""The longest session and rebalance of a member that fell silent before the heal."""


class FinalReader(GroupMember):
    """What it found is in `partitions` and `groups`."""

    def __init__(
        self,
        name: str,
        *where: Any,
        groups: list[str],
        steady: list[str],
        skipped: tuple[str, ...] = (),
        transactional: tuple[str, ...] = (),
        assigned: tuple[str, ...] = (),
    ) -> None:
        """`transactional` groups commit their offsets in transactions; of `groups` those that are
        `assigned` by the broker are described as such."""
        super().__init__(name, *where, group=groups[0], topics=steady, instance_id=None)
        self.group_names = [*groups, *transactional]
        self._transactional = transactional
        self._assigned = assigned
        self.members: dict[str, list[Member]] = {}
        """Of groups that the broker assigns."""
        self.steady = steady
        self.skipped = (*INTERNAL_TOPICS, *skipped)
        self.partitions: dict[Place, ReadPartition] = {}
        self.groups: dict[str, str] = {}
        self.offsets: dict[GroupKey, int] = {}
        """Of transactional groups: where each of their positions is, -1 where it never moved."""
        self._looked = 0

    def life(self) -> Waits:
        yield from self.learn(None)
        for topic in self.topics.everything():
            if topic.name in self.skipped:
                continue
            for partition in sorted(topic.leaders):
                yield from self._read(topic, partition)
        for group in self.group_names:
            yield from self._look_at(group)

    def _read(self, topic: Topic, partition: int) -> Waits:
        start = yield from self._offset(topic, partition, EARLIEST)
        end = yield from self._offset(topic, partition, LATEST)
        found = ReadPartition(topic.name, start, end, stable_end=start)
        self.partitions[(topic.topic_id, partition)] = found
        version = self.chance.choice([4, 11, 12, 13, 17])
        position = start
        while position < end:
            part = FetchPartition(partition, -1, position, partition_max_bytes=100_000)
            by_id = version >= TOPIC_IDS_FROM
            asked = FetchTopic(
                "" if by_id else topic.name, topic.topic_id if by_id else ZERO_UUID, [part]
            )
            request = FetchRequest(
                replica_id=-1, max_wait_ms=100, isolation_level=READ_COMMITTED, topics=[asked]
            )
            response = yield from self.call(request, version, topic.leaders[partition])
            told = response.responses[0].partitions[0] if response is not None else None
            if told is not None and told.error_code and (yield from self._follows(topic)):
                if told.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    # A leader that was deposed while it deleted keeps its log start: where it
                    # leads again, the log begins there for all (seed 40005).
                    start = yield from self._offset(topic, partition, EARLIEST)
                    if start > position:
                        position = start
                        found.begin_at(start)
                continue
            bounds = bounds_of(told.records) if told is not None else None
            if bounds is None or not bounds[0] <= position < bounds[1]:
                raise Violation(
                    "I1", f"{topic.name}-{partition} cannot be read at {position}, it ends at {end}"
                )
            assert told is not None
            found.take(
                position,
                records_of(told.records),
                committed_of(told.records, told.aborted_transactions),
            )
            found.stable_end = told.last_stable_offset
            position = bounds[1]

    def _offset(self, topic: Topic, partition: int, timestamp: int) -> Waits:
        wanted = ListOffsetsPartition(partition, timestamp=timestamp)
        request = ListOffsetsRequest(-1, topics=[ListOffsetsTopic(topic.name, [wanted])])
        while True:
            version = self.chance.randint(1, 10)
            response = yield from self.call(request, version, topic.leaders[partition])
            told = response.topics[0].partitions[0] if response is not None else None
            if told is not None and not told.error_code:
                return told.offset
            if not (yield from self._follows(topic)):
                raise Violation("I20", f"{topic.name}-{partition} says no offset: {response}")

    def _follows(self, topic: Topic) -> Waits:
        """Look where the leaders are now: preferred ones take over even when all is well."""
        self._looked += 1
        if self._looked > LOOKS_MAX:
            return False
        yield self.pause_ms()
        yield from self.learn([topic.name])
        (now,) = yield from self.know(topic.name)
        topic.leaders = now.leaders
        return True

    def _look_at(self, group: str) -> Waits:
        """The group's offsets and its state, wherever its coordinator moves meanwhile."""
        self.group, self.coordinator = group, None
        self.stable = group in self._transactional
        topics = yield from self.know(*self.steady)
        partitions = [(topic.name, p) for topic in topics for p in sorted(topic.leaders)]
        until_ms = self.world.now_ms + SETTLE_WITHIN_MS
        while True:
            if self.coordinator is None:
                yield from self._find()
            else:
                offsets = yield from self.committed(partitions)
                if offsets is not None:
                    break
            if self.world.now_ms > until_ms:
                raise Violation("I17", f"nobody tells the offsets of {group}")
        if self.stable:
            self.offsets |= {(group, key): offset for key, offset in offsets.items()}
        while True:
            state = yield from self._state(group)
            self.groups[group] = "Empty" if state == "Dead" else state
            if self.groups[group] in SETTLED or self.world.now_ms > until_ms:
                return
            yield 500.0

    def _state(self, group: str) -> Waits:
        """The state of a group; "" where it could not be told now."""
        if self.coordinator is None:
            yield from self._find()
            return ""
        if group in self._assigned:
            return (yield from self._state_of_assigned(group))
        return (yield from self._state_of_classic(group))

    def _state_of_classic(self, group: str) -> Waits:
        version = self.chance.randint(0, 6)
        response = yield from self._ask(DescribeGroupsRequest([group]), version)
        if response is None:
            return ""
        told = response.groups[0]
        if told.error_code in ELSEWHERE:
            yield from self._react(ErrorCode(told.error_code))
            return ""
        return told.group_state

    def _state_of_assigned(self, group: str) -> Waits:
        """As `_state`, of a group that the broker assigns; its members are kept. It may be a
        classic one now."""
        self.members[group] = []
        request = ConsumerGroupDescribeRequest([group])
        response = yield from self._ask(request, self.chance.randint(0, 1))
        if response is None:
            return ""
        told = response.groups[0]
        if told.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            return (yield from self._state_of_classic(group))
        if told.error_code:
            yield from self._react(ErrorCode(told.error_code))
            return ""
        self.members[group] = told.members
        return told.group_state
