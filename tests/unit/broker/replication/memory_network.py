"""The network between brokers of one process: what one asks reaches the other's APIs, later.

Requests and answers go through the codec. A connection loses what is under way where the cluster
says that it is cut, and where either side dies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from broker.requests.context import RequestContext
from controller.authorization.rights import UNLIMITED
from ground.ports import Answered, ChannelFailure
from ground.sim_scheduler import SimScheduler
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import answer_to
from tests.unit.broker.replication.on_the_wire import answer_as_read, as_read

if TYPE_CHECKING:
    from tests.unit.broker.replication.replica_cluster import Broker, ReplicaCluster


class Gone:
    """The scheduler of one life of a broker: when it dies, nothing of it runs any more."""

    def __init__(self, world: SimScheduler) -> None:
        self._world = world
        self.alive = True
        self.wall_ms = world.wall_ms
        self.monotonic_ms = world.monotonic_ms

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Any:
        return self._world.call_later(delay_ms, lambda: callback() if self.alive else None)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.call_later(0, callback)


@dataclass(eq=False)
class MemoryChannel:
    """A connection from one broker to another; answers come in order, later."""

    cluster: ReplicaCluster
    source: Broker
    life: Gone
    target: int
    waiting: list[Answered] = field(default_factory=list)
    generation: int = 0
    closed: bool = False

    def send(
        self, request: Any, done: Answered, timeout_ms: float, version: int | None = None
    ) -> None:
        assert not self.closed, "a closed channel stays closed"
        cluster = self.cluster
        self.waiting.append(done)
        cluster.channels[self] = None
        version = request.MAX_VERSION if version is None else version
        generation, answer_class = self.generation, answer_to(request)
        decoded = as_read(request, version)
        cluster.later(lambda: self._arrive(decoded, version, answer_class, generation))

    def _arrive(self, request: Any, version: int, answer_class: Any, generation: int) -> None:
        target = self.cluster.brokers[self.target]
        if generation != self.generation:
            return
        if self.cluster.is_cut(self.source.node_id, self.target):
            self.cluster.world.call_later(1000, lambda: self._lose(generation))
            return
        if not target.running:
            self._settle(None, ChannelFailure.REFUSED)
            return
        listener = target.config.inter_broker_listener_name
        key = ApiKey(request.API_KEY)
        context = RequestContext(int(key), version, 0, "f", "host", listener, "c", UNLIMITED)
        life = target.life

        def respond(response: Any) -> None:
            answer = answer_as_read(answer_class, response, version)
            self.cluster.later(lambda: self._answer(answer, generation, life))

        target.apis[key](context, request, respond)

    def _answer(self, answer: Any, generation: int, life: Gone) -> None:
        if generation == self.generation and life.alive:
            if self.cluster.is_cut(self.target, self.source.node_id):
                self.cluster.world.call_later(1000, lambda: self._lose(generation))
            else:
                self._settle(answer, None)

    def _settle(self, answer: Any, failure: ChannelFailure | None) -> None:
        done = self.waiting.pop(0)
        if self.life.alive:
            done(answer, failure)

    def _lose(self, generation: int) -> None:
        if generation == self.generation:
            self.lose()

    def lose(self) -> None:
        """The connection breaks."""
        self.generation += 1
        waiting, self.waiting = self.waiting, []
        self.cluster.channels.pop(self, None)
        for done in waiting:
            if self.life.alive:
                done(None, ChannelFailure.LOST)

    def close(self) -> None:
        self.closed = True
        self.lose()


class MemoryNetwork:
    """One broker's way to the others: the port is the broker's number."""

    def __init__(self, cluster: ReplicaCluster, source: Broker) -> None:
        self._cluster = cluster
        self._source = source

    def channel(self, host: str, port: int, client_id: str) -> MemoryChannel:
        return MemoryChannel(self._cluster, self._source, self._source.life, port)
