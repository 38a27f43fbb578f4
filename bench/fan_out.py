"""One producer and ten groups that each read all of its records.

Every group has one member, which reads the tail and commits its offset once a second. The producer
is at most `AHEAD` batches before the slowest group, so that the scenario measures delivery.
"""

from __future__ import annotations

import select
import time

from bench.groups import ClassicProtocolGroup, commit_frame, find_coordinator
from bench.peers import BenchPeer
from bench.scenario import LARGER, SMALLER, Figure, Scenario, WindowResult, latencies, steady
from bench.tail import TailReader, TailWriter
from bench.wire import create_topic, produce_one

GROUPS = 10
TOPIC = "grouped"
BATCH_VALUES = 64
AHEAD = 16
READ_BYTES = 1 << 20
COMMIT_EVERY_S = 1.0


class FanOut:
    """The producer and the groups, driven from one thread."""

    def __init__(self, port: int) -> None:
        create_topic(port, TOPIC)
        produce_one(port, TOPIC)
        find_coordinator(port)
        self.groups = [
            ClassicProtocolGroup(port, f"reader-{number}", 1) for number in range(GROUPS)
        ]
        for group in self.groups:
            group.settle()
            group.quiet()
        self.writer = TailWriter(port, TOPIC, BATCH_VALUES)
        self.readers = [TailReader(port, TOPIC, 0, READ_BYTES) for _ in range(GROUPS)]
        self._poll = select.epoll()
        self._by_fd = {reader.socket.fileno(): reader for reader in self.readers}
        for fd in (*self._by_fd, self.writer.socket.fileno()):
            self._poll.register(fd, select.EPOLLIN)
        for reader in self.readers:
            reader.ask_on()
        self._written = 1
        """The next offset of the producer; `produce_one` wrote the first record."""
        self._sent_at_s: dict[int, float] = {}
        """The time at which a batch was sent, by the offset after the batch."""
        self._in_flight = False

    def load(self, seconds: float) -> WindowResult:
        """Return the megabytes that arrived at all groups, and the seconds from send to arrival."""
        arrived = 0
        trips: list[float] = []
        now = time.perf_counter()
        end, commit_at = now + seconds, now
        while now < end:
            if not self._in_flight and self._written - self._slowest() < AHEAD * BATCH_VALUES:
                self._send()
            for fd, _ in self._poll.poll(0.1):
                reader = self._by_fd.get(fd)
                if reader is None:
                    self.writer.acknowledged()
                    self._in_flight = False
                    continue
                before = reader.offset
                arrived += reader.take()
                reader.ask_on()
                self._note_arrival(before, reader.offset, trips)
            now = time.perf_counter()
            if now >= commit_at:
                self._commit()
                commit_at = now + COMMIT_EVERY_S
        return WindowResult(arrived / 1e6, trips)

    def _slowest(self) -> int:
        return min(reader.offset for reader in self.readers)

    def _send(self) -> None:
        """Send the next batch, and note when; forget the times of batches far behind."""
        self._written += BATCH_VALUES
        self.writer.send()
        self._sent_at_s[self._written] = self.writer.sent_at_s
        self._sent_at_s.pop(self._written - 2 * AHEAD * BATCH_VALUES, None)
        self._in_flight = True

    def _note_arrival(self, before: int, after: int, trips: list[float]) -> None:
        """Add the time of the last batch of an answer; the other batches came with it."""
        sent_at_s = self._sent_at_s.get(after)
        if after > before and sent_at_s is not None:
            trips.append(time.perf_counter() - sent_at_s)

    def _commit(self) -> None:
        """Commit the offsets of all groups, and wait for the answers."""
        for group in self.groups:
            (member,) = group.members
            member.wire.socket.sendall(commit_frame(member))
        for group in self.groups:
            group.members[0].wire.skip_response()

    def close(self) -> None:
        """Close all connections."""
        self._poll.close()
        for group in self.groups:
            group.close()
        for wire in (self.writer, *self.readers):
            wire.close()


def fan_out(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure delivered bytes a second, their CPU, and the time of a batch to a reader."""
    work = FanOut(peer.port)
    measured = steady(peer, work.load, window_s)
    work.close()
    return [
        Figure("delivered", "MB/s", measured.rate, LARGER),
        Figure("CPU per GB delivered", "s", measured.cpu_per_unit * 1e3, SMALLER),
        *latencies(measured.trips, "ms"),
        measured.client_load,
    ]


SCENARIOS = [
    Scenario(
        name="fan-out",
        group="fetch",
        title=f"1 producer, {GROUPS} groups, batches of {BATCH_VALUES} × 1 KiB",
        client="replayed frames",
        connections=2 * GROUPS + 1,
        partitions=1,
        run=fan_out,
    )
]
