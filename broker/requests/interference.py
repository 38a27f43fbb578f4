"""The hook between a request and its API, by which a broker under test injects faults.

A broker that serves real clients has no interference. An interference sees each request that goes
the general way. While it is set, it keeps the table of prepared requests empty
(`Admission.hold_preparing`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from broker.requests.context import RequestContext, Respond
from protocol.errors import ErrorCode


class ReplyPath(Protocol):
    """The way back to the connection of one request."""

    def __call__(self, parts: Any) -> None:
        """Send a response: a bytes-like object, or a list of bytes and file slices; None: send
        nothing."""

    def keep(self, frame: memoryview) -> memoryview:
        """Return the request's frame, or a copy of it, which stays valid until the request is
        answered."""

    def fail(self, error: BaseException) -> None:
        """Close the connection at once: its bytes are wrong, or handling them failed."""

    def close(self) -> None:
        """Close the connection instead of answering, after earlier answers are sent."""

    def last(self, data: bytes) -> None:
        """Send these bytes after earlier answers, and then close the connection."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """A request that an interference sees, with the ways to treat that request. The interference
    may use the reply once."""

    context: RequestContext
    request: Any
    """The request. The parts that refer to its frame are valid until `meet` returns."""
    reply: ReplyPath
    carry_out: Callable[[Any, Respond], None]
    """Lets the API handle a request of the same type; an unexpected exception is answered as an
    error."""
    refusal: Callable[[Any, ErrorCode], Any]
    """Returns the response that reports an error for all of a request; may raise ProtocolError."""
    answer: Callable[[ReplyPath, Any], None]
    """Encodes a response in the request's version, and sends it by a reply."""
    say_range: Callable[[], None]
    """Answers an ApiVersions request as if its version were not served."""


class Interference(Protocol):
    """A component that sees each request before its API does."""

    def meet(self, meeting: Meeting) -> None:
        """Answer a request, now or later, or close its connection. Raises ProtocolError to close it
        at once."""
