"""What classic members of a consumer group are told while the next assignment is not due (KIP-848).

`python -m tests.golden.classic_member_cases` records `classic_members_kafka.json` anew. Since
Apache Kafka an assignment is computed no sooner than `group.consumer.assignment.interval.ms`
after the one before; a group's epoch may be ahead of what is assigned for that long. A classic
member comes within that time, and is there when further consumers come within it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequestTopicPartitions
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.sync_group import SyncGroupRequest
from tests.golden.group_change_cases import TOPIC, Conversation
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "classic_members_kafka.json"
GROUP = "mixed"
PROPERTIES = {
    "offsets.topic.num.partitions": "1",
    "group.consumer.assignment.interval.ms": "2000",
}
OVER_S = 2.1
"""After so long the next assignment is due."""


class MixedGroup(Conversation):
    """With one broker of `PROPERTIES` that has neither the topic nor the group yet."""

    def answers(self) -> Iterator[tuple[str, Any]]:
        """What happened, and what came of it."""
        topics = [CreatableTopic(TOPIC, 6, 1)]
        self._topic_id = self._ask(CreateTopicsRequest(topics, 10_000), 7).topics[0].topic_id
        found = FindCoordinatorRequest(coordinator_keys=[GROUP])
        self._until(lambda: not self._ask(found, 4).coordinators[0].error_code)
        self._until(lambda: not self._beat("first", "m", 0).error_code)
        for name, told in self._steps():
            yield name, told
            yield f"{name}: then", self._described()

    def _steps(self) -> Iterator[tuple[str, Any]]:
        first = self._beat(GROUP, "m1", 0).member_epoch
        classic = self._join(GROUP, "").member_id
        yield "a classic member comes too soon", self._returns(classic)
        yield "and again", self._returns(classic)
        self._pause(OVER_S)
        yield "the assignment is due", self._returns(classic, 2)
        told = self._beat(GROUP, "m1", first)
        kept = told.assignment.topic_partitions[0].partitions
        owned = [ConsumerGroupHeartbeatRequestTopicPartitions(self._topic_id, kept)]
        second = self._beat(GROUP, "m1", first, owned=owned).member_epoch
        yield "the consumer has given up", self._returns(classic, second)
        self._pause(OVER_S)
        third = self._beat(GROUP, "m2", 0).member_epoch
        yield "another consumer comes", self._alive(classic, second)
        self._beat(GROUP, "m3", 0)
        yield "a third comes too soon", self._returns(classic, second)
        yield "and the classic member again", self._returns(classic, third)

    def _returns(self, member: str, epoch: int | None = None) -> list[Any]:
        """Heartbeat, JoinGroup, SyncGroup, Heartbeat."""
        before = None if epoch is None else self._alive(member, epoch)
        joined = self._join(GROUP, member)
        generation = joined.generation_id
        request = SyncGroupRequest(GROUP, generation, member, None, "consumer", "range", [])
        synced = self._ask(request, 5)
        alive = self._alive(member, generation)
        share = bytes(synced.assignment).hex()
        return [before, joined.error_code, generation, synced.error_code, share, alive]

    def _alive(self, member: str, epoch: int) -> int:
        return int(self._ask(HeartbeatRequest(GROUP, epoch, member), 4).error_code)

    def _described(self) -> list[Any]:
        (group,) = self._ask(ConsumerGroupDescribeRequest([GROUP]), 1).groups
        members = [
            [
                _name(one.member_id),
                one.member_epoch,
                _of(one.assignment),
                _of(one.target_assignment),
            ]
            for one in group.members
        ]
        return [group.group_state, group.group_epoch, group.assignment_epoch, sorted(members)]


def _name(member_id: str) -> str:
    return member_id if member_id in ("m1", "m2", "m3") else "classic"


def _of(assignment: Any) -> list[int]:
    return sorted(one for topic in assignment.topic_partitions for one in topic.partitions)


def record() -> None:
    """Ask a real broker."""
    from tests.golden.controller_cases import ask
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START
    from tests.tools.ports import free_port

    port = free_port()
    with ApacheKafka(port=port, jvm_options=FAST_START, heap="512m", properties=PROPERTIES):
        said = MixedGroup(lambda request, version: ask(port, request, version))
        answers = dict(said.answers())
    write_json(RECORDED, answers)


if __name__ == "__main__":
    record()
