"""A segment's transaction index: which transactions a marker in it aborted.

Owns the `.txnindex` file and what was read of it; a part of `storage.log.log_segment.LogSegment`.
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
    """The transaction index of one segment, and what was read of it."""

    __slots__ = ("_aborted",)

    def _forget_aborted(self) -> None:
        self._aborted: list[AbortedTxn] | None = None  # look into the file

    def marker_at(self, position: int, header: RecordBatchHeader) -> EndTransactionMarker | None:
        """What the control batch at `position` says of a producer's transaction, if anything.

        Raises CorruptBatch.
        """
        if not header.is_control or not header.has_producer_id:
            return None
        return read_transaction_marker(self.file.pread(header.size_in_bytes, position))

    @property
    def aborted(self) -> list[AbortedTxn]:
        """Transactions that were aborted by a marker in this segment, in the order of markers.

        Raises CorruptBatch where the file is damaged: nobody knows then what is to be skipped.
        """
        if self._aborted is None:
            path = segment_path(self.directory, self.base_offset, TXN_INDEX_SUFFIX)
            there = self.filesystem.exists(path)
            entries = decode_transactions(self.filesystem.read(path)) if there else []
            # One without an entry is never written.
            if not entries and there or entries and entries[0].last_offset < self.base_offset:
                raise CorruptBatch(f"{path} is damaged")
            self._aborted = entries or []
        return self._aborted

    def check_aborted(self) -> None:
        """Hold the index against the segment: its last entry must lead to a marker.

        Raises CorruptBatch. One of an earlier time, or of which an entry says another offset, is
        not found so: that would take a look at every entry, and Kafka takes none.
        """
        if not self.aborted:
            return
        last = self.aborted[-1]
        for _, header in self.headers_from(last.last_offset):
            if header.is_control and header.producer_id == last.producer_id:
                return
            if header.base_offset > last.last_offset:
                return  # it is the segment that is damaged
            break
        path = segment_path(self.directory, self.base_offset, TXN_INDEX_SUFFIX)
        raise CorruptBatch(f"{path} is damaged")

    def headers_from(self, offset: int) -> Iterator[tuple[int, RecordBatchHeader]]:
        """See `storage.log.segment_reads`."""
        raise NotImplementedError

    def _known_aborted(self) -> list[AbortedTxn]:
        try:
            return self.aborted
        except CorruptBatch as damage:  # it was whole when the log was opened: a disk that fails
            raise OSError(str(damage)) from damage

    def add_aborted(self, transaction: AbortedTxn) -> None:
        """The marker of an aborted transaction was written. Raises OSError."""
        known = self._known_aborted()
        file = self.filesystem.open(
            segment_path(self.directory, self.base_offset, TXN_INDEX_SUFFIX), create=True
        )
        try:
            file.append(encode_transactions([transaction]))
        finally:
            file.close()
        known.append(transaction)
        self._transactions_written()

    def set_aborted(self, transactions: list[AbortedTxn]) -> None:
        """Write the transaction index anew; without any there is no file."""
        path = segment_path(self.directory, self.base_offset, TXN_INDEX_SUFFIX)
        if transactions:
            data = encode_transactions(transactions)
            self.filesystem.replace_atomically(path, data, sync=False)
            self._transactions_written()
        else:
            self.filesystem.remove(path)
        self._aborted = transactions

    def _truncate_aborted(self, offset: int) -> None:
        known = self._known_aborted()
        kept = bisect_left(known, offset, key=lambda one: one.last_offset)
        if kept < len(known):
            self.set_aborted(known[:kept])
