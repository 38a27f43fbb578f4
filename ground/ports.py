"""The ports through which cores meet time, threads and other nodes.

A shell fills them: `broker.loop.scheduler` with the event loop and thread pools, `broker.network.
network_client` with sockets; the simulator with virtual time and a heap. All methods are called,
and all callbacks run, on the one thread that owns the broker's state. The door to disk is
`ground.filesystem`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Timer(Protocol):
    """One pending `Scheduler.call_later`."""

    def cancel(self) -> None:
        """Forget the call. Legal, and without effect, once it has run."""


class Scheduler(Protocol):
    """Time, as a core sees it."""

    def wall_ms(self) -> int:
        """Milliseconds since the epoch: record timestamps and retention. May jump."""

    def monotonic_ms(self) -> float:
        """Milliseconds on a clock that never goes back: deadlines and time-outs."""

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        """Run `callback` once, `delay_ms` from now."""

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` once, after what runs now."""


class Blocking(Protocol):
    """Work that may block: fsync, cold reads, recovery, deletion."""

    def submit(
        self, job: Callable[[], T], done: Callable[[T | None, Exception | None], None]
    ) -> None:
        """Run `job` elsewhere, then `done(result, error)` on the loop.

        A job gets immutable things, such as file slices, and touches no broker state. `done` runs
        later, in any order among jobs, and checks epoch and segment again before it acts.
        """


class ChannelFailure(Enum):
    """Why a request to another node got no answer."""

    REFUSED = "refused"
    """Nobody listens there: the process is gone. The request was not sent."""
    LOST = "lost"
    """The connection was closed or reset, or could not be made; whether the request was handled is
    not known."""
    TIMED_OUT = "timed out"
    """No answer in time. The connection is closed, for its answers are of no use any more."""


Answered = Callable[[Any, ChannelFailure | None], None]
"""(response, None), or (None, why there is none)."""


Looked = Callable[[ChannelFailure | None], None]
Look = Callable[[str, int, Looked, float], None]
"""host, port, done, timeout in ms: whether anybody listens at an address. It connects, says
nothing and closes, so it needs no way in; None: it could. A process that ends may let somebody
connect for a moment. `done` comes later, never from here."""


class NoAnswer(Exception):
    """Who was asked elsewhere did not answer in time, or too many wait to ask."""


class Channel(Protocol):
    """Requests to one address, over one connection, answered in order.

    The connection is made by the first `send` and again by the first after a failure; a channel
    does not wait before it tries again, so whoever gets a failure holds the next request back.
    """

    def send(
        self, request: Any, done: Answered, timeout_ms: float, version: int | None = None
    ) -> None:
        """Send `request` (in its latest version where None); `done` once, later, never from here.

        Records of a response are memoryviews of a buffer that nobody else uses.
        """

    def close(self) -> None:
        """Close the connection. What was not answered is LOST, told before this returns."""


class Network(Protocol):
    """The way to other nodes."""

    def channel(self, host: str, port: int, client_id: str) -> Channel:
        """A channel of its own to an address. Connects with the first request."""
