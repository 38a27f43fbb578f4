"""The interface of the three Python clients for transactions.

A producer begins, sends, adds offsets, commits and aborts. A reader reads a topic, alone or in a
group, committed records only or all. Threads, callbacks and event loops of a client are hidden. A
client's error becomes `Fenced` (another producer has this one's transactional id, or its
transaction timed out) or `Failed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

COMMITTED = "read_committed"
UNCOMMITTED = "read_uncommitted"
CALL_S = 60.0
"""The longest time of a call, with all retries of the client in it."""
SESSION_MS = 45_000
"""A session timeout that keeps a member on a busy machine; tests that kill members use less."""
HEARTBEAT_MS = 500
METADATA_MS = 2_000


class Failed(Exception):
    """The error of a client; the outcome of the transaction is then unknown."""


class Fenced(Failed):
    """The error of a producer whose epoch is over."""


class Row(NamedTuple):
    """A record that a reader received."""

    partition: int
    offset: int
    value: bytes


class TransactionalProducer(Protocol):
    """An initialized producer with a transactional id. Every method raises Failed or Fenced."""

    def begin(self) -> None: ...

    def send(self, topic: str, partition: int, value: bytes) -> None: ...

    def flush(self) -> None:
        """Wait until everything sent has been answered."""

    def offsets(self, reader: TopicReader, topic: str, offsets: Mapping[int, int]) -> None:
        """Add offsets, by partition, that the transaction commits for the reader's group."""

    def commit(self) -> None: ...

    def abort(self) -> None: ...

    def close(self) -> None: ...


class TopicReader(Protocol):
    """A reader of one topic: of all `partitions` from their start, or as a member of a group."""

    def poll(self, timeout_s: float) -> list[Row]:
        """Return at most 500 records that arrive within `timeout_s`."""

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Commit these offsets, by partition, for the reader's group."""

    def rewind(self) -> None:
        """Continue from the committed offsets of the group."""

    def mark(self) -> Any:
        """Return the group's metadata in the form that the same client's producer takes."""

    def close(self) -> None: ...
