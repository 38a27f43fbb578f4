"""Metrics of the quorum, and of the topics in its leader's metadata.

Follows Kafka's `raft-metrics`. `kafka_topic_partitions` is a name of exporters that run beside
Kafka. They show it once for a whole cluster, so only the active controller does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from broker.metrics import Labels

if TYPE_CHECKING:
    from broker.node.node import Node
    from controller.metadata.image import TopicImage

_NAME = "kafka_server_raft_metrics"


def register_quorum_metrics(node: Node) -> None:
    """Register metrics of the quorum, whose values are read at each scrape."""
    metrics, raft = node.metrics, node.controller.raft
    metrics.gauge(
        f"{_NAME}_current_leader",
        "The leader of the quorum; -1 where none is known",
        lambda: _or(raft.leader_id, -1),
    )
    metrics.gauge(f"{_NAME}_current_epoch", "The epoch of the quorum", lambda: raft.epoch)
    metrics.gauge(
        f"{_NAME}_current_vote",
        "For whom this node has voted in this epoch; -1: for nobody",
        lambda: _or(raft.voted_id, -1),
    )
    metrics.gauges(
        f"{_NAME}_current_state",
        "What this node is in the quorum: 1, with the state as a label",
        lambda: (({"current_state": raft.role.value.lower()}, 1.0),),
    )
    metrics.gauge(
        f"{_NAME}_high_watermark",
        "The offset up to which the metadata is committed; -1 where it is not known",
        lambda: _or(raft.high_watermark, -1),
    )
    metrics.gauge(
        f"{_NAME}_log_end_offset",
        "The offset behind the last record of the metadata here",
        lambda: raft.end_offset,
    )
    _register_voters(node)
    metrics.many(
        [
            (
                "kafka_topic_partitions",
                "Partitions of a topic, as the active controller knows it",
                lambda topic: len(topic.partitions),
            )
        ],
        lambda: _shown_topics(node),
    )


def _register_voters(node: Node) -> None:
    """Register metrics of the voters and of their changes (KIP-853)."""
    metrics, raft, voters = node.metrics, node.controller.raft, node.controller.voters
    metrics.gauge(
        f"{_NAME}_number_of_voters",
        "The voters of the quorum, also if their record is not committed yet",
        lambda: len(voters.latest),
    )
    metrics.gauge(
        f"{_NAME}_number_of_observers",
        "The observers that fetch from this node; 0 where it does not lead",
        lambda: 0 if raft.leading is None else len(raft.leading.observers),
    )
    metrics.gauge(
        f"{_NAME}_uncommitted_voter_change",
        "1 where this node leads and the last change of the voters is not committed",
        lambda: (
            raft.leading is not None
            and _or(voters.latest_offset, -1) >= _or(raft.high_watermark, 0)
        ),
    )
    metrics.gauge(
        "kafka_controller_kafkacontroller_ignoredstaticvoters",
        "1 where controller.quorum.voters is ignored because the metadata log has the voters",
        lambda: len(voters.ignored_static) > 0,
    )


def _shown_topics(node: Node) -> Iterator[tuple[Labels, TopicImage]]:
    """Yield the labels of each shown topic; none if this node is not the active controller."""
    if node.controller.controller.is_active:
        for name, topic in list(node.image.topics.by_name.items()):
            if node.metrics.shows(name):
                yield {"topic": name}, topic


def _or(value: int | None, otherwise: int) -> int:
    """Return `value`, or `otherwise` if it is None."""
    return otherwise if value is None else value
