"""Consumer groups without a shard: what is decided is replayed at once, in virtual time."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from broker.config.parse import single_node_config
from broker.coordinator.coordinator_log import Record
from broker.coordinator.outcome import Decided, Done, Outcome
from broker.groups.consumer.membership import Beat
from broker.groups.consumer.protocol import ConsumerProtocol
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.group_metrics import GroupMetrics
from broker.groups.group_records import read_group_record
from controller.metadata.image import MetadataImage, ResourceType
from ground.sim_scheduler import SimScheduler
from ground.sliced_work import Steps, in_one_go
from protocol.errors import ErrorCode
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
    ConsumerGroupHeartbeatResponse,
)
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from protocol.messages.group_records import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    GroupMetadataKey,
)
from protocol.primitives import MessageBuffer
from tests.unit.broker.groups.consumer.surroundings import surroundings
from tests.unit.broker.groups.playbook import image_with

T, U = bytes([1]) * 16, bytes([2]) * 16
GROUP = "g"


def beat(
    member_id: str, epoch: int, owned: dict[bytes, list[int]] | None = None, **said: Any
) -> Beat:
    """A heartbeat in the group; `owned`: what the member says that it has."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=GROUP, member_id=member_id, member_epoch=epoch, **said
    )
    if owned is not None:
        request.topic_partitions = [
            ConsumerGroupHeartbeatRequestTopicPartitions(topic_id, numbers)
            for topic_id, numbers in owned.items()
        ]
    return Beat(request, "client", "/host")


def joining(member_id: str, *topics: str, **said: Any) -> Beat:
    """The heartbeat of a member that comes."""
    said = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": list(topics), **said}
    return beat(member_id, 0, {}, **said)


def encoded(message: Any, version: int = 1) -> bytes:
    """A message of the consumer protocol, behind its version."""
    out = MessageBuffer(version.to_bytes(2, "big"))
    message.write(out, version)
    return bytes(out)


def subscribed(*topics: str, version: int = 1, **said: Any) -> bytes:
    """The subscription of a classic consumer."""
    return encoded(ConsumerProtocolSubscription(list(topics), **said), version)


def whole(decided: Decided[Any]) -> Outcome[Any]:
    """What is decided, all slices of it."""
    return decided if isinstance(decided, Outcome) else in_one_go(decided)


def slices(steps: Steps[Any]) -> tuple[int, Any]:
    """How many they are, and what comes of them."""
    count = 1
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return count, end.value
        count += 1


class Stage:
    """One shard's consumer groups; topics `t` with 4 partitions and `u` with 2."""

    def __init__(self, interval_ms: int = 0, **config: Any) -> None:
        self.scheduler = SimScheduler()
        self.image: MetadataImage = image_with(t=(T, 4), u=(U, 2))
        self.configs = {"consumer.assignment.interval.ms": str(interval_ms)}
        self.groups: dict[str, ConsumerGroup] = {}
        self.batches: list[list[Record]] = []
        self.refuse = ErrorCode.NONE
        parts = surroundings(single_node_config()._replace(**config), self._image)
        self.surroundings = parts
        self.classic: list[tuple[str, bool]] = []
        self.metrics = GroupMetrics()
        self.protocol = ConsumerProtocol(
            parts,
            self.scheduler,
            self.groups.get,
            self._submit,
            random.Random(7).randbytes,
            lambda *told: self.classic.append(told),
            self.metrics,
        )

    def _image(self) -> MetadataImage:
        return self.image._replace(configs={(ResourceType.GROUP, GROUP): self.configs})

    @property
    def group(self) -> ConsumerGroup:
        """The group."""
        return self.groups[GROUP]

    def tell(self, one: Beat) -> ConsumerGroupHeartbeatResponse:
        """The answer to a heartbeat."""
        return self.settle(self.protocol.heartbeat(GROUP, one))

    def settle(self, decided: Decided[Any]) -> Any:
        """Write what was decided."""
        told: list[Any] = []
        self._write(whole(decided), lambda error, reply: told.append(reply))
        return told[0]

    def _submit(
        self, decide: Callable[[], Decided[Done]], done: Callable[[ErrorCode, Done], None]
    ) -> None:
        self._write(whole(decide()), done)

    def _write(self, outcome: Outcome[Any], done: Callable[[ErrorCode, Any], None]) -> None:
        if outcome.records:
            error = self.refuse
            if error is ErrorCode.NONE:
                self.batches.append(list(outcome.records))
                self.replay(outcome.records)
            if outcome.then is not None:
                assert outcome.then(error) is None
            if error is not ErrorCode.NONE:
                done(error, outcome.reply)
                return
        done(outcome.error, outcome.reply)

    def replay(self, records: Any) -> None:
        """As the shard does."""
        for key_bytes, value_bytes in records:
            read: Any = read_group_record(key_bytes, value_bytes)
            key, value = read
            if isinstance(key, GroupMetadataKey):
                continue
            if value is None and isinstance(key, ConsumerGroupMemberMetadataKey):
                self.protocol.forget(key.group_id, key.member_id)
            if value is None and isinstance(key, ConsumerGroupMetadataKey):
                self.groups.pop(key.group_id, None)
                continue
            if value is not None:
                self.groups.setdefault(key.group_id, ConsumerGroup(key.group_id))
            if key.group_id in self.groups:
                self.groups[key.group_id].replay(key, value, len(self.batches))

    def wait(self, ms: float) -> None:
        """Let virtual time pass."""
        self.scheduler.run_for(ms)
