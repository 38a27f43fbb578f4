"""The Fetch request, and the batches of its response that a consumer may see.

Follows KIP-98: consumers never see markers. The records of an aborted transaction are those of its
producer between the transaction's first offset and the producer's next marker.
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
"""The last version of Fetch that has topic names instead of topic ids."""

Bytes = bytes | bytearray | memoryview


class Aborted(Protocol):
    """An aborted transaction in a Fetch response."""

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
    """Return a Fetch request for one leader, with the partitions in the order of `positions`.

    `epoch`: the leader epoch that the client knows, or -1.
    """
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
    """The batches of one fetched partition that a consumer must not see.

    These are control batches and the batches of aborted transactions. `hides` has to be called for
    each batch in the order of offsets.
    """

    def __init__(self, aborted: Sequence[Aborted] | None) -> None:
        """Begin before the first batch; `aborted`: the aborted transactions in the Fetch
        response."""
        self._to_come = sorted(
            aborted or (), key=lambda transaction: transaction.first_offset, reverse=True
        )
        self._producers: dict[int, None] = {}

    def hides(self, header: RecordBatchHeader, data: Bytes, pos: int) -> bool:
        """Return whether the next batch, at `pos` of `data`, is hidden, and remember the
        transactions that it begins or ends."""
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
    """Return the visible records from offset `start` on, and the offset of the next fetch.

    A batch that is cut off at the end of `data` is left to the next fetch. Raises CorruptBatch.
    """
    records: list[Record] = []
    position = start
    batches = HiddenBatches(aborted)
    for at, batch in iterate_batches(data, allow_partial_tail=True):
        if not batches.hides(batch, data, at):
            records += (record for record in iterate_records(data, at) if record.offset >= start)
        position = max(position, batch.next_offset)
    return records, position


def bytes_of(records: Records | None) -> Bytes:
    """Return fetched records as bytes, also those in a file; None becomes b""."""
    if records is None:
        return b""
    if isinstance(records, bytes | bytearray | memoryview):
        return records
    return records.read()
