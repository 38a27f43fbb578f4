"""The records of a Produce under way: where they go, and where they lie meanwhile."""

from __future__ import annotations

from typing import Any

from broker.apis.produce.passage import Passage
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from protocol.frames.framing import KEPT_BYTES
from protocol.messages.produce import ProduceRequest, TopicProduceData


def partition_of(
    replicas: ReplicaManager, passage: Passage, topic: TopicProduceData, index: int
) -> Partition | None:
    """Return the replica that is meant, if it is here."""
    if passage.by_topic_id:
        return replicas.partition_by_id(topic.topic_id, index)
    return replicas.partition(topic.name, index)


def keep_records(request: ProduceRequest) -> None:
    """Copy the records: they lie in a buffer that is used for the next request. A large one is not
    (`protocol.frames.framing`), and to copy it would take long."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            if isinstance(data.records, memoryview):
                buffer: Any = data.records.obj
                if len(buffer) <= KEPT_BYTES:
                    data.records = memoryview(bytearray(data.records))
