"""Scenarios and their figures, and the function that brings a load to a steady state.

A module of scenarios has a list `SCENARIOS`; `bench/registry.py` collects them. A scenario's `run`
creates its topics, loads the peer by `steady`, and returns figures. The harness does the rest: it
starts the peer, watches it, adds the figure `memory`, deletes all topics afterwards, and compares.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.peers import BenchPeer

STEADY = 0.05
WINDOWS_MAX = 5
USUAL_TIMEOUT_S = 300.0

SMALLER = "smaller"
LARGER = "larger"

RATE = "rate"
BROKER_CPU = "broker CPU"
MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value. `better` is LARGER or SMALLER. The name is unique in its scenario."""

    name: str
    unit: str
    value: float
    better: str


Run = Callable[[BenchPeer, float], list[Figure]]
"""A function that measures a running peer with windows of a number of seconds."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A group of rows in the report, with the function that measures them.

    `group`     the name for `--groups`: "produce", "fetch", "cost" …
    `title`     a short text for readers: "batched produce, 1 KiB, acks=1"
    `nodes`     the number of nodes of the peer, 1 or 3
    `goals`     by figure, the goal of the ratio to Apache Kafka: a least or a most
    `limits`    by figure, the goal of Ottla's own value: a least or a most
    `enough`    by figure, a value of Ottla with which the goal is met whatever the ratio is
    `usual`     whether a plain `make bench` runs it: five alternations of these on one node should
                take 20 minutes, with a warmed JVM for each; on three nodes they take longer
    `fresh`     whether it needs a peer on which no other scenario ran
    `secured`   whether the peer needs listeners with TLS and SASL too (`bench.secured`)
    `metrics`   whether Ottla must serve its metrics; the scenario has to be `fresh`
    `timeout_s` the time after which the harness cancels it
    """

    name: str
    group: str
    title: str
    client: str
    connections: int
    partitions: int
    run: Run
    nodes: int = 1
    goals: Mapping[str, float] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    enough: Mapping[str, float] = field(default_factory=dict)
    usual: bool = False
    fresh: bool = False
    secured: bool = False
    metrics: bool = False
    timeout_s: float = USUAL_TIMEOUT_S

    @property
    def is_for_goals(self) -> bool:
        """Whether `--goals` runs it: it has a goal, and does not take minutes by itself."""
        return bool(self.goals or self.limits) and self.timeout_s <= USUAL_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class WindowResult:
    """The result of a window of load: work in the scenario's unit, and round trips in seconds.

    `seconds` is set if the work took less time than the call, which also prepared it.
    """

    units: float
    trips: Sequence[float] = ()
    seconds: float | None = None


Load = Callable[[float], WindowResult]
"""A function that loads a peer for a number of seconds."""


@dataclass(frozen=True, slots=True)
class SteadyWindows:
    """The sums of two successive windows of load, which should differ by less than `STEADY`.

    CPU is in seconds, of the broker's processes and of this process with its children.
    """

    units: float
    seconds: float
    cpu_s: float
    client_cpu_s: float
    trips: Sequence[float]
    windows: int
    is_steady: bool

    @property
    def rate(self) -> float:
        """The units a second."""
        return self.units / self.seconds

    @property
    def cpu_per_unit(self) -> float:
        """The seconds of broker CPU per unit."""
        return self.cpu_s / self.units

    @property
    def client_load(self) -> Figure:
        """The client's CPU: near 100 % it is the client that limits the rate."""
        percent = 100 * self.client_cpu_s / self.seconds
        return Figure("client CPU", "% core", percent, SMALLER)

    def latencies(self, unit: str = "µs") -> list[Figure]:
        """Return p50, p99 and p99.9 of the round trips, in µs or ms; empty without round trips."""
        return latencies(self.trips, unit)


def latencies(seconds: Iterable[float], unit: str = "µs") -> list[Figure]:
    """Return p50, p99 and p99.9, in µs or ms; empty without values."""
    ordered = sorted(seconds)
    scale = {"µs": 1e6, "ms": 1e3}[unit]
    return [
        Figure(name, unit, ordered[int(len(ordered) * share)] * scale, SMALLER)
        for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))
        if ordered
    ]


def steady(
    peer: BenchPeer, load: Load, window_s: float, *, windows_max: int = WINDOWS_MAX
) -> SteadyWindows:
    """Load until two successive windows differ by less than `STEADY`, and return their sums.

    There are at least two windows and at most `windows_max`. If no two differ so little, the last
    two count, `is_steady` is false, and `peer.unsteady` is incremented.
    """
    before = _measure_window(peer, load, window_s)
    for number in range(2, windows_max + 1):
        now = _measure_window(peer, load, window_s)
        is_steady = abs(now.rate - before.rate) < STEADY * before.rate
        if is_steady or number >= windows_max:
            break
        before = now
    peer.unsteady += not is_steady
    return SteadyWindows(
        before.units + now.units,
        before.seconds + now.seconds,
        before.cpu_s + now.cpu_s,
        before.client_cpu_s + now.client_cpu_s,
        [*before.trips, *now.trips],
        number,
        is_steady,
    )


def _measure_window(peer: BenchPeer, load: Load, window_s: float) -> SteadyWindows:
    """Run the load once, and measure it. Raises RuntimeError if it did nothing."""
    peer.prepare()
    cpu, client_cpu = peer.cpu_seconds(), client_cpu_seconds()
    began = time.perf_counter()
    done = load(window_s)
    spent = time.perf_counter() - began
    cpu, client_cpu = peer.cpu_seconds() - cpu, client_cpu_seconds() - client_cpu
    if not done.units:
        raise RuntimeError(f"{peer.name} did nothing in a window of {spent:.1f} s")
    return SteadyWindows(done.units, done.seconds or spent, cpu, client_cpu, done.trips, 1, True)


def client_cpu_seconds() -> float:
    """Return the user and system time of this process and of its children that have ended."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
