"""A share group on a stage: heartbeats whose records are replayed at once, and its topics.

`stage.beat("m1", 0, "t")` joins, `stage.beat("m1", 2)` stays, and `stage.initialize()` ends what a
heartbeat began to initialize.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any

from broker.coordinator.coordinator_log import Record
from broker.groups.share.heartbeat import (
    LEAVE_EPOCH,
    Decision,
    ShareBeat,
    Surroundings,
    ToInitialize,
    heartbeat,
    heartbeat_fault,
    leave,
    refused,
)
from broker.groups.share.initialization import state_topics_record
from broker.groups.share.settings import ShareGroupSettings
from broker.groups.share.share_group import ShareGroup
from controller.metadata.image import TopicsImage
from ground.sliced_work import in_one_go
from protocol.messages import group_records
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.unit.broker.groups.playbook import image_with

_TYPE = Struct(">h")
_NAMES = (
    "ShareGroupMemberMetadata",
    "ShareGroupMetadata",
    "ShareGroupTargetAssignmentMetadata",
    "ShareGroupTargetAssignmentMember",
    "ShareGroupCurrentMemberAssignment",
    "ShareGroupStatePartitionMetadata",
)
CLASSES: dict[int, tuple[Any, Any]] = {
    key.API_KEY: (key, getattr(group_records, f"{name}Value"))
    for name in _NAMES
    for key in [getattr(group_records, f"{name}Key")]
}


def parsed(record: Record) -> tuple[Any, Any]:
    """Return key and value of a share group's record."""
    (kind,) = _TYPE.unpack_from(record[0])
    key_class, value_class = CLASSES[kind]
    key = key_class.read(memoryview(record[0]), 2, 0)[0]
    if record[1] is None:
        return key, None
    return key, value_class.read(memoryview(record[1]), 2, 0)[0]


def topic_id(name: str) -> bytes:
    """Return the id of a topic on a stage."""
    return name.encode().rjust(16, b".")


class Stage:
    """A group, its log, and a clock in ms."""

    def __init__(self, *, interval_ms: int = 0, max_size: int = 200, **topics: int) -> None:
        """Create a group without members; `topics` are names and partition counts."""
        self.topics = topics
        self.settings = ShareGroupSettings(45_000, 5_000, interval_ms, max_size)
        self.group = ShareGroup("g")
        self.now_ms = 1_000_000
        self.log: list[Record] = []
        self.to_initialize: list[ToInitialize] = []
        self.retried: frozenset[bytes] = frozenset()

    def beat(self, member: str, epoch: int, *names: str) -> Decision:
        """Send a heartbeat of a member and replay its records."""
        request = ShareGroupHeartbeatRequest("g", member, epoch, None, list(names) or None)
        fault = heartbeat_fault(request)
        if fault is not None:
            return refused(fault)
        topics = self._image()
        if epoch == LEAVE_EPOCH:
            decision = leave(self.group, member, topics)
        else:
            around = Surroundings(self.settings, topics, self.now_ms, self.retried)
            beat = ShareBeat(request, "client", "/127.0.0.1")
            decision = in_one_go(heartbeat(self.group, beat, around))
        self.write(decision.records)
        if decision.to_initialize is not None:
            self.to_initialize.append(decision.to_initialize)
        return decision

    def write(self, records: Sequence[Record]) -> None:
        """Append records and replay them."""
        for record in records:
            self.group.replay(*parsed(record), len(self.log))
            self.log.append(record)

    def initialize(self) -> None:
        """End all initializations."""
        for asked in self.to_initialize:
            done = {topic_id: topic.partitions for topic_id, topic in asked.topics.items()}
            topics = self.group.state_topics.finish(done)
            self.write([state_topics_record("g", topics)])
        self.to_initialize = []

    def assigned(self, member: str) -> dict[str, tuple[int, ...]]:
        """Return the partitions of a member by topic name."""
        names = {topic_id(name): name for name in self.topics}
        assigned = self.group.members[member].assigned
        return {names[key]: partitions for key, partitions in assigned.items()}

    def _image(self) -> TopicsImage:
        return image_with(
            **{name: (topic_id(name), count) for name, count in self.topics.items()}
        ).topics

    def loaded(self) -> ShareGroup:
        """Return the group that the log gives."""
        group = ShareGroup("g")
        for offset, record in enumerate(self.log):
            group.replay(*parsed(record), offset)
        return group

    def kinds(self) -> list[int]:
        """Return the types of the records in the log."""
        return [_TYPE.unpack_from(key)[0] for key, _ in self.log]
