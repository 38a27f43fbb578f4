"""The nodes of a simulated cluster and their configuration, with short time-outs and small
limits."""

from __future__ import annotations

from dataclasses import dataclass

CHECKPOINT_MS = 2_000
"""`log.flush.start.offset.checkpoint.interval.ms` of simulated brokers."""
PROPERTIES = {
    "offsets.topic.num.partitions": "2",
    "log.flush.start.offset.checkpoint.interval.ms": str(CHECKPOINT_MS),
    "log.flush.offset.checkpoint.interval.ms": "3000",
    "log.segment.delete.delay.ms": "1000",
    "group.initial.rebalance.delay.ms": "200",
    "auto.create.topics.enable": "false",
    "max.incremental.fetch.session.cache.slots": "3",
    "share.coordinator.state.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
METADATA_DIR = "/metadata"
CLUSTER_PROPERTIES = {
    **PROPERTIES,
    "max.incremental.fetch.session.cache.slots": "20",
    "metadata.log.dir": METADATA_DIR,
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "3000",
    "replica.fetch.backoff.ms": "200",
    "request.timeout.ms": "4000",
    "controller.quorum.election.timeout.ms": "600",
    "controller.quorum.election.backoff.max.ms": "300",
    "controller.quorum.fetch.timeout.ms": "1000",
    "leader.imbalance.check.interval.seconds": "7",
}
"""Sessions and replica lag of 3 s, as in the reliability tests, and elections of about 1 s."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The nodes of a cluster: (node id, `process.roles`)."""

    nodes: tuple[tuple[int, str], ...] = ((1, "broker,controller"),)

    @staticmethod
    def combined(count: int) -> Layout:
        """Return a layout of nodes 1, 2 … that are broker and controller."""
        return Layout(tuple((number, "broker,controller") for number in range(1, count + 1)))

    @staticmethod
    def apart(brokers: int, controllers: int) -> Layout:
        """Return a layout with brokers 1, 2 … and controllers 101, 102 …"""
        return Layout(
            (
                *((100 + number, "controller") for number in range(1, controllers + 1)),
                *((number, "broker") for number in range(1, brokers + 1)),
            )
        )

    @property
    def brokers(self) -> int:
        """The number of nodes with the broker role."""
        return sum("broker" in roles for _, roles in self.nodes)

    def properties(self, node_id: int) -> dict[str, str]:
        """Return the properties that this layout sets for a node: roles, listeners and voters. {}
        for a single node."""
        roles = dict(self.nodes)[node_id]
        if len(self.nodes) == 1:
            return {}
        listeners = []
        if "broker" in roles:
            listeners.append(f"PLAINTEXT://broker-{node_id}:9092")
        if "controller" in roles:
            listeners.append(f"CONTROLLER://broker-{node_id}:9093")
        voters = [f"{n}@broker-{n}:9093" for n, has in self.nodes if "controller" in has]
        return {
            "process.roles": roles,
            "listeners": ",".join(listeners),
            "controller.quorum.voters": ",".join(voters),
            "controller.listener.names": "CONTROLLER",
        }
