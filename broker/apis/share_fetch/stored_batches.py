"""The record batches of a slice of a log, as a share group needs them: offsets, places, aborts.

Owns nothing. A slice is read header by header; its records are never decoded, and leave the broker
as they are stored. Follows `maybeSliceFetchRecords` of Kafka's `ShareFetchUtils`, and the filter of
aborted transactions in its `SharePartition`.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.share.delivery.acquisition import AcquiredRange, StoredBatch
from log_format.transaction_index import AbortedTxn
from protocol.record_batch import RecordBatchHeader
from storage.log.file_records import FileRecords


class StoredBatches:
    """The batches at the beginning of a slice of a log."""

    def __init__(self, records: FileRecords, until_offset: int) -> None:
        """Look at the headers of `records`, up to the batch that has `until_offset`. A batch that
        the slice cuts off does not count. Raises CorruptBatch, OSError."""
        self._records = records
        self._headers: list[RecordBatchHeader] = []
        self._starts: list[int] = []
        for start, header in records.batches():
            self._starts.append(start)
            self._headers.append(header)
            if header.last_offset >= until_offset:
                break
        self.offsets = [StoredBatch(h.base_offset, h.last_offset) for h in self._headers]

    def part(self, ranges: Sequence[AcquiredRange]) -> FileRecords:
        """Return the whole batches from the first to the last offset of `ranges`, which are not
        empty."""
        first = min(acquired.first for acquired in ranges)
        last = max(acquired.last for acquired in ranges)
        begin = max(
            (index for index, stored in enumerate(self.offsets) if stored.first <= first), default=0
        )
        end = max(
            (index for index, stored in enumerate(self.offsets) if stored.first <= last), default=0
        )
        start = self._starts[begin]
        return self._records.part(
            start, self._starts[end] + self._headers[end].size_in_bytes - start
        )

    def aborted(self, transactions: Sequence[AbortedTxn]) -> list[StoredBatch]:
        """Return the batches with records of aborted transactions, without the markers."""
        by_producer: dict[int, list[AbortedTxn]] = {}
        for transaction in transactions:
            by_producer.setdefault(transaction.producer_id, []).append(transaction)
        return [
            stored
            for stored, header in zip(self.offsets, self._headers, strict=True)
            if header.is_transactional
            and not header.is_control
            and any(
                transaction.first_offset <= stored.last < transaction.last_offset
                for transaction in by_producer.get(header.producer_id, ())
            )
        ]
