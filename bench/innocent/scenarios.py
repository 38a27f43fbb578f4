"""An innocent client beside each of eight loads: its round trips, and the node's memory.

Every load has a peer of its own, so that memory is not that of another load. The innocent client
sends `PER_S` times a second, more often than such a client would, so that two windows have enough
round trips for a p99. It is measured for two windows, and longer until the load was whole once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from bench.innocent.client import Trips
from bench.innocent.loop_turns import TurnDurations, beyond, longest, turns_of
from bench.innocent.memory_peak import MemoryPeak, ProcessMemory, memory_of
from bench.innocent.processes import LineProcess, Loaded, ended, innocent_client, load, trips_of
from bench.peers import BenchPeer
from bench.scenario import LARGER, SMALLER, Figure, Run, Scenario
from bench.wire import create_topic, produce_one

TOPIC = "innocent"
PER_S = 50.0
READY_S = 200.0
WHOLE_S = 40.0
"""The longest time beyond two windows until a load is whole."""
SETTLE_S = 2.0
"""The pause between the end of the load and the last reading of memory."""
TIMEOUT_S = 300.0

PRODUCE_P99, FETCH_P99 = "produce p99", "fetch p99"
ENOUGH_MS = 20.0
LONGEST_TURN = "longest turn"
TURN_LIMIT_MS = 10.0


@dataclass(frozen=True, slots=True)
class Noticed:
    """All measurements beside one load."""

    trips: Trips
    peak: ProcessMemory
    after: ProcessMemory
    loaded: Loaded
    turns: tuple[TurnDurations, TurnDurations]


def beside(name: str, unit: str) -> Run:
    """Measure the innocent client beside a load of `bench.innocent.load`, whose unit is `unit`."""

    def run(peer: BenchPeer, window_s: float) -> list[Figure]:
        create_topic(peer.port, TOPIC)
        produce_one(peer.port, TOPIC)
        return figures(noticed(peer, name, window_s), unit)

    return run


def noticed(peer: BenchPeer, name: str, window_s: float) -> Noticed:
    """Run the load beside the innocent client, and return the measurements."""
    with ExitStack() as stack:
        client = stack.enter_context(innocent_client(peer.port, TOPIC, PER_S))
        client.expect("ready", READY_S)
        trips_of(client)  # a first run, which fails if the broker's answers are not as expected
        load_process = stack.enter_context(load(name, peer.port))
        memory = stack.enter_context(MemoryPeak(peer.pid))
        load_process.expect("ready", READY_S)
        before = turns_of(peer.metrics_port)
        client = stack.enter_context(innocent_client(peer.port, TOPIC, PER_S))
        client.expect("ready", READY_S)
        _wait_until_whole(load_process, window_s)
        trips = trips_of(client)
        loaded = ended(load_process)
        after = turns_of(peer.metrics_port)
    time.sleep(SETTLE_S)
    return Noticed(trips, memory.peak, memory_of(peer.pid), loaded, (before, after))


def _wait_until_whole(load_process: LineProcess, window_s: float) -> None:
    """Wait two windows, or longer: until the load's process says that it is whole."""
    began = time.monotonic()
    line = load_process.line(2 * window_s)
    if line is not None:
        time.sleep(max(0.0, began + 2 * window_s - time.monotonic()))
    else:
        load_process.expect("whole", WHOLE_S)


def figures(seen: Noticed, unit: str) -> list[Figure]:
    """Return the figures of the report: round trips in ms, memory in MiB."""
    report_figures = [
        *_wait_figures("produce", seen.trips.produce),
        *_wait_figures("fetch", seen.trips.fetch),
    ]
    report_figures.append(Figure("unanswered", "", float(seen.trips.unanswered), SMALLER))
    report_figures += [
        Figure(name, "MiB", value, SMALLER)
        for name, value in (
            ("peak memory", seen.peak.resident),
            ("peak anonymous", seen.peak.anonymous),
            ("memory after", seen.after.resident),
            ("anonymous after", seen.after.anonymous),
        )
    ]
    if (turn := longest(*seen.turns)) is not None:
        report_figures.append(Figure(LONGEST_TURN, "ms", turn * 1e3, SMALLER))
    if (turns := beyond(*seen.turns)) is not None:
        report_figures.append(Figure("turns over 10 ms", "", turns, SMALLER))
    report_figures.append(Figure("load", unit, seen.loaded.units / seen.loaded.seconds, LARGER))
    return report_figures


def _wait_figures(kind: str, trips: Sequence[float]) -> list[Figure]:
    """Return the median, p99 and maximum of these round trips."""
    ordered = sorted(trips)
    return [
        Figure(
            f"{kind} {name}",
            "ms",
            ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1e3,
            SMALLER,
        )
        for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
    ]


def _scenario(name: str, title: str, unit: str, connections: int, partitions: int) -> Scenario:
    return Scenario(
        name=f"innocent-{name}",
        group="innocent",
        title=f"an innocent client beside {title}",
        client="raw sockets",
        connections=connections,
        partitions=partitions,
        run=beside(name, unit),
        goals={PRODUCE_P99: 1.0, FETCH_P99: 1.0},
        enough={PRODUCE_P99: ENOUGH_MS, FETCH_P99: ENOUGH_MS},
        limits={LONGEST_TURN: TURN_LIMIT_MS},
        fresh=True,
        metrics=True,
        timeout_s=TIMEOUT_S,
    )


SCENARIOS = [
    _scenario("throttled-flood", "a flood over its quota of 1 MB/s", "MB/s", 20, 4),
    _scenario("connection-storm", "storms of 5,000 connections", "connections/s", 5_000, 0),
    _scenario("slow-senders", "200 slow senders of 100 MiB frames", "MB/s", 200, 0),
    _scenario("stalled-readers", "300 readers that stop in mid-answer", "answers/s", 300, 1),
    _scenario("metadata", "metadata of 10,000 topics for 50 clients", "answers/s", 50, 10_000),
    _scenario("topics", "1,000 topics made and deleted", "topics/s", 1, 1_000),
    _scenario("rejoining", "a group of 500 that rejoins", "generations/s", 500, 1),
    _scenario("commits", "a million commits", "commits/s", 10, 1_000),
]
