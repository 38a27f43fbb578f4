"""The timestamp of the record that a group reads next, which shows for how long it has lagged.

Fetches one batch of each partition from its leader. Owns no connection. A partition has no
timestamp if it may not be read, or has no record at that offset.
"""

from __future__ import annotations

from collections.abc import Mapping

from client.cluster import ClusterClient
from client.core.fetching import NAMES_VERSION_MAX, fetch_request, visible_records
from client.core.leaders import Partition
from protocol.message import Message
from protocol.messages.fetch import FetchResponse
from protocol.messages.metadata import MetadataResponseTopic
from protocol.record_batch import CorruptBatch


def next_record_times(
    cluster: ClusterClient,
    topics: Mapping[str, MetadataResponseTopic],
    wanted: Mapping[Partition, int],
) -> dict[Partition, int]:
    """Fetch from the leaders the first record at or after each offset, and return its timestamp (ms
    since the epoch).

    Partitions without a timestamp are left out. Raises StartError.
    """
    times_ms = {}
    for leader, partitions in cluster.by_leader(topics, wanted).items():
        for at in partitions:
            # A leader returns at least one whole batch, even if it is larger than the limit.
            request = fetch_request({at: wanted[at]}, 0, 1, 1)
            answer = cluster.call_at(leader, request, FetchResponse, NAMES_VERSION_MAX)
            time_ms = _first_visible_time(answer, wanted[at])
            if time_ms is not None:
                times_ms[at] = time_ms
    return times_ms


def _first_visible_time(answer: Message, offset: int) -> int | None:
    """Return the timestamp (ms) of the first visible record from `offset`.

    None if there is none, or the records cannot be read.
    """
    assert isinstance(answer, FetchResponse)
    for topic in answer.responses:
        for partition in topic.partitions:
            records = partition.records
            if partition.error_code or not isinstance(records, memoryview):
                continue
            try:
                visible, _ = visible_records(records, None, offset)
            except (CorruptBatch, ValueError, IndexError):
                return None
            if visible:
                return visible[0].timestamp
    return None
