"""The start offset and the lag of each share-partition, as a share group's coordinator has them.

Follows KIP-932 (DescribeShareGroupOffsets) and KIP-1226 (the lag).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from client.core.coordinators import at_coordinator
from client.core.leaders import Partition
from client.core.operation import Attempts, Steps, check
from protocol.errors import ErrorCode
from protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponseGroup,
)

VERSION = 1


class ShareOffset(NamedTuple):
    """The state of a share-partition that the group's coordinator reports.

    `start` is None before the group's first acknowledgement in the partition, `lag` also if the
    broker does not report it. `lag`: the unfinished records from the start offset to the end.
    """

    start: int | None
    lag: int | None
    topic_id: bytes
    leader_epoch: int


def share_offsets(attempts: Attempts, group: str) -> Steps[dict[Partition, ShareOffset]]:
    """Ask the coordinator for the start offsets and lags of a share group, and return them by
    partition, sorted; none if there is no such group.

    A partition whose response has an error is left out: for example, its topic is deleted. Raises
    ErrorAnswer, NoAnswer.
    """
    request = share_offsets_request([group])
    answer = yield from at_coordinator(attempts, group, request, VERSION)
    described_group = answer.groups[0]
    if described_group.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
        check(described_group.error_code, described_group.error_message)
    return offsets_in(described_group)


def share_offsets_request(groups: Sequence[str]) -> DescribeShareGroupOffsetsRequest:
    """Return the request for all start offsets of these groups."""
    asked = [DescribeShareGroupOffsetsRequestGroup(name, topics=None) for name in groups]
    return DescribeShareGroupOffsetsRequest(asked)


def offsets_in(group: DescribeShareGroupOffsetsResponseGroup) -> dict[Partition, ShareOffset]:
    """Return the state of each partition in a group's part of a response, sorted; those with an
    error are left out."""
    offsets = {
        (topic.topic_name, partition.partition_index): ShareOffset(
            _known(partition.start_offset),
            _known(partition.lag),
            topic.topic_id,
            partition.leader_epoch,
        )
        for topic in group.topics
        for partition in topic.partitions
        if not partition.error_code
    }
    return dict(sorted(offsets.items()))


def _known(number: int) -> int | None:
    """Return a number of the response, None if it is -1."""
    return None if number < 0 else number
