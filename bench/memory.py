"""The growth of memory under steady load: `python -m bench.memory --minutes 10`.

The load mixes requests at a steady, moderate pace: records to eight partitions and reads of them,
connections that open and close, a group that commits, groups of one member that join and leave.
Resident memory is read each second. The result is the slope of a straight line through the readings
after the first third; until then caches fill.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from bench.groups import TOPIC as GROUP_TOPIC
from bench.groups import ClassicProtocolGroup, commit_frame, find_coordinator, heartbeat_frame
from bench.idle import API_VERSIONS_FRAME
from bench.peers import BenchPeer, start_peer
from bench.scenario import SMALLER, Figure, Scenario
from bench.wire import Wire, create_topic, fetch_frame, produce_frame, produce_one

PARTITIONS = 8
VALUE_BYTES = 1024
READ_BYTES = 64 * 1024
ROUNDS_PER_S = 100
"""Rounds a second, each of 8 Produce, 8 Fetch, a Heartbeat and an OffsetCommit."""
CONNECTS_PER_S = 5
GROUPS_PER_S = 1
SETTLING_SHARE = 1 / 3
GROWTH = "RSS growth"
GROWTH_LIMIT = 1.0
WINDOWS = 120


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading of resident memory; `at_s` is the time since the load began."""

    at_s: float
    mib: float


def slope_mb_per_minute(readings: Sequence[Reading]) -> float:
    """Return the slope of the line of least squares, in MB (10^6 bytes) a minute.

    Needs two readings.
    """
    mean_s = sum(reading.at_s for reading in readings) / len(readings)
    mean_mib = sum(reading.mib for reading in readings) / len(readings)
    above = sum((reading.at_s - mean_s) * (reading.mib - mean_mib) for reading in readings)
    below = sum((reading.at_s - mean_s) ** 2 for reading in readings)
    return above / below * 60 * 1.048576


def settled(readings: Sequence[Reading]) -> list[Reading]:
    """Return the readings after the first third of the time."""
    start = readings[-1].at_s * SETTLING_SHARE
    return [reading for reading in readings if reading.at_s >= start]


class SteadyLoad:
    """A mix of requests, from one thread."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stack = ExitStack()
        create_topic(port, "steady", PARTITIONS)
        create_topic(port, GROUP_TOPIC)
        produce_one(port, "steady")
        find_coordinator(port)
        group = self._stack.enter_context(closing(ClassicProtocolGroup(port, "steady", 1)))
        group.settle()
        group.quiet()
        (member,) = group.members
        self._wire = Wire(port)
        self._stack.callback(self._wire.close)
        self._frames = [produce_frame("steady", index, VALUE_BYTES) for index in range(PARTITIONS)]
        self._frames += [fetch_frame("steady", index, 0, READ_BYTES) for index in range(PARTITIONS)]
        self._frames += [heartbeat_frame(member), commit_frame(member)]
        self._groups = 0

    def run(self, peer: BenchPeer, seconds: float) -> list[Reading]:
        """Load for so long, and return a reading each second, at least three."""
        readings: list[Reading] = []
        began = now = time.monotonic()
        end, every = began + seconds, min(1.0, seconds / 10)
        connects, groups, rounds, next_reading = 0, 0, 0, began
        while now < end:
            passed = now - began
            if now >= next_reading:
                readings.append(Reading(passed, peer.resident_mib()))
                next_reading = now + every
            if rounds <= passed * ROUNDS_PER_S:
                self._ask(self._wire, self._frames)
                rounds += 1
            if connects <= passed * CONNECTS_PER_S:
                self._connect()
                connects += 1
            if groups <= passed * GROUPS_PER_S:
                self._join()
                groups += 1
            now = time.monotonic()
            time.sleep(max(0.0, min(began + rounds / ROUNDS_PER_S, end) - now))
        readings.append(Reading(time.monotonic() - began, peer.resident_mib()))
        return readings

    def close(self) -> None:
        """Close all connections."""
        self._stack.close()

    def _ask(self, wire: Wire, frames: Sequence[bytes]) -> None:
        for frame in frames:
            wire.socket.sendall(frame)
            wire.skip_response()

    def _connect(self) -> None:
        wire = Wire(self._port)
        self._ask(wire, [API_VERSIONS_FRAME])
        wire.close()

    def _join(self) -> None:
        """Let a group of one member join, and its member leave."""
        self._groups += 1
        group = ClassicProtocolGroup(self._port, f"passing-{self._groups}", 1)
        group.settle()
        group.quiet()
        group.leave()
        group.close()


def growth(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure 120 windows of steady load: ten minutes with windows of 5 s."""
    figures, _ = measure(peer, WINDOWS * window_s)
    return figures


def measure(peer: BenchPeer, seconds: float) -> tuple[list[Figure], list[Reading]]:
    """Load for `seconds`, and return the figures and every reading."""
    load = SteadyLoad(peer.port)
    try:
        readings = load.run(peer, seconds)
    finally:
        load.close()
    last = settled(readings)
    return [
        Figure(GROWTH, "MB/min", slope_mb_per_minute(last), SMALLER),
        Figure("RSS, first reading", "MiB", readings[0].mib, SMALLER),
        Figure("RSS, last reading", "MiB", readings[-1].mib, SMALLER),
    ], readings


SCENARIOS = [
    Scenario(
        name="rss-growth",
        group="memory",
        title="growth of memory under steady load",
        client="replayed frames",
        connections=3,
        partitions=PARTITIONS,
        run=growth,
        limits={GROWTH: GROWTH_LIMIT},
        fresh=True,
        timeout_s=900.0,
    )
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if memory grows more than the goal allows."""
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument("--peer", default="ottla", help="as of python -m bench")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--json", type=Path, help="write every reading to this file")
    options = parser.parse_args(arguments)
    peer = start_peer(options.peer)
    try:
        figures, readings = measure(peer, options.minutes * 60)
    finally:
        peer.stop()
    for figure in figures:
        print(f"{figure.name:24}{figure.value:10.3f} {figure.unit}")
    if options.json:
        kept = {
            "date": time.strftime("%Y-%m-%d"),
            "peer": options.peer,
            "minutes": options.minutes,
            "figures": {figure.name: round(figure.value, 4) for figure in figures},
            "readings_s_mib": [
                [round(reading.at_s, 1), round(reading.mib, 2)] for reading in readings
            ],
        }
        options.json.write_text(json.dumps(kept) + "\n")
    return 0 if figures[0].value < GROWTH_LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
