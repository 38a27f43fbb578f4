"""Who may commit and be told offsets of a consumer group (KIP-848), as Apache Kafka judges.

`python -m tests.golden.member_epoch_cases` records `member_epochs_kafka.json` anew.
Partitions are given out by range. `m1` had all six at epoch 2, then 3 to 5, and has 2 and 3 since
epoch 4: partition 3 all the time, 2 anew. `away` is a static member with 0 and 1 that has left for
a while, `m2` has 4 and 5.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from protocol.messages import txn_offset_commit as txn
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
)
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "member_epochs_kafka.json"

GROUP, TOPIC, OTHER_TOPIC = "epochs", "epochs-t", "epochs-u"
EMPTIED = "epochs-emptied"
ABSENT = "epochs-absent"
UNKNOWN_ID = b"\1" * 16
TRANSACTION = "epochs-x"
MEMBERS = ("m1", "m2", "away", "nobody", "")
EPOCHS = (-2, -1, 0, 1, 2, 3, 4, 5)
WHERE = ((3,), (2,), (2, 3), (4,), (0,))

Ask: TypeAlias = Callable[[Any, int], Any]
"""The answer to a request in a version."""


class Conversation:
    """With one broker that has none of these topics and groups yet."""

    def __init__(self, ask: Ask, pause: Callable[[float], None] = time.sleep) -> None:
        """`pause` waits some seconds."""
        self._ask = ask
        self._pause = pause
        self._topic_id = b""
        self._producer = (-1, -1)
        self._epochs: dict[str, int] = {}
        self._held: dict[str, list[int]] = {}

    def answers(self) -> Iterator[tuple[str, Any]]:
        """What was asked, and what came back: errors, or offsets, by partition."""
        self._prepare()
        for who in MEMBERS:
            for epoch in EPOCHS:
                for where in WHERE:
                    for version in (8, 9, 10):
                        yield self._commit(GROUP, who, epoch, where, version)
                    yield self._commit_transactional(GROUP, who, epoch, where, 5)
        for named in (*MEMBERS, None):
            for epoch in EPOCHS:
                for version in (8, 9, 10):
                    yield self._fetch(GROUP, named, epoch, version)
        yield self._commit(GROUP, "m1", 3, (0,), 10, topic_id=UNKNOWN_ID)
        yield self._fetch(GROUP, "m1", 3, 10, topic_id=UNKNOWN_ID)
        for group in (EMPTIED, ABSENT):
            for member, epoch in (("", -1), ("", 3), ("m1", -1), ("m1", 3)):
                for version in (8, 9, 10):
                    yield self._fetch(group, member, epoch, version)
                    yield self._commit(group, member, epoch, (0,), version)
                yield self._commit_transactional(group, member, epoch, (0,), 5)
        yield self._delete(TOPIC)
        yield self._delete(OTHER_TOPIC)

    # -- before --------------------------------------------------------------------------------

    def _prepare(self) -> None:
        ask = self._ask
        topics = [CreatableTopic(name, 6, 1) for name in (TOPIC, OTHER_TOPIC)]
        ask(CreateTopicsRequest(topics, 10_000), 7)
        for kind, key in ((0, GROUP), (0, EMPTIED), (1, TRANSACTION)):
            found = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
            self._until(lambda found=found: not ask(found, 4).coordinators[0].error_code)
        configs = [AlterableConfig("consumer.assignment.interval.ms", 0, "0")]
        resources = [AlterConfigsResource(32, name, configs) for name in (GROUP, EMPTIED)]
        ask(IncrementalAlterConfigsRequest(resources), 1)
        self._topic_id = self._id_of(TOPIC)
        self._make_the_group()
        self._until(lambda: self._beat("m1", 0, group=EMPTIED).error_code == 0)
        assert self._beat("m1", -1, group=EMPTIED).error_code == 0
        self._until(lambda: self._has_a_producer())

    def _id_of(self, name: str) -> bytes:
        request = MetadataRequest([MetadataRequestTopic(name=name)])
        found: bytes = self._ask(request, 12).topics[0].topic_id
        return found

    def _make_the_group(self) -> None:
        self._settle({"m1": None}, 6)
        self._settle({"m1": None, "away": "i"}, 3)
        self._settle({"m1": None, "away": "i", "m2": None}, 2)
        assert self._beat("away", -2, instance="i").error_code == 0

    def _settle(self, members: dict[str, str | None], share: int) -> None:
        """They do what they are told until each has as many partitions, at one epoch. Values are
        instance ids."""
        epochs, held = self._epochs, self._held

        def all_have_their_share() -> bool:
            for member, instance in members.items():
                epoch = epochs.get(member, 0)
                answer = self._beat(member, epoch, instance=instance, owned=held.get(member))
                if answer.error_code:
                    return False
                epochs[member] = answer.member_epoch
                if answer.assignment is not None:
                    given = answer.assignment.topic_partitions
                    held[member] = [one for topic in given for one in topic.partitions]
            sizes = [len(one) for one in held.values()]
            return sizes == [share] * len(members) and len(set(epochs.values())) == 1

        self._until(all_have_their_share)

    def _until(self, happens: Callable[[], bool]) -> None:
        """What takes a broker a while after a request is answered."""
        for _ in range(150):
            if happens():
                return
            self._pause(0.1)
        raise TimeoutError

    def _beat(
        self,
        member: str,
        epoch: int,
        *,
        group: str = GROUP,
        instance: str | None = None,
        owned: list[int] | None = None,
    ) -> Any:
        joins = epoch == 0
        held = (
            None
            if owned is None
            else [ConsumerGroupHeartbeatRequestTopicPartitions(self._topic_id, owned)]
            if owned
            else []
        )
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member,
            member_epoch=epoch,
            instance_id=instance,
            rebalance_timeout_ms=60_000 if joins else -1,
            subscribed_topic_names=[TOPIC] if joins else None,
            server_assignor="range" if joins else None,
            topic_partitions=[] if joins else held,
        )
        return self._ask(request, 1)

    def _has_a_producer(self) -> bool:
        made = self._ask(InitProducerIdRequest(TRANSACTION, 60_000), 5)
        self._producer = (made.producer_id, made.producer_epoch)
        return made.error_code == 0

    # -- questions -----------------------------------------------------------------------------

    def _commit(
        self,
        group: str,
        member: str,
        epoch: int,
        where: tuple[int, ...],
        version: int,
        topic_id: bytes | None = None,
    ) -> tuple[str, Any]:
        partitions = [OffsetCommitRequestPartition(one, 7, -1, "") for one in where]
        found = self._topic_id if topic_id is None else topic_id
        topic = OffsetCommitRequestTopic(TOPIC, found, partitions)
        request = OffsetCommitRequest(group, epoch, member, topics=[topic])
        answer = self._ask(request, version)
        asked = f"commit v{version} {group} {member!r} {epoch} {list(where)}"
        errors = [
            [one.partition_index, int(one.error_code)]
            for topic in answer.topics
            for one in topic.partitions
        ]
        return asked if topic_id is None else f"{asked} of another topic", errors

    def _commit_transactional(
        self, group: str, member: str, epoch: int, where: tuple[int, ...], version: int
    ) -> tuple[str, Any]:
        partitions = [txn.TxnOffsetCommitRequestPartition(one, 7, -1, "") for one in where]
        request = txn.TxnOffsetCommitRequest(
            TRANSACTION,
            group,
            *self._producer,
            epoch,
            member,
            None,
            [txn.TxnOffsetCommitRequestTopic(TOPIC, partitions=partitions)],
        )
        answer = self._ask(request, version)
        errors = [
            [one.partition_index, int(one.error_code)]
            for topic in answer.topics
            for one in topic.partitions
        ]
        return f"transactional v{version} {group} {member!r} {epoch} {list(where)}", errors

    def _fetch(
        self,
        group: str,
        member: str | None,
        epoch: int,
        version: int,
        topic_id: bytes | None = None,
    ) -> tuple[str, Any]:
        found = self._topic_id if topic_id is None else topic_id
        topics = [OffsetFetchRequestTopics(TOPIC, found, [5])]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, member, epoch, topics)])
        (answer,) = self._ask(request, version).groups
        offsets = [
            [one.partition_index, one.committed_offset, int(one.error_code)]
            for topic in answer.topics
            for one in topic.partitions
        ]
        asked = f"fetch v{version} {group} {member!r} {epoch}"
        if topic_id is not None:
            asked += " of another topic"
        return asked, [int(answer.error_code), offsets]

    def _delete(self, topic: str) -> tuple[str, Any]:
        topics = [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)])]
        answer = self._ask(OffsetDeleteRequest(GROUP, topics), 0)
        errors = [int(one.error_code) for found in answer.topics for one in found.partitions]
        return f"delete {topic}", [int(answer.error_code), errors]


def record() -> None:
    """Ask a real broker."""
    from tests.golden.controller_cases import ask
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START
    from tests.tools.ports import free_port

    port = free_port()
    with ApacheKafka(port=port, jvm_options=FAST_START, heap="512m"):
        conversation = Conversation(lambda request, version: ask(port, request, version))
        answers = dict(conversation.answers())
    write_json(RECORDED, answers)


if __name__ == "__main__":
    record()
