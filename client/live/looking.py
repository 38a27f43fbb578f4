"""A sample of a cluster, for rates: partitions' offsets and sizes, groups' committed offsets.

Topics, partitions and groups that are deleted or without a leader meanwhile are left out. Owns no
connection and no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from client.cluster import ClusterClient, partitions_of
from client.core.leaders import Partition
from client.groups.committed import committed_offsets
from client.groups.groups import listed
from client.live.rates import Sample
from client.offsets import ends
from client.refusals import Refused
from client.topics import log_sizes, visible
from protocol.messages.metadata import MetadataResponseTopic

Topics = Mapping[str, MetadataResponseTopic]


def seen_topics(cluster: ClusterClient, *, internal: bool) -> dict[str, MetadataResponseTopic]:
    """Ask the cluster for the topics that this login may see, and return them by name.

    `internal`: include internal topics such as `__consumer_offsets`.
    """
    topics = cluster.metadata(None).topics
    names = set(visible(topics, internal=internal))
    return {
        topic.name or "": topic for topic in topics if topic.name in names and not topic.error_code
    }


def take_sample(
    cluster: ClusterClient, topics: Topics, at: float, groups: Iterable[str] | None = None
) -> Sample:
    """Ask the cluster for offsets, log sizes and committed offsets, and return them as a sample
    taken at `at` (seconds of any clock).

    `groups` None: all groups. Raises Refused, StartError.
    """
    first, last = ends(cluster, topics, partitions_of(topics))
    leaders = {
        (name, partition.partition_index): partition.leader_id
        for name, topic in topics.items()
        for partition in topic.partitions
    }
    sizes = {
        place: by_broker[leaders[place]]
        for place, by_broker in log_sizes(cluster, topics).items()
        if leaders.get(place) in by_broker
    }
    names = [group.group for group in listed(cluster)] if groups is None else groups
    return Sample(
        at, first, last, sizes, {name: _committed_or_empty(cluster, name) for name in names}
    )


def _committed_or_empty(cluster: ClusterClient, group: str) -> dict[Partition, int]:
    """Return the group's committed offsets.

    Returns {} if the login may not read them, or the group is gone.
    """
    try:
        return committed_offsets(cluster, group)
    except Refused:  # this login may list the group but not describe it, or the group is gone
        return {}
