"""The producers of partitions, as the partitions' leaders know them.

Owns no connection. Follows KIP-664 (DescribeProducers).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from client.cluster import ClusterClient
from client.core.leaders import Partition, by_topic
from protocol.errors import ErrorCode
from protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
    TopicRequest,
)
from protocol.messages.metadata import MetadataResponseTopic

_NO_RIGHT = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class PartitionProducer(NamedTuple):
    """The state of a producer in a partition.

    `last_timestamp_ms` is that of its last batch, `coordinator_epoch` of its last marker, -1
    without one. `open_from` is the first offset of its open transaction, None if none is open.
    """

    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    open_from: int | None


@dataclass(frozen=True, slots=True)
class Producers:
    """The producers of partitions, and the topics whose producers the login may not see."""

    by_partition: dict[Partition, list[PartitionProducer]] = field(default_factory=dict)
    denied: list[str] = field(default_factory=list)


def producers_of(
    cluster: ClusterClient,
    topics: Mapping[str, MetadataResponseTopic],
    partitions: Iterable[Partition],
) -> Producers:
    """Ask the leaders for the producers of these partitions.

    Partitions without a leader, and those whose leader moved, are left out. Raises StartError.
    """
    producers = Producers()
    denied = set()
    for leader, places in cluster.by_leader(topics, partitions).items():
        request = DescribeProducersRequest(
            [TopicRequest(name, indexes) for name, indexes in by_topic(places).items()]
        )
        for topic in cluster.call_at(leader, request, DescribeProducersResponse).topics:
            for partition in topic.partitions:
                if partition.error_code in _NO_RIGHT:
                    denied.add(topic.name)
                elif not partition.error_code:
                    producers.by_partition[topic.name, partition.partition_index] = sorted(
                        _producer(state) for state in partition.active_producers
                    )
    producers.denied.extend(sorted(denied))
    return producers


def open_from(producers: Sequence[PartitionProducer]) -> PartitionProducer | None:
    """Return the producer whose open transaction begins first; None if no transaction is open."""
    with_open = [producer for producer in producers if producer.open_from is not None]
    return min(with_open, key=_first_offset, default=None)


def _first_offset(producer: PartitionProducer) -> int:
    assert producer.open_from is not None
    return producer.open_from


def _producer(state: ProducerState) -> PartitionProducer:
    """Return the producer of a response."""
    start = state.current_txn_start_offset
    return PartitionProducer(
        state.producer_id,
        state.producer_epoch,
        state.last_sequence,
        state.last_timestamp,
        state.coordinator_epoch,
        start if start >= 0 else None,
    )
