"""The operations that wait in a purgatory: for all replicas, for data, or for deletions.

The operations know what completes them, but never use logs or messages: they take partitions as
protocols, and reads and answers as callables. Follows Kafka's `DelayedProduce`,
`DelayedDeleteRecords` and `DelayedFetch`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol, cast

from broker.purgatory.purgatory import DelayedOperation
from protocol.errors import ErrorCode


class ReplicatedPartition(Hashable, Protocol):
    """A partition that an acks=all append waits for. It is also the key of the wait."""

    def is_replicated_to(self, required_offset: int) -> ErrorCode | None:
        """Return NONE if the in-sync replicas have all data below `required_offset`, or the error
        of the append. Return None while the append must still wait."""


class PendingAck:
    """A partition that must be replicated up to an offset; `settle` takes the verdict."""

    __slots__ = ("required_offset", "settle")

    def __init__(self, required_offset: int, settle: Callable[[ErrorCode], None]) -> None:
        self.required_offset = required_offset
        self.settle = settle


class DelayedProduce(DelayedOperation):
    """An acks=all append, complete when each partition is replicated or has an error."""

    __slots__ = ("_respond", "pending")

    def __init__(
        self, pending: dict[ReplicatedPartition, PendingAck], respond: Callable[[], None]
    ) -> None:
        super().__init__()
        self.pending = pending
        self._respond = respond

    def settle_all(self) -> bool:
        """Settle each partition that is replicated or failed. Return whether none is left to wait
        for."""
        for partition in list(self.pending):
            self._settle_if_decided(partition)
        return not self.pending

    def try_complete(self, key: Hashable) -> bool:
        """Settle partition `key` if it is replicated or failed. Return True if none is pending."""
        for partition in self.pending:
            if partition is key:
                self._settle_if_decided(partition)
                break
        return not self.pending

    def _settle_if_decided(self, partition: ReplicatedPartition) -> None:
        """Pass the verdict to the partition's `settle` and stop waiting for it, if the followers
        have the offset or the append has failed."""
        ack = self.pending[partition]
        verdict = partition.is_replicated_to(ack.required_offset)
        if verdict is not None:
            del self.pending[partition]
            ack.settle(verdict)

    def on_expiration(self) -> None:
        """Settle each pending partition as REQUEST_TIMED_OUT."""
        for ack in self.pending.values():
            ack.settle(ErrorCode.REQUEST_TIMED_OUT)
        self.pending.clear()

    def on_complete(self) -> None:
        """Call `respond`, which sends the response."""
        self._respond()


class TrimmedPartition(ReplicatedPartition, Protocol):
    """A partition that a DeleteRecords waits for."""

    def is_deleted_to(self, required_offset: int) -> ErrorCode | None:
        """Return NONE if no live replica has records below `required_offset`, or the error of the
        deletion. Return None while the deletion must still wait."""


class DelayedDeleteRecords(DelayedProduce):
    """A DeleteRecords, complete when no live replica of any partition has the records any more;
    partitions with an error do not count.
    """

    __slots__ = ()

    def _settle_if_decided(self, partition: ReplicatedPartition) -> None:
        """Pass the verdict to the partition's `settle` and stop waiting for it, if the followers
        have deleted too or the deletion has failed."""
        ack = self.pending[partition]
        trimmed = cast(TrimmedPartition, partition)
        verdict = trimmed.is_deleted_to(ack.required_offset)
        if verdict is not None:
            del self.pending[partition]
            ack.settle(verdict)


class DelayedFetch(DelayedOperation):
    """A long poll, complete when a read returns `fetch.min.bytes`, or an error to answer at once.

    `read()` reads again and returns whether that is enough. `answer()` sends the result of the last
    read.
    """

    __slots__ = ("_answer", "_read")

    def __init__(self, read: Callable[[], bool], answer: Callable[[], None]) -> None:
        super().__init__()
        self._read = read
        self._answer = answer

    def try_complete(self, key: Hashable) -> bool:
        """Read again, and return True if the fetch has enough."""
        return self._read()

    def on_expiration(self) -> None:
        """Read a last time. `on_complete`, which is called next, sends the result."""
        self._read()

    def on_complete(self) -> None:
        """Send the result of the last read."""
        self._answer()
