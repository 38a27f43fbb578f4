"""Several brokers that form one cluster, each a process of its own.

    with Cluster(3) as cluster:
        orders = cluster.topic("orders")
        cluster.leader(orders).kill()
        with cluster.cut(1, 2):
            cluster.elect(orders, leader=3)

All are up to five controllers, an odd number of them. Their time-outs are shorter than Kafka's, so
that a test does not wait for seconds until a dead broker is missed; `properties` win over them.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Unpack

from ottla.testing.broker import START_TIMEOUT_S, Broker, Membership
from ottla.testing.channel import CALL_TIMEOUT_S
from ottla.testing.contents import GROUP_TIMEOUT_S, Contents
from ottla.testing.errors import SHOW_THE_CALLER, DeadlinePassed, Misuse, OttlaError
from ottla.testing.faults import Failing, Fault, Faults, Named
from ottla.testing.frames import Json
from ottla.testing.ports import HOST, HeldPort
from ottla.testing.requests import Request
from ottla.testing.topic import CALL_MARGIN_S, Topic

__tracebackhide__ = SHOW_THE_CALLER

_BROKERS_MAX = 9
_CONTROLLERS_MAX = 5
_REPLICAS = 3
_POLL_S = 0.01
_QUICK = {
    "controller.quorum.election.timeout.ms": "300",
    "controller.quorum.election.backoff.max.ms": "200",
    "controller.quorum.fetch.timeout.ms": "1000",
    "broker.heartbeat.interval.ms": "300",
    "broker.session.timeout.ms": "2500",
    "replica.lag.time.max.ms": "5000",
}


class Cluster(Contents):
    """See the module.

    `brokers`     how many nodes, 1 to 9; their ids count from 1
    `properties`  server keys of each node
    `keep_data`   leave the temporary folders where they are
    """

    def __init__(
        self,
        brokers: int = 3,
        properties: Mapping[str, str] | None = None,
        *,
        start_timeout_s: float = 2 * START_TIMEOUT_S,
        keep_data: bool = False,
    ) -> None:
        if not 1 <= brokers <= _BROKERS_MAX:
            raise Misuse(f"a cluster has 1 to {_BROKERS_MAX} brokers, not {brokers}")
        self._start_timeout_s = start_timeout_s
        count = min(brokers - (brokers + 1) % 2, _CONTROLLERS_MAX)
        ports = [HeldPort() for _ in range(count)]
        voters = ",".join(f"{node}@{HOST}:{port.number}" for node, port in enumerate(ports, 1))
        cluster_id = _new_cluster_id()
        self.brokers: Sequence[Broker] = [
            Broker(
                {
                    **_keys(node, brokers, voters, ports[node - 1 : node]),
                    **(properties or {}),
                },
                start_timeout_s=start_timeout_s,
                keep_data=keep_data,
                member=Membership(node, cluster_id, ports[node - 1 : node]),
            )
            for node in range(1, brokers + 1)
        ]

    @property
    def bootstrap_servers(self) -> str:
        """`host:port,…` of all nodes, for a client."""
        return ",".join(one.bootstrap_servers for one in self.brokers)

    def broker(self, node_id: int) -> Broker:
        """The node with this id."""
        if not 1 <= node_id <= len(self.brokers):
            raise Misuse(f"there is no node {node_id}: ids are 1 to {len(self.brokers)}")
        return self.brokers[node_id - 1]

    def call(
        self, op: str, args: Mapping[str, Json] | None = None, *, timeout_s: float = CALL_TIMEOUT_S
    ) -> Json:
        """One operation, done by a node that runs: it asks the others over the network."""
        return self._one_that_runs().call(op, args, timeout_s=timeout_s)

    def reset(self, *, timeout_s: float = GROUP_TIMEOUT_S) -> Mapping[str, Json]:
        """As `Contents.reset`, at all nodes that run."""
        running = [one for one in self.brokers if one.running]
        try:
            connections = sum(one.call("reset.begin") for one in running)
            found = self.call(
                "reset.contents", {"timeout_s": timeout_s}, timeout_s=timeout_s + CALL_MARGIN_S
            )
        finally:
            for one in running:
                one.call("reset.end")
        self._topics().clear()
        return {**found, "connections": connections}

    def requests(
        self,
        api: str | None = None,
        *,
        topic: str | Topic | None = None,
        client_id: str | None = None,
        after: int = 0,
    ) -> list[Request]:
        """As `Contents.requests`, those of all nodes that run now, in the order of their times. The
        nodes give them their numbers each by itself."""
        which = None if topic is None else self._topic(topic)
        found = [
            request
            for one in self.brokers
            if one.running
            for request in one.requests(api, topic=which, client_id=client_id, after=after)
        ]
        return sorted(found, key=lambda request: request.time_ms)

    @property
    def faults(self) -> Faults:
        """What goes wrong with the requests of all nodes that run now, on demand. They count
        together: with `times=2` it is two requests in all. Those of one node: `broker(2).faults`.
        """
        return Faults(
            lambda: [one.call for one in self.brokers if one.running],
            lambda topic: self.existing_topic(topic).name,
            self.brokers[0].log_file.parent,
        )

    def fail(self, api: str, error: str, **how: Unpack[Failing]) -> Fault:
        """Let requests fail with an error; the other faults, and all about them, are in `faults`:
        `fail("Produce", "NOT_LEADER_OR_FOLLOWER", times=2, topic="orders")`."""
        return self.faults.fail(api, error, **how)

    def disconnect_all(self) -> int:
        """Close the connections of all clients to nodes that run now, once; how many there were."""
        return self.faults.disconnect_all()

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> None:
        """Move the clocks of all nodes together; see `ottla.testing.time_travel`."""
        with ThreadPoolExecutor(len(self.brokers)) as pool:
            moves = [
                pool.submit(one.advance, days=days, hours=hours, minutes=minutes, seconds=seconds)
                for one in self.brokers
            ]
        for move in moves:
            move.result()

    # --- who leads, and who hears whom ------------------------------------------------------------

    def leader(self, topic: str | Named, partition: int = 0) -> Broker:
        """The node that leads a partition: `cluster.leader("orders").kill()`. Raises OttlaError
        where nobody does, or where there is no such partition."""
        name = self._name(topic)
        told = self.call("topic.describe", {"names": [name]})
        node_id = told.get(name, {}).get(str(partition), {}).get("leader", -1)
        if node_id < 0:
            raise OttlaError(f"nobody leads {name}-{partition}; is there such a partition?")
        return self.broker(node_id)

    def elect(self, topic: str | Named, partition: int = 0, *, leader: int | None = None) -> Broker:
        """Let another replica that is in sync lead a partition: that of the node `leader`, or any.
        The node, when each broker knows it; clients find it by their next Metadata. Raises Misuse
        where it is not in sync."""
        args = {"name": self._name(topic), "partition": partition, "node_id": leader}
        return self.broker(self.call("topic.lead", args))

    @property
    def controller(self) -> Broker:
        """The node that is the active controller. Raises DeadlinePassed where none is within 60 s:
        most controllers have to run, and to reach each other."""
        return self._controller(-1)

    def elect_controller(self) -> Broker:
        """Have the active controller give up, and the controllers elect; the one that is active
        then, which may be the same one."""
        before: int = self.controller.call("controller.resign")
        return self._controller(before)

    def cut(self, node_id: int, *others: int, one_way: bool = False) -> Cut:
        """Cut the links between a node and others, or all others where none is named, until
        `heal()`, or until the end of its block: `with cluster.cut(1):`.

        Clients reach all nodes as before. What is under way between the nodes is lost, and what is
        sent gets no answer in time. `one_way`: what the node sends does not arrive, and what is
        sent to it does. A node that is started again has its own links whole.
        """
        node = self.broker(node_id)
        rest = [self.broker(one) for one in others] or [
            one for one in self.brokers if one is not node
        ]
        cut = Cut()
        cut.add(node, [port for one in rest for port in one.ports])
        if not one_way:
            for one in rest:
                if one.running:
                    cut.add(one, node.ports)
        return cut

    def heal(self) -> None:
        """Make all links whole, whoever has cut them."""
        for one in self.brokers:
            if one.running:
                one.call("links.heal")

    def _name(self, topic: str | Named) -> str:
        return self.existing_topic(topic).name if isinstance(topic, str) else topic.name

    def _controller(self, after_epoch: int) -> Broker:
        """The active controller of an epoch after this one."""
        deadline = time.monotonic() + CALL_TIMEOUT_S
        while time.monotonic() < deadline:
            seen = [one.call("controller.show") for one in self.brokers if one.running]
            newest: Json = max(seen, key=lambda one: one["epoch"], default=None)
            if newest and newest["leader"] is not None and newest["epoch"] > after_epoch:
                node = self.broker(newest["leader"])
                if node.running:
                    return node
            time.sleep(_POLL_S)
        raise DeadlinePassed("no node became the active controller: do most controllers run?")

    def _one_that_runs(self) -> Broker:
        found = next((one for one in self.brokers if one.running), None)
        if found is None:
            raise Misuse("no node of the cluster runs: start() it")
        return found

    # --- its life ---------------------------------------------------------------------------------

    def start(self) -> Cluster:
        """Start all nodes that do not run, and return once each accepts connections."""
        stopped = [one for one in self.brokers if not one.running]
        begun: list[Broker] = []
        try:
            for one in stopped:
                one.begin_start()
                begun.append(one)
            for one in stopped:
                one.finish_start()
        except OttlaError:
            for one in begun:
                one.kill()
            raise
        return self

    def stop(self) -> None:
        """Stop all nodes that run, as SIGTERM does."""
        for one in self.brokers:
            one.begin_stop()
        for one in self.brokers:
            one.stop()

    def kill(self) -> None:
        """End all nodes as `kill -9` does."""
        for one in self.brokers:
            one.kill()

    def restart(self) -> Cluster:
        """Stop all nodes, and start them on their ports and data."""
        self.stop()
        return self.start()

    def close(self) -> None:
        """Stop all nodes whatever their state, and remove the temporary folders."""
        with contextlib.ExitStack() as stack:  # each, also where another one fails
            for one in self.brokers:
                stack.callback(one.close)

    def __repr__(self) -> str:
        return f"<Cluster on {self.bootstrap_servers}>"

    def __enter__(self) -> Cluster:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Cluster:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.close)


class Cut:
    """Links that were cut; as a context manager they are whole again at the end of the block."""

    def __init__(self) -> None:
        self._cut: list[tuple[Broker, Sequence[int]]] = []

    def add(self, node: Broker, ports: Sequence[int]) -> None:
        """What `node` sends to these ports does not arrive from now on."""
        node.call("links.cut", {"ports": list(ports)})
        self._cut.append((node, ports))

    def heal(self) -> None:
        """Make these links whole; others stay cut."""
        for node, ports in self._cut:
            if node.running:
                node.call("links.heal", {"ports": list(ports)})

    def __enter__(self) -> Cut:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.heal()


def _keys(node: int, nodes: int, voters: str, controller: Sequence[HeldPort]) -> dict[str, str]:
    """The configuration of one node, but for its listener of clients."""
    replicas = str(min(_REPLICAS, nodes))
    in_sync = "2" if nodes >= _REPLICAS else "1"
    keys = {
        "node.id": str(node),
        "process.roles": "broker,controller" if controller else "broker",
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
        **_QUICK,
    }
    return keys


def _new_cluster_id() -> str:
    return base64.urlsafe_b64encode(b"\x01" + secrets.token_bytes(15)).decode().rstrip("=")
