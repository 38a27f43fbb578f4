"""What an API handler is given beside the request, and how it is registered.

A handler is `handle(context, request, respond)`: it answers through `respond(response)`, now or
later, exactly once, with a `Response`. It never raises for a request that it refuses: refusals are
error codes in the response.

Also the words that the network, the request handler and the APIs share for what goes between them.
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
"""What a request comes to. None: the protocol wants no answer to it (acks=0). An error: it has the
connection closed instead."""
Respond = Callable[[Any], None]
Answer = bytes | list[Any]
"""A whole response, in one piece or in parts; empty where there is to be none."""
Later = Callable[[], Callable[[Any], None]]
"""Gives the way back of an answer that comes later; asked for once."""
Match = Callable[[memoryview], tuple[Fixed, Values] | None]
"""Takes a frame apart; None for one of another shape."""

ANONYMOUS = "User:ANONYMOUS"
UNKNOWN_SOFTWARE = "unknown"


class LastAsker:
    """Who asked last on a connection, and what kind of request that was, so that it is not looked
    up for each request.

    Good as long as the connection has that `principal`, and a frame that client id.
    """

    __slots__ = ("api", "client_id", "entries", "header", "identity", "match", "principal", "size")

    def __init__(self) -> None:
        self.principal = ""
        self.client_id = b""
        """As in the frame, its length first."""
        self.identity: Any = None
        """What the table of prepared requests has of it."""
        self.size = 0
        """Of a header."""
        self.header: Callable[[memoryview], tuple[int, bytes]] = Struct(">i4x0s").unpack_from
        """API key and version as one number, and the client id, of a frame."""
        self.api = -1
        self.match: Match = _matches_nothing
        self.entries: dict[Fixed, Any] = {}
        """What is prepared for requests of that API that `match`. Entries that are gone are not in
        here either."""

    def keep(self, principal: str, client_id: bytes, identity: Any) -> None:
        """It was this one."""
        if len(client_id) != len(self.client_id):
            form = Struct(f">i4x{len(client_id)}s")
            self.header, self.size = form.unpack_from, form.size
        self.principal = principal
        self.client_id = client_id
        self.identity = identity
        self.api = -1

    def keep_kind(self, api: int, match: Match, entries: dict[Fixed, Any]) -> None:
        """It was a request of this kind."""
        self.api, self.match, self.entries = api, match, entries


def _matches_nothing(_frame: memoryview) -> None:
    return None


class Asker(Protocol):
    """Who asks: what permissions and quotas judge by, but for the client id."""

    @property
    def principal(self) -> str: ...
    @property
    def client_host(self) -> str: ...
    @property
    def listener_name(self) -> str: ...
    @property
    def security_protocol(self) -> str: ...


class AskingConnection(Asker, Protocol):
    """Where it asks."""

    @property
    def last(self) -> LastAsker: ...
    @property
    def times(self) -> RequestTimes | None: ...


class Connection(AskingConnection, Protocol):
    """A client's connection: who is at its other end, as far as that is known."""

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
        """The client has told what it runs on (KIP-511)."""

    def throttled(self, wait_ms: int) -> None:
        """When the request under way is answered, it is not read for that long (KIP-219)."""

    def refused(self, how: str, reason: str) -> None:
        """The client tries to come in as nobody can on this listener; it is told in the log."""


class RequestQuota(Protocol):
    """One request of somebody whom a quota limits: what it takes, and how long it has to wait."""

    def exempt(self) -> None:
        """It is a node's, and takes nothing of what is limited."""

    def most_fetched(self) -> float:
        """Bytes of an answer above which it would have to wait in any case."""

    def fetched(self, size: int) -> int:
        """It would be given so many bytes: how many milliseconds it has to wait, and then it is to
        get none; 0 where it may have them."""

    def take_partitions(self, count: int) -> bool:
        """It creates or deletes partitions. False: it may not, and is told so for these."""

    def answered(self, response: Message | None) -> int:
        """That is its answer, and tells from now on how long it has to wait; the milliseconds."""

    def handled(self) -> None:
        """It is handled, whether it is answered or not."""


class Quotas(Protocol):
    """What is limited on a node."""

    @property
    def enabled(self) -> bool:
        """Whether anything is."""

    def of(
        self, asker: Asker, client_id: str | None, api_key: int, api_version: int, size: int
    ) -> RequestQuota | None:
        """For a request of so many bytes; None where nothing limits who sent it."""


class NoQuotas:
    """Nothing is limited."""

    enabled = False

    def of(
        self, asker: Asker, client_id: str | None, api_key: int, api_version: int, size: int
    ) -> None:
        """Nobody is."""


class ResponseWriter(Protocol):
    """Writes responses that take longer than a turn of the loop, and frees what they were made of
    (`broker.requests.sliced_answers`)."""

    def write(self, response: M, version: int, done: Callable[[M], None]) -> None:
        """Call `done` with a response whose long arrays are written already, now or later."""

    def let_go(self, message: Message) -> None:
        """Free a long message in slices, later."""


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
    rights: Rights
    """What the sender may do: asked before anything is told or changed."""
    principal: str = ANONYMOUS
    security_protocol: str = "PLAINTEXT"
    client_software_name: str = UNKNOWN_SOFTWARE
    client_software_version: str = UNKNOWN_SOFTWARE
    connection: Connection | None = None
    """Where the request changes what is known of the client; None for a node's own requests."""
    token_authenticated: bool = False
    """Whether it was a delegation token of the principal that logged in (KIP-48)."""
    quota: RequestQuota | None = None
    """None where nothing limits the sender."""
    trace: RequestTrace | None = None
    """Who follows this request; None: nobody does."""
    writer: ResponseWriter | None = None
    """What writes the response to a long request in slices; None: it is written in one go."""


class Expected(Protocol):
    """The answer to a request that is not there yet. Good for one, as long as no other request is
    handled."""

    def answer(self) -> Answer | None:
        """The request lies where the one before it lay. None: nothing was done."""

    def settle(self) -> None:
        """The answer is on its way: what follows from the request."""


class PreparedRequest(Protocol):
    """How requests are answered that are like one before them: the same bytes but for the holes of
    `shape`. It decides nothing: what is not plainly right is declined before anything is done."""

    @property
    def shape(self) -> Shape: ...

    def follows(self, response: Any) -> bool:
        """Whether the first of them was answered so that it speaks for the others."""

    def answer(self, frame: memoryview, values: Values, later: Later) -> Answer | None:
        """The answer, empty where there is to be none, or where it comes by what `later` gave.
        None: nothing was done, and the general way is to be asked."""

    def expect(self, message: memoryview, values: Values) -> Expected | None:
        """Prepare for the next one, which will lie in `message`, its size first, as the last one
        does now, and be as long."""


Handle = Callable[[RequestContext, Any, Respond], None]
Prepare = Callable[[RequestContext, memoryview, Any], PreparedRequest | None]
"""Context, frame and request → how the next ones like it are answered; None where each of them is
to be handled."""


@dataclass(frozen=True, slots=True)
class Api:
    """One API that a node serves, with the versions that its handler understands.

    `refuse(request, code)` makes the response that says `code` for all of `request`: it answers
    when the handler itself fails. None where the response has an `error_code` of its own at the
    top, which is then set.

    `prepare` is asked when a request was handled for which nothing is prepared.
    """

    key: ApiKey
    oldest: int
    latest: int
    handle: Handle
    refuse: Callable[[Any, ErrorCode], Any] | None = None
    prepare: Prepare | None = None
