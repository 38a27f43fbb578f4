"""What a scenario is, what it gives, and how its load is brought to a steady state.

A module of scenarios has a list `SCENARIOS`; `bench/registry.py` collects them. A scenario's `run`
makes its topics, loads the peer by `steady`, and gives figures. The harness does the rest: it
starts the peer, watches it, adds the figure `memory`, deletes all topics afterwards, and compares.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.peers import Peer

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
    """One measured value. `better` says which way is good. The name is unique in its scenario."""

    name: str
    unit: str
    value: float
    better: str


Run = Callable[[Peer, float], list[Figure]]
"""Measure a running peer with windows of so many seconds."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One row group of the report.

    `group`     what `--groups` selects by: "produce", "fetch", "cost" …
    `title`     for people, short: "batched produce, 1 KiB, acks=1"
    `nodes`     1 or 3: which kind of peer `run` is given
    `goals`     by figure: what the ratio to Apache Kafka must reach (or stay below)
    `limits`    by figure: what the value of Ottla itself must reach (or stay below)
    `enough`    by figure: a value of Ottla itself with which a goal is met whatever the ratio is
    `usual`     whether a plain `make bench` runs it: five alternations of all these on one node
                are to take 20 minutes, with a JVM that is warmed for each; on three it takes longer
    `fresh`     whether it wants a peer that nothing else ran on
    `secured`   whether the peer is to have listeners with TLS and SASL too (`bench.secured`)
    `metrics`   whether Ottla is to serve its metrics; the scenario has to be `fresh`
    `timeout_s` after which the harness gives it up
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
        """Whether `--goals` runs it: what has one, and does not take minutes by itself."""
        return bool(self.goals or self.limits) and self.timeout_s <= USUAL_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Done:
    """What a window of load did: its work in the scenario's unit, and round trips in seconds.

    `seconds` where the work took less than the call, which also prepared it.
    """

    units: float
    trips: Sequence[float] = ()
    seconds: float | None = None


Load = Callable[[float], Done]
"""Load for so many seconds."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Two successive windows of load that differed by less than `STEADY`, together.

    CPU is in seconds: of the broker's processes, and of this one with its children.
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
        """Units a second."""
        return self.units / self.seconds

    @property
    def cpu_per_unit(self) -> float:
        """Seconds of broker CPU."""
        return self.cpu_s / self.units

    @property
    def client_load(self) -> Figure:
        """How busy the client was: near 100 % it is the client that limits the rate."""
        percent = 100 * self.client_cpu_s / self.seconds
        return Figure("client CPU", "% core", percent, SMALLER)

    def latencies(self, unit: str = "µs") -> list[Figure]:
        """p50, p99 and p99.9 of the round trips, in µs or ms; none where there are none."""
        return latencies(self.trips, unit)


def latencies(seconds: Iterable[float], unit: str = "µs") -> list[Figure]:
    """p50, p99 and p99.9, in µs or ms; none where there are none."""
    ordered = sorted(seconds)
    scale = {"µs": 1e6, "ms": 1e3}[unit]
    return [
        Figure(name, unit, ordered[int(len(ordered) * share)] * scale, SMALLER)
        for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))
        if ordered
    ]


def steady(peer: Peer, load: Load, window_s: float, *, windows_max: int = WINDOWS_MAX) -> Measured:
    """Load until two successive windows differ by less than `STEADY`; what these two did.

    At least two windows and at most `windows_max`; where none differ so little, the last two count
    `is_steady` is false and `peer.unsteady` one more.
    """
    before = _window(peer, load, window_s)
    for number in range(2, windows_max + 1):
        now = _window(peer, load, window_s)
        is_steady = abs(now.rate - before.rate) < STEADY * before.rate
        if is_steady or number >= windows_max:
            break
        before = now
    peer.unsteady += not is_steady
    return Measured(
        before.units + now.units,
        before.seconds + now.seconds,
        before.cpu_s + now.cpu_s,
        before.client_cpu_s + now.client_cpu_s,
        [*before.trips, *now.trips],
        number,
        is_steady,
    )


def _window(peer: Peer, load: Load, window_s: float) -> Measured:
    peer.prepare()
    cpu, client_cpu = peer.cpu_seconds(), client_cpu_seconds()
    began = time.perf_counter()
    done = load(window_s)
    spent = time.perf_counter() - began
    cpu, client_cpu = peer.cpu_seconds() - cpu, client_cpu_seconds() - client_cpu
    if not done.units:
        raise RuntimeError(f"{peer.name} did nothing in a window of {spent:.1f} s")
    return Measured(done.units, done.seconds or spent, cpu, client_cpu, done.trips, 1, True)


def client_cpu_seconds() -> float:
    """User and system time of this process and of its children that ended."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
