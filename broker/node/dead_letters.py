"""The dead letters of a broker's share groups, connected with the rest of the node.

This module is loaded with the first share-partition, because the start of a broker must not load
it. Never decides.
"""

from __future__ import annotations

from broker.node.shared_server import SharedServer
from broker.replication.partition_reads import READ_UNCOMMITTED
from broker.replication.replica_manager import ReplicaManager
from broker.share.dead_letters.dead_letter_writer import (
    CreateTopics,
    DeadLetterWriter,
    WriterPorts,
)
from broker.share.dead_letters.destinations import Destinations
from broker.share.dead_letters.letter_metrics import register_letter_metrics
from broker.share.dead_letters.letter_sender import ProduceHere, SenderPorts
from broker.share.state.share_log import SharePartitionKey
from protocol.errors import ErrorCode
from storage.log.file_records import FileRecords


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


def dead_letter_writer(
    shared: SharedServer,
    replicas: ReplicaManager,
    create_topics: CreateTopics,
    produce_here: ProduceHere,
) -> DeadLetterWriter:
    """Return the writer of a broker's dead letters, and register its metrics.

    `create_topics` sends CreateTopics to the controller with this node's rights; `produce_here`
    handles a Produce on this broker itself.
    """
    config, ports = shared.config, shared.ports
    destinations = Destinations(
        lambda: shared.image,
        lambda: shared.reconfiguration.config,
        # Not `replicas.topic_config`: the replicas apply the newest metadata later.
        lambda topic: replicas.topic_config_in(shared.image, topic),
        shared.endpoint_of,
    )
    sender = SenderPorts(
        config.node_id,
        ports.between_nodes,
        ports.scheduler.wall_ms,
        shared.logs.sliced,
        ports.network,
        shared.endpoint_of,
        produce_here,
        LedSource(replicas),
        ports.allocate,
        config.request_timeout_ms,
    )
    writer = DeadLetterWriter(
        WriterPorts(lambda: shared.image, destinations, create_topics, sender)
    )
    register_letter_metrics(shared.metrics, writer.counts)
    return writer
