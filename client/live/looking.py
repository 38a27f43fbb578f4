"""A sample of a cluster, for rates: partitions' offsets and sizes, groups' committed offsets.

Topics, partitions and groups that are deleted or without a leader meanwhile are left out. Owns no
connection and no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from client.cluster import ClusterClient, partitions_of
from client.core.groups import CLASSIC
from client.core.leaders import Partition
from client.groups.groups import listed
from client.groups.positions import positions
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

    `groups`: names of groups other than share groups; None: all groups. Raises Refused, StartError.
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
    types_by_group = (
        {group.group: group.type for group in listed(cluster)}
        if groups is None
        else dict.fromkeys(groups, CLASSIC)
    )
    read = {name: _read(cluster, name, kind, last) for name, kind in types_by_group.items()}
    return Sample(at, first, last, sizes, read)


def _read(
    cluster: ClusterClient, group: str, group_type: str, ends: Mapping[Partition, int]
) -> dict[Partition, int]:
    """Return the offset to which a group has read each partition. For a share group, this is the
    end offset without the records that are not finished.

    Returns {} if the login may not read them, or the group is gone.
    """
    try:
        positions_by_partition = positions(cluster, group, group_type)
    except Refused:  # this login may list the group but not describe it, or the group is gone
        return {}
    offsets = {}
    for at, position in positions_by_partition.items():
        if position.reported_lag is not None and at in ends:
            offsets[at] = ends[at] - position.reported_lag
        elif position.offset is not None:
            offsets[at] = position.offset
    return offsets
