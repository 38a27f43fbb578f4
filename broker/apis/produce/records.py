"""The partition that records of a Produce go to, and the copy of records while a request waits.

Owns nothing. Never appends (`broker.apis.produce.appends`).
"""

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
    """Return this broker's replica of a partition in the request; None if it has none."""
    if passage.by_topic_id:
        return replicas.partition_by_id(topic.topic_id, index)
    return replicas.partition(topic.name, index)


def keep_records(request: ProduceRequest) -> None:
    """Copy the records out of the connection's buffer, which the next request overwrites.

    Records in a large buffer are not copied: it is not used again (`protocol.frames.framing`), and
    copying would take long.
    """
    for topic in request.topic_data:
        for data in topic.partition_data:
            if isinstance(data.records, memoryview):
                buffer: Any = data.records.obj
                if len(buffer) <= KEPT_BYTES:
                    data.records = memoryview(bytearray(data.records))
