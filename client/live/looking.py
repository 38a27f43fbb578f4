"""One look at a cluster, for rates: what each partition holds and where groups stand.

What is deleted or has no leader meanwhile is left out. Owns no connection and no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from client.cluster import Cluster, partitions_of
from client.core.leaders import Partition
from client.groups.committed import committed_offsets
from client.groups.groups import listed
from client.live.rates import Sample
from client.offsets import ends
from client.refusals import Refused
from client.topics import log_sizes, visible
from protocol.messages.metadata import MetadataResponseTopic

Topics = Mapping[str, MetadataResponseTopic]


def seen_topics(cluster: Cluster, *, internal: bool) -> dict[str, MetadataResponseTopic]:
    """All topics that may be seen, from one answer."""
    found = cluster.metadata(None).topics
    names = set(visible(found, internal=internal))
    return {one.name or "": one for one in found if one.name in names and not one.error_code}


def look(
    cluster: Cluster, topics: Topics, at: float, groups: Iterable[str] | None = None
) -> Sample:
    """At `at`, seconds of any clock; of all groups, or those named. Raises Refused, StartError."""
    first, last = ends(cluster, topics, partitions_of(topics))
    leaders = {
        (name, one.partition_index): one.leader_id
        for name, topic in topics.items()
        for one in topic.partitions
    }
    sizes = {
        place: by_broker[leaders[place]]
        for place, by_broker in log_sizes(cluster, topics).items()
        if leaders.get(place) in by_broker
    }
    names = [one.group for one in listed(cluster)] if groups is None else groups
    return Sample(at, first, last, sizes, {name: _standing(cluster, name) for name in names})


def _standing(cluster: Cluster, group: str) -> dict[Partition, int]:
    try:
        return committed_offsets(cluster, group)
    except Refused:  # it may be listed and not be read, or is gone
        return {}
