"""Answers about topics: a row of the list, a topic's page, and the groups that read it.

The requests to the cluster are those of `ottla topic`. Owns no connection.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass

from client.cluster import ClusterClient, partitions_of
from client.configs.settings import OWN_SOURCES, SOURCES, TOPIC, ConfigResource, configs_of
from client.core.leaders import Partition
from client.core.offsets import EARLIEST, LATEST
from client.groups.groups import GroupSummary, listed
from client.groups.positions import Position, positions
from client.groups.total_lag import total_lag
from client.offsets import ends, list_known_offsets, list_offsets
from client.operations import operations_on_topic
from client.refusals import Refused
from client.topics import log_sizes
from protocol.messages.metadata import MetadataResponsePartition, MetadataResponseTopic

GROUPS_MAX = 500


TopicRow = tuple[str, int, int, bool, int, int]
"""The name, the number of partitions and of replicas, whether the topic is internal, the number of
under-replicated partitions and of those without a leader. A tuple, since there may be 10,000."""


@dataclass(frozen=True, slots=True)
class TopicPartition:
    """A partition of a topic.

    `bytes` is the size of the leader's log, `all_bytes` of all replicas; None if the login may not
    see sizes.
    """

    partition: int
    leader: int | None
    epoch: int
    replicas: list[int]
    isr: list[int]
    offline: list[int]
    first: int | None
    end: int | None
    bytes: int | None
    all_bytes: int | None


@dataclass(frozen=True, slots=True)
class Topic:
    """The page of a topic. `operations`: those that the login may do on it, None if the broker does
    not report them."""

    topic: str
    id: str
    internal: bool
    partitions: list[TopicPartition]
    operations: list[str] | None


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """A config of a topic; `own`: set for this topic."""

    name: str
    value: str | None
    source: str
    own: bool
    documentation: str | None


@dataclass(frozen=True, slots=True)
class TopicReader:
    """A group that has committed offsets of a topic.

    `lag` is the sum of the known lags of its partitions, None if no lag is known.
    """

    group: str
    state: str
    partitions: int
    lag: int | None
    partitions_without_lag: int


@dataclass(frozen=True, slots=True)
class TopicReaders:
    """The groups that read a topic. `left_out` is the number of groups that were not asked."""

    groups: list[TopicReader]
    left_out: int


def row(topic: MetadataResponseTopic) -> TopicRow:
    """Return a topic's row of the list."""
    parts = topic.partitions
    return (
        topic.name or "",
        len(parts),
        max((len(part.replica_nodes) for part in parts), default=0),
        topic.is_internal,
        sum(len(part.isr_nodes) < len(part.replica_nodes) for part in parts),
        sum(part.leader_id < 0 for part in parts),
    )


def described(cluster: ClusterClient, name: str) -> Topic:
    """Ask the cluster for a topic's page. Raises Refused."""
    topics = cluster.topics([name])
    topic = topics[name]
    first, last = _known_ends(cluster, topics)
    sizes = log_sizes(cluster, topics)
    operations = operations_on_topic(cluster, name)
    return Topic(
        topic=name,
        id=urlsafe_b64encode(topic.topic_id).decode().rstrip("="),
        internal=topic.is_internal,
        partitions=[
            TopicPartition(
                partition=part.partition_index,
                leader=None if part.leader_id < 0 else part.leader_id,
                epoch=part.leader_epoch,
                replicas=list(part.replica_nodes),
                isr=list(part.isr_nodes),
                offline=list(part.offline_replicas),
                first=first.get((name, part.partition_index)),
                end=last.get((name, part.partition_index)),
                bytes=sizes.get((name, part.partition_index), {}).get(part.leader_id),
                all_bytes=_sum(sizes.get((name, part.partition_index))),
            )
            for part in sorted(topic.partitions, key=_index)
        ],
        operations=None if operations is None else sorted(each.name for each in operations),
    )


def _known_ends(
    cluster: ClusterClient, topics: Mapping[str, MetadataResponseTopic]
) -> tuple[dict[Partition, int], dict[Partition, int]]:
    """Return the first offset of each partition, and the offset after its last.

    A partition that its leader does not know yet, because it was just added, is left out. Raises
    Refused if no partition has an offset, as without Describe on the topic.
    """
    wanted = partitions_of(topics)
    first = list_known_offsets(cluster, topics, dict.fromkeys(wanted, EARLIEST))
    last = list_known_offsets(cluster, topics, dict.fromkeys(wanted, LATEST))
    return (first, last) if first and last else ends(cluster, topics, wanted)


def _sum(sizes: Mapping[int, int] | None) -> int | None:
    """Return the sum of the sizes by broker; None if they are not known."""
    return None if sizes is None else sum(sizes.values())


def configs(cluster: ClusterClient, name: str) -> list[TopicConfig]:
    """Ask the cluster for all configs of a topic. Raises Refused."""
    entries = configs_of(cluster, ConfigResource(TOPIC, name), with_documentation=True)
    return [
        TopicConfig(
            name=entry.name,
            value=entry.value,
            source=SOURCES.get(entry.config_source, str(entry.config_source)),
            own=entry.config_source in OWN_SOURCES[TOPIC],
            documentation=entry.documentation,
        )
        for entry in entries
    ]


def readers(cluster: ClusterClient, name: str) -> TopicReaders:
    """Ask the cluster for the groups that have offsets of a topic, and return them, the most lag
    first. Asks at most GROUPS_MAX groups. Raises Refused."""
    topics = cluster.topics([name])
    wanted = dict.fromkeys(partitions_of(topics), LATEST)
    last = list_offsets(cluster, topics, wanted)
    groups = listed(cluster)
    rows = []
    for group in groups[:GROUPS_MAX]:
        own = _positions(cluster, group, name)
        if own:
            behind = total_lag(position.lag(last.get(at)) for at, position in own.items())
            rows.append(TopicReader(group.group, group.state, len(own), *behind))
    rows.sort(key=_behind)
    return TopicReaders(rows, max(len(groups) - GROUPS_MAX, 0))


def _positions(
    cluster: ClusterClient, group: GroupSummary, topic: str
) -> dict[Partition, Position]:
    """Return the offsets of a group in a topic; none if the login may not see them."""
    try:
        positions_by_partition = positions(cluster, group.group, group.type)
    except Refused:  # or the group is gone
        return {}
    return {at: position for at, position in positions_by_partition.items() if at[0] == topic}


def _behind(reader: TopicReader) -> tuple[int, str]:
    return -(reader.lag or 0), reader.group


def _index(partition: MetadataResponsePartition) -> int:
    return partition.partition_index
