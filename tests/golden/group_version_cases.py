"""Consumer groups (KIP-848) that are switched off and on again, as Apache Kafka answers.

`python -m tests.golden.group_version_cases` records `group_version_kafka.json` anew: a group
with a member while the feature `group.version` goes to 0 and back, and a broker whose
`group.coordinator.rebalance.protocols` is without consumer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
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
from protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "group_version_kafka.json"

FEATURE = "group.version"
GROUP, TOPIC, MEMBER = "switched", "switched-t", "m"
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
CLASSIC_ONLY = {"group.coordinator.rebalance.protocols": "classic"}

Ask: TypeAlias = Callable[[Any, int], Any]
"""The answer to a request in a version."""


class Conversation:
    """With one broker that has none of this yet."""

    def __init__(self, ask: Ask, pause: Callable[[float], None] = time.sleep) -> None:
        """`pause` waits some seconds."""
        self._ask = ask
        self._pause = pause

    def answers(self) -> Iterator[tuple[str, Any]]:
        """While the feature goes to 0 and back."""
        self._prepare()
        self._until(lambda: self._heartbeat(0)[1][0] == 0)
        yield from self._all("at 1")
        yield "2, upgrade", self._update(2, UPGRADE)
        yield "0, upgrade", self._update(0, UPGRADE)
        yield "1, downgrade", self._update(1, SAFE_DOWNGRADE)
        yield "0, downgrade", self._update(0, SAFE_DOWNGRADE)
        self._until(lambda: self._heartbeat(2)[1][0] == 35)
        yield from self._all("at 0")
        yield "1, downgrade from 0", self._update(1, SAFE_DOWNGRADE)
        yield "1, upgrade", self._update(1, UPGRADE)
        self._until(lambda: self._heartbeat(2)[1][0] != 35)
        yield from self._all("at 1 again")
        yield "0, unsafe downgrade", self._update(0, UNSAFE_DOWNGRADE)
        self._until(lambda: self._heartbeat(2)[1][0] == 35)

    def answers_of_classic_only(self) -> Iterator[tuple[str, Any]]:
        """Of a broker whose file names the classic protocol alone."""
        self._prepare()
        yield from self._all("classic only")

    def _all(self, when: str) -> Iterator[tuple[str, Any]]:
        for version in (0, 1):
            yield self._heartbeat(2, version, when)
            yield self._heartbeat(0, version, when, "another")
            yield self._heartbeat(0, version, when, "")
            yield self._heartbeat(-1, version, when, "nobody")
            found = self._ask(ConsumerGroupDescribeRequest([GROUP, ""]), version).groups
            by_id = sorted(found, key=lambda one: one.group_id)
            told = [[one.error_code, one.error_message, one.group_state] for one in by_id]
            yield f"{when}: describe v{version}", told
        listed = self._ask(ListGroupsRequest(), 5).groups
        shown = sorted([one.group_id, one.group_type] for one in listed)
        yield f"{when}: list", shown
        partitions = [OffsetCommitRequestPartition(0, 7, -1, "")]
        topic = OffsetCommitRequestTopic(TOPIC, partitions=partitions)
        committed = self._ask(OffsetCommitRequest(GROUP, 2, MEMBER, topics=[topic]), 9)
        yield f"{when}: commit", committed.topics[0].partitions[0].error_code
        topics = [OffsetFetchRequestTopics(TOPIC, partition_indexes=[0])]
        asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, MEMBER, 2, topics)])
        yield f"{when}: fetch", self._ask(asked, 9).groups[0].error_code
        deleted = self._ask(DeleteGroupsRequest([GROUP]), 2).results
        yield f"{when}: delete", [one.error_code for one in deleted]
        classic = self._ask(DescribeGroupsRequest([GROUP]), 6).groups
        yield f"{when}: describe as classic", [[one.error_code, one.group_state] for one in classic]
        yield f"{when}: finalized", self._finalized()

    def _prepare(self) -> None:
        self._ask(CreateTopicsRequest([CreatableTopic(TOPIC, 1, 1)], 10_000), 7)
        found = FindCoordinatorRequest(coordinator_keys=[GROUP])
        self._until(lambda: not self._ask(found, 4).coordinators[0].error_code)
        self._until(lambda: self._ask(DescribeGroupsRequest([GROUP]), 6).groups[0].error_code == 69)

    def _until(self, happens: Callable[[], bool]) -> None:
        """What takes a broker a while after a request is answered."""
        for _ in range(150):
            if happens():
                return
            self._pause(0.1)
        raise TimeoutError

    def _heartbeat(
        self, epoch: int, version: int = 1, when: str = "", member: str = MEMBER
    ) -> tuple[str, list[Any]]:
        joins = epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP if member == MEMBER else f"{GROUP}-2",
            member_id=member,
            member_epoch=epoch,
            rebalance_timeout_ms=60_000 if joins else -1,
            subscribed_topic_names=[TOPIC] if joins else None,
            topic_partitions=[] if joins else None,
        )
        answer = self._ask(request, version)
        told = [answer.error_code, bool(answer.error_message), answer.member_epoch]
        return f"{when}: heartbeat v{version} of {member!r} at {epoch}", told

    def _update(self, level: int, kind: int) -> list[Any]:
        update = FeatureUpdateKey(FEATURE, level, upgrade_type=kind)
        answer = self._ask(UpdateFeaturesRequest(10_000, [update]), 1)
        texts = [one.error_message for one in answer.results]
        return [answer.error_code, answer.error_message, texts]

    def _finalized(self) -> list[Any]:
        answer = self._ask(ApiVersionsRequest("golden", "1"), 4)
        return [
            [one.max_version_level for one in answer.finalized_features if one.name == FEATURE],
            [one.max_version for one in answer.supported_features if one.name == FEATURE],
            sorted(one.api_key for one in answer.api_keys if one.api_key in (68, 69)),
        ]


def record() -> None:
    """Ask real brokers."""
    from tests.golden.controller_cases import ask
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START
    from tests.tools.ports import free_port

    answers: dict[str, Any] = {}
    for properties in ({}, CLASSIC_ONLY):
        port = free_port()
        with ApacheKafka(port=port, properties=properties, jvm_options=FAST_START, heap="512m"):
            said = Conversation(lambda request, version, port=port: ask(port, request, version))
            answers |= said.answers_of_classic_only() if properties else said.answers()
    write_json(RECORDED, answers)


if __name__ == "__main__":
    record()
