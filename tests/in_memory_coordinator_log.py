"""A coordinator's log in memory: tests say when records are committed and what append answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from broker.replication.coordinator_log import (
    AppendResult,
    LogRecord,
    Record,
    TransactionMarker,
)
from protocol.errors import ErrorCode


class InMemoryCoordinatorLog:
    """`broker.replication.coordinator_log.CoordinatorLog`."""

    def __init__(self, *, commit_at_once: bool = True) -> None:
        self.commit_at_once = commit_at_once
        self.append_error = ErrorCode.NONE
        self.load_error = ErrorCode.NONE
        self.hold_loads = False
        self.records: dict[int, list[LogRecord | TransactionMarker]] = {}
        self.committed: dict[int, int] = {}
        self._waiting: dict[int, list[tuple[int, Callable[[], None]]]] = {}
        self._held_loads: list[Callable[[], None]] = []

    def append(self, partition: int, leader_epoch: int, records: Sequence[Record]) -> AppendResult:
        """Append unless `append_error` says otherwise."""
        if self.append_error is not ErrorCode.NONE:
            return AppendResult(self.append_error)
        log = self.records.setdefault(partition, [])
        first = len(log)
        log.extend(
            LogRecord(first + index, key, value) for index, (key, value) in enumerate(records)
        )
        if self.commit_at_once:
            self.commit(partition)
        return AppendResult(ErrorCode.NONE, first, len(log) - 1)

    def append_marker(self, partition: int, producer_id: int, committed: bool) -> int:
        """End a transaction, as WriteTxnMarkers does; its offset."""
        log = self.records.setdefault(partition, [])
        log.append(TransactionMarker(len(log), producer_id, committed))
        return len(log) - 1

    def when_committed(self, partition: int, offset: int, callback: Callable[[], None]) -> None:
        """Now, or when `commit` gets there."""
        if offset <= self.committed.get(partition, -1):
            callback()
        else:
            self._waiting.setdefault(partition, []).append((offset, callback))

    def commit(self, partition: int, offset: int | None = None) -> None:
        """Move the high watermark above `offset`, by default above all records."""
        last = len(self.records.get(partition, ())) - 1
        self.committed[partition] = last if offset is None else min(offset, last)
        waiting = self._waiting.pop(partition, [])
        for wanted, callback in waiting:
            self.when_committed(partition, wanted, callback)

    def load(
        self,
        partition: int,
        leader_epoch: int,
        deliver: Callable[[Iterable[LogRecord | TransactionMarker]], None],
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Deliver all in one slice, now or at `finish_loads`."""

        def read() -> None:
            if self.load_error is ErrorCode.NONE:
                deliver(list(self.records.get(partition, ())))
            done(self.load_error)

        if self.hold_loads:
            self._held_loads.append(read)
        else:
            read()

    def finish_loads(self) -> None:
        """Let every held load run, in order."""
        held, self._held_loads = self._held_loads, []
        for read in held:
            read()
