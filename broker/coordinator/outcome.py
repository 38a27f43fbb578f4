"""What a coordinator's handler decides: the records that make it true, and the reply.

A handler of a shard reads the shard's state and returns an `Outcome`; it writes nothing. The
runtime (`coordinator_runtime`) appends the records and replays them; the reply leaves when they are
committed. One that may have much to look at gives the steps to its outcome instead. As
`controller.decisions.decision` for the controller. Follows Kafka's `CoordinatorResult`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from broker.coordinator.coordinator_log import Record, TransactionalAppend
from ground.sliced_work import Steps
from protocol.errors import ErrorCode

T = TypeVar("T")

Done = Callable[[ErrorCode], None]
Told = Callable[[ErrorCode, T], None]
"""Takes a reply, and the error that it is to be told with."""

AT_ONCE = -1
"""An offset that is always committed."""


class Outcome(NamedTuple, Generic[T]):
    """Records, and the reply for when they are committed; without records it leaves at once."""

    reply: T
    records: Sequence[Record] = ()
    error: ErrorCode = ErrorCode.NONE
    """Is told with the reply. An append that is refused, or not committed, tells its own error."""
    after: int | None = None
    """The reply waits for the commit of this offset instead of the last record's."""
    transaction: TransactionalAppend | None = None
    """The records belong to this transaction, and mean nothing before its marker."""
    atomic: bool = True
    """Whether all records are one batch: all or none of them."""
    then: Callable[[ErrorCode], Decided[T] | None] | None = None
    """What follows at once from the append: NONE, and the records are replayed; or the error, and
    nothing is changed. Gives the outcome that takes this one's place; None: this one stands."""
    committed: Callable[[], None] | None = None
    """Called when the records are committed, however late; never where the shard is unloaded."""


Decided: TypeAlias = Outcome[T] | Steps[Outcome[T]]
"""An outcome, or what has to be done for one in slices: nothing else of the shard is decided, or
changes, meanwhile."""


def settle(error: ErrorCode, reply: Done) -> None:
    """Tells a reply that takes the error itself."""
    reply(error)


def nobody(_: ErrorCode) -> None:
    """The reply where nobody asked, or whoever did is parked."""


NOTHING: Outcome[Done] = Outcome(nobody)
"""Nothing to write, nobody to tell."""
