"""Groups that the broker assigns (KIP-848): the time of their changes, beside Apache Kafka.

Members send raw frames (`member`). The protocol's intervals decide most of the time of a change. So
each load runs with the default settings and, where that shows more of the broker, hurried:
`consumer.assignment.interval.ms=0` and a heartbeat each 50 ms, as configs of the group. The groups
of a scenario have the same name, and the members of one leave before those of the next join.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from random import Random
from statistics import median

from bench.consumer_groups.group import ConsumerProtocolGroup, configure
from bench.groups import find_coordinator
from bench.peers import BenchPeer
from bench.replayer import ReplayedConnection, replay_targets
from bench.scenario import (
    BROKER_CPU,
    LARGER,
    RATE,
    SMALLER,
    Figure,
    Run,
    Scenario,
    WindowResult,
    steady,
)
from bench.wire import create_topic

TOPIC = "assigned"
STABLE, PAUSE = "time to Stable", "longest pause"
SESSION_MS = 3_000
HURRIED = {"consumer.assignment.interval.ms": "0", "consumer.heartbeat.interval.ms": "50"}
MORTAL = {**HURRIED, "consumer.session.timeout.ms": str(SESSION_MS)}
MANY = {"consumer.heartbeat.interval.ms": "500"}
AS_THEY_COME: Mapping[str, str] = {}
MEMBERS = 100
MANY_MEMBERS = 1_000
TURNS_MIN, TURNS_MAX = 3, 40
WARM_UP_TURNS = 1
KNOWN_TIMEOUT_S = 30.0
TIMES, MORE, LESS = 1.1, 1.5, 0.6


def begun(
    peer: BenchPeer, partitions: int, settings: Mapping[str, str]
) -> Callable[[], ConsumerProtocolGroup]:
    """Create the topic, wait until the group's settings are in force, and return its maker."""
    create_topic(peer.port, TOPIC, partitions)
    find_coordinator(peer.port)
    name = f"assigned-{'-'.join(settings.values())}"
    if settings:
        configure(peer.port, name, dict(settings))
    wanted_ms = int(settings.get("consumer.heartbeat.interval.ms", "0"))
    deadline = time.monotonic() + KNOWN_TIMEOUT_S
    while True:
        group = ConsumerProtocolGroup(peer.port, name, partitions, TOPIC)
        group.add()
        group.settle()
        interval_ms = group.members[0].interval_ms
        group.close()
        if interval_ms == wanted_ms or not wanted_ms:
            return lambda: ConsumerProtocolGroup(peer.port, name, partitions, TOPIC)
        if time.monotonic() > deadline:
            raise TimeoutError(f"the heartbeat interval is {interval_ms} ms, not {wanted_ms}")


def stable(members: int, settings: Mapping[str, str]) -> Run:
    """Measure the time until `members` new members are Stable, repeatedly for two windows."""

    def run(peer: BenchPeer, window_s: float) -> list[Figure]:
        """Measure how long new groups take to become stable, and their CPU time."""
        new_group = begun(peer, MEMBERS, settings)
        times: list[float] = []
        cpus: list[float] = []
        for _ in turns(times, window_s, WARM_UP_TURNS if settings else 0):
            group = new_group()
            cpu, began = peer.cpu_seconds(), time.monotonic()
            group.add(members)
            group.settle()
            times.append(time.monotonic() - began)
            cpus.append(peer.cpu_seconds() - cpu)
            group.close()
        warm = WARM_UP_TURNS if settings else 0
        return [
            Figure(STABLE, "ms", median(times[warm:]) * 1e3, SMALLER),
            Figure("slowest", "ms", max(times[warm:]) * 1e3, SMALLER),
            Figure("broker CPU per group", "ms", median(cpus[warm:]) * 1e3, SMALLER),
        ]

    return run


def change(settings: Mapping[str, str], *, dies: bool) -> Run:
    """Measure the time until a hundred members are Stable after one joins, or after one dies."""

    def run(peer: BenchPeer, window_s: float) -> list[Figure]:
        """Measure how long a change of members takes.

        Also measures how long the moved partitions pause.
        """
        group = begun(peer, 2 * MEMBERS, settings)()
        group.add(MEMBERS)
        group.settle()
        times: list[float] = []
        pauses: list[float] = []
        cpus: list[float] = []
        moved: list[int] = []
        interval_s = group.members[0].interval_ms / 1e3
        moments = Random(1)
        for _ in turns(times, window_s, 0):
            # At a random moment: right after all heartbeats a fast broker would wait a whole round.
            group.go_on_for(moments.uniform(0, interval_s))
            group.ledger.pauses()
            cpu, began = peer.cpu_seconds(), time.monotonic()
            if dies:
                group.remove(dies=True)
            else:
                group.add()
            group.settle()
            times.append(time.monotonic() - began)
            cpus.append(peer.cpu_seconds() - cpu)
            moves = group.ledger.pauses()
            pauses.append(max(moves, default=0.0))
            moved.append(len(moves))
            if dies:
                group.add()
            else:
                group.remove(dies=False)
            group.settle()
        group.close()
        return [
            Figure(PAUSE, "ms", median(pauses) * 1e3, SMALLER),
            Figure(STABLE, "ms", median(times) * 1e3, SMALLER),
            Figure("partitions that moved", "", median(moved), SMALLER),
            Figure("broker CPU per change", "ms", median(cpus) * 1e3, SMALLER),
        ]

    return run


def turns(done: list[float], window_s: float, warm_up: int) -> TurnNumbers:
    """Return an iterator of turns for two windows; `done` has an item for each turn."""
    return TurnNumbers(done, time.monotonic() + 2 * window_s, TURNS_MIN + warm_up)


class TurnNumbers:
    """An iterator that ends when time is over and there were enough turns."""

    def __init__(self, done: list[float], end_s: float, least: int) -> None:
        self._done, self._end_s, self._least = done, end_s, least

    def __iter__(self) -> TurnNumbers:
        return self

    def __next__(self) -> int:
        number = len(self._done)
        late = time.monotonic() >= self._end_s
        if number >= TURNS_MAX or (late and number >= self._least):
            raise StopIteration
        return number


def heartbeats(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure heartbeats of a thousand Stable members, each sent when the last one is answered."""
    group = begun(peer, MANY_MEMBERS, MANY)()
    group.add(MANY_MEMBERS)
    settled = group.settle()
    group.quiet()
    targets = [ReplayedConnection(peer.port, [member.quiet_frame()]) for member in group.members]

    def load(seconds: float) -> WindowResult:
        done = replay_targets(targets, seconds)
        return WindowResult(done.answers, done.trips, done.seconds)

    measured = steady(peer, load, window_s)
    for member in (group.members[0], group.members[-1]):
        member.beat()
        member.answered()  # raises an error if the broker rejects the replayed heartbeats
    if not group.is_stable():
        raise RuntimeError(f"the group of {len(group.members)} is not stable any more")
    group.close()
    return [
        Figure(RATE, "/s", measured.rate, LARGER),
        Figure(BROKER_CPU, "µs", measured.cpu_per_unit * 1e6, SMALLER),
        *measured.latencies(),
        measured.client_load,
        Figure(STABLE, "ms", settled * 1e3, SMALLER),
    ]


def _scenario(
    name: str, title: str, members: int, partitions: int, run: Run, goals: Mapping[str, float]
) -> Scenario:
    return Scenario(
        name=f"consumer-groups-{name}",
        group="consumer-groups",
        title=title,
        client="raw frames",
        connections=members,
        partitions=partitions,
        run=run,
        goals=goals,
    )


def _stable_scenarios() -> list[Scenario]:
    return [
        _scenario(
            f"stable-{members}{suffix}",
            f"{members} consumer{'s' if members > 1 else ''} join a group that the broker "
            f"assigns{how}",
            members,
            MEMBERS,
            stable(members, settings),
            {STABLE: TIMES},
        )
        for settings, suffix, how in (
            (HURRIED, "", ", hurried"),
            (AS_THEY_COME, "-usual", ""),
        )
        for members in (1, 10, MEMBERS)
    ]


SCENARIOS = [
    *_stable_scenarios(),
    _scenario(
        *("join", f"one comes to {MEMBERS} consumers, hurried", MEMBERS, 2 * MEMBERS),
        change(HURRIED, dies=False),
        {PAUSE: TIMES, STABLE: TIMES},
    ),
    _scenario(
        *("join-usual", f"one comes to {MEMBERS} consumers", MEMBERS, 2 * MEMBERS),
        change(AS_THEY_COME, dies=False),
        {PAUSE: TIMES, STABLE: TIMES},
    ),
    _scenario(
        "death",
        f"one of {MEMBERS} consumers dies, hurried, session {SESSION_MS / 1e3:.0f} s",
        *(MEMBERS, 2 * MEMBERS),
        change(MORTAL, dies=True),
        {PAUSE: TIMES, STABLE: TIMES},
    ),
    _scenario(
        "heartbeats",
        f"heartbeats of {MANY_MEMBERS:,} consumers",
        *(MANY_MEMBERS, MANY_MEMBERS),
        heartbeats,
        {RATE: MORE, BROKER_CPU: LESS},
    ),
]
