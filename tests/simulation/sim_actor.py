"""An actor of a scenario: a client with a life, which learns from Metadata where brokers are.

`life` yields what it waits for, as `simulation.sim_client.GeneratorRun` has it. `call` sends one
request to a broker and gives the response, or None where there was none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from broker.requests.context import ANONYMOUS
from protocol.errors import ErrorCode
from protocol.message import Message
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from simulation.sim_client import GeneratorRun, SimClient, Waits

REFUSALS = (
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
REQUEST_TIMEOUT_MS = 8_000.0


class Topic:
    """What a client knows of a topic."""

    __slots__ = ("epochs", "leaders", "name", "topic_id")

    def __init__(self, name: str, topic_id: bytes) -> None:
        self.name = name
        self.topic_id = topic_id
        self.leaders: dict[int, str] = {}
        self.epochs: dict[int, int] = {}


class Topics:
    """What a client knows of topics.

    Each answer of Metadata may take one away: by a broker that was cut off when it was created, or
    because it was deleted. So there is no subscript: `get` gives None, and `SimActor.know` asks
    until it is known again.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, Topic] = {}

    def get(self, name: str) -> Topic | None:
        return self._by_name.get(name)

    def leader(self, name: str, partition: int) -> str:
        """The address of a partition's leader; "" where none is known."""
        topic = self.get(name)
        return topic.leaders.get(partition, "") if topic is not None else ""

    def epoch(self, name: str, partition: int) -> int:
        """The leader epoch of a partition; -1 where none is known."""
        topic = self.get(name)
        return topic.epochs.get(partition, -1) if topic is not None else -1

    def all_of(self, names: Iterable[str]) -> list[Topic]:
        """Those of `names` that are known."""
        return [topic for name in names if (topic := self.get(name)) is not None]

    def everything(self) -> list[Topic]:
        return list(self._by_name.values())

    def take(self, topic: Topic) -> None:
        self._by_name[topic.name] = topic

    def forget(self, name: str) -> None:
        self._by_name.pop(name, None)


class SimActor(SimClient):
    """What the clients of scenarios derive from."""

    def __init__(self, *where: Any) -> None:
        super().__init__(*where)
        self.may_be_refused = self.network.principal_of(self.name) != ANONYMOUS
        """Whether it has a name, and rights that may go."""
        self.topics = Topics()
        self.node_ids: list[int] = []
        """The brokers, as the metadata told last."""
        self.calm = False
        """Whether it misbehaves no more."""
        self.task: GeneratorRun | None = None

    def start(self) -> None:
        self.task = GeneratorRun(self.world, self.life())

    def life(self) -> Waits:
        """What this client does, from its start to its end."""
        raise NotImplementedError

    @property
    def done(self) -> bool:
        return self.task is None or self.task.done

    def die(self) -> None:
        """Process death of the client."""
        if self.task is not None:
            self.task.cancel()
        self.hang_up()

    # --- talking -------------------------------------------------------------------------------

    def call(
        self,
        request: Message,
        version: int,
        to: str | None = None,
        *,
        timeout_ms: float = REQUEST_TIMEOUT_MS,
        about: object = None,
    ) -> Waits:
        """One request and its response; None where it was lost (after a pause)."""
        connection = self.connection(to or self.chance.choice(self.bootstrap))
        if connection is None:
            yield self.pause_ms()
            return None
        exchange = connection.send(request, version, timeout_ms, about=about)
        yield exchange
        if not exchange.ok:
            yield self.pause_ms()
            return None
        return exchange.response

    def is_refused(self, error: int) -> bool:
        """Whether it is told that it may not, as it has to live with."""
        return self.may_be_refused and error in REFUSALS

    # --- metadata ------------------------------------------------------------------------------

    def learn(self, names: list[str] | None) -> Waits:
        """Ask for the metadata of topics (None: all), until a broker answers or we stop."""
        version = self.chance.randint(10, 13)
        topics = None
        if names is not None:
            topics = [MetadataRequestTopic(name=name) for name in names]
        response = None
        while response is None:
            request = MetadataRequest(topics, allow_auto_topic_creation=False)
            response = yield from self.call(request, version)
        self.take_metadata(response)

    def take_metadata(self, response: MetadataResponse) -> None:
        """Learn what an answer of Metadata tells."""
        self.node_ids = [one.node_id for one in response.brokers]
        hosts = {one.node_id: one.host for one in response.brokers}
        for told in response.topics:
            if told.error_code or told.name is None:
                if told.name is not None:
                    self.topics.forget(told.name)
                continue
            topic = Topic(told.name, told.topic_id)
            for partition in told.partitions:
                topic.leaders[partition.partition_index] = hosts.get(partition.leader_id, "")
                topic.epochs[partition.partition_index] = partition.leader_epoch
            self.topics.take(topic)

    def learn_all(self, names: list[str]) -> Waits:
        """As `learn`, until each of `names` has a leader for each partition."""
        while True:
            yield from self.learn(names)
            known = self.topics.all_of(names)
            if len(known) == len(names) and all(
                all(topic.leaders.values()) and topic.leaders for topic in known
            ):
                return
            yield self.pause_ms()

    def know(self, *names: str) -> Waits:
        """Topics that exist, in the order of `names`; asks for those that were forgotten."""
        while len(known := self.topics.all_of(names)) < len(names):
            yield from self.learn(list(dict.fromkeys(names)))
            if len(self.topics.all_of(names)) < len(names):
                yield self.pause_ms()
        return known
