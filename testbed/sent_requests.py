"""What clients really sent: the frames of their requests, kept as they came.

Owns the frames, the newest of them: at most so many, and so many bytes. Stands between the network
and the request handler, whose three ways it is on (`broker.requests.request_handler`): requests
that are prepared are kept as all others. A frame costs one copy of its bytes.

Kept before it is handled, since a handler writes into the records of a Produce. What brokers send
each other is not kept, nor what operations ask (`testbed.operations`).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from broker.requests.context import Answer, Connection, Expected, Later
from broker.requests.interference import Reply
from broker.requests.request_handler import Entrance
from protocol.frames.framing import SIZE_BYTES

COUNT_MAX = 20_000
TOTAL_BYTES_MAX = 32 * 1024 * 1024
FRAME_BYTES_MAX = 1024 * 1024
"""What is kept of one request: of a longer one only that it came."""

NO_CLIENT = re.compile(
    rb"broker-\d+-fetcher-\d+|broker-\d+-txn-marker-sender|AddPartitionsToTxnSenderThread-\d+"
    rb"|node-\d+|broker-probe|ottla-testing"
).fullmatch
"""The client ids of nodes, and of whoever asks for a test."""
_NODE_CONNECTIONS_MAX = 1_000
_CLIENT_ID_AT = 10
_FRAME_BYTES = 120
"""What keeping a frame takes besides its bytes: about that much."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One frame, without its size."""

    number: int
    """Of all that came, in their order, from 1 on."""
    time_ms: int
    """Of the broker's wall clock."""
    connection: str
    principal: str
    frame: bytes
    size: int
    """Of the frame as it came; longer than `frame` where that is cut off."""
    prepared: bool
    """Whether it was answered by what was prepared for its like."""


class SentRequests:
    """See the module."""

    def __init__(
        self,
        behind: Entrance,
        wall_ms: Callable[[], int],
        count_max: int = COUNT_MAX,
        total_bytes_max: int = TOTAL_BYTES_MAX,
    ) -> None:
        """`behind`: who handles what comes."""
        self._behind = behind
        self._wall_ms = wall_ms
        self._count_max = count_max
        self._total_bytes_max = total_bytes_max
        self._kept: deque[SentRequest] = deque()
        self._bytes = 0
        self._of_nodes: dict[str, None] = {}
        self.came = 0
        """How many there were, those included that are not kept any more."""
        self.shut = False
        """Whether clients that ask now have their connection closed."""

    @property
    def kept(self) -> list[SentRequest]:
        """The newest, in the order in which they came."""
        return list(self._kept)

    def is_no_clients(self, connection_id: str) -> bool:
        """Whether another node asks on a connection, or an operation."""
        return connection_id in self._of_nodes

    def forget(self) -> None:
        """Keep none of those until now."""
        self._kept.clear()
        self._bytes = 0
        self.came = 0

    # --- the three ways in ----------------------------------------------------------------------

    def handle(self, connection: Connection, frame: memoryview, reply: Reply) -> None:
        """The general way."""
        is_clients = self._keep(connection, bytes(frame[:FRAME_BYTES_MAX]), len(frame), False)
        if self.shut and is_clients:
            reply.close()
        else:
            self._behind.handle(connection, frame, reply)

    def handle_at_once(
        self, connection: Connection, frame: memoryview, later: Later
    ) -> Answer | None:
        """What is prepared; else the general way follows, which keeps it."""
        if self.shut:
            return None
        came = bytes(frame[:FRAME_BYTES_MAX])
        answer = self._behind.handle_at_once(connection, frame, later)
        if answer is not None:
            self._keep(connection, came, len(frame), True)
        return answer

    def expect(self, connection: Connection, message: memoryview) -> Expected | None:
        """What is prepared, and looked out for."""
        expected = self._behind.expect(connection, message)
        return expected and _Kept(self, connection, message[SIZE_BYTES:], expected)

    def _keep(self, connection: Connection, came: bytes, size: int, prepared: bool) -> bool:
        """Keep what a client has sent; whether it is a client's."""
        length = int.from_bytes(came[_CLIENT_ID_AT - 2 : _CLIENT_ID_AT], signed=True)
        if length > 0 and NO_CLIENT(came, _CLIENT_ID_AT, _CLIENT_ID_AT + length):
            self._of_nodes[connection.connection_id] = None
            if len(self._of_nodes) > _NODE_CONNECTIONS_MAX:
                del self._of_nodes[next(iter(self._of_nodes))]
            return False
        self.came += 1
        who = connection.connection_id, connection.principal
        self._kept.append(SentRequest(self.came, self._wall_ms(), *who, came, size, prepared))
        self._bytes += len(came) + _FRAME_BYTES
        while len(self._kept) > self._count_max or self._bytes > self._total_bytes_max:
            self._bytes -= len(self._kept.popleft().frame) + _FRAME_BYTES
        return True


class _Kept:
    """An expected request (`broker.requests.context.Expected`) that is kept when it has come."""

    __slots__ = ("_connection", "_expected", "_frame", "_requests")

    def __init__(
        self,
        requests: SentRequests,
        connection: Connection,
        frame: memoryview,
        expected: Expected,
    ) -> None:
        self._requests = requests
        self._connection = connection
        self._frame = frame
        self._expected = expected

    def answer(self) -> Answer | None:
        """It has come: it lies where the one before it lay."""
        came = bytes(self._frame[:FRAME_BYTES_MAX])
        answer = self._expected.answer()
        if answer is not None:
            self._requests._keep(self._connection, came, len(self._frame), True)
        return answer

    def settle(self) -> None:
        """See `Expected`."""
        self._expected.settle()
