"""Metrics of the cluster by a node's metadata: topics, brokers, elections.

Follows the MBeans of Kafka's `KafkaController`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from controller.decisions.unclean_elections import UncleanElections
from controller.metadata.image import NO_LEADER, PartitionRegistration

if TYPE_CHECKING:
    from broker.node.node import Node


def register_controller_metrics(node: Node) -> None:
    """Register metrics of the cluster, by the metadata that this node has."""
    metrics, name = node.metrics, "kafka_controller_kafkacontroller"
    metrics.gauge(
        f"{name}_activecontrollercount",
        "1 where this node is the active controller",
        lambda: node.controller.controller.is_active,
    )
    metrics.gauge(
        "kafka_server_broker_metadata_metrics_metadata_apply_error_count",
        "Changes of the metadata that a part of this node failed on",
        lambda: node.controller.loader.apply_errors,
    )
    metrics.gauge(f"{name}_globaltopiccount", "Topics", lambda: len(node.image.topics.by_name))
    metrics.gauge(
        f"{name}_globalpartitioncount",
        "Partitions of all topics",
        lambda: sum(len(topic.partitions) for topic in node.image.topics.by_name.values()),
    )
    metrics.gauge(
        f"{name}_offlinepartitionscount",
        "Partitions that nobody leads",
        lambda: sum(partition.leader == NO_LEADER for partition in _registrations(node)),
    )
    metrics.gauge(
        f"{name}_preferredreplicaimbalancecount",
        "Partitions that are not led by their first replica",
        lambda: sum(
            partition.leader != partition.preferred_replica for partition in _registrations(node)
        ),
    )
    metrics.gauge(
        f"{name}_activebrokercount",
        "Registered brokers that are not fenced",
        lambda: sum(not broker.fenced for broker in node.image.brokers.values()),
    )
    metrics.gauge(
        f"{name}_fencedbrokercount",
        "Registered brokers that are fenced",
        lambda: sum(broker.fenced for broker in node.image.brokers.values()),
    )

    unclean = UncleanElections()
    node.controller.add_listener(unclean.metadata_changed)
    metrics.counter(
        "kafka_controller_controllerstats_uncleanleaderelections",
        "Elections of leaders that may lack committed records, as this node has heard of them",
        lambda: unclean.count,
    )


def _registrations(node: Node) -> Iterator[PartitionRegistration]:
    """Yield the registration of each partition of all topics."""
    for topic in node.image.topics.by_name.values():
        yield from topic.partitions.values()
