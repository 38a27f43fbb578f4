"""The registration of the operations on topics, records, groups and requests.

Owns which `OperationWorld` they run in. A broker that is its whole cluster is asked in this
process. Else requests go over the network: to the cluster of this broker, or to one that `connect`
has named.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from broker.network.outgoing.network_client import NetworkClient
from ottla.testing.frames import Json
from testbed.broker_under_test import BrokerUnderTest
from testbed.control import Arguments, operation
from testbed.operation_error import OperationError
from testbed.operations import decoded_requests, group_configs, groups, records, topics
from testbed.operations.in_process import InProcess
from testbed.operations.inside import InsideNode
from testbed.operations.over_network import OverNetwork
from testbed.operations.port import POLL_S, NoAnswer, OperationWorld
from testbed.operations.reset import begin_reset, end_reset, reset, reset_contents

RESPONSE_BYTES_MAX = 128 * 1024 * 1024

ClientOperation = Callable[..., Awaitable[Json]]

_worlds: dict[BrokerUnderTest, OperationWorld] = {}
_OPERATIONS: dict[str, ClientOperation] = {
    "topic.create": topics.create,
    "topic.grow": topics.grow,
    "topic.delete": topics.delete,
    "topic.describe": topics.describe,
    "topic.lead": topics.lead,
    "records.seed": records.seed,
    "records.consume": records.consume,
    "group.list": groups.list_groups,
    "group.describe": groups.describe,
    "group.progress": groups.progress,
    "group.deliveries": groups.deliveries,
    "group.dead_letters": group_configs.dead_letters,
    "group.configure": group_configs.configure,
    "group.rebalance": groups.rebalance,
    "group.delete": groups.delete,
    "reset": reset,
    "reset.begin": begin_reset,
    "reset.contents": reset_contents,
    "reset.end": end_reset,
}
_READING = (
    "topic.describe",
    "records.consume",
    "group.list",
    "group.describe",
    "group.progress",
    "group.deliveries",
    "group.dead_letters",
)
"""Operations that change nothing: they are retried if a node has just stopped, until other nodes
have taken over."""
_GONE_TIMEOUT_S = 10.0


def _register(name: str, client_operation: ClientOperation) -> None:
    """Register an operation under this name. If it only reads (_READING) and no node answers, it is
    retried for 10 s."""

    @operation(name)
    async def ask(broker: BrokerUnderTest, args: Arguments) -> Json:
        """Run the operation in the broker's world, and return its result. Raises NoAnswer, also
        after retries, and OperationError."""
        deadline_s = time.monotonic() + _GONE_TIMEOUT_S
        while True:
            try:
                return await client_operation(_world(broker), **args)
            except NoAnswer:
                if name not in _READING or time.monotonic() >= deadline_s:
                    raise
            await asyncio.sleep(POLL_S)


for _name, _client_operation in _OPERATIONS.items():
    _register(_name, _client_operation)


@operation("connect")
async def connect(broker: BrokerUnderTest, args: Arguments) -> Json:
    """Connect this process to a cluster that runs already; all later operations go there.
    `bootstrap` is pairs of host and port. Return the ids of the live brokers. Raises OperationError
    if no address answers."""
    network = NetworkClient(broker.loop, RESPONSE_BYTES_MAX)
    bootstrap = [(str(host), int(port)) for host, port in args["bootstrap"]]
    _worlds[broker] = _world_of(
        OverNetwork(network, bootstrap), lambda: time.time_ns() // 1_000_000
    )
    return await topics.nodes(_worlds[broker])


@operation("requests")
async def requests(broker: BrokerUnderTest, args: Arguments) -> Json:
    """Return the requests that clients have sent to this broker, decoded, each with its "node_id":
    see `decoded_requests.decoded`.

    Raises OperationError if the tests did not start the broker.
    """
    if broker in _worlds and _worlds[broker].inside is None:
        raise OperationError(
            "not possible",
            "requests needs a broker that the tests have started: of a running cluster nobody sees "
            "what is sent to it",
        )
    image = broker.node.image

    def topic_name(topic_id: bytes) -> str | None:
        topic = image.topics.get_by_id(topic_id)
        return None if topic is None else topic.name

    decoded = decoded_requests.decoded(broker.sent.kept, topic_name, **args)
    return [{"node_id": broker.config.node_id, **request} for request in decoded]


def _world(broker: BrokerUnderTest) -> OperationWorld:
    """Return the world in which this broker's operations run: its own cluster, or the cluster that
    `connect` has named."""
    world = _worlds.get(broker)
    if world is None:
        world = _worlds[broker] = _own_world(broker)
    return world


def _own_world(broker: BrokerUnderTest) -> OperationWorld:
    """Return a world for the cluster of this broker, which the tests have started.

    If the broker is the whole cluster, requests stay in this process; otherwise they go over the
    network.
    """
    node, server = broker.node, broker.server
    listener = node.config.inter_broker_listener_name
    assert node.broker is not None and server.sockets is not None, "a broker"
    inside = InsideNode(node, server.sockets, broker.forget, broker.sent, broker.initial_state)
    wall_ms = node.ports.scheduler.wall_ms
    if (
        node.controller_server is None and node.config.is_controller
    ):  # this broker is the whole cluster
        return _world_of(InProcess(node.broker.requests, listener), wall_ms, inside)
    endpoint = next(e for e in node.config.broker_listeners if e.listener_name == listener)
    address = endpoint.host or "localhost", server.sockets.ports[listener]
    return _world_of(OverNetwork(server.network, [address]), wall_ms, inside)


def _world_of(
    ask: InProcess | OverNetwork, wall_ms: Callable[[], int], inside: InsideNode | None = None
) -> OperationWorld:
    """Return a world that sends requests by `ask`, with the machine's clock for deadlines and
    pauses."""
    return OperationWorld(ask, time.monotonic, wall_ms, asyncio.sleep, inside)
