"""Brokers with share coordinators in virtual time, and the network between them.

All share the log of `__share_group_state`, as replicas would. A request between two brokers is
encoded and decoded, and handled by the real APIs.
"""

from __future__ import annotations

from typing import Any

from broker.apis.share_group_state import ShareGroupStateApi
from broker.coordinator.coordinator_partitions import partition_for
from broker.requests.context import RequestContext
from broker.requests.sliced_answers import SlicedAnswers
from broker.share.persister import Persister, ShareCoordinators
from broker.share.state.share_coordinator import (
    ShareCoordinator,
    ShareCoordinatorSettings,
    ShareTopic,
)
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import StateAnswer
from controller.authorization.rights import UNLIMITED, Rights
from ground.ports import Answered, ChannelFailure
from ground.sim_scheduler import SimBlocking, SimScheduler
from ground.sliced_work import SlicedWork
from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode
from protocol.primitives import MessageBuffer
from tests.unit.broker.coordinator.in_memory_coordinator_log import InMemoryCoordinatorLog

TOPIC_ID = bytes(range(16))
PARTITIONS = 4
Reply = tuple[ErrorCode, StateAnswer]


def over_the_wire(message: Any, kind: Any, version: int) -> Any:
    out = MessageBuffer()
    message.write(out, version)
    data = out.joined()
    decoded, end = kind.read(memoryview(data), 0, version)
    assert end == len(data)
    return decoded


class ShareBroker:
    """A broker: its share coordinator, its APIs and its persister."""

    def __init__(self, cluster: ShareCluster, node_id: int) -> None:
        self.cluster = cluster
        self.node_id = node_id
        scheduler = cluster.scheduler
        sliced = SlicedWork(scheduler, SimBlocking(scheduler), 0)
        topic = ShareTopic(
            lambda: PARTITIONS,
            lambda _, index: index < cluster.topic_partitions,
            self.delete_before,
        )
        settings = ShareCoordinatorSettings()
        self.coordinator = ShareCoordinator(settings, scheduler, cluster.log, topic, sliced)
        api = ShareGroupStateApi(self.coordinator, SlicedAnswers(sliced))
        self.apis = {api.key: api for api in api.apis()}
        self.rights: Rights = UNLIMITED
        """The rights that this broker gives to others."""
        self.refused_by: list[tuple[int, str]] = []
        coordinators = ShareCoordinators(
            lambda: self.coordinator,
            cluster.coordinator_of,
            cluster.create_topic,
            lambda *refusal: self.refused_by.append(refusal),
        )
        self.persister = Persister(node_id, scheduler, cluster, sliced, 30_000, coordinators)

    @staticmethod
    def delete_before(_partition: int, _offset: int) -> bool:
        return True

    def handle(self, request: Any, version: int, respond: Any) -> None:
        """Answer a request, with its message and that of the response encoded."""
        key = ApiKey(request.API_KEY)
        kinds = messages_of(key)
        context = RequestContext(key, version, 0, "b", "h", "PLAINTEXT", "c", self.rights)
        self.apis[key].handle(
            context,
            over_the_wire(request, kinds.request, version),
            lambda response: respond(over_the_wire(response, kinds.response, version)),
        )

    def ask(self, request: Any, version: int | None = None) -> Any:
        """Return the answer of this broker to a request."""
        answers: list[Any] = []
        self.handle(request, request.MAX_VERSION if version is None else version, answers.append)
        self.cluster.scheduler.run_until(lambda: bool(answers), limit_ms=60_000)
        return answers[0]


class Link:
    """A connection to a broker (`ground.ports.Channel`)."""

    def __init__(self, cluster: ShareCluster, broker: ShareBroker) -> None:
        self.cluster = cluster
        self.broker = broker
        self.is_closed = False
        self.unanswered: list[Answered] = []

    def send(
        self, request: Any, done: Answered, timeout_ms: float, version: int | None = None
    ) -> None:
        assert not self.is_closed
        node_id = self.broker.node_id
        self.cluster.sent.append((node_id, request))
        self.unanswered.append(done)
        scheduler = self.cluster.scheduler
        if node_id in self.cluster.dead:
            scheduler.call_soon(lambda: self.end(done, None, ChannelFailure.REFUSED))
        elif node_id in self.cluster.hanging:
            scheduler.call_later(timeout_ms, lambda: self.end(done, None, ChannelFailure.TIMED_OUT))
        else:
            respond = self.broker.handle
            latest = request.MAX_VERSION
            scheduler.call_later(
                1, lambda: respond(request, latest, lambda answer: self.end(done, answer, None))
            )

    def end(self, done: Answered, response: Any, failure: ChannelFailure | None) -> None:
        if done in self.unanswered:
            self.unanswered.remove(done)
            done(response, failure)

    def close(self) -> None:
        self.is_closed = True
        for done in list(self.unanswered):
            self.end(done, None, ChannelFailure.LOST)


class ShareCluster:
    """Some brokers (and their `Network`); broker 1 leads all of `__share_group_state` at first."""

    def __init__(self, count: int = 3) -> None:
        self.scheduler = SimScheduler()
        self.log = InMemoryCoordinatorLog()
        self.topic_partitions = 3
        """The number of partitions of the topic whose records are shared."""
        self.has_topic = True
        self.created = 0
        """The number of times that `__share_group_state` was asked for."""
        self.sent: list[tuple[int, Any]] = []
        self.links: list[Link] = []
        self.dead: set[int] = set()
        self.hanging: set[int] = set()
        self.leaders = dict.fromkeys(range(PARTITIONS), 1)
        self.epoch = 0
        self.brokers = {node_id: ShareBroker(self, node_id) for node_id in range(1, count + 1)}
        self.lead(1)

    def lead(self, node_id: int, *partitions: int, told: bool = True) -> None:
        """Let a broker lead partitions, all by default; `told` if the metadata says so."""
        self.epoch += 1
        for partition in partitions or range(PARTITIONS):
            for broker in self.brokers.values():
                broker.coordinator.on_resigned(partition)
            self.brokers[node_id].coordinator.on_elected(partition, self.epoch)
            if told:
                self.leaders[partition] = node_id
        for broker in self.brokers.values():
            broker.persister.metadata_changed()

    def coordinator_of(self, key: SharePartitionKey) -> tuple[int, str, int] | None:
        node_id = self.leaders.get(partition_for(key.text, PARTITIONS))
        is_known = self.has_topic and node_id is not None
        return (node_id, f"host-{node_id}", 9092) if is_known and node_id else None

    def create_topic(self) -> None:
        self.created += 1

    def channel(self, host: str, port: int, client_id: str) -> Link:
        assert client_id.startswith("Persister-") and port == 9092
        self.links.append(Link(self, self.brokers[int(host.removeprefix("host-"))]))
        return self.links[-1]
