"""Several brokers that form one cluster, each a process of its own.

    with Cluster(3) as cluster:
        orders = cluster.topic("orders")
        cluster.leader(orders).kill()
        with cluster.cut(1, 2):
            cluster.elect(orders, leader=3)

The first nodes are controllers too: an odd number of them, at most five. Time-outs are shorter than
Kafka's, so that a dead broker is noticed within seconds; `properties` override them.
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
from ottla.testing.faults import FailureOptions, Fault, Faults, Named
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
    """Several brokers that form one cluster.

    `brokers`     the number of nodes, 1 to 9; their ids count from 1
    `properties`  server keys of each node
    `keep_data`   do not remove the temporary folders
    """

    def __init__(
        self,
        brokers: int = 3,
        properties: Mapping[str, str] | None = None,
        *,
        start_timeout_s: float = 2 * START_TIMEOUT_S,
        keep_data: bool = False,
    ) -> None:
        """Reserve the ports and create the folders of the nodes; `start()` starts them.
        `properties` are server keys of each node. Raises Misuse unless `brokers` is 1 to 9."""
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
        """The `bootstrap.servers` of a client: `host:port,…` of all nodes."""
        return ",".join(broker.bootstrap_servers for broker in self.brokers)

    def broker(self, node_id: int) -> Broker:
        """Return the node with this id. Raises Misuse if there is none."""
        if not 1 <= node_id <= len(self.brokers):
            raise Misuse(f"there is no node {node_id}: ids are 1 to {len(self.brokers)}")
        return self.brokers[node_id - 1]

    def call(
        self, op: str, args: Mapping[str, Json] | None = None, *, timeout_s: float = CALL_TIMEOUT_S
    ) -> Json:
        """Return the answer of one operation of the control channel. The first running node carries
        it out, and asks the other nodes over the network. Raises as `Broker.call` does, and Misuse
        if no node runs."""
        return self._running_broker().call(op, args, timeout_s=timeout_s)

    def reset(self, *, timeout_s: float = GROUP_TIMEOUT_S) -> Mapping[str, Json]:
        """Empty all nodes that run, as `Contents.reset` does. Return the names of what was deleted
        under "topics", "groups" and "transactional_ids", and the number of closed "connections".
        Raises OttlaError."""
        running = [broker for broker in self.brokers if broker.running]
        try:
            connections = sum(broker.call("reset.begin") for broker in running)
            dropped = self.call(
                "reset.contents", {"timeout_s": timeout_s}, timeout_s=timeout_s + CALL_MARGIN_S
            )
        finally:
            for broker in running:
                broker.call("reset.end")
        self._topics().clear()
        return {**dropped, "connections": connections}

    def requests(
        self,
        api: str | None = None,
        *,
        topic: str | Topic | None = None,
        client_id: str | None = None,
        after: int = 0,
    ) -> list[Request]:
        """Return the requests to all nodes that run now, as `Contents.requests` does, by their
        times. Each node numbers its own requests."""
        topic_of_test = None if topic is None else self._topic(topic)
        requests = [
            request
            for broker in self.brokers
            if broker.running
            for request in broker.requests(
                api, topic=topic_of_test, client_id=client_id, after=after
            )
        ]
        return sorted(requests, key=lambda request: request.time_ms)

    @property
    def faults(self) -> Faults:
        """The faults that a test can add to the requests that the running nodes receive. The nodes
        count together: `times=2` is two requests in all. `broker(2).faults` are the faults of one
        node."""
        return Faults(
            lambda: [broker.call for broker in self.brokers if broker.running],
            lambda topic: self.existing_topic(topic).name,
            self.brokers[0].log_file.parent,
        )

    def fail(self, api: str, error: str, **how: Unpack[FailureOptions]) -> Fault:
        """Let requests fail with an error: `fail("Produce", "NOT_LEADER_OR_FOLLOWER", times=2,
        topic="orders")`.

        Returns the fault, which lasts until `times` requests had it or it is lifted. See
        `ottla.testing.faults` for the arguments; `faults` has the other kinds of faults. Raises
        Misuse for an unknown API or error.
        """
        return self.faults.fail(api, error, **how)

    def disconnect_all(self) -> int:
        """Close the connections of all clients to nodes that run now, once. Return how many there
        were."""
        return self.faults.disconnect_all()

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> None:
        """Move the clocks of all nodes forward together; see `ottla.testing.time_travel`. The
        clocks of nodes that do not run are moved when these start. Raises Misuse if the sum of the
        arguments is negative."""
        with ThreadPoolExecutor(len(self.brokers)) as pool:
            moves = [
                pool.submit(
                    broker.advance, days=days, hours=hours, minutes=minutes, seconds=seconds
                )
                for broker in self.brokers
            ]
        for move in moves:
            move.result()

    # --- leaders and links ------------------------------------------------------------------------

    def leader(self, topic: str | Named, partition: int = 0) -> Broker:
        """Return the node that leads a partition: `cluster.leader("orders").kill()`. Raises
        OttlaError if there is no leader, or no such partition."""
        name = self._real_name(topic)
        partitions_by_topic = self.call("topic.describe", {"names": [name]})
        node_id = partitions_by_topic.get(name, {}).get(str(partition), {}).get("leader", -1)
        if node_id < 0:
            raise OttlaError(f"nobody leads {name}-{partition}; is there such a partition?")
        return self.broker(node_id)

    def elect(self, topic: str | Named, partition: int = 0, *, leader: int | None = None) -> Broker:
        """Make another in-sync replica lead a partition: that on the node `leader` (None: any). It
        is the preferred leader from then on.

        Return the new leader's node, once each broker knows it. A client learns of it by its next
        Metadata request. Raises Misuse if the replica is not in sync.
        """
        args = {"name": self._real_name(topic), "partition": partition, "node_id": leader}
        return self.broker(self.call("topic.lead", args))

    @property
    def controller(self) -> Broker:
        """The node that is the active controller. Raises DeadlinePassed if there is none within 60
        s: a majority of controllers must run and reach each other."""
        return self._controller(-1)

    def elect_controller(self) -> Broker:
        """Let the active controller resign and the controllers elect a new one. Return the node
        that is active then, which may be the same node."""
        resigned_epoch: int = self.controller.call("controller.resign")
        return self._controller(resigned_epoch)

    def cut(self, node_id: int, *others: int, one_way: bool = False) -> Cut:
        """Cut the links between a node and the nodes `others`; without `others`, all its links.
        They stay cut until `heal()` of the returned `Cut` or of the cluster, or until the end of
        the block: `with cluster.cut(1):`.

        Clients reach all nodes as before. Messages under way between the nodes are lost, and
        further requests between them time out. With `one_way`, only the requests that the node
        sends are lost. A node that restarts sends over all its links again. Raises Misuse if the
        node does not run.
        """
        node = self.broker(node_id)
        rest = [self.broker(other) for other in others] or [
            other for other in self.brokers if other is not node
        ]
        cut = Cut()
        cut.add(node, [port for other in rest for port in other.ports])
        if not one_way:
            for other in rest:
                if other.running:
                    cut.add(other, node.ports)
        return cut

    def heal(self) -> None:
        """Restore all links of the nodes that run, whichever call has cut them."""
        for broker in self.brokers:
            if broker.running:
                broker.call("links.heal")

    def _real_name(self, topic: str | Named) -> str:
        """Return a topic's name in the brokers, also for the name that the test gave it."""
        return self.existing_topic(topic).name if isinstance(topic, str) else topic.name

    def _controller(self, after_epoch: int) -> Broker:
        """Return the active controller, as soon as it runs and its epoch is higher than
        `after_epoch`.

        Raises DeadlinePassed if there is none within 60 s.
        """
        deadline = time.monotonic() + CALL_TIMEOUT_S
        while time.monotonic() < deadline:
            states = [broker.call("controller.show") for broker in self.brokers if broker.running]
            newest: Json = max(states, key=lambda state: state["epoch"], default=None)
            if newest and newest["leader"] is not None and newest["epoch"] > after_epoch:
                node = self.broker(newest["leader"])
                if node.running:
                    return node
            time.sleep(_POLL_S)
        raise DeadlinePassed("no node became the active controller: do most controllers run?")

    def _running_broker(self) -> Broker:
        """Return the first node that runs. Raises Misuse if none does."""
        running = next((broker for broker in self.brokers if broker.running), None)
        if running is None:
            raise Misuse("no node of the cluster runs: start() it")
        return running

    # --- start and stop ---------------------------------------------------------------------------

    def start(self) -> Cluster:
        """Start all nodes that do not run, and return this object when each accepts connections.
        Raises OttlaError if a node does not start; then all nodes that this call started are
        killed."""
        stopped = [broker for broker in self.brokers if not broker.running]
        started: list[Broker] = []
        try:
            for broker in stopped:
                broker.begin_start()
                started.append(broker)
            for broker in stopped:
                broker.finish_start()
        except OttlaError:
            for broker in started:
                broker.kill()
            raise
        return self

    def stop(self) -> None:
        """Stop all running nodes cleanly and at the same time, as SIGTERM does, and wait. Raises
        StopFailed at the first node that does not end within 60 s; that node is killed."""
        for broker in self.brokers:
            broker.begin_stop()
        for broker in self.brokers:
            broker.stop()

    def kill(self) -> None:
        """End all nodes as `kill -9` does, one after the other."""
        for broker in self.brokers:
            broker.kill()

    def restart(self) -> Cluster:
        """Stop all nodes, start them with the same ports and data, and return this object. Raises
        OttlaError."""
        self.stop()
        return self.start()

    def close(self) -> None:
        """Kill all nodes, release their ports, and remove their temporary folders unless
        `keep_data` was set."""
        with contextlib.ExitStack() as stack:  # close all of them, even if one fails
            for broker in self.brokers:
                stack.callback(broker.close)

    def __repr__(self) -> str:
        return f"<Cluster on {self.bootstrap_servers}>"

    def __enter__(self) -> Cluster:
        """Start the nodes, and return this object. If that fails, close the cluster and raise the
        error."""
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
        """Start the nodes in a thread, as `__enter__` does, so that the event loop goes on
        meanwhile."""
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the cluster in a thread, so that the event loop goes on meanwhile."""
        await asyncio.to_thread(self.close)


class Cut:
    """Links between nodes that are cut. As a context manager, it restores them at the end of the
    block."""

    def __init__(self) -> None:
        self._cut: list[tuple[Broker, Sequence[int]]] = []

    def add(self, node: Broker, ports: Sequence[int]) -> None:
        """Cut the links from `node` to these ports: discard the messages that it sends there, until
        `heal`."""
        node.call("links.cut", {"ports": list(ports)})
        self._cut.append((node, ports))

    def heal(self) -> None:
        """Restore these links, in the nodes that run, even if another call has cut them too. Other
        links stay cut."""
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
        """Restore the links; see `heal`."""
        self.heal()


def _keys(node: int, nodes: int, voters: str, controller: Sequence[HeldPort]) -> dict[str, str]:
    """Return the server keys of one node: its id and roles, the quorum, replication for `nodes`
    nodes, and short time-outs. The clients' listener and the data folder are left out."""
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
