"""The outcome of a coordinator's handler: the records to append, and the reply.

A handler of a shard reads the shard's state and returns an `Outcome`; it writes nothing. The
runtime (`coordinator_runtime`) appends the records and replays them, and sends the reply when they
are committed. A handler with much work returns `Steps` that end with the outcome instead. The
controller's counterpart is `controller.decisions.decision`. Follows Kafka's `CoordinatorResult`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from broker.coordinator.coordinator_log import Record, TransactionalAppend
from ground.sliced_work import Steps
from protocol.errors import ErrorCode

T = TypeVar("T")

Done = Callable[[ErrorCode], None]
ReplyWithError = Callable[[ErrorCode, T], None]
"""A callback that gets a reply and the error to send with it."""

AT_ONCE = -1
"""An offset that is always committed."""


RECORDS_PER_BATCH = 1_000
"""The most records of each batch if an outcome is not atomic."""
BYTES_PER_BATCH = 512 * 1024
"""The most bytes of keys and values in each such batch, unless a single record has more: less than
Kafka's default of max.message.bytes."""


class Outcome(NamedTuple, Generic[T]):
    """The records to append, and the reply to send after their commit (at once without records)."""

    reply: T
    records: Sequence[Record] = ()
    error: ErrorCode = ErrorCode.NONE
    """The error that goes with the reply, unless the append or its commit fails with its own."""
    after: int | None = None
    """The offset that must be committed before the reply; None: that of the last record."""
    transaction: TransactionalAppend | None = None
    """The transaction of the records, which take effect with its commit marker."""
    atomic: bool = True
    """True to append all records as one batch, all or none; else see `batches_of`."""
    then: Callable[[ErrorCode], Decided[T] | None] | None = None
    """The callback right after the append. It gets NONE after the records are replayed, or the
    error of the append. It returns an outcome to replace this one, or None to keep this one."""
    committed: Callable[[], None] | None = None
    """The callback for when the records are committed, even after the reply timed out. It is never
    called if the shard is unloaded before."""


Decided: TypeAlias = Outcome[T] | Steps[Outcome[T]]
"""An outcome, or the sliced work that computes it. Until that work ends, the shard decides nothing
else and does not change."""


def batches_of(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Yield the records in order, in parts for one batch each."""
    first, size = 0, 0
    for index, (key, value) in enumerate(records):
        size += len(key) + len(value or b"")
        is_too_large = size > BYTES_PER_BATCH and index > first
        if is_too_large or index - first == RECORDS_PER_BATCH:
            yield records[first:index]
            first, size = index, len(key) + len(value or b"")
    if first < len(records):
        yield records[first:]


def call_reply(error: ErrorCode, reply: Done) -> None:
    """Call `reply(error)`: the `done` of an outcome whose reply is itself a callback for an
    error."""
    reply(error)


def no_reply(_: ErrorCode) -> None:
    """Send no reply: there was no request, or its reply is parked until later."""


NOTHING: Outcome[Done] = Outcome(no_reply)
"""An outcome without records and without a reply."""
