"""The dead letters of a broker's share groups, whose writer is created at the first use.

Many brokers never see a share group, so the start loads none of these modules. Owns the connections
between the writer and the rest of the node. Never decides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from broker.node.shared_server import SharedServer
from broker.replication.partition_reads import READ_UNCOMMITTED
from broker.replication.replica_manager import ReplicaManager
from protocol.errors import ErrorCode
from storage.log.file_records import FileRecords

if TYPE_CHECKING:
    from broker.share.dead_letters.dead_letter_writer import CreateTopics, DeadLetterWriter
    from broker.share.dead_letters.letter_sender import ProduceHere, SenderPorts
    from broker.share.delivery.share_partition import DeadLetter
    from broker.share.state.share_log import SharePartitionKey


class LedSource:
    """The logs that this broker leads, for the copies of original records (`SourceLog`)."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def read(
        self, key: SharePartitionKey, offset: int, max_bytes: int
    ) -> FileRecords | bytes | ErrorCode:
        """Return whole batches from `offset` on, below the high watermark; else an error."""
        partition = self._replicas.partition_by_id(key.topic_id, key.partition)
        if partition is None:
            return self._replicas.why_absent_by_id(key.topic_id, key.partition)
        read = partition.read(offset, max_bytes, READ_UNCOMMITTED, min_one_message=True)
        return read.error or read.records


class NodeDeadLetters:
    """The dead letters of a broker."""

    def __init__(
        self,
        shared: SharedServer,
        replicas: ReplicaManager,
        create_topics: CreateTopics,
        produce_here: ProduceHere,
    ) -> None:
        """Create nothing yet.

        `create_topics` sends CreateTopics to the controller with this node's rights;
        `produce_here` handles a Produce on this broker itself.
        """
        self._shared = shared
        self._replicas = replicas
        self._create_topics = create_topics
        self._produce_here = produce_here
        self._begun = False

    @cached_property
    def writer(self) -> DeadLetterWriter:
        """The writer of this broker's dead letters, with its metrics, created at the first use."""
        # Brokers without share groups do not load these modules.
        from broker.share.dead_letters.dead_letter_writer import DeadLetterWriter, WriterPorts
        from broker.share.dead_letters.destinations import Destinations
        from broker.share.dead_letters.letter_metrics import register_letter_metrics

        self._begun = True
        shared, replicas = self._shared, self._replicas
        destinations = Destinations(
            lambda: shared.image,
            lambda: shared.reconfiguration.config,
            # Not `replicas.topic_config`: the replicas apply the newest metadata later.
            lambda topic: replicas.topic_config_in(shared.image, topic),
            shared.endpoint_of,
        )
        writer = DeadLetterWriter(
            WriterPorts(
                lambda: shared.image, destinations, self._create_topics, self._sender_ports()
            )
        )
        register_letter_metrics(shared.metrics, writer.counts)
        return writer

    def _sender_ports(self) -> SenderPorts:
        """Return the network, the logs and the clocks for the sender of letters."""
        from broker.share.dead_letters.letter_sender import SenderPorts

        config, ports = self._shared.config, self._shared.ports
        return SenderPorts(
            config.node_id,
            ports.between_nodes,
            ports.scheduler.wall_ms,
            self._shared.logs.sliced,
            ports.network,
            self._shared.endpoint_of,
            self._produce_here,
            LedSource(self._replicas),
            ports.allocate,
            config.request_timeout_ms,
        )

    def bury(self, key: SharePartitionKey, letter: DeadLetter, done: Callable[[], None]) -> None:
        """Write records to the dead-letter topic of their group (`DeadLetterWriter.bury`)."""
        self.writer.bury(key, letter, done)

    def metadata_changed(self) -> None:
        """Send letters that wait for a topic or a leader, if the metadata has it now."""
        if self._begun:
            self.writer.metadata_changed()

    def shutdown(self) -> None:
        """Forget all letters, and send nothing more. The next leaders bury their records."""
        if self._begun:
            self.writer.shutdown()
