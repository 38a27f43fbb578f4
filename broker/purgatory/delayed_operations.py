"""The operations that wait in a purgatory: for all replicas, for data, for deletions.

They know what completes them, and nothing of logs or messages: partitions and answers come in as
callables. Follows Kafka's `DelayedProduce`, `DelayedDeleteRecords` and `DelayedFetch`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol, cast

from broker.purgatory.purgatory import DelayedOperation
from protocol.errors import ErrorCode


class ReplicatedPartition(Hashable, Protocol):
    """A partition that an append with acks=all waits for; also the key it waits under."""

    def is_replicated_to(self, required_offset: int) -> ErrorCode | None:
        """None while in-sync replicas miss data below `required_offset`, else the verdict."""


class PendingAck:
    """One partition of a Produce: what must be replicated, and who wants the verdict."""

    __slots__ = ("required_offset", "settle")

    def __init__(self, required_offset: int, settle: Callable[[ErrorCode], None]) -> None:
        self.required_offset = required_offset
        self.settle = settle


class DelayedProduce(DelayedOperation):
    """An append with acks=all: complete when each partition is replicated, or refused."""

    __slots__ = ("_respond", "pending")

    def __init__(
        self, pending: dict[ReplicatedPartition, PendingAck], respond: Callable[[], None]
    ) -> None:
        super().__init__()
        self.pending = pending
        self._respond = respond

    def settle_all(self) -> bool:
        """Look at every partition once; whether nothing is left to wait for."""
        for partition in list(self.pending):
            self._settle(partition)
        return not self.pending

    def try_complete(self, key: Hashable) -> bool:
        for partition in self.pending:
            if partition is key:
                self._settle(partition)
                break
        return not self.pending

    def _settle(self, partition: ReplicatedPartition) -> None:
        ack = self.pending[partition]
        verdict = partition.is_replicated_to(ack.required_offset)
        if verdict is not None:
            del self.pending[partition]
            ack.settle(verdict)

    def on_expiration(self) -> None:
        for ack in self.pending.values():
            ack.settle(ErrorCode.REQUEST_TIMED_OUT)
        self.pending.clear()

    def on_complete(self) -> None:
        self._respond()


class TrimmedPartition(ReplicatedPartition, Protocol):
    """A partition that a DeleteRecords waits for."""

    def is_deleted_to(self, required_offset: int) -> ErrorCode | None:
        """None while live replicas have older records, else the verdict."""


class DelayedDeleteRecords(DelayedProduce):
    """A DeleteRecords: complete when no live replica has the records any more, or refused."""

    __slots__ = ()

    def _settle(self, partition: ReplicatedPartition) -> None:
        ack = self.pending[partition]
        trimmed = cast(TrimmedPartition, partition)
        verdict = trimmed.is_deleted_to(ack.required_offset)
        if verdict is not None:
            del self.pending[partition]
            ack.settle(verdict)


class DelayedFetch(DelayedOperation):
    """A long poll: complete when a read gives `fetch.min.bytes`, or an error to tell at once.

    `read()` looks at what may have changed and says whether that is enough; `answer()` sends what
    the last read gave.
    """

    __slots__ = ("_answer", "_read")

    def __init__(self, read: Callable[[], bool], answer: Callable[[], None]) -> None:
        super().__init__()
        self._read = read
        self._answer = answer

    def try_complete(self, key: Hashable) -> bool:
        return self._read()

    def on_expiration(self) -> None:
        self._read()

    def on_complete(self) -> None:
        self._answer()
