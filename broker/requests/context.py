"""The context of a request that an API handler gets, and how an API is registered.

A handler is `handle(context, request, respond)`. It answers through `respond(response)`, now or
later, exactly once, with a `Response`. It never raises to reject a request: errors are error codes
in the response.

The module also has the types that the network, the request handler and the APIs share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from typing import Any, Protocol

from broker.requests.request_times import RequestTimes
from broker.requests.request_trace import RequestTrace
from controller.authorization.rights import Rights
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.frame_shape import Fixed, Shape, Values
from protocol.message import M, Message

Response = Message | ProtocolError | None
"""The result of a request. None: the request gets no response (acks=0). ProtocolError: the
connection is closed instead."""
Respond = Callable[[Any], None]
Answer = bytes | list[Any]
"""A whole response, in one piece or in parts; empty if the request gets no response."""
Later = Callable[[], Callable[[Any], None]]
"""A function that returns the callback for an answer that comes later. The function may be called
once at most."""
Match = Callable[[memoryview], tuple[Fixed, Values] | None]
"""A function that splits a frame into its fixed and its variable parts; None if the frame has
another shape."""

ANONYMOUS = "User:ANONYMOUS"
UNKNOWN_SOFTWARE = "unknown"


class LastClient:
    """The last client of a connection and the kind of its last request, which save look-ups for the
    next request.

    It is valid as long as the connection has this `principal`, and a frame has this client id.
    """

    __slots__ = ("api", "client_id", "entries", "header", "identity", "match", "principal", "size")

    def __init__(self) -> None:
        self.principal = ""
        self.client_id = b""
        """The client id as in the frame, with its length first."""
        self.identity: Any = None
        """The client's entry in the table of prepared requests."""
        self.size = 0
        """The size of a header with this client id, in bytes."""
        self.header: Callable[[memoryview], tuple[int, bytes]] = Struct(">i4x0s").unpack_from
        """A function that reads from a frame the API key and version as one number, and the client
        id."""
        self.api = -1
        self.match: Match = _matches_nothing
        self.entries: dict[Fixed, Any] = {}
        """Prepared entries for requests of that API that `match`. Dropped entries are removed from
        here too."""

    def keep(self, principal: str, client_id: bytes, identity: Any) -> None:
        """Set the connection's last client, and forget the kind of its last request. `client_id` is
        as in the frame, with its length first."""
        if len(client_id) != len(self.client_id):
            form = Struct(f">i4x{len(client_id)}s")
            self.header, self.size = form.unpack_from, form.size
        self.principal = principal
        self.client_id = client_id
        self.identity = identity
        self.api = -1

    def keep_kind(self, api: int, match: Match, entries: dict[Fixed, Any]) -> None:
        """Set the API and version, the shape and the prepared entries of the last request."""
        self.api, self.match, self.entries = api, match, entries


def _matches_nothing(_frame: memoryview) -> None:
    return None


class ClientIdentity(Protocol):
    """A client as permissions and quotas see it, without its client id."""

    @property
    def principal(self) -> str: ...
    @property
    def client_host(self) -> str: ...
    @property
    def listener_name(self) -> str: ...
    @property
    def security_protocol(self) -> str: ...


class RequestSource(ClientIdentity, Protocol):
    """The parts of a connection that prepared requests need."""

    @property
    def last(self) -> LastClient:
        """The client and the kind of the connection's last prepared request."""

    @property
    def times(self) -> RequestTimes | None:
        """The phases of the connection's requests; None if they are not measured."""


class ClientConnection(RequestSource, Protocol):
    """A client's connection, with what is known about the client."""

    @property
    def connection_id(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    @property
    def token_authenticated(self) -> bool: ...
    @property
    def client_software_name(self) -> str: ...
    @property
    def client_software_version(self) -> str: ...

    def runs_on(self, software_name: str, software_version: str) -> None:
        """Set the name and version of the client's software, which ApiVersions has (KIP-511)."""

    def throttled(self, wait_ms: int) -> None:
        """Read no further request for `wait_ms` after the current one is answered (KIP-219)."""

    def refused(self, how: str, reason: str) -> None:
        """Log that this client used a protocol that the listener does not speak."""


class RequestQuota(Protocol):
    """A request under a quota: what it uses, and how long its client has to wait."""

    def exempt(self) -> None:
        """Leave this request out of quotas: another node sent it."""

    def most_fetched(self) -> float:
        """Return the bytes of a response above which the client would have to wait in any case."""

    def fetched(self, size: int) -> int:
        """Count the `size` bytes that a Fetch would return. Return 0 if the client may have them.
        Otherwise return the milliseconds that it has to wait; then the bytes are not counted, and
        must not be sent."""

    def take_partitions(self, count: int) -> bool:
        """Count partitions that the request creates or deletes. Return False if the quota is
        exhausted; then reject them."""

    def answered(self, response: Message | None) -> int:
        """Count the request, and set the throttle time in its response, None if it gets no
        response. Return that time in milliseconds."""

    def handled(self) -> None:
        """Stop the clock of the request quota: the handler has returned, whether the request is
        answered or not."""


class Quotas(Protocol):
    """The quotas of a node."""

    @property
    def enabled(self) -> bool:
        """Whether any quota is set."""

    def of(
        self,
        asker: ClientIdentity,
        client_id: str | None,
        api_key: int,
        api_version: int,
        size: int,
    ) -> RequestQuota | None:
        """Return the quota of a request of `size` bytes; None if no quota limits its sender."""


class NoQuotas:
    """The quotas of a node on which none is set."""

    enabled = False

    def of(
        self,
        asker: ClientIdentity,
        client_id: str | None,
        api_key: int,
        api_version: int,
        size: int,
    ) -> None:
        """Return None: no quota is set."""


class ResponseWriter(Protocol):
    """A writer of responses that take longer than one turn of the event loop, which also frees
    their contents (`broker.requests.sliced_answers`)."""

    def write(self, response: M, version: int, done: Callable[[M], None]) -> None:
        """Call `done` with a response whose long arrays are already encoded, now or later."""

    def free(self, message: Message) -> None:
        """Free a long message in slices, later."""


@dataclass(slots=True)
class RequestContext:
    """The header of one request, and its connection as it was when the request came."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    client_host: str
    listener_name: str
    connection_id: str
    rights: Rights
    """The sender's rights: check them before anything is disclosed or changed."""
    principal: str = ANONYMOUS
    security_protocol: str = "PLAINTEXT"
    client_software_name: str = UNKNOWN_SOFTWARE
    client_software_version: str = UNKNOWN_SOFTWARE
    connection: ClientConnection | None = None
    """The connection, for requests that change what is known about the client; None for a node's
    own requests."""
    token_authenticated: bool = False
    """Whether the client logged in by a delegation token of the principal (KIP-48)."""
    quota: RequestQuota | None = None
    """The quota of this request; None if no quota limits the sender."""
    trace: RequestTrace | None = None
    """The trace of this request; None if it is not traced."""
    writer: ResponseWriter | None = None
    """The writer that encodes the response to a long request in slices; None: it is encoded at
    once."""


class ExpectedRequest(Protocol):
    """The prepared answer to a request that has not come yet. It can be used once, and only if no
    other request was handled before."""

    def answer(self) -> Answer | None:
        """Return the answer to the request, which is in the buffer of the request before. None:
        nothing was done, so handle it in the general way."""

    def settle(self) -> None:
        """Do the work that may wait until the answer was passed to the connection, such as waking
        other requests."""


class PreparedRequest(Protocol):
    """A prepared way to answer requests like an earlier one: equal bytes except in the holes of
    `shape`. It makes no decisions: if a request is not clearly in order, it declines before
    anything is done."""

    @property
    def shape(self) -> Shape:
        """The form of the frames that this can answer: which of their bytes are fixed."""

    def follows(self, response: Any) -> bool:
        """Return whether the response to the first request allows answering further ones in this
        way."""

    def answer(self, frame: memoryview, values: Values, later: Later) -> Answer | None:
        """Return the answer. It is empty if the request gets no response, or if the answer comes by
        the callback that `later` returned. None: nothing was done, so handle the request in the
        general way."""

    def expect(self, message: memoryview, values: Values) -> ExpectedRequest | None:
        """Prepare for the next request, which will be in `message`, its size first, and have the
        length of the last one. Return None if that is not possible."""


Handle = Callable[[RequestContext, Any, Respond], None]
Prepare = Callable[[RequestContext, memoryview, Any], PreparedRequest | None]
"""A function of context, frame and request, which returns the way to answer further requests of
this kind; None if each of them must be handled."""


@dataclass(frozen=True, slots=True)
class Api:
    """An API that a node serves, with the range of versions that its handler understands.

    `refuse(request, code)` returns the response that reports `code` for all of `request`, if the
    handler fails. Without it, the response's top-level `error_code` is set.

    `prepare` is called after a request was handled for whose kind nothing is prepared.
    """

    key: ApiKey
    oldest: int
    latest: int
    handle: Handle
    refuse: Callable[[Any, ErrorCode], Any] | None = None
    prepare: Prepare | None = None
