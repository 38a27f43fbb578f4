"""A consumer group in mid-revocation moves with its folder: from Ottla to Apache Kafka and back.

Whoever has the folder goes on with the epochs, the targets and what is still to be given up; nobody
joins again. A different metadata hash costs one epoch for each move.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
)
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.clients.wire_client import WireClient
from tests.retriable import RETRIABLE
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START
from tests.tools.waiting import LIMIT_S, wait_until

pytestmark = pytest.mark.java

TOPIC, GROUP, PARTITIONS = "moved", "movers", 4


class Member:
    """Says what it has, takes what it is given and gives up what it is told to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.epoch = 0
        self.has: dict[bytes, list[int]] = {}
        self.told: dict[bytes, list[int]] = {}
        self.joins = 0

    def beat(self, client: WireClient, *, obeys: bool = True) -> None:
        """One heartbeat, until somebody coordinates the group. What it is told is told once."""
        said: dict[str, Any] = {}
        if obeys:
            self.has = self.told
            said["topic_partitions"] = self._owned()
        if self.epoch == 0:
            self.joins += 1
            said = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": [TOPIC]}
            said["topic_partitions"] = []
        request = ConsumerGroupHeartbeatRequest(GROUP, self.name, self.epoch, **said)
        while (answer := client.call(request, 1)).error_code:
            assert ErrorCode(answer.error_code) in RETRIABLE, (self.name, answer)
            client.call(FindCoordinatorRequest(GROUP), 2)
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            topics = answer.assignment.topic_partitions
            self.told = {one.topic_id: one.partitions for one in topics}

    def _owned(self) -> list[ConsumerGroupHeartbeatRequestTopicPartitions]:
        return [ConsumerGroupHeartbeatRequestTopicPartitions(*one) for one in self.has.items()]

    @property
    def count(self) -> int:
        """Of its partitions."""
        return sum(map(len, self.has.values()))


def described(client: WireClient) -> Any:
    return client.call(ConsumerGroupDescribeRequest([GROUP]), 1).groups[0]


def settle(client: WireClient, members: list[Member], shares: list[int]) -> None:
    """Until all have their shares and the group is stable."""
    end = time.monotonic() + LIMIT_S
    while True:
        for member in members:
            member.beat(client)
        state = described(client).group_state
        if sorted(one.count for one in members) == shares and state == "Stable":
            return
        assert time.monotonic() < end, (state, [one.has for one in members])
        time.sleep(0.05)


def begin_hand_over(client: WireClient, members: list[Member]) -> None:
    """A member more, for which another is told to give something up, and does not yet."""
    newcomer = Member(f"m{len(members)}")

    def reconciles() -> bool:
        newcomer.beat(client)
        return bool(described(client).group_state == "Reconciling")

    wait_until(reconciles, "a group that reconciles")
    for member in members:
        member.beat(client, obeys=False)
    members.append(newcomer)


@contextmanager
def ottla(folder: Path, factory: Callable[..., Any]) -> Iterator[WireClient]:
    broker = factory(data_dir=folder)
    try:
        with WireClient(broker.port) as client:
            yield client
        broker.kill()
    finally:
        broker.close()


@contextmanager
def apache_kafka(folder: Path) -> Iterator[WireClient]:
    kafka = ApacheKafka(data_dir=folder, static_voters=True, jvm_options=FAST_START, heap="512m")
    with kafka:
        with WireClient(kafka.port) as client:
            yield client
        kafka.kill()
        assert kafka.errors() == []


def test_a_group_in_mid_revocation_moves_with_its_folder(
    ottla_broker_factory: Callable[..., Any], tmp_path: Path
) -> None:
    folder, members = tmp_path / "data", [Member("m0")]
    with ottla(folder, ottla_broker_factory) as client:
        topic = CreatableTopic(TOPIC, PARTITIONS, 1)
        assert client.call(CreateTopicsRequest([topic], 15_000), 5).topics[0].error_code == 0
        settle(client, members, [4])
        begin_hand_over(client, members)
        before = described(client)
        assert before.group_state == "Reconciling"
    with apache_kafka(folder) as client:
        once_known(client)
        assert shown(described(client)) == shown(before)
        settle(client, members, [2, 2])
        begin_hand_over(client, members)
        before = described(client)
    with ottla(folder, ottla_broker_factory) as client:
        once_known(client)
        assert shown(described(client)) == shown(before)
        settle(client, members, [1, 1, 2])
    assert [member.joins for member in members] == [1, 1, 1]


def once_known(client: WireClient) -> None:
    """Until the topic has leaders, and somebody coordinates the group."""
    metadata = MetadataRequest([MetadataRequestTopic(name=TOPIC)])
    wait_until(
        lambda: (
            not client.call(FindCoordinatorRequest(GROUP), 2).error_code
            and not client.call(metadata, 8).topics[0].error_code
            and not described(client).error_code
        ),
        "a coordinator that has loaded the group",
    )


def shown(group: Any) -> Any:
    """What may not change when the folder moves."""
    members = {
        one.member_id: (
            one.member_epoch,
            [(topic.topic_name, topic.partitions) for topic in one.assignment.topic_partitions],
            [
                (topic.topic_name, topic.partitions)
                for topic in one.target_assignment.topic_partitions
            ],
        )
        for one in group.members
    }
    return group.group_state, group.group_epoch, group.assignment_epoch, members
