"""When the record was written that a group reads next: how old what it hangs on is.

Asks the leader for one batch a partition. Owns no connection. Where a partition may not be read, or
has nothing at that offset, there is no time.
"""

from __future__ import annotations

from collections.abc import Mapping

from client.cluster import Cluster
from client.core.leaders import Partition
from protocol.message import Message
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from protocol.messages.metadata import MetadataResponseTopic
from protocol.record_batch import CorruptBatch, iterate_batches
from protocol.records import iterate_records

_BY_NAME = 12
"""The last version of Fetch that names topics instead of numbering them."""


def written_at(
    cluster: Cluster,
    topics: Mapping[str, MetadataResponseTopic],
    wanted: Mapping[Partition, int],
) -> dict[Partition, int]:
    """The time (ms since the epoch) of the first record at or after each offset. Raises
    StartError."""
    found = {}
    for leader, partitions in cluster.by_leader(topics, wanted).items():
        for at in partitions:
            request = FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                max_bytes=1,  # a whole batch comes all the same
                topics=[FetchTopic(at[0], partitions=[_of(at[1], wanted[at])])],
            )
            answer = cluster.call_at(leader, request, FetchResponse, _BY_NAME)
            time_ms = _time_of(answer, wanted[at])
            if time_ms is not None:
                found[at] = time_ms
    return found


def _of(index: int, offset: int) -> FetchPartition:
    return FetchPartition(index, fetch_offset=offset, partition_max_bytes=1)


def _time_of(answer: Message, offset: int) -> int | None:
    assert isinstance(answer, FetchResponse)
    for topic in answer.responses:
        for one in topic.partitions:
            records = one.records
            if one.error_code or not isinstance(records, memoryview):
                continue
            try:
                for pos, header in iterate_batches(records, allow_partial_tail=True):
                    for record in () if header.is_control else iterate_records(records, pos):
                        if record.offset >= offset:
                            return record.timestamp
            except (CorruptBatch, ValueError, IndexError):
                return None
    return None
