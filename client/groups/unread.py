"""When the record was written that a group reads next: how old what it hangs on is.

Asks the leader for one batch a partition. Owns no connection. Where a partition may not be read, or
has nothing at that offset, there is no time.
"""

from __future__ import annotations

from collections.abc import Mapping

from client.cluster import Cluster
from client.core.fetching import NAMES_VERSION_MAX, fetch_request, visible_records
from client.core.leaders import Partition
from protocol.message import Message
from protocol.messages.fetch import FetchResponse
from protocol.messages.metadata import MetadataResponseTopic
from protocol.record_batch import CorruptBatch


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
            request = fetch_request({at: wanted[at]}, 0, 1, 1)  # a whole batch comes all the same
            answer = cluster.call_at(leader, request, FetchResponse, NAMES_VERSION_MAX)
            time_ms = _time_of(answer, wanted[at])
            if time_ms is not None:
                found[at] = time_ms
    return found


def _time_of(answer: Message, offset: int) -> int | None:
    assert isinstance(answer, FetchResponse)
    for topic in answer.responses:
        for one in topic.partitions:
            records = one.records
            if one.error_code or not isinstance(records, memoryview):
                continue
            try:
                found, _ = visible_records(records, None, offset)
            except (CorruptBatch, ValueError, IndexError):
                return None
            if found:
                return found[0].timestamp
    return None
