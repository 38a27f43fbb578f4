"""A segment's transaction index: the transactions that a marker in the segment aborted.

Owns the `.txnindex` file and its entries in memory; a part of `storage.log.log_segment.LogSegment`.
Never decides whether a transaction is over. Kafka's class: `TransactionIndex`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from log_format.segment_names import TXN_INDEX_SUFFIX, segment_path
from log_format.transaction_index import AbortedTxn, decode_transactions, encode_transactions
from protocol.control_records import EndTransactionMarker, read_transaction_marker
from protocol.record_batch import CorruptBatch, RecordBatchHeader
from storage.log.segment_files import SegmentFiles


class SegmentTransactions(SegmentFiles):
    """The transaction index of one segment."""

    __slots__ = ("_aborted",)

    def _forget_aborted(self) -> None:
        """Drop the entries in memory: the next use reads them from the file."""
        self._aborted: list[AbortedTxn] | None = None  # not read from the file yet

    def marker_at(self, position: int, header: RecordBatchHeader) -> EndTransactionMarker | None:
        """Return the marker in the batch at `position`, None if it is no marker of a producer.

        Raises CorruptBatch.
        """
        if not header.is_control or not header.has_producer_id:
            return None
        return read_transaction_marker(self.file.pread(header.size_in_bytes, position))

    @property
    def aborted(self) -> list[AbortedTxn]:
        """The transactions that a marker in this segment aborted, in the order of the markers.

        Raises CorruptBatch for a damaged file, because readers would not know which records to
        skip.
        """
        if self._aborted is None:
            path = segment_path(self.directory, self.base_offset, TXN_INDEX_SUFFIX)
            exists = self.filesystem.exists(path)
            entries = decode_transactions(self.filesystem.read(path)) if exists else []
            # A file without an entry is never written.
            if not entries and exists or entries and entries[0].last_offset < self.base_offset:
                raise CorruptBatch(f"{path} is damaged")
            self._aborted = entries or []
        return self._aborted

    def check_aborted(self) -> None:
        """Check the index against the segment: its last entry must lead to a marker.

        Raises CorruptBatch. An older version of the file, or a wrong offset in another entry, is
        not noticed: that would need a check of every entry, and Kafka checks none.
        """
        if not self.aborted:
            return
        last = self.aborted[-1]
        for _, header in self.headers_from(last.last_offset):
            if header.is_control and header.producer_id == last.producer_id:
                return
            if header.base_offset > last.last_offset:
                return  # the segment is damaged, not the index
            break
        path = segment_path(self.directory, self.base_offset, TXN_INDEX_SUFFIX)
        raise CorruptBatch(f"{path} is damaged")

    def headers_from(self, offset: int) -> Iterator[tuple[int, RecordBatchHeader]]:
        """Raise NotImplementedError: `SegmentReads`, the other half of a segment, has this
        method."""
        raise NotImplementedError

    def _read_aborted(self) -> list[AbortedTxn]:
        """Return the aborted transactions of the segment. Raises OSError if the index is damaged,
        which means that the disk fails."""
        try:
            return self.aborted
        except CorruptBatch as damage:  # it was valid when the log was opened: the disk fails
            raise OSError(str(damage)) from damage

    def add_aborted(self, transaction: AbortedTxn) -> None:
        """Add an aborted transaction to the file and in memory, after its marker was written.
        Raises OSError."""
        aborted = self._read_aborted()
        file = self.filesystem.open(
            segment_path(self.directory, self.base_offset, TXN_INDEX_SUFFIX), create=True
        )
        try:
            file.append(encode_transactions([transaction]))
        finally:
            file.close()
        aborted.append(transaction)
        self._transactions_written()

    def set_aborted(self, transactions: list[AbortedTxn]) -> None:
        """Rewrite the transaction index, in memory and without fsync in its file. Remove the file
        if there are no `transactions`. Raises OSError."""
        path = segment_path(self.directory, self.base_offset, TXN_INDEX_SUFFIX)
        if transactions:
            data = encode_transactions(transactions)
            self.filesystem.replace_atomically(path, data, sync=False)
            self._transactions_written()
        else:
            self.filesystem.remove(path)
        self._aborted = transactions

    def _truncate_aborted(self, offset: int) -> None:
        """Remove the transactions whose marker is at or after `offset`."""
        aborted = self._read_aborted()
        kept = bisect_left(aborted, offset, key=lambda transaction: transaction.last_offset)
        if kept < len(aborted):
            self.set_aborted(aborted[:kept])
