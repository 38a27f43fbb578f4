"""The ports by which components use time, threads and other nodes.

In a broker, `broker.loop.scheduler` implements them with the event loop and thread pools, and
`broker.network.network_client` with sockets; the simulator uses virtual time and a heap. All
methods are called, and all callbacks run, on the single thread that owns the broker's state. The
port to disk is `ground.filesystem`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Timer(Protocol):
    """A pending `Scheduler.call_later`."""

    def cancel(self) -> None:
        """Cancel the call. Do nothing if it has already run."""


class Scheduler(Protocol):
    """The clock and the timers of a component."""

    def wall_ms(self) -> int:
        """Return milliseconds since 1970, for record timestamps and retention. They may jump."""

    def monotonic_ms(self) -> float:
        """Return milliseconds of a clock that never goes back, for deadlines and time-outs."""

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        """Run `callback` once, `delay_ms` from now."""

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` once, after the code that runs now."""


class Blocking(Protocol):
    """An executor of jobs that may block: fsync, cold reads, recovery, deletion."""

    def submit(
        self, job: Callable[[], T], done: Callable[[T | None, Exception | None], None]
    ) -> None:
        """Run `job` in another thread, and then `done(result, error)` on the event loop.

        A job gets immutable objects, such as file slices, and touches no broker state. `done` runs
        later, in any order among jobs, so it must check epoch and segment again before it acts.
        """


class ChannelFailure(Enum):
    """The reason why a request to another node got no answer."""

    REFUSED = "refused"
    """No process listens at the address. The request was not sent."""
    LOST = "lost"
    """The connection was closed or reset, or could not be made. Whether the request was handled is
    unknown."""
    TIMED_OUT = "timed out"
    """The answer did not come within the time-out. The connection is closed, because its answers
    are of no use any more."""


Answered = Callable[[Any, ChannelFailure | None], None]
"""A callback that takes (response, None) or (None, the failure)."""


Probed = Callable[[ChannelFailure | None], None]
ProbeAddress = Callable[[str, int, Probed, float], None]
"""A function of host, port, done and timeout in ms, which checks whether a process listens at an
address.

It connects and closes without sending anything, so it needs no credentials. `done` gets None if it
could connect, and is called later, never during the call. A process that is about to end may still
accept a connection.
"""


class AnswerTimeout(Exception):
    """A lack of an answer: another node or thread exceeded the time-out, or too many requests wait
    for it."""


class Channel(Protocol):
    """A connection to one address, whose requests are answered in order.

    The first `send` makes the connection, and so does the first one after a failure. A channel does
    not wait before it connects again, so the caller must delay its next request after a failure.
    """

    def send(
        self, request: Any, done: Answered, timeout_ms: float, version: int | None = None
    ) -> None:
        """Send `request` in `version` (None: the latest), and call `done(response, failure)` once,
        later, never during the call.

        Records of a response are memoryviews of a buffer with no other users.
        """

    def close(self) -> None:
        """Close the connection. Requests without an answer fail as LOST before this returns."""


class Network(Protocol):
    """The access to other nodes."""

    def channel(self, host: str, port: int, client_id: str) -> Channel:
        """Return a new channel to an address. It connects by its first request."""
