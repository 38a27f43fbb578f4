"""`python -m bench.innocent.client PORT TOPIC PER_S`: an innocent client and its round trips.

It has two connections. On one it sends a Produce of one record with acks=1 so many times a second,
on the other a Fetch of a few records as often. It sends a request when it is due, even if earlier
ones are not answered: so a pause of the broker delays all requests during the pause, and none is
missing because the client waited. A round trip lasts from the send to the last byte of the answer.

When standard input ends, it stops, waits for the answers in flight, and prints a line of JSON.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from bench.wire import FETCH_VERSION, PRODUCE_VERSION, fetch_frame, produce_frame
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response

CLIENT_ID = "innocent"
FETCH_BYTES = 1024
VALUE_BYTES = 100
LAST_WAIT_S = 30.0
"""The longest wait for answers at the end. An unanswered request then counts with its age."""
NICE = -10
"""The client's priority, if it may set it: its wait for a processor must not count for the broker.
"""


@dataclass(frozen=True, slots=True)
class Trips:
    """The seconds of each round trip."""

    produce: list[float] = field(default_factory=list)
    fetch: list[float] = field(default_factory=list)
    unanswered: int = 0


class FrameSeries:
    """A frame that is sent when it is due, on a connection of its own."""

    def __init__(
        self, connection: socket.socket, frame: bytes, check: Callable[[memoryview], None]
    ) -> None:
        """Set up. `check` raises an error if an answer, given without its size, is an error."""
        self.connection = connection
        self.trips: list[float] = []
        self._frame, self._check = frame, check
        self._sent_at: deque[float] = deque()
        self._received = bytearray()

    @property
    def under_way(self) -> int:
        return len(self._sent_at)

    def send(self, now: float) -> None:
        self.connection.sendall(self._frame)
        self._sent_at.append(now)

    def receive(self, now: float) -> None:
        """Read the answers that have arrived. Raises ConnectionError if the broker has closed."""
        part = self.connection.recv(1 << 16)
        if not part:
            raise ConnectionError("the innocent client's connection was closed")
        self._received += part
        while len(self._received) >= 4:
            end = 4 + int.from_bytes(self._received[:4], "big")
            if len(self._received) < end:
                break
            self._check(memoryview(bytes(self._received[4:end])))
            del self._received[:end]
            self.trips.append(now - self._sent_at.popleft())

    def give_up(self, now: float) -> int:
        """Add the ages of unanswered requests as round trips, and return their number."""
        count = len(self._sent_at)
        self.trips += [now - sent for sent in self._sent_at]
        self._sent_at.clear()
        return count


def check_produced(answer: memoryview) -> None:
    """Raise RuntimeError if the record was rejected."""
    _, response = decode_response(ApiKey.PRODUCE, answer, PRODUCE_VERSION)
    _raise_for(response.responses[0].partition_responses[0].error_code)


def check_fetched(answer: memoryview) -> None:
    """Raise RuntimeError if the answer is an error or has no records."""
    _, response = decode_response(ApiKey.FETCH, answer, FETCH_VERSION)
    (partition,) = response.responses[0].partitions
    _raise_for(response.error_code or partition.error_code)
    if not partition.records:
        raise RuntimeError("an answer without records")


def _raise_for(code: int) -> None:
    """Raise RuntimeError if the code is an error."""
    if code:
        raise RuntimeError(f"the innocent client is refused: {ErrorCode(code).name}")


def run(series: Sequence[FrameSeries], per_s: float, until: int) -> int:
    """Send `per_s` times a second until `until` is readable.

    Return the number of unanswered requests.
    """
    poll = select.epoll()
    by_fd = {sender.connection.fileno(): sender for sender in series}
    for fd in (*by_fd, until):
        poll.register(fd, select.EPOLLIN)
    due = time.perf_counter()
    is_over = False
    while not is_over:
        if (now := time.perf_counter()) >= due:
            for sender in series:
                sender.send(time.perf_counter())
            due = max(due + 1 / per_s, now)  # a client that slept sends once, not all at once
        is_over = _take(poll, by_fd, due - time.perf_counter())
    poll.unregister(until)
    deadline = time.perf_counter() + LAST_WAIT_S
    while any(sender.under_way for sender in series) and time.perf_counter() < deadline:
        _take(poll, by_fd, 0.1)
    poll.close()
    return sum(sender.give_up(time.perf_counter()) for sender in series)


def _take(poll: select.epoll, by_fd: dict[int, FrameSeries], seconds: float) -> bool:
    """Take the answers that come within the time; return whether standard input has ended."""
    is_over = False
    for fd, _ in poll.poll(max(seconds, 0)):
        if fd in by_fd:
            by_fd[fd].receive(time.perf_counter())
        else:
            is_over = True
    return is_over


def connect(port: int) -> socket.socket:
    """Return a connection without Nagle's delay."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def main(words: Sequence[str]) -> int:
    """Send requests until standard input ends, and print the round trips."""
    port, topic, per_s = int(words[0]), words[1], float(words[2])
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
    produced = produce_frame(topic, 0, VALUE_BYTES, client_id=CLIENT_ID)
    fetched = fetch_frame(topic, 0, 0, FETCH_BYTES, client_id=CLIENT_ID)
    produce = FrameSeries(connect(port), produced, check_produced)
    fetch = FrameSeries(connect(port), fetched, check_fetched)
    print("ready", flush=True)
    unanswered = run([produce, fetch], per_s, sys.stdin.fileno())
    print(json.dumps(asdict(Trips(produce.trips, fetch.trips, unanswered))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
