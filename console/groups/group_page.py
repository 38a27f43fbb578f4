"""The page of one group: its members, and its offset and lag in each partition.

Lag over time comes from the sampler. Owns no connection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from client.cluster import ClusterClient
from client.core.deliveries import AVAILABLE
from client.core.groups import CLASSIC, CONSUMER, SHARE, GroupDescription, MemberDescription
from client.core.leaders import Partition
from client.core.offsets import EARLIEST, LATEST
from client.groups.groups import GroupSummary, Standing, by_coordinator, described, standings
from client.groups.share_details import ShareDetails, share_details
from client.groups.total_lag import total_lag
from client.groups.uncommitted import without_commit
from client.groups.unread import next_record_times
from client.offsets import list_known_offsets
from client.operations import operations_on_group
from client.refusals import Refused
from console.groups.answers import (
    DeliveredRange,
    GroupMember,
    GroupPartition,
    GroupShown,
    ShareShown,
    Watched,
    WithoutCommit,
)
from console.groups.lag_history import Behind
from console.groups.words import group_words, since, terms_of
from protocol.messages.metadata import MetadataResponseTopic

UNREAD_MAX = 8
"""The partitions with the most lag, whose next record is fetched for its time."""
RANGES_MAX = 200
"""The most ranges of deliveries that the page lists."""
_DESCRIBED_TYPES = ("", CLASSIC, CONSUMER, SHARE)
"""The types of groups whose members the console asks for. Brokers before 3.8 report no type."""


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """The cluster's answers about a group.

    `held` are the records of each partition without a commit, `unread` the offsets of the next
    records, `unread_ms` their times. `share` is None if the group is no share group.
    """

    group: GroupDescription
    rows: Sequence[Standing]
    held: Mapping[Partition, int]
    unread: Mapping[Partition, int]
    unread_ms: Mapping[Partition, int]
    operations: Sequence[str] | None
    unserved: str | None
    share: ShareDetails | None


def facts_of(cluster: ClusterClient, name: str, *, with_operations: bool) -> GroupFacts:
    """Ask the cluster for a group, its offsets, and the login's operations on it.

    Raises Refused, also if there is no such group, and StartError.
    """
    coordinator, summary = _listed(cluster, name)
    unserved = None
    if summary is not None and summary.type.lower() not in _DESCRIBED_TYPES:
        unserved = unserved_words(summary.type)
        group = _from_list(summary, coordinator)
    else:
        group = described(cluster, name)
    rows = _standings(cluster, group, is_optional=unserved is not None)
    topics = _topics(cluster, rows)
    share = None
    held: dict[Partition, int] = {}
    if group.type == SHARE:
        share = share_details(cluster, group, rows)
    else:
        rows, held = _with_uncommitted(cluster, topics, rows)
    unread = _unread(rows, share)
    operations = None
    if with_operations and unserved is None and group.coordinator is not None:
        operations = operations_on_group(cluster, name, group.type, group.coordinator)
    return GroupFacts(
        group,
        rows,
        held,
        unread,
        _times(cluster, topics, rows, unread),
        None if operations is None else sorted(operation.name for operation in operations),
        unserved,
        share,
    )


def unserved_words(group_type: str) -> str:
    """Return why the page of a group of this type lacks members."""
    return f"the console does not show the members of a {group_type.lower()} group"


def _listed(cluster: ClusterClient, name: str) -> tuple[int | None, GroupSummary | None]:
    """Return the coordinator and the row of a group in the list of groups; None if the list does
    not have it."""
    for node_id, rows in by_coordinator(cluster).items():
        for row in rows:
            if row.group == name:
                return node_id, row
    return None, None


def _from_list(summary: GroupSummary, coordinator: int | None) -> GroupDescription:
    """Return the description of a group that the console cannot describe, from its row."""
    return GroupDescription(
        summary.group, summary.state, [], summary.type.lower(), coordinator=coordinator
    )


def _standings(
    cluster: ClusterClient, group: GroupDescription, *, is_optional: bool
) -> list[Standing]:
    """Return the group's offset and lag in each partition.

    `is_optional`: return no rows if the cluster rejects the request, because the group's type may
    have no offsets.
    """
    try:
        return standings(cluster, group)
    except Refused:
        if is_optional:
            return []
        raise


def _topics(cluster: ClusterClient, rows: Sequence[Standing]) -> dict[str, MetadataResponseTopic]:
    """Ask for the topics of these rows; those that do not exist or are not visible are left out."""
    names = sorted({row.topic for row in rows})
    if not names:
        return {}
    return {
        topic.name or "": topic for topic in cluster.metadata(names).topics if not topic.error_code
    }


def _with_uncommitted(
    cluster: ClusterClient, topics: Mapping[str, MetadataResponseTopic], rows: Sequence[Standing]
) -> tuple[list[Standing], dict[Partition, int]]:
    """Add the partitions of the group's topics that have neither a commit nor a member.

    Return all rows in order, and the records that each partition without a commit holds.
    """
    places = {(row.topic, row.partition) for row in rows}
    indexes = {
        name: [partition.partition_index for partition in topic.partitions]
        for name, topic in topics.items()
    }
    added = without_commit(places, indexes)
    wanted = added + [(row.topic, row.partition) for row in rows if row.committed is None]
    wanted = [at for at in wanted if at[0] in topics]
    starts = list_known_offsets(cluster, topics, dict.fromkeys(wanted, EARLIEST))
    ends = list_known_offsets(cluster, topics, dict.fromkeys(wanted, LATEST))
    held = {at: max(ends[at] - starts[at], 0) for at in wanted if at in starts and at in ends}
    more = [Standing(*at, None, ends.get(at), None, None, None) for at in added]
    return sorted([*rows, *more], key=_place), held


def _unread(rows: Sequence[Standing], share: ShareDetails | None) -> dict[Partition, int]:
    """Return the offset of the next record of each partition with lag: the committed offset, in a
    share group that of the first unfinished record, or else the start offset."""
    unfinished: dict[Partition, int] = {}
    for delivered in () if share is None else share.ranges:
        if delivered.state == AVAILABLE:
            unfinished.setdefault((delivered.topic, delivered.partition), delivered.first)
    return {
        _place(row): unfinished.get(_place(row), row.committed)
        for row in rows
        if row.lag and row.committed is not None
    }


def _times(
    cluster: ClusterClient,
    topics: Mapping[str, MetadataResponseTopic],
    rows: Sequence[Standing],
    unread: Mapping[Partition, int],
) -> dict[Partition, int]:
    """Return the time of the next record of the partitions with the most lag."""
    late = sorted((row for row in rows if row.lag), key=_most_lag_first)[:UNREAD_MAX]
    wanted = {_place(row): unread[_place(row)] for row in late if _place(row) in unread}
    return next_record_times(cluster, topics, wanted) if wanted else {}


def shown(
    facts: GroupFacts,
    behind: Mapping[Partition, Behind],
    worst: Behind | None,
    watched: Watched,
    now_ms: int,
) -> GroupShown:
    """Return the page of a group from the cluster's answers and the samples of its lag.

    `worst` is the partition that stands for the group.
    """
    group, rows = facts.group, facts.rows
    terms = terms_of(group.type)
    readers: dict[Partition, list[int]] = {}
    for index, member in enumerate(group.members):
        for at in member.partitions:
            readers.setdefault(at, []).append(index)
    committed_or_read = [row for row in rows if row.committed is not None or _place(row) in readers]
    lag = total_lag(row.lag for row in committed_or_read)
    without = [row for row in rows if row.committed is None]
    return GroupShown(
        group=group.name,
        type=group.type,
        state=group.state,
        assignor=group.assignor,
        coordinator=group.coordinator,
        epoch=group.epoch,
        target_epoch=group.target_epoch,
        lag=lag.records,
        partitions_without_lag=lag.unknown,
        uncommitted=WithoutCommit(len(without), sum(facts.held.values())),
        since=facts.unserved or group_words(rows, worst, facts.unread_ms, now_ms, terms),
        keeps_up=_keeps_up(rows, worst),
        members=[_member(member) for member in group.members],
        partitions=[_partition(row, facts, readers, behind, now_ms) for row in rows],
        watched=watched,
        operations=None if facts.operations is None else list(facts.operations),
        unserved=facts.unserved,
        share=None if facts.share is None else _share(facts.share),
    )


def _share(details: ShareDetails) -> ShareShown:
    """Return the part of the page that only a share group has."""
    ranges = details.ranges
    return ShareShown(
        ranges=[DeliveredRange(*delivered) for delivered in ranges[:RANGES_MAX]],
        more_ranges=max(len(ranges) - RANGES_MAX, 0),
        without_ranges=details.without_ranges,
        delivery_limit=None if details.limits is None else details.limits.deliveries,
        lock_ms=details.lock_ms,
        dead_letter_topic=details.dead_letter_topic,
        troubles=list(details.troubles),
    )


def _keeps_up(rows: Sequence[Standing], worst: Behind | None) -> bool:
    """Return True if the samples show that a group with lag keeps up, or if all lags are 0."""
    if any(row.lag for row in rows):
        return worst is not None and worst.since_ms is None and not worst.from_start
    known = [row for row in rows if row.committed is not None]
    return bool(known) and all(row.lag == 0 for row in known)


def _partition(
    row: Standing,
    facts: GroupFacts,
    readers: Mapping[Partition, list[int]],
    behind: Mapping[Partition, Behind],
    now_ms: int,
) -> GroupPartition:
    """Return a partition of the page. Its lag is newer than the last sample, so a partition without
    lag is not behind, even if it was in the sample."""
    at = _place(row)
    terms = terms_of(facts.group.type)
    sampled = behind.get(at)
    return GroupPartition(
        topic=row.topic,
        partition=row.partition,
        committed=row.committed,
        end=row.end,
        lag=row.lag,
        held=facts.held.get(at),
        readers=readers.get(at, []),
        since="" if sampled is None or row.lag == 0 else since(sampled, now_ms, terms),
        late=bool(row.lag and sampled and sampled.since_ms is not None),
        since_ms=sampled.since_ms if row.lag and sampled else None,
        unread_at=facts.unread.get(at),
        unread_ms=facts.unread_ms.get(at),
    )


def _member(member: MemberDescription) -> GroupMember:
    """Return a member of the page."""
    return GroupMember(
        id=member.member_id,
        name=member.name,
        host=member.host,
        instance=member.instance_id,
        protocol=member.protocol,
        epoch=member.epoch,
        partitions=sorted(member.partitions),
        target=None if member.target is None else sorted(member.target),
    )


def _place(row: Standing) -> Partition:
    return row.topic, row.partition


def _most_lag_first(row: Standing) -> int:
    return -(row.lag or 0)
