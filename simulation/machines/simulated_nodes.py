"""The whole cluster at once, as only the simulation sees it, whatever links are cut.

Used by the nemesis (which node leads now?) and by invariants (was the leader that sent this
response replaced?). Reads the nodes, and changes nothing.
"""

from __future__ import annotations

from broker.replication.partition import Partition
from controller.metadata.image import MetadataImage, PartitionRegistration
from simulation.machines.sim_broker import SimBroker

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
SHARE_TOPIC = "__share_group_state"


class SimulatedNodes:
    """All nodes of a run, by id and by address."""

    def __init__(self, nodes: list[SimBroker]) -> None:
        self.nodes = nodes
        self.brokers = [node for node in nodes if node.is_broker]
        self._by_id = {node.node_id: node for node in nodes}
        self._by_address = {node.address: node for node in nodes}

    def node(self, node_id: int) -> SimBroker | None:
        return self._by_id.get(node_id)

    def at(self, address: str) -> SimBroker:
        return self._by_address[address]

    def newest_image(self) -> MetadataImage:
        """Return the newest metadata that any node, dead or alive, has read. All of it is
        committed, though the living nodes may not have it yet."""
        images = [broker.last_image for broker in self.nodes]
        images += [broker.node.image for broker in self.nodes if broker.node is not None]
        return max(images, key=lambda image: image.offset, default=MetadataImage())

    def active_controller(self) -> SimBroker | None:
        """Return the leader of the quorum in the newest epoch that has one, None if there is
        none."""
        leader: SimBroker | None = None
        epoch = -1
        for broker in self.nodes:
            if broker.node is None:
                continue
            raft = broker.node.controller.raft
            if raft.is_leader and raft.epoch > epoch:
                leader, epoch = broker, raft.epoch
        return leader

    def registrations(self) -> list[tuple[str, bytes, int, PartitionRegistration]]:
        """Return every partition in the newest image: topic, topic id, index, registration."""
        return [
            (topic.name, topic.id, index, registration)
            for topic in self.newest_image().topics.by_name.values()
            for index, registration in topic.partitions.items()
        ]

    def leader(self, topic: str, index: int) -> SimBroker | None:
        """Return the leader of a partition, by the newest image. Returns None if there is none."""
        registration = self.newest_image().topics.partition(topic, index)
        return None if registration is None else self._by_id.get(registration.leader)

    def coordinator(self) -> SimBroker | None:
        """Return the leader of the first partition of the offsets topic.

        Returns None if there is none.
        """
        return self.leader(OFFSETS_TOPIC, 0)

    def transaction_coordinator(self) -> SimBroker | None:
        """Return the leader of the first partition of `__transaction_state`, None if there is
        none."""
        return self.leader(TRANSACTIONS_TOPIC, 0)

    def share_coordinator(self) -> SimBroker | None:
        """Return the leader of the first partition of `__share_group_state`, None if there is
        none."""
        return self.leader(SHARE_TOPIC, 0)

    # --- health --------------------------------------------------------------------------------

    def is_replaced(self, broker: SimBroker, topic: str, index: int) -> bool:
        """Return whether the metadata has a newer leader epoch of a partition than the broker has.

        True also if the broker is dead, or the metadata or the broker does not have the partition.
        """
        registration = self.newest_image().topics.partition(topic, index)
        if registration is None or broker.node is None:
            return True
        partition = broker.replicas.partition(topic, index)
        return partition is None or partition.leader_epoch < registration.leader_epoch

    def is_healthy(self, broker: SimBroker) -> bool:
        """Return whether a broker serves and is in sync with all partitions that it holds."""
        return self.why_not_healthy(broker) is None

    def why_not_healthy(self, broker: SimBroker) -> str | None:
        """Return what keeps a broker from being healthy, in words; None if it is healthy.

        Healthy is a broker that serves and is in sync with all its partitions, or a controller that
        runs.
        """
        if broker.node is None or broker.paused:
            return "it does not run"
        if not broker.is_broker:
            return None
        registered = self.newest_image().brokers.get(broker.node_id)
        if registered is None or registered.fenced or not broker.serving:
            return f"it does not serve: {registered}"
        if registered.epoch != broker.node.broker_epoch():
            return f"its epoch is {broker.node.broker_epoch()}, registered is {registered.epoch}"
        for topic, _, index, held in self.registrations():
            if broker.node_id in held.replicas and broker.node_id not in held.isr:
                partition = broker.replicas.partition(topic, index)
                return f"it is not in sync with {topic}-{index}: {held}; it has {_state(partition)}"
        return None

    def all_healthy(self) -> bool:
        return all(self.is_healthy(broker) for broker in self.nodes)

    def why_not_converged(self) -> str | None:
        """Return what keeps the cluster from being at rest, in words. None: all nodes have the same
        metadata, and all replicas the same records."""
        for broker in self.nodes:
            why = self.why_not_healthy(broker)
            if why is not None:
                return f"{broker.address}: {why}"
        newest = self.newest_image()
        for broker in self.nodes:
            assert broker.node is not None
            image = broker.node.image
            if (image.topics, image.configs) != (newest.topics, newest.configs):
                return f"{broker.address} has other metadata ({image.offset}, {newest.offset})"
        for topic, _, index, registration in self.registrations():
            why = self._why_not_equal(topic, index, registration)
            if why is not None:
                return f"{topic}-{index}: {why}"
        return None

    def _why_not_equal(
        self, topic: str, index: int, registration: PartitionRegistration
    ) -> str | None:
        """Return why the replicas of a partition have not converged, None if they have."""
        if len(registration.isr) < len(registration.replicas):
            return f"in sync are {registration.isr} of {registration.replicas}"
        ends = []
        for replica in registration.replicas:
            broker = self._by_id[replica]
            assert broker.node is not None
            partition = broker.replicas.partition(topic, index)
            if partition is None:
                return f"{broker.address} does not have it"
            if partition.leader_epoch != registration.leader_epoch:
                return f"{broker.address} is in epoch {partition.leader_epoch}"
            ends.append((partition.log.high_watermark, partition.log.log_end_offset))
        if len(set(ends)) > 1 or ends[0][0] != ends[0][1]:
            return f"high watermarks and ends are {ends}"
        return None


def _state(partition: Partition | None) -> str:
    """Return the leader, epoch and log range of a replica as text."""
    if partition is None:
        return "nothing"
    log = partition.log
    return (
        f"leader {partition.leader_id} in epoch {partition.leader_epoch}, log "
        f"{log.log_start_offset} to {log.log_end_offset}, high watermark {log.high_watermark}"
    )
