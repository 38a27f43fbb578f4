"""Loads that send too much or too slowly: a flood over its quota, and slow large frames."""

from __future__ import annotations

import select
import socket
import time

from bench.innocent.progress import LoadProgress
from bench.wire import Wire, batch_frame, batch_of, create_topic, produce_one
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    OpData,
)

FLOODING = "flooding"
FLOODS = 20
FLOOD_PARTITIONS = 4
FLOOD_RECORDS = 10
FLOOD_VALUE_BYTES = 10_000
QUOTA_BYTES_PER_S = 1_000_000.0
FLOOD_SETTLE_S = 1.0

SLOW_SENDERS = 200
FRAME_BYTES = 100 * 1024 * 1024
"""The largest frame that `socket.request.max.bytes` allows."""
SLOW_BYTES_PER_S = 256 * 1024
SLOW_TICKS_PER_S = 16


class Repeater:
    """A connection that sends one frame again and again as fast as its socket takes it."""

    def __init__(self, port: int, frame: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setblocking(False)
        self._frame = memoryview(frame)
        self._sent = 0
        self._skip = 0
        self._head = bytearray()

    def write(self) -> None:
        """Send as many bytes as the socket takes."""
        try:
            self._sent += self.socket.send(self._frame[self._sent :])
        except BlockingIOError:
            return
        if self._sent == len(self._frame):
            self._sent = 0

    def read(self) -> int:
        """Read what has arrived, and return the number of answers that end in it."""
        part = self.socket.recv(1 << 16)
        if not part:
            raise ConnectionError("the broker closed the connection of a flood")
        self._head += part
        answers = 0
        while len(self._head) >= 4:
            end = 4 + int.from_bytes(self._head[:4], "big")
            if len(self._head) < end:
                break
            del self._head[:end]
            answers += 1
        return answers


def throttled_flood(port: int, progress: LoadProgress) -> None:
    """Send from twenty connections of one client without regard to its quota.

    A unit is a MB that the broker has acknowledged.
    """
    create_topic(port, FLOODING, FLOOD_PARTITIONS)
    produce_one(port, FLOODING, FLOOD_PARTITIONS)
    set_quota(port, FLOODING, "producer_byte_rate", QUOTA_BYTES_PER_S)
    batch = batch_of(FLOOD_RECORDS, FLOOD_VALUE_BYTES)
    frames = [
        batch_frame(FLOODING, number % FLOOD_PARTITIONS, batch, client_id=FLOODING)
        for number in range(FLOODS)
    ]
    repeaters = [Repeater(port, frame) for frame in frames]
    by_fd = {repeater.socket.fileno(): repeater for repeater in repeaters}
    poll = select.epoll()
    for fd in by_fd:
        poll.register(fd, select.EPOLLIN | select.EPOLLOUT)
    began = time.perf_counter()
    while True:
        for fd, event in poll.poll():
            repeater = by_fd[fd]
            if event & select.EPOLLOUT:
                repeater.write()
            if event & ~select.EPOLLOUT:
                progress.did(repeater.read() * len(batch) / 1e6)
        if not progress.is_ready and time.perf_counter() > began + FLOOD_SETTLE_S:
            progress.ready()
            progress.whole()


def set_quota(port: int, client_id: str, key: str, value: float) -> None:
    """Set a quota of a client ID. Raises RuntimeError if the broker refuses."""
    wire = Wire(port)
    entry = AlterClientQuotasRequestEntryData(
        [AlterClientQuotasRequestEntityData("client-id", client_id)], [OpData(key, value)]
    )
    answer = wire.ask(AlterClientQuotasRequest([entry], False), 1)
    wire.close()
    if error := answer.entries[0].error_code:
        raise RuntimeError(f"the quota of {client_id} is refused: error {error}")


class SlowSender:
    """A connection that has announced a frame of 100 MiB, and sends it slowly."""

    def __init__(self, port: int, head: bytes) -> None:
        self._port, self._head = port, head
        self._connect()

    def _connect(self) -> None:
        self._left = FRAME_BYTES
        self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=60)
        self._socket.setblocking(False)
        self._send(self._head)

    def send(self, part: bytes) -> int:
        """Send as many bytes as the socket takes; reconnect if the broker has closed."""
        try:
            return self._send(part[: self._left]) if self._left else 0
        except BlockingIOError:
            return 0
        except ConnectionError:
            self._socket.close()
            self._connect()
            return 0

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _send(self, part: bytes) -> int:
        """Send as much as the socket takes now, and return how many bytes that was."""
        sent = self._socket.send(part)
        self._left -= sent
        return sent


def large_head() -> bytes:
    """Return the size and the first bytes of a Produce of 100 MiB, up to those of its batch."""
    frame = batch_frame("slow", 0, batch_of(1, 1000), client_id="slow")
    return FRAME_BYTES.to_bytes(4, "big") + frame[4:100]


def slow_senders(port: int, progress: LoadProgress) -> None:
    """Send 256 KiB a second of a large frame on each of two hundred connections.

    A unit is a MB that the sockets have taken.
    """
    senders = [SlowSender(port, large_head()) for _ in range(SLOW_SENDERS)]
    part = bytes(SLOW_BYTES_PER_S // SLOW_TICKS_PER_S)
    progress.ready()
    progress.whole()
    due = time.perf_counter()
    while True:
        for sender in senders:
            progress.did(sender.send(part) / 1e6)
        due += 1 / SLOW_TICKS_PER_S
        time.sleep(max(0.0, due - time.perf_counter()))
