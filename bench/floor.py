"""The cost of a load without a broker, which shows how much of the cost is the broker's own.

A server in C makes only the system calls that a broker needs for a single record or a warm Fetch
(`floor.c`), or for a stock producer's batches (`floor_batches.c`). The same client loads it right
after the peer. No broker in any language is below its cost on this machine: the kernel's sending,
sleeping and waking. A broker cannot be faster either where the client uses up the machine.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Self

from bench.batches import CLIENT as LIBRDKAFKA
from bench.batches import producing
from bench.compiled import compiled
from bench.fetching import BATCH_RECORDS, FETCH_BYTES, TOPIC, WARM_BATCHES, warm_load
from bench.fetching import VALUE_BYTES as FETCHED_VALUE_BYTES
from bench.peers import BenchPeer
from bench.replayer import ReplayedConnection, replay_targets
from bench.scenario import (
    BROKER_CPU,
    LARGER,
    SMALLER,
    Figure,
    Load,
    Scenario,
    SteadyWindows,
    WindowResult,
    steady,
)
from bench.scenarios import (
    BATCH_BYTES,
    REPLAYER,
    VALUE_BYTES,
    measured_batches,
    single_load,
    values_of,
)
from bench.wire import batch_of, create_topic, fetch_frame, produce_frame

SOURCE = Path(__file__).with_name("floor.c")
BATCHES_SOURCE = Path(__file__).with_name("floor_batches.c")
PRODUCE_ANSWER_BYTES = 52
FETCH_ANSWER_BYTES = 80
"""The bytes of an answer before its records."""
FLOOR_CPU = "floor CPU"
PRODUCERS = 2


class FloorPeer(BenchPeer):
    """A server of the bench written in C, with a temporary file that begins as `data`.

    `arguments` are those of the program after that file, see its source.
    """

    def __init__(self, source: Path, *arguments: object, data: bytes = b"") -> None:
        super().__init__(source.stem)
        program = compiled(source)
        self._file = tempfile.NamedTemporaryFile(prefix="ottla-bench-floor-")  # noqa: SIM115
        self._file.write(data)
        self._file.flush()
        self._process = subprocess.Popen(
            [program, self._file.name, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        first_line = self._process.stdout.readline()
        if not first_line:
            complaint = self._process.stderr.read().decode().strip()
            self.stop()
            raise RuntimeError(complaint or "the floor does not start")
        self.ports, self.pids = [int(first_line)], [self._process.pid]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def file_name(self) -> str:
        """The file that the server writes, or from which it sends."""
        return self._file.name

    @property
    def file_bytes(self) -> int:
        """The size of the file."""
        return os.stat(self._file.name).st_size

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._file.close()


def over_append(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure requests of one record on one connection: epoll_wait, recv, pwrite, send."""
    return _over_append("append", peer, window_s)


def over_look(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure the same with a server that polls without waiting: recv, pwrite, send."""
    return _over_append("look", peer, window_s)


def _over_append(mode: str, peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure single records on the broker, then on a server that only appends."""
    frame = produce_frame("single-1", 0, VALUE_BYTES)
    batch_bytes = len(batch_of(1, VALUE_BYTES))
    measured = steady(peer, single_load(peer, 1), window_s)
    with FloorPeer(SOURCE, mode, batch_bytes, PRODUCE_ANSWER_BYTES) as floor:

        def load(seconds: float) -> WindowResult:
            """Replay the request on the floor.

            Raises RuntimeError if it wrote less than it answered.
            """
            before = floor.file_bytes
            done = replay_targets([ReplayedConnection(floor.port, [frame])], seconds)
            if floor.file_bytes - before != done.answers * batch_bytes:
                raise RuntimeError("the floor did not write what it answered")
            return WindowResult(done.answers, done.trips, done.seconds)

        return _floor_figures(measured, _measure_floor(floor, peer, load, window_s), 1e6, "µs/req")


def over_send(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure a Fetch of 1 MB: epoll_wait, recv, send of the head, sendfile."""
    frame = fetch_frame(TOPIC, 0, 1, FETCH_BYTES)
    batch = batch_of(BATCH_RECORDS, FETCHED_VALUE_BYTES)
    measured = steady(peer, warm_load(peer), window_s)
    data = batch * WARM_BATCHES
    with FloorPeer(SOURCE, "send", len(batch), FETCH_ANSWER_BYTES, data=data) as floor:

        def load(seconds: float) -> WindowResult:
            done = replay_targets([ReplayedConnection(floor.port, [frame])], seconds)
            if done.received_bytes != done.answers * (FETCH_ANSWER_BYTES + len(batch)):
                raise RuntimeError("the floor sent less than a batch")
            return WindowResult(done.received_bytes, done.trips, done.seconds)

        return _floor_figures(measured, _measure_floor(floor, peer, load, window_s), 1e9, "s/GB")


def under_batches(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure two librdkafka producers with 100-byte values: recv, pwrite, send of batches."""
    values, settings = values_of(VALUE_BYTES), {"acks": "1"}
    measured = measured_batches(peer, values, settings, PRODUCERS, window_s)
    topic = "floor"
    create_topic(peer.port, topic, PRODUCERS)
    with (
        FloorPeer(BATCHES_SOURCE, peer.port) as floor,
        producing(floor.bootstrap, values, settings, PRODUCERS) as produce,
    ):

        def load(seconds: float) -> WindowResult:
            """Produce through the floor. Raises RuntimeError if it wrote less than it answered."""
            before = floor.file_bytes
            messages = sum(produce(topic, seconds))
            # The server passes the first batch of each connection to the broker.
            if floor.file_bytes - before < messages * VALUE_BYTES - PRODUCERS * BATCH_BYTES:
                raise RuntimeError("the floor did not write what it answered")
            return WindowResult(messages)

        bare = _measure_floor(floor, peer, load, window_s)
    return [
        Figure("messages", "msg/s", measured.rate, LARGER),
        Figure("floor messages", "msg/s", bare.rate, LARGER),
        Figure("messages / floor", "×", measured.rate / bare.rate, LARGER),
        Figure(BROKER_CPU, "µs/msg", measured.cpu_per_unit * 1e6, SMALLER),
        Figure(FLOOR_CPU, "µs/msg", bare.cpu_per_unit * 1e6, SMALLER),
        measured.client_load,
        Figure("client CPU, floor", "% core", bare.client_load.value, SMALLER),
    ]


def _measure_floor(floor: FloorPeer, peer: BenchPeer, load: Load, window_s: float) -> SteadyWindows:
    """Measure the floor, prepared as the peer is."""
    floor.prepare = peer.prepare
    return steady(floor, load, window_s)


def _floor_figures(
    broker: SteadyWindows, floor: SteadyWindows, scale: float, unit: str
) -> list[Figure]:
    """Return the broker's CPU time and median latency beside the floor's, with the CPU ratio."""
    (p50, *_), (floor_p50, *_) = broker.latencies("µs"), floor.latencies("µs")
    return [
        Figure(BROKER_CPU, unit, broker.cpu_per_unit * scale, SMALLER),
        Figure(FLOOR_CPU, unit, floor.cpu_per_unit * scale, SMALLER),
        Figure("CPU / floor", "×", broker.cpu_per_unit / floor.cpu_per_unit, SMALLER),
        p50,
        Figure("floor p50", "µs", floor_p50.value, SMALLER),
    ]


SCENARIOS = [
    Scenario(
        "floor-single-1",
        "floor",
        "one 100-byte record a request, beside a server without a broker",
        REPLAYER,
        1,
        1,
        over_append,
    ),
    Scenario(
        "floor-look-1",
        "floor",
        "one 100-byte record a request, beside a server without a broker that looks for it",
        REPLAYER,
        1,
        1,
        over_look,
    ),
    Scenario(
        "floor-fetch-warm",
        "floor",
        "fetch of 1 MiB from the page cache, beside a server without a broker",
        REPLAYER,
        1,
        1,
        over_send,
    ),
    Scenario(
        "floor-batched-100-by-2",
        "floor",
        "batched produce, 100 B, acks=1, two producers, beside a server without a broker",
        LIBRDKAFKA,
        PRODUCERS,
        PRODUCERS,
        under_batches,
    ),
]
