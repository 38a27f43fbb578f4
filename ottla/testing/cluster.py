"""Several brokers that form one cluster, each a process of its own.

    with Cluster(3) as cluster:
        cluster.broker(2).kill()

All are up to five controllers, an odd number of them. Their time-outs are shorter than Kafka's, so
that a test does not wait for seconds until a dead broker is missed; `properties` win over them.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
from collections.abc import Mapping, Sequence
from types import TracebackType

from ottla.testing.broker import START_TIMEOUT_S, Broker
from ottla.testing.channel import CALL_TIMEOUT_S
from ottla.testing.contents import GROUP_TIMEOUT_S, Contents
from ottla.testing.errors import Misuse, OttlaError
from ottla.testing.frames import Json
from ottla.testing.ports import HOST, HeldPort

_BROKERS_MAX = 9
_CONTROLLERS_MAX = 5
_REPLICAS = 3
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
                cluster_id=cluster_id,
                name=f"node-{node}",
                controller_port=ports[node - 1 : node],
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
        for one in self.brokers:
            if one.running:
                return one.call(op, args, timeout_s=timeout_s)
        raise Misuse("no node of the cluster is running: start() it")

    def reset(self, *, timeout_s: float = GROUP_TIMEOUT_S) -> Mapping[str, Json]:
        """As `Contents.reset`, at all nodes that run."""
        found = super().reset(timeout_s=timeout_s)
        for one in [one for one in self.brokers if one.running][1:]:
            one.call("reset.rest")
        return found

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

    def __enter__(self) -> Cluster:
        try:
            return self.start()
        except OttlaError:
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
