"""A burst of ten times the consumer's pace, and the consumption of the backlog.

At first producer and consumer have the same pace. Then the producer sends ten times as much for
twelve windows (60 s with windows of 5 s), while the consumer keeps its pace. Then the producer
returns to its pace, and the consumer reads as fast as it can until it reaches the tail.
"""

from __future__ import annotations

import select
import time
from dataclasses import dataclass, field

from bench.peers import BenchPeer
from bench.scenario import LARGER, SMALLER, Figure, Scenario
from bench.tail import VALUE_BYTES, TailReader, TailWriter
from bench.wire import create_topic, end_offset, produce_one

TOPIC = "burst"
PACE_BYTES_S = 4_000_000
"""The pace of producer and consumer."""
BURST_FACTOR = 10
BURST_WINDOWS = 12
BATCH_VALUES = 32
READ_BYTES = 1 << 18
DRAIN_TIMEOUT_S = 180.0
UNLIMITED = float("inf")


@dataclass
class Flow:
    """A producer and a consumer, each with a pace in bytes a second."""

    writer: TailWriter
    reader: TailReader
    written: int
    """The next offset of the producer."""
    trips: list[float] = field(default_factory=list)

    def run(self, write_pace: float, read_pace: float, seconds: float, to_tail: bool) -> None:
        """Run for `seconds`; with `to_tail`, at most until the consumer has caught up."""
        poll = select.epoll()
        poll.register(self.writer.socket.fileno(), select.EPOLLIN)
        poll.register(self.reader.socket.fileno(), select.EPOLLIN)
        began = now = time.perf_counter()
        written = read = 0
        writing = reading = False
        while (now - began < seconds and not (to_tail and self.behind == 0)) or writing or reading:
            elapsed = now - began
            if elapsed < seconds:
                if not writing and written <= elapsed * write_pace:
                    self.writer.send()
                    written += self.writer.batch_bytes
                    writing = True
                if not reading and read <= elapsed * read_pace:
                    self.reader.ask_on()
                    reading = True
            for fd, _ in poll.poll(0.001):
                if fd == self.writer.socket.fileno():
                    self.trips.append(self.writer.acknowledged())
                    self.written += self.writer.values
                    writing = False
                else:
                    read += self.reader.take()
                    reading = False
            now = time.perf_counter()
        poll.close()

    @property
    def behind(self) -> int:
        """The number of records that the consumer has not read."""
        return max(0, self.written - self.reader.offset)

    def take_p99(self) -> float:
        """Return the p99 in seconds of the round trips since the last call."""
        ordered = sorted(self.trips)
        self.trips = []
        return ordered[int(len(ordered) * 0.99)]


def burst(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure the Produce round trips before and in the burst, CPU, memory, and the draining."""
    create_topic(peer.port, TOPIC)
    produce_one(peer.port, TOPIC)
    flow = Flow(
        TailWriter(peer.port, TOPIC, BATCH_VALUES), TailReader(peer.port, TOPIC, 0, READ_BYTES), 1
    )
    flow.run(UNLIMITED, UNLIMITED, window_s, False)  # warm-up
    flow.run(PACE_BYTES_S, UNLIMITED, window_s, False)
    flow.take_p99()
    flow.run(PACE_BYTES_S, PACE_BYTES_S, window_s, False)
    calm_p99 = flow.take_p99()

    memory, cpu, before = peer.resident_mib(), peer.cpu_seconds(), flow.written
    flow.run(BURST_FACTOR * PACE_BYTES_S, PACE_BYTES_S, BURST_WINDOWS * window_s, False)
    burst_cpu = peer.cpu_seconds() - cpu
    burst_bytes = (flow.written - before) * VALUE_BYTES
    burst_p99 = flow.take_p99()
    memory = peer.resident_mib() - memory

    cpu, offset = peer.cpu_seconds(), flow.reader.offset
    began = time.perf_counter()
    flow.run(PACE_BYTES_S, UNLIMITED, DRAIN_TIMEOUT_S, True)
    spent = time.perf_counter() - began
    cpu = peer.cpu_seconds() - cpu
    drained = (flow.reader.offset - offset) * VALUE_BYTES
    if flow.behind or flow.reader.offset < end_offset(peer.port, TOPIC, 0):
        raise RuntimeError(f"{flow.behind} records are left after {spent:.0f} s")
    flow.writer.close()
    flow.reader.close()
    return [
        Figure("produce p99 before", "ms", calm_p99 * 1e3, SMALLER),
        Figure("produce p99 in the burst", "ms", burst_p99 * 1e3, SMALLER),
        Figure(
            "produced in the burst", "MB/s", burst_bytes / 1e6 / BURST_WINDOWS / window_s, LARGER
        ),
        Figure("CPU in the burst", "s/GB", burst_cpu / burst_bytes * 1e9, SMALLER),
        Figure("draining", "MB/s", drained / 1e6 / spent, LARGER),
        Figure("CPU of draining", "s/GB", cpu / drained * 1e9, SMALLER),
        Figure("memory, growth in the burst", "MiB", memory, SMALLER),
    ]


SCENARIOS = [
    Scenario(
        name="burst",
        group="fetch",
        title=f"a burst of {BURST_FACTOR} × the consumer's pace and its draining",
        client="replayed frames",
        connections=2,
        partitions=1,
        run=burst,
    )
]
