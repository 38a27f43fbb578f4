"""The requests that clients have sent: their frames, kept as they were received.

Owns the newest frames, limited in number and in bytes. Stands between the network and the request
handler, as an `Entrance` (`broker.requests.request_handler`), and so keeps prepared requests like
all others. Keeping a frame costs one copy of its bytes.

A frame is copied before it is handled, because the handler of Produce writes into the records.
Requests of other nodes and of the test's own operations (`testbed.operations`) are never kept.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from broker.requests.context import Answer, ClientConnection, ExpectedRequest, Later
from broker.requests.interference import ReplyPath
from broker.requests.request_handler import Entrance
from protocol.frames.framing import SIZE_BYTES

COUNT_MAX = 20_000
TOTAL_BYTES_MAX = 32 * 1024 * 1024
FRAME_BYTES_MAX = 1024 * 1024
"""The most bytes that are kept of one frame. A longer one is kept cut off, and is not decoded."""

NO_CLIENT = re.compile(
    rb"broker-\d+-fetcher-\d+|broker-\d+-txn-marker-sender|AddPartitionsToTxnSenderThread-\d+"
    rb"|node-\d+|broker-probe|ottla-testing"
).fullmatch
"""Matches the client ids of other nodes and of a test's own operations."""
_NODE_CONNECTIONS_MAX = 1_000
_CLIENT_ID_AT = 10
_FRAME_BYTES = 120
"""The approximate memory of a kept frame besides its bytes."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """The frame of one request, without its size field."""

    number: int
    """The number among all requests of clients, in the order received, from 1."""
    time_ms: int
    """When the request was received, in ms since the epoch by the broker's clock."""
    connection: str
    principal: str
    frame: bytes
    size: int
    """The bytes of the frame as received: more than `frame` has if that was cut off."""
    prepared: bool
    """Whether a prepared answer was used (`broker.requests.prepared`)."""


class SentRequests:
    """An entrance for frames that keeps those of clients and passes all on."""

    def __init__(
        self,
        behind: Entrance,
        wall_ms: Callable[[], int],
        count_max: int = COUNT_MAX,
        total_bytes_max: int = TOTAL_BYTES_MAX,
    ) -> None:
        """Put this in front of the request handler `behind`. At most `count_max` requests with
        `total_bytes_max` bytes are kept; `wall_ms` returns their time."""
        self._behind = behind
        self._wall_ms = wall_ms
        self._count_max = count_max
        self._total_bytes_max = total_bytes_max
        self._kept: deque[SentRequest] = deque()
        self._bytes = 0
        self._of_nodes: dict[str, None] = {}
        self.received_count = 0
        """The number of clients' requests so far, also of those that are no longer kept."""
        self.shut = False
        """Whether a client that sends a request has its connection closed."""

    @property
    def kept(self) -> list[SentRequest]:
        """The newest requests, in the order received."""
        return list(self._kept)

    def is_of_a_node_or_test(self, connection_id: str) -> bool:
        """Return whether a connection has sent a request as another node, or as a test's
        operation."""
        return connection_id in self._of_nodes

    def forget(self) -> None:
        """Drop all kept requests, and number the next ones from 1 again."""
        self._kept.clear()
        self._bytes = 0
        self.received_count = 0

    # --- the three methods of an entrance ---------------------------------------------------------

    def handle(self, connection: ClientConnection, frame: memoryview, reply: ReplyPath) -> None:
        """Keep the request if a client sent it, and pass it to the request handler. While `shut`, a
        client's request is kept, but its connection is closed."""
        is_clients = self._keep(connection, bytes(frame[:FRAME_BYTES_MAX]), len(frame), False)
        if self.shut and is_clients:
            reply.close()
        else:
            self._behind.handle(connection, frame, reply)

    def handle_at_once(
        self, connection: ClientConnection, frame: memoryview, later: Later
    ) -> Answer | None:
        """Return the handler's prepared answer, empty if it comes by `later`, and keep the request.
        Return None if there is none, or while `shut`: `handle` follows, which keeps the request."""
        if self.shut:
            return None
        kept_frame = bytes(frame[:FRAME_BYTES_MAX])
        answer = self._behind.handle_at_once(connection, frame, later)
        if answer is not None:
            self._keep(connection, kept_frame, len(frame), True)
        return answer

    def expect(self, connection: ClientConnection, message: memoryview) -> ExpectedRequest | None:
        """Return the request of `Entrance.expect`, which is kept when it arrives.

        Returns None if the request cannot be expected.
        """
        expected = self._behind.expect(connection, message)
        return expected and _Kept(self, connection, message[SIZE_BYTES:], expected)

    def _keep(
        self, connection: ClientConnection, kept_frame: bytes, size: int, prepared: bool
    ) -> bool:
        """Add a request to the kept ones, and drop the oldest beyond the limits. Return True, or
        False for a request of a node or a test's operation, whose connection is recorded
        instead."""
        length = int.from_bytes(kept_frame[_CLIENT_ID_AT - 2 : _CLIENT_ID_AT], signed=True)
        if length > 0 and NO_CLIENT(kept_frame, _CLIENT_ID_AT, _CLIENT_ID_AT + length):
            self._of_nodes[connection.connection_id] = None
            if len(self._of_nodes) > _NODE_CONNECTIONS_MAX:
                del self._of_nodes[next(iter(self._of_nodes))]
            return False
        self.received_count += 1
        sender = connection.connection_id, connection.principal
        self._kept.append(
            SentRequest(self.received_count, self._wall_ms(), *sender, kept_frame, size, prepared)
        )
        self._bytes += len(kept_frame) + _FRAME_BYTES
        while len(self._kept) > self._count_max or self._bytes > self._total_bytes_max:
            self._bytes -= len(self._kept.popleft().frame) + _FRAME_BYTES
        return True


class _Kept:
    """An expected request (`broker.requests.context.ExpectedRequest`) that is kept when it
    arrives."""

    __slots__ = ("_connection", "_expected", "_frame", "_requests")

    def __init__(
        self,
        requests: SentRequests,
        connection: ClientConnection,
        frame: memoryview,
        expected: ExpectedRequest,
    ) -> None:
        self._requests = requests
        self._connection = connection
        self._frame = frame
        self._expected = expected

    def answer(self) -> Answer | None:
        """Answer the request that now lies in the buffer of the one before it, and keep it.

        Returns None if nothing was done, so that it is handled in the general way.
        """
        kept_frame = bytes(self._frame[:FRAME_BYTES_MAX])
        answer = self._expected.answer()
        if answer is not None:
            self._requests._keep(self._connection, kept_frame, len(self._frame), True)
        return answer

    def settle(self) -> None:
        """Do the work that may wait until the answer was passed to the connection; see
        `ExpectedRequest.settle`."""
        self._expected.settle()
