"""Where somebody else may come between a request and its API: a broker under test has its faults.

Nobody does in a broker that serves. Whoever does sees each request that goes the general way, and
has the table of prepared requests stay empty for as long (`Admission.prepare_nothing`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from broker.requests.context import RequestContext, Respond
from protocol.errors import ErrorCode


class Reply(Protocol):
    """The way back to one request's connection."""

    def __call__(self, parts: Any) -> None:
        """Send a response: one bytes-like or a list of bytes and slices; None: nothing to send."""

    def keep(self, frame: memoryview) -> memoryview:
        """Return the request's frame, or a copy of it, to be read until the request is answered."""

    def fail(self, error: BaseException) -> None:
        """Close the connection at once: its bytes are wrong, or handling them went wrong."""

    def close(self) -> None:
        """Close the connection instead of answering."""

    def last(self, data: bytes) -> None:
        """Send these bytes, and close the connection."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """One request, and what can be done about it: any of these, the way back once."""

    context: RequestContext
    request: Any
    """What it holds of the request's frame is good until whoever was met returns."""
    reply: Reply
    carry_out: Callable[[Any, Respond], None]
    """Has a request of the same API handled; a bug of ours is answered, too."""
    refusal: Callable[[Any, ErrorCode], Any]
    """The response that says an error for all of a request; may raise ProtocolError."""
    answer: Callable[[Reply, Any], None]
    """Writes a response in the request's version, and gives it to a reply."""
    say_range: Callable[[], None]
    """Answers an ApiVersions request as one whose version is not served."""


class Interference(Protocol):
    """Who comes between."""

    def meet(self, meeting: Meeting) -> None:
        """A request has come. It is answered, now or later, or has its connection closed. Raises
        ProtocolError where the connection is to be closed at once."""
