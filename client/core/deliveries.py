"""The deliveries of a share group's records, as the share coordinator has stored them.

A delivery is stored when it ends: the record is acknowledged or released, or its lock expires. No
response reports the records that members have locked now. Follows KIP-932 (ReadShareGroupState), a
request between brokers, which takes ClusterAction on the cluster. With the leader epoch that
DescribeShareGroupOffsets reports, the request changes nothing.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from client.core.leaders import Partition
from client.core.operation import Answer, Attempts, ErrorAnswer, RequestStep, Steps, check
from client.core.retries import COORDINATOR
from client.core.share_offsets import ShareOffset
from protocol.errors import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.read_share_group_state import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadStateData,
    StateBatch,
)

AVAILABLE, ACKNOWLEDGED, ARCHIVING, ARCHIVED = "available", "acknowledged", "archiving", "archived"
_STATES = {0: AVAILABLE, 1: "acquired", 2: ACKNOWLEDGED, 3: ARCHIVING, 4: ARCHIVED}
"""The states of `RecordState`, by their numbers in the response."""
_SHARE_COORDINATOR = 2
_FIND_COORDINATOR_VERSION = 6
_VERSION = 0
_UNREAD = (ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
"""The errors of a share-partition that is not initialized yet, or whose topic is deleted."""


class NotReported(ErrorAnswer):
    """A broker that coordinates share-partitions does not serve ReadShareGroupState."""

    def __init__(self, node_id: int) -> None:
        text = f"broker {node_id} does not report them"
        super().__init__(ErrorCode.UNSUPPORTED_VERSION, text, text)


class Delivered(NamedTuple):
    """Records of a share-partition from `first` to `last` with the same state.

    `deliveries` counts the deliveries that have ended. None: the record was never delivered, or is
    locked for the first time now.
    """

    topic: str
    partition: int
    first: int
    last: int
    state: str
    deliveries: int | None


def delivered_ranges(
    attempts: Attempts,
    group: str,
    offsets: Mapping[Partition, ShareOffset],
    ends: Mapping[Partition, int],
) -> Steps[list[Delivered]]:
    """Ask the share coordinators for the records of a share group between the start offset and the
    end of each partition, and return them as ranges, in order.

    `offsets`: what the group's coordinator reports; `ends`: the end offsets. Partitions without an
    end or a start offset are left out. Raises ErrorAnswer, also if this client lacks the right;
    NotReported, NoAnswer.
    """
    begun = {at: offset for at, offset in offsets.items() if offset.start is not None}
    states = yield from _states(attempts, group, {at: begun[at] for at in begun if at in ends})
    ranges: list[Delivered] = []
    for at, state in sorted(states.items()):
        ranges += ranges_in(at, state.start_offset, ends[at], state.state_batches)
    return ranges


def _states(
    attempts: Attempts, group: str, offsets: Mapping[Partition, ShareOffset]
) -> Steps[dict[Partition, PartitionResult]]:
    """Ask the share coordinators for the stored state of each partition, and return it."""
    partitions_by_key = {_key(group, at, offset): at for at, offset in offsets.items()}
    states: dict[Partition, PartitionResult] = {}
    coordinators = yield from _coordinators(attempts, list(partitions_by_key))
    for node_id, keys in coordinators.items():
        partitions = [partitions_by_key[key] for key in keys]
        names_by_id = {offsets[at].topic_id: at[0] for at in partitions}
        request = ReadShareGroupStateRequest(group, _topics(partitions, offsets))
        step = RequestStep(request, _VERSION, node_id, optional=True)
        answer = yield from _settled(attempts, step)
        if answer is None:
            raise NotReported(node_id)
        for topic in answer.results:
            for result in topic.partitions:
                if not result.error_code:
                    states[names_by_id[topic.topic_id], result.partition] = result
                elif result.error_code not in _UNREAD:
                    raise ErrorAnswer(result.error_code, result.error_message)
    return states


def _key(group: str, at: Partition, offset: ShareOffset) -> str:
    """Return the key by which FindCoordinator finds the coordinator of a share-partition."""
    topic_id = urlsafe_b64encode(offset.topic_id).decode().rstrip("=")
    return f"{group}:{topic_id}:{at[1]}"


def _coordinators(attempts: Attempts, keys: Sequence[str]) -> Steps[dict[int, list[str]]]:
    """Ask for the share coordinator of each key, and return the keys by its id."""
    keys_by_id: dict[int, list[str]] = {}
    if not keys:
        return keys_by_id
    request = FindCoordinatorRequest(key_type=_SHARE_COORDINATOR, coordinator_keys=list(keys))
    step = RequestStep(request, _FIND_COORDINATOR_VERSION)
    answer = yield from _settled(attempts, step)
    for coordinator in answer.coordinators:
        check(coordinator.error_code, coordinator.error_message)
        keys_by_id.setdefault(coordinator.node_id, []).append(coordinator.key)
    return keys_by_id


def _settled(attempts: Attempts, step: RequestStep) -> Steps[Answer]:
    """Send the request, again while a coordinator moves or loads, and return the response."""
    return attempts.settled(lambda: attempts.request(step), COORDINATOR)


def _topics(
    partitions: Sequence[Partition], offsets: Mapping[Partition, ShareOffset]
) -> list[ReadStateData]:
    """Return the part of a request that names these partitions."""
    partitions_by_id: dict[bytes, list[PartitionData]] = {}
    for at in partitions:
        partition = PartitionData(at[1], offsets[at].leader_epoch)
        partitions_by_id.setdefault(offsets[at].topic_id, []).append(partition)
    return [ReadStateData(topic_id, own) for topic_id, own in partitions_by_id.items()]


def ranges_in(
    at: Partition, start: int, end: int, batches: Iterable[StateBatch]
) -> list[Delivered]:
    """Return the ranges of a partition's records from `start` up to, without, `end`; neighbours
    with the same state and count are one range.

    `batches`: the stored states. A record that is in none of them is available.
    """
    ranges: list[Delivered] = []

    def add(first: int, last: int, state: str, deliveries: int | None) -> None:
        """Append a range, or extend the last one."""
        before = ranges[-1] if ranges else None
        if before is not None and (before.state, before.deliveries) == (state, deliveries):
            ranges[-1] = before._replace(last=last)
        elif first <= last:
            ranges.append(Delivered(*at, first, last, state, deliveries))

    next_offset = start
    for batch in sorted(batches, key=_first_offset):
        first = max(batch.first_offset, next_offset)
        if first > batch.last_offset:
            continue
        if first > next_offset:
            add(next_offset, first - 1, AVAILABLE, None)
        state = _STATES.get(batch.delivery_state, str(batch.delivery_state))
        add(first, batch.last_offset, state, batch.delivery_count)
        next_offset = batch.last_offset + 1
    if next_offset < end:
        add(next_offset, end - 1, AVAILABLE, None)
    return ranges


def _first_offset(batch: StateBatch) -> int:
    return batch.first_offset
