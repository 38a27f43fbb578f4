"""What an API handler is given beside the request, and how it is registered.

A handler is `handle(context, request, respond)`: it answers through `respond(response)`, now or
later, exactly once; `respond(None)` where the protocol wants no answer (acks=0). It never raises
for a request that it refuses: refusals are error codes in the response.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

Respond = Callable[[Any], None]


ANONYMOUS = "User:ANONYMOUS"
UNKNOWN_SOFTWARE = "unknown"


class Connection(Protocol):
    """A client's connection: who is at its other end, as far as that is known."""

    principal: str
    client_software_name: str
    client_software_version: str

    @property
    def connection_id(self) -> str: ...
    @property
    def client_host(self) -> str: ...
    @property
    def listener_name(self) -> str: ...
    @property
    def security_protocol(self) -> str: ...


@dataclass(slots=True)
class RequestContext:
    """One request's header, and where it came from as the connection was known then."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    client_host: str
    listener_name: str
    connection_id: str
    principal: str = ANONYMOUS
    security_protocol: str = "PLAINTEXT"
    client_software_name: str = UNKNOWN_SOFTWARE
    client_software_version: str = UNKNOWN_SOFTWARE
    connection: Connection | None = None
    """Where the request changes what is known of the client; None for a node's own requests."""


Handle = Callable[[RequestContext, Any, Respond], None]
AtOnceAnswer = bytes | Sequence[Any]
"""A whole response, in one piece or in parts (`ResponseParts`); empty where there is to be none."""
Reply = Callable[[Any], None]
"""Sends a whole response (`ResponseParts`); None where there is to be none."""
Later = Callable[[], Reply]
"""Gives the way back of an answer that comes later; asked for once."""
AtOnce = Callable[[memoryview, Later], AtOnceAnswer | None]
"""A frame → its answer, empty where it comes later; None: nothing was done."""


class Expected(Protocol):
    """The answer to a request that is not there yet; good for one, as long as nothing else is
    handled."""

    def answer(self) -> AtOnceAnswer | None:
        """The request lies where the one before it lay. None: nothing was done."""

    def settle(self) -> None:
        """The answer is on its way: what follows from the request."""


class Repeating(NamedTuple):
    """What knows requests of a kind so well that it can prepare for the next one."""

    at_once: AtOnce
    expect: Callable[[memoryview], Expected | None]
    """The bytes of the last request, the frame's size first, which still lie where the next one's
    will → what answers one that is the same but for its correlation id and its records."""


TheLongWay = Callable[[memoryview], None]
"""Answers one request by its API's `handle`, given its frame or a changed copy of that."""

Quick = Callable[[memoryview, int, int, int, Reply, TheLongWay, str], bool | AtOnce | Repeating]


@dataclass(frozen=True, slots=True)
class Api:
    """One API that a node serves, with the versions that its handler understands.

    `refuse(request, code)` makes the response that says `code` for all of `request`: it answers
    when the handler itself fails. None where the response has an `error_code` of its own at the
    top, which is then set.

    `quick(frame, position, version, correlation id, reply, the long way, listener)` is tried before
    `handle`, and answers what it knows by itself, messages left out: True; False where it has done
    nothing. It may give, for True, what is to be tried with the connection's next request before
    anything else. The answer may come later; by then it may be that only the long way knows it.
    """

    key: ApiKey
    oldest: int
    latest: int
    handle: Handle
    refuse: Callable[[Any, ErrorCode], Any] | None = None
    quick: Quick | None = None
