"""The Fetch request, and which batches of its answer a consumer sees.

As consumers do it (KIP-98): markers are never seen, and an aborted transaction's records are those
of its producer between its first offset and the producer's next marker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from client.core.leaders import Partition, by_topic
from protocol.control_records import ControlRecordType, read_transaction_marker
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.primitives import Records
from protocol.record_batch import RecordBatchHeader, iterate_batches
from protocol.records import Record, iterate_records

VERSION = 11
NAMES_VERSION_MAX = 12
"""The last that names topics instead of numbering them."""

Bytes = bytes | bytearray | memoryview


class Aborted(Protocol):
    """An aborted transaction, as a Fetch tells of it."""

    producer_id: int
    first_offset: int


def fetch_request(
    positions: Mapping[Partition, int],
    wait_ms: int,
    bytes_max: int,
    partition_bytes_max: int,
    isolation_level: int = 0,
    epoch: int = -1,
) -> FetchRequest:
    """A request to one leader, in the order of `positions`; `epoch` is that since which it leads,
    where that is known."""
    topics = [
        FetchTopic(
            name,
            partitions=[
                FetchPartition(
                    index,
                    epoch,
                    fetch_offset=positions[name, index],
                    partition_max_bytes=partition_bytes_max,
                )
                for index in indexes
            ],
        )
        for name, indexes in by_topic(positions).items()
    ]
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=bytes_max,
        isolation_level=isolation_level,
        topics=topics,
    )


class HiddenBatches:
    """Which batches of one answer are not to be seen, by the list of aborted transactions that came
    with it."""

    def __init__(self, aborted: Sequence[Aborted] | None) -> None:
        self._to_come = sorted(aborted or (), key=lambda one: one.first_offset, reverse=True)
        self._producers: dict[int, None] = {}

    def hides(self, header: RecordBatchHeader, data: Bytes, pos: int) -> bool:
        """Whether the next batch, at `pos` of `data`, is one of them."""
        while self._to_come and self._to_come[-1].first_offset <= header.last_offset:
            self._producers[self._to_come.pop().producer_id] = None
        if not header.is_control:
            return header.is_transactional and header.producer_id in self._producers
        marker = read_transaction_marker(data, pos)
        if marker is not None and marker.type is ControlRecordType.ABORT:
            self._producers.pop(header.producer_id, None)
        return True


def visible_records(
    data: Bytes, aborted: Sequence[Aborted] | None, start: int
) -> tuple[list[Record], int]:
    """The records from offset `start` on, and the offset to go on from. A batch that is cut off at
    the end is left for the next time."""
    records: list[Record] = []
    position = start
    batches = HiddenBatches(aborted)
    for at, batch in iterate_batches(data, allow_partial_tail=True):
        if not batches.hides(batch, data, at):
            records += (one for one in iterate_records(data, at) if one.offset >= start)
        position = max(position, batch.next_offset)
    return records, position


def bytes_of(records: Records | None) -> Bytes:
    """Fetched records, wherever they lie; a null is nothing."""
    if records is None:
        return b""
    if isinstance(records, bytes | bytearray | memoryview):
        return records
    return records.read()
