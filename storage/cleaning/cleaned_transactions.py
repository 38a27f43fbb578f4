"""Which batches of transactions compaction may drop, while it walks through a log.

Records of aborted transactions go, whatever their keys. A marker stays as long as any batch of its
transaction does, and with it the entry of an aborted one in the transaction index.

Owns: the transactions that are open at the place the walk has reached. Never: reads a file.
Everything it is shown lies below the last stable offset, so each transaction's end is known.

Kafka's class: `CleanedTransactionMetadata`.
"""

from __future__ import annotations

from collections.abc import Iterable

from log_format.transaction_index import AbortedTxn
from protocol.control_records import ControlRecordType
from protocol.record_batch import RecordBatchHeader


class _OpenAborted:
    __slots__ = ("seen", "transaction")

    def __init__(self, transaction: AbortedTxn) -> None:
        self.transaction = transaction
        self.seen = False


class CleanedTransactions:
    """One walk, batch by batch, in the order of offsets."""

    __slots__ = ("_aborted", "_committed", "_kept", "_next", "_waiting")

    def __init__(self, aborted: Iterable[AbortedTxn]) -> None:
        self._waiting = sorted(aborted, key=lambda one: one.first_offset)
        self._next = 0
        self._aborted: dict[int, _OpenAborted] = {}
        # Producers with a batch since their last marker, of what is not known to be aborted.
        self._committed: dict[int, None] = {}
        self._kept: list[AbortedTxn] = []

    def take_kept(self) -> list[AbortedTxn]:
        """Entries that the transaction index of what was written since the last call keeps."""
        kept, self._kept = self._kept, []
        return kept

    def is_aborted(self, header: RecordBatchHeader) -> bool:
        """A batch of records comes: whether its transaction was aborted."""
        self._open_up_to(header)
        if not header.is_transactional:
            return False
        aborted = self._aborted.get(header.producer_id)
        if aborted is None:
            self._committed[header.producer_id] = None
            return False
        aborted.seen = True
        return True

    def is_over(self, header: RecordBatchHeader, kind: ControlRecordType | None) -> bool:
        """A control batch comes: whether nothing of its transaction was seen any more.

        `kind` is None for an empty batch, whose marker was dropped before.
        """
        self._open_up_to(header)
        if header.record_count == 0:
            return True
        if kind is ControlRecordType.ABORT:
            aborted = self._aborted.pop(header.producer_id, None)
            if aborted is not None and aborted.seen:
                self._kept.append(aborted.transaction)
                return False
            return True
        if kind is ControlRecordType.COMMIT:
            if header.producer_id not in self._committed:
                return True
            del self._committed[header.producer_id]
            return False
        return False

    def _open_up_to(self, header: RecordBatchHeader) -> None:
        """Transactions that begin by the end of the batch; not those that ended before the walk
        did begin."""
        waiting, offset = self._waiting, header.last_offset
        while self._next < len(waiting) and waiting[self._next].first_offset <= offset:
            transaction = waiting[self._next]
            if transaction.last_offset >= header.base_offset:
                self._aborted.setdefault(transaction.producer_id, _OpenAborted(transaction))
            self._next += 1
