"""A broker's group APIs in process and in virtual time: requests in, answers out.

`GroupNode` is one broker that leads all of `__consumer_offsets`, with a log in memory. `LocalWire`
sends it a request through the real API handlers, encoded and decoded as on the network, so that a
version's limits show. `Playbook` writes down who was answered what, and when.
"""

from __future__ import annotations

import random
from typing import Any

from broker.apis.context import Api, RequestContext
from broker.apis.find_coordinator import FindCoordinatorApi
from broker.apis.group_admin import GroupAdminApi
from broker.apis.group_membership import GroupMembershipApi
from broker.apis.group_offsets import GroupOffsetsApi
from broker.groups.coordinator_config import GroupCoordinatorConfig
from broker.groups.group_coordinator import OFFSETS_TOPIC, GroupCoordinator
from broker.replication.coordinator_log import InMemoryCoordinatorLog
from controller.metadata_image import (
    BrokerRegistration,
    Endpoint,
    MetadataImage,
    PartitionRegistration,
    TopicImage,
    TopicsImage,
)
from protocol.api_keys import ApiKey, messages_of
from protocol.primitives import MessageBuffer
from tests.simulation.sim_scheduler import SimScheduler

TOPIC_ID = bytes(range(100, 116))
OFFSETS_TOPIC_ID = bytes(range(50, 66))
PARTITIONS = 5


def image_with(**topics: tuple[bytes, int]) -> MetadataImage:
    """Broker 1 leading all partitions of `topics`: name → (id, number of partitions)."""
    partition = PartitionRegistration((1,), (bytes(16),), (1,), 1, 0, 0)
    images = [
        TopicImage(name, topic_id, dict.fromkeys(range(count), partition))
        for name, (topic_id, count) in topics.items()
    ]
    endpoint = Endpoint("PLAINTEXT", "localhost", 9092, 0)
    broker = BrokerRegistration(
        1, 1, bytes(16), {"PLAINTEXT": endpoint}, {}, None, False, False, ()
    )
    by_name = {image.name: image for image in images}
    by_id = {image.id: image for image in images}
    return MetadataImage(topics=TopicsImage(by_name, by_id), brokers={1: broker})


class GroupNode:
    """One broker's groups. `image` may be replaced; `restart` loads all from the log."""

    def __init__(self, scheduler: SimScheduler | None = None, **config: Any) -> None:
        self.scheduler = scheduler or SimScheduler()
        self.log = InMemoryCoordinatorLog()
        self.config = GroupCoordinatorConfig(
            offsets_topic_num_partitions=PARTITIONS,
            **{"group_initial_rebalance_delay_ms": 0, **config},
        )
        self.image = image_with(
            conversation=(TOPIC_ID, 2), **{OFFSETS_TOPIC: (OFFSETS_TOPIC_ID, PARTITIONS)}
        )
        self.created: list[str] = []
        self.epoch = 0
        self._random = random.Random(7)
        self.coordinator: GroupCoordinator
        self.apis: dict[ApiKey, Api] = {}
        self.restart()

    def restart(self) -> None:
        """Die, and come up again with what is in the log."""
        if self.apis:
            self.coordinator.shutdown()
        self.coordinator = GroupCoordinator(
            self.config,
            self.scheduler,
            self.log,
            self._random.randbytes,
            lambda: self.config.offsets_topic_num_partitions,
        )
        self.apis = {api.key: api for api in self._make_apis()}
        self.epoch += 1
        for partition in range(PARTITIONS):
            self.coordinator.on_elected(partition, self.epoch)

    def _make_apis(self) -> list[Api]:
        finder = FindCoordinatorApi(
            self, 1, self.coordinator.partition_for, lambda name, _: self.created.append(name)
        )
        return [
            *finder.apis(),
            *GroupMembershipApi(self.coordinator).apis(),
            *GroupOffsetsApi(self, self.coordinator).apis(),
            *GroupAdminApi(self.coordinator).apis(),
        ]

    def connect(self, client_id: str | None = "client") -> LocalWire:
        """A client's connection."""
        return LocalWire(self, client_id)


class LocalWire:
    """A connection in process, with one request at a time as a real one."""

    def __init__(self, node: GroupNode, client_id: str | None) -> None:
        self._node = node
        self._client_id = client_id
        self._answers: list[Any] = []
        self.waiting = 0

    def send(self, request: Any, version: int) -> None:
        """Hand the request to its API."""
        key = ApiKey(request.API_KEY)
        api = self._node.apis[key]
        assert api.oldest <= version <= api.latest
        messages = messages_of(key)
        context = RequestContext(
            key, version, 0, self._client_id, "127.0.0.1", "PLAINTEXT", "connection"
        )
        self.waiting += 1

        def respond(response: Any) -> None:
            self.waiting -= 1
            self._answers.append(_over_the_wire(response, messages.response, version))

        api.handle(context, _over_the_wire(request, messages.request, version), respond)

    def receive(self) -> Any:
        """The next answer; virtual time passes until it is there."""
        self._node.scheduler.run_until(lambda: bool(self._answers), limit_ms=1_000_000)
        return self._answers.pop(0)

    def call(self, request: Any, version: int) -> Any:
        """Send and receive."""
        self.send(request, version)
        return self.receive()

    @property
    def answered(self) -> bool:
        """Whether an answer is there already."""
        return bool(self._answers)


def _over_the_wire(message: Any, kind: Any, version: int) -> Any:
    out = MessageBuffer()
    message.write(out, version)
    data = out.joined()
    decoded, end = kind.read(memoryview(data), 0, version)
    assert end == len(data)
    return decoded
