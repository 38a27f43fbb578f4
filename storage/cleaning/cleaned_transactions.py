"""The transactions that compaction passes while it walks through a log, and which batches may go.

All records of aborted transactions are dropped. A marker stays as long as any batch of its
transaction stays, and so does an aborted transaction's entry in the transaction index.

Owns: the transactions that are open at the walk's position. Never: reads a file. All batches it
gets are below the last stable offset, so the end of each transaction is known.

Kafka's class: `CleanedTransactionMetadata`.
"""

from __future__ import annotations

from collections.abc import Iterable

from log_format.transaction_index import AbortedTxn
from protocol.control_records import ControlRecordType
from protocol.record_batch import RecordBatchHeader


class _OpenAborted:
    __slots__ = ("has_batches", "transaction")

    def __init__(self, transaction: AbortedTxn) -> None:
        self.transaction = transaction
        self.has_batches = False


class CleanedTransactions:
    """The transactions of one walk through a log, batch by batch, in the order of offsets."""

    __slots__ = ("_open_aborted", "_open_committed", "_kept", "_next", "_waiting")

    def __init__(self, aborted: Iterable[AbortedTxn]) -> None:
        """Begin a walk. `aborted` are the aborted transactions of the whole log, in any order."""
        self._waiting = sorted(aborted, key=lambda transaction: transaction.first_offset)
        self._next = 0
        self._open_aborted: dict[int, _OpenAborted] = {}
        # Producers with a batch since their last marker, outside of aborted transactions.
        self._open_committed: dict[int, None] = {}
        self._kept: list[AbortedTxn] = []

    def take_kept(self) -> list[AbortedTxn]:
        """Return, and forget, the aborted transactions whose marker stayed since the last call.

        They are the entries for the transaction index of the segment that was written since then.
        """
        kept, self._kept = self._kept, []
        return kept

    def advance_data(self, header: RecordBatchHeader) -> bool:
        """Advance the walk to its next data batch. Return whether the batch is of an aborted
        transaction."""
        self._open_up_to(header)
        if not header.is_transactional:
            return False
        aborted = self._open_aborted.get(header.producer_id)
        if aborted is None:
            self._open_committed[header.producer_id] = None
            return False
        aborted.has_batches = True
        return True

    def advance_control(self, header: RecordBatchHeader, kind: ControlRecordType | None) -> bool:
        """Advance the walk to its next control batch. Return True if it is empty, or a marker of a
        transaction that has no data batch left. Any other control batch gives False.

        `kind` is None for an empty batch, whose marker was dropped before, and for an unknown type.
        An aborted transaction whose marker stays is added to those of `take_kept`.
        """
        self._open_up_to(header)
        if header.record_count == 0:
            return True
        if kind is ControlRecordType.ABORT:
            aborted = self._open_aborted.pop(header.producer_id, None)
            if aborted is not None and aborted.has_batches:
                self._kept.append(aborted.transaction)
                return False
            return True
        if kind is ControlRecordType.COMMIT:
            if header.producer_id not in self._open_committed:
                return True
            del self._open_committed[header.producer_id]
            return False
        return False

    def _open_up_to(self, header: RecordBatchHeader) -> None:
        """Open the aborted transactions that begin at the batch's last offset or before.

        Those that ended before the batch, because the walk began after them, are left out.
        """
        waiting, offset = self._waiting, header.last_offset
        while self._next < len(waiting) and waiting[self._next].first_offset <= offset:
            transaction = waiting[self._next]
            if transaction.last_offset >= header.base_offset:
                self._open_aborted.setdefault(transaction.producer_id, _OpenAborted(transaction))
            self._next += 1
