"""What the three Python clients have in common where they do transactions.

A producer here begins, sends, adds offsets, commits and aborts; a reader reads a topic, alone or in
a group, committed records only or all. Each client keeps its own ways (threads, callbacks, an event
loop) to itself. Whatever a client raises becomes `Fenced` (another producer has this one's
transactional id, or its transaction timed out) or `Failed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

COMMITTED = "read_committed"
UNCOMMITTED = "read_uncommitted"
CALL_S = 60.0
"""How long one call may last, with all that the client tries again in it."""
SESSION_MS = 45_000
"""A member that a busy machine holds up stays one; tests that kill members ask for less."""
HEARTBEAT_MS = 500
METADATA_MS = 2_000


class Failed(Exception):
    """The client could not do it; what became of the transaction is for the next one to learn."""


class Fenced(Failed):
    """This producer's epoch is over."""


class Row(NamedTuple):
    """A record that came."""

    partition: int
    offset: int
    value: bytes


class TransactionalProducer(Protocol):
    """One producer with a transactional id, initialized. Every method raises Failed or Fenced."""

    def begin(self) -> None: ...

    def send(self, topic: str, partition: int, value: bytes) -> None: ...

    def flush(self) -> None:
        """Until everything sent has been answered."""

    def offsets(self, reader: TopicReader, topic: str, offsets: Mapping[int, int]) -> None:
        """Offsets by partition, to be committed for the reader's group with the transaction."""

    def commit(self) -> None: ...

    def abort(self) -> None: ...

    def close(self) -> None: ...


class TopicReader(Protocol):
    """Reads one topic: all `partitions` from their start, or as the member of a group."""

    def poll(self, timeout_s: float) -> list[Row]:
        """What came meanwhile, at most 500."""

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Commit these for its group."""

    def rewind(self) -> None:
        """Go on from what is committed for its group."""

    def mark(self) -> Any:
        """What `offsets` of its client's producer needs to know of it."""

    def close(self) -> None: ...
