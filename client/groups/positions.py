"""The offsets of a group of any type: where it reads each partition, set and deleted.

Groups commit offsets, but share groups have start offsets. Owns no connection.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from client.cluster import ClusterClient
from client.core.groups import SHARE
from client.core.leaders import Partition
from client.core.share_offsets import ShareOffset
from client.groups.committed import commit_offsets, committed_offsets, delete_committed
from client.groups.share_offsets import delete_share_offsets, set_share_offsets, share_offsets


class Position(NamedTuple):
    """The offset of a group in a partition: the committed one, or a share group's start offset.

    `offset` is None if a share group has not begun. `reported_lag` is the lag that a share group's
    coordinator reports; the lag of other groups is the distance to the end.
    """

    offset: int | None
    reported_lag: int | None = None

    def lag(self, end: int | None) -> int | None:
        """Return the records up to the end offset that the group has not read or not finished, None
        if that is not known."""
        if self.reported_lag is not None:
            return self.reported_lag
        if self.offset is None or end is None:
            return None
        return max(end - self.offset, 0)


def positions(cluster: ClusterClient, group: str, group_type: str) -> dict[Partition, Position]:
    """Ask the coordinator for the group's offsets, and return them by partition, sorted; none if
    there is no such group. Raises Refused, StartError."""
    if group_type.lower() == SHARE:
        return share_positions(share_offsets(cluster, group))
    return {at: Position(offset) for at, offset in committed_offsets(cluster, group).items()}


def share_positions(offsets: Mapping[Partition, ShareOffset]) -> dict[Partition, Position]:
    """Return a share group's offsets as positions."""
    return {at: Position(share.start, share.lag) for at, share in offsets.items()}


def offsets_of(positions_by_partition: Mapping[Partition, Position]) -> dict[Partition, int]:
    """Return the offsets of the partitions that have one."""
    return {
        at: position.offset
        for at, position in positions_by_partition.items()
        if position.offset is not None
    }


def set_offsets(
    cluster: ClusterClient, group: str, group_type: str, offsets: Mapping[Partition, int]
) -> None:
    """Set the group's offsets. Raises Refused, also if the group has members."""
    change = set_share_offsets if group_type == SHARE else commit_offsets
    change(cluster, group, offsets)


def delete_offsets(
    cluster: ClusterClient, group: str, group_type: str, partitions: Collection[Partition]
) -> None:
    """Delete the group's offsets of these partitions, and of a share group those of their whole
    topics. Raises Refused, also if members read a topic."""
    if group_type == SHARE:
        delete_share_offsets(cluster, group, dict.fromkeys(topic for topic, _ in partitions))
    else:
        delete_committed(cluster, group, partitions)
