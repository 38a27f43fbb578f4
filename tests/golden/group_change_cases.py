"""How groups change their kind with a static member, and when what they committed is forgotten.

`python -m tests.golden.group_change_cases` records `group_changes_kafka.json` anew. A classic
consumer comes with the instance id of a consumer member (KIP-848, KIP-345), in groups in which that
is the only member, or has a classic one or another consumer beside it, and is there or away. The
other groups commit at second 0 and are empty since second 30; the topic of one is `OTHER`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from protocol.errors import ErrorCode
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
)
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from protocol.messages.sync_group import SyncGroupRequest
from protocol.primitives import MessageBuffer
from protocol.record_batch import iterate_batches
from protocol.records import iterate_records
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "group_changes_kafka.json"
TOPIC, OTHER = "changes-t", "changes-u"
BESIDE = ("nobody", "classic", "classic at rest", "consumer")
EXPIRING = ("subscribed", "other topic", "classic")
PROPERTIES = {
    "offsets.topic.num.partitions": "1",
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "500",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.assignment.interval.ms": "0",
}
EMPTY_AT_S, FIRST_LOOK_S, LAST_LOOK_S = 30, 50, 105
SINCE = {"the commit": 58, "when it was empty": 88}
"""A minute later, and a little less for the time that the commits take."""

Ask: TypeAlias = Callable[[Any, int], Any]
"""The answer to a request in a version."""


def subscription(*topics: str) -> bytes:
    """What a classic consumer says of itself."""
    out = MessageBuffer()
    out += b"\0\1"
    ConsumerProtocolSubscription(list(topics)).write(out, 1)
    return bytes(out)


class Conversation:
    """With one broker of `PROPERTIES` that has none of these topics and groups yet."""

    def __init__(self, ask: Ask, pause: Callable[[float], None] = time.sleep) -> None:
        """`pause` waits some seconds."""
        self._ask = ask
        self._pause = pause
        self._read = 0
        self._topic_id = b""

    def answers(self) -> Iterator[tuple[str, Any]]:
        """What happened, and what came of it."""
        topics = [CreatableTopic(name, 4, 1) for name in (TOPIC, OTHER)]
        made = self._ask(CreateTopicsRequest(topics, 10_000), 7).topics
        self._topic_id = next(one.topic_id for one in made if one.name == TOPIC)
        found = FindCoordinatorRequest(coordinator_keys=["g"])
        self._until(lambda: not self._ask(found, 4).coordinators[0].error_code)
        self._until(lambda: not self._beat("first", "m", 0).error_code)
        for beside in BESIDE:
            for away in (False, True):
                for topics in ((TOPIC,), (TOPIC, OTHER)):
                    group = f"{beside} {away} {len(topics)}"
                    yield from self._replace(group, beside, away, topics)
        yield from self._expire()

    def _until(self, happens: Callable[[], bool]) -> None:
        """What takes a broker a while after a request is answered."""
        for _ in range(150):
            if happens():
                return
            self._pause(0.1)
        raise TimeoutError

    # -- a static member is replaced -------------------------------------------------------------

    def _replace(
        self, group: str, beside: str, away: bool, topics: tuple[str, ...]
    ) -> Iterator[tuple[str, Any]]:
        what = f"beside {beside}, {'away' if away else 'there'}, {len(topics)} topics"
        first = self._comes_first(group)
        other, other_epoch = "m2", 0
        if beside == "consumer":
            other_epoch = self._beat(group, "m2", 0).member_epoch
        if beside.startswith("classic"):
            other = self._join(group, "").member_id
            joined = self._join(group, other)
            other_epoch = joined.generation_id
            assert joined.error_code == 0, joined
        if beside == "classic at rest":
            self._settle(group, first.member_epoch, other, other_epoch)
        if away:
            left = self._beat(group, "m1", -2, "a")
            assert left.error_code == 0, left
        self._batches()
        joined = self._join(group, "", "a", topics)
        yield (
            f"{what}: join",
            [
                int(joined.error_code),
                joined.generation_id - max(first.member_epoch, other_epoch),
                joined.leader == joined.member_id,
                [one.group_instance_id for one in joined.members],
            ],
        )
        yield f"{what}: written", self._batches()
        yield f"{what}: listed", self._listed(group)
        if beside.startswith("classic"):
            request = HeartbeatRequest(group, other_epoch, other)
            yield f"{what}: the other's heartbeat", int(self._ask(request, 4).error_code)
        beat = HeartbeatRequest(group, joined.generation_id, joined.member_id, "a")
        yield f"{what}: heartbeat", int(self._ask(beat, 4).error_code)
        sync = SyncGroupRequest(
            group, joined.generation_id, joined.member_id, "a", "consumer", "range", []
        )
        yield f"{what}: sync", int(self._ask(sync, 5).error_code)
        yield f"{what}: listed after", self._listed(group)
        gone = self._beat(group, "m1", first.member_epoch, "a")
        yield f"{what}: the old one's heartbeat", int(gone.error_code)

    def _comes_first(self, group: str) -> Any:
        first = self._beat(group, "m1", 0, "a")
        assert first.error_code == 0, first
        return first

    def _settle(self, group: str, first_epoch: int, other: str, epoch: int) -> None:
        """The consumer gives up what it has to, and the classic member takes it."""
        told = self._beat(group, "m1", first_epoch, "a")
        assert told.member_epoch == first_epoch, told
        (kept,) = told.assignment.topic_partitions
        owned = [ConsumerGroupHeartbeatRequestTopicPartitions(self._topic_id, kept.partitions)]
        assert self._beat(group, "m1", first_epoch, "a", owned).member_epoch == epoch
        assert self._ask(HeartbeatRequest(group, epoch, other), 4).error_code == 27
        assert self._join(group, other).generation_id == epoch
        request = SyncGroupRequest(group, epoch, other, None, "consumer", "range", [])
        assert self._ask(request, 5).error_code == 0
        assert self._ask(HeartbeatRequest(group, epoch, other), 4).error_code == 0

    def _beat(
        self,
        group: str,
        member: str,
        epoch: int,
        instance: str | None = None,
        owned: list[ConsumerGroupHeartbeatRequestTopicPartitions] | None = None,
    ) -> Any:
        joins = epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member,
            member_epoch=epoch,
            instance_id=instance,
            rebalance_timeout_ms=2_000 if joins else -1,
            subscribed_topic_names=[TOPIC] if joins else None,
            topic_partitions=[] if joins else owned,
        )
        return self._ask(request, 1)

    def _join(
        self,
        group: str,
        member: str,
        instance: str | None = None,
        topics: tuple[str, ...] = (TOPIC,),
    ) -> Any:
        protocols = [JoinGroupRequestProtocol("range", subscription(*topics))]
        request = JoinGroupRequest(group, 45_000, 2_000, member, instance, "consumer", protocols)
        return self._ask(request, 9)

    def _listed(self, group: str) -> Any:
        found = self._ask(ListGroupsRequest(), 5).groups
        return [[one.group_type, one.group_state] for one in found if one.group_id == group]

    def _batches(self) -> list[list[list[Any]]]:
        """What was written since the last time: the type of each record, and whether it is a
        tombstone, batch by batch."""
        part = FetchPartition(0, -1, self._read, partition_max_bytes=1 << 20)
        topics = [FetchTopic("__consumer_offsets", partitions=[part])]
        request = FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=0, topics=topics)
        view = memoryview(self._ask(request, 11).responses[0].partitions[0].records)
        found = []
        for place, _ in iterate_batches(view, allow_partial_tail=True):
            records = list(iterate_records(view, place))
            self._read = records[-1].offset + 1
            found.append([[int.from_bytes(one.key[:2]), one.value is None] for one in records])
        return found

    # -- what is committed is forgotten ----------------------------------------------------------

    def _expire(self) -> Iterator[tuple[str, Any]]:
        joined = {name: self._comes(name) for name in EXPIRING}
        for name, (member, epoch) in joined.items():
            topic = OTHER if name == "other topic" else TOPIC
            where = [OffsetCommitRequestTopic(topic, b"\0" * 16, [_committed()])]
            answer = self._ask(OffsetCommitRequest(name, epoch, member, topics=where), 9)
            assert answer.topics[0].partitions[0].error_code == 0, answer
        self._pause(EMPTY_AT_S)
        for name, (member, _) in joined.items():
            self._leaves(name, member)
        gone: dict[str, int] = {}
        self._pause(FIRST_LOOK_S - EMPTY_AT_S)
        for second in range(FIRST_LOOK_S, LAST_LOOK_S):
            for name in EXPIRING:
                if name not in gone and not self._has(name):
                    gone[name] = second
            self._pause(1)
        for name in EXPIRING:
            after = gone.get(name)
            since = [one for one, second in SINCE.items() if second <= (after or 0) < second + 20]
            yield f"{name}: counted from", since

    def _leaves(self, group: str, member: str) -> None:
        if group == "classic":
            request = LeaveGroupRequest(group, members=[MemberIdentity(member)])
            assert self._ask(request, 5).members[0].error_code == 0
        else:
            assert self._beat(group, member, -1).error_code == 0

    def _comes(self, name: str) -> tuple[str, int]:
        if name != "classic":
            return "m", self._beat(name, "m", 0).member_epoch
        member = self._join(name, "").member_id
        joined = self._join(name, member)
        self._ask(SyncGroupRequest(name, 1, member, None, "consumer", "range", []), 5)
        return member, joined.generation_id

    def _has(self, name: str) -> bool:
        topic = OTHER if name == "other topic" else TOPIC
        topics = [OffsetFetchRequestTopics(topic, b"\0" * 16, [0])]
        group = OffsetFetchRequestGroup(name, None, -1, topics)
        (answer,) = self._ask(OffsetFetchRequest(groups=[group]), 9).groups
        assert answer.error_code == ErrorCode.NONE
        return bool(answer.topics[0].partitions[0].committed_offset == 7)


def _committed() -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(0, 7, -1, "")


def record() -> None:
    """Ask a real broker."""
    from tests.golden.controller_cases import ask
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START
    from tests.tools.ports import free_port

    port = free_port()
    with ApacheKafka(port=port, jvm_options=FAST_START, heap="512m", properties=PROPERTIES):
        conversation = Conversation(lambda request, version: ask(port, request, version))
        answers = {}
        for name, answer in conversation.answers():
            print(name, answer, flush=True)
            answers[name] = answer
    write_json(RECORDED, answers)


if __name__ == "__main__":
    record()
