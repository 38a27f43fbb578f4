"""What clients of a cluster saw: events in the order of their completion, kept as JSON lines.

Every event says what one client was told, never what it means; `tests/chaos/checker.py` judges.
Times are seconds since the run began. Values are whole numbers, each sent by one producer, once or
again with the same sequence number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

OK = "ok"
FAIL = "fail"
"""Nothing can have been appended."""
INFO = "info"
"""Nobody knows."""

Key: TypeAlias = str
"""`topic-partition`."""


class Send(NamedTuple):
    """One value that a producer sent until it had an answer or gave up.

    Within a transaction its outcome is that of the transaction, whose number it tells.
    """

    worker: str
    producer: int
    key: Key
    sequence: int
    value: int
    outcome: str
    offset: int | None
    node: int
    t0: float
    t1: float
    error: str = ""
    transaction: int = -1


class Transaction(NamedTuple):
    """A transaction that a producer ended, or left.

    `ok`: EndTxn(commit) was confirmed; `fail`: nobody ever asked to commit it, or it was refused;
    `info`: nobody knows. `ending`: when it was first asked to commit, -1 for never.
    """

    worker: str
    number: int
    producer: int
    epoch: int
    outcome: str
    t0: float
    ending: float
    t1: float
    error: str = ""


class Poll(NamedTuple):
    """The records of one key that a consumer was given, and what came with them.

    `session` counts what breaks a consumer's order: an assignment, a seek, a rebalance. `epoch` is
    the leader epoch of the request, which the broker has to have checked; -1 where there was none.
    """

    worker: str
    session: int
    key: Key
    node: int
    epoch: int
    records: list[tuple[int, int]]
    """Offset and value."""
    high_watermark: int
    log_start: int
    t0: float
    t1: float
    last_stable: int = -1
    committed: bool = False
    """Read with isolation level read_committed."""


class Stable(NamedTuple):
    """Last stable offset and high watermark of a key, long after the last producer has gone."""

    key: Key
    last_stable: int
    high_watermark: int


class Claim(NamedTuple):
    """Somebody says who leads `what` (a key, or the quorum) in an epoch."""

    what: str
    epoch: int
    leader: int
    source: str
    t: float


class Assigned(NamedTuple):
    """A member of a group was given these keys."""

    group: str
    generation: int
    member: str
    keys: list[Key]
    t: float


class Commit(NamedTuple):
    """A member committed an offset."""

    group: str
    generation: int
    member: str
    key: Key
    offset: int
    outcome: str
    t0: float
    t1: float


class Committed(NamedTuple):
    """What a coordinator says is committed; -1 for nothing."""

    group: str
    key: Key
    offset: int
    t0: float
    t1: float


class Surprise(NamedTuple):
    """An answer that a correct client is never given, such as OUT_OF_ORDER_SEQUENCE_NUMBER."""

    worker: str
    key: Key
    what: str
    t: float


class Unanswered(NamedTuple):
    """A request to a node that had no answer until its own timeout and 5 s more."""

    worker: str
    node: int
    api: str
    t0: float
    t1: float


class Fault(NamedTuple):
    """What the nemesis did. `majority`: a quorum was reachable for clients all the while."""

    kind: str
    nodes: list[int]
    majority: bool
    t0: float
    t1: float


class Final(NamedTuple):
    """Everything that a fresh consumer reads of a key, from its start to its end, after the run."""

    key: Key
    records: list[tuple[int, int]]
    committed: bool = False


Event: TypeAlias = (
    Send
    | Transaction
    | Poll
    | Stable
    | Claim
    | Assigned
    | Commit
    | Committed
    | Surprise
    | Unanswered
    | Fault
    | Final
)
_TYPES: dict[str, type[Event]] = {
    one.__name__: one
    for one in (
        Send,
        Transaction,
        Poll,
        Stable,
        Claim,
        Assigned,
        Commit,
        Committed,
        Surprise,
        Unanswered,
        Fault,
        Final,
    )
}
_T = TypeVar("_T")


class History:
    """Events, appended as they complete."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.events: list[Event] = list(events)

    def add(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type[_T]) -> Iterator[_T]:
        """The events of one type, in order."""
        return (event for event in self.events if isinstance(event, kind))

    def write(self, path: Path) -> None:
        """One line an event: its type, then its fields."""
        with open(path, "w") as out:
            for event in self.events:
                out.write(json.dumps([type(event).__name__, *event]) + "\n")

    @classmethod
    def read(cls, path: Path) -> History:
        """What `write` wrote."""
        history = cls()
        with open(path) as lines:
            for line in lines:
                name, *fields = json.loads(line)
                history.add(_event(name, fields))
        return history


def _event(name: str, fields: list[object]) -> Event:
    event = _TYPES[name](*fields)
    if isinstance(event, Poll | Final):
        return event._replace(records=[(offset, value) for offset, value in event.records])
    return event
