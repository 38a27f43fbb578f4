"""Who is measured when: peers alternate, scenarios share a start, what is done is kept.

A turn is one peer on fresh data with all scenarios of one node (or of three) that are still asked
for. Every scenario's figures go to the file as soon as they are there; the same command goes on.
"""

from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.peers import Peer, can_start, nothing, start_peer
from bench.replayer import Target, replay_targets
from bench.scenario import MEMORY, SMALLER, Figure, Scenario
from bench.watch import watched
from bench.wire import (
    create_topic,
    delete_topics,
    fetch_frame,
    leader_ports,
    produce_frame,
    produce_one,
)
from tests.kept_json import write_json

WARM_UP = "warm-up"
WARM_UP_S = 240.0
WARM_UP_PARTITIONS = 4  # of each node, with a connection each
WARM_UP_DEPTH = 8
WARM_UP_FETCHES = 0.1  # as many as that share of the Produces
WARM_UP_FETCH_BYTES = 64 << 10
CLEAN_UP_S = 120.0
FOLDER_SETTLE_S = 15.0
FOLDER_LEFT_BYTES = 64 << 20
LINES_MAX = 4


@dataclass(slots=True)
class Record:
    """One scenario, measured once."""

    peer: str
    round: int
    scenario: str
    figures: list[Figure]
    error: str | None = None
    began: str = ""
    seconds: float = 0.0
    unsteady: int = 0


@dataclass(slots=True)
class Run:
    """All that is known of a run; as a file it is JSON with every value."""

    peers: list[str]
    rounds: int
    window_s: float
    warm_up: int
    scenarios: list[str]
    machine: dict[str, str] = field(default_factory=dict)
    flags: dict[str, str] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    finished: bool = False

    def save(self, path: Path) -> None:
        """Whole or not at all: a kill in the middle leaves the one before."""
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".part")
        write_json(beside, asdict(self))
        beside.replace(path)

    @classmethod
    def load(cls, path: Path) -> Run:
        """What `save` wrote."""
        told: dict[str, Any] = json.loads(path.read_text())
        told["records"] = [
            Record(**{**record, "figures": [Figure(**one) for one in record["figures"]]})
            for record in told["records"]
        ]
        return cls(**told)

    def asks_the_same(self, other: Run) -> bool:
        """Whether the other's figures may stand beside these."""
        return all(
            getattr(self, name) == getattr(other, name)
            for name in ("peers", "rounds", "window_s", "warm_up", "scenarios")
        )

    def together_with(self, later: Run) -> Run:
        """The rounds of both, the later ones after these; ValueError where they differ in more."""
        if not replace(self, rounds=later.rounds).asks_the_same(later):
            raise ValueError("only runs of the same peers, scenarios and windows go together")
        moved = [replace(one, round=one.round + self.rounds) for one in later.records]
        return replace(
            self,
            rounds=self.rounds + later.rounds,
            records=[*self.records, *moved],
            finished=self.finished and later.finished,
        )

    def has(self, peer: str, number: int, scenario: str) -> bool:
        """Whether this one is done, well or badly."""
        return any(
            (one.peer, one.round, one.scenario) == (peer, number, scenario) for one in self.records
        )


def work_through(
    run: Run, known: dict[str, Scenario], path: Path, prepare: Callable[[], object] = nothing
) -> None:
    """Alternate the peers until everything that is asked for is there.

    `prepare()` makes the machine ready, before each start, each scenario and each window.
    """
    chosen = [known[name] for name in run.scenarios]
    shared = [one for one in chosen if not one.fresh]
    kinds = ((1, False), (1, True), (3, False))
    batches = [[one for one in shared if (one.nodes, one.secured) == kind] for kind in kinds]
    batches += [[one] for one in chosen if one.fresh]
    for number in range(1, run.rounds + 1):
        began = time.monotonic()
        for batch in batches:
            for peer in run.peers:
                if not batch or not can_start(peer, batch[0].nodes, batch[0].secured):
                    continue
                while missing := [one for one in batch if not run.has(peer, number, one.name)]:
                    _turn(run, peer, number, missing, path, prepare)
        minutes = (time.monotonic() - began) / 60
        left = minutes * (run.rounds - number)
        say(f"round {number} took {minutes:.1f} minutes; some {left:.0f} minutes to go")
    run.finished = True
    run.save(path)


def _turn(
    run: Run,
    name: str,
    number: int,
    scenarios: list[Scenario],
    path: Path,
    prepare: Callable[[], object],
) -> None:
    """One peer on fresh data; ends early where it fails, and then another start goes on.

    At least one scenario is done after it, well or badly. RuntimeError where no peer starts.
    """
    nodes, secured = scenarios[0].nodes, scenarios[0].secured
    kind = f"{nodes} node{'s' if nodes > 1 else ''}{', secured' if secured else ''}"
    say(f"round {number} of {run.rounds}: {name}, {kind}")
    prepare()
    peer = start_peer(name, nodes, secured, scenarios[0].metrics)
    peer.prepare = prepare
    done = len(run.records)
    try:
        run.flags[name if kind == "1 node" else f"{name}, {kind}"] = peer.flags
        if peer.is_jvm and run.warm_up:
            _warm_up(peer, run.warm_up)
        for scenario in scenarios:
            record = _measure(peer, number, scenario, run.window_s)
            run.records.append(record)
            run.save(path)
            if record.error:
                _keep_logs(peer, path, scenario.name)
            if peer.death() is not None:
                return
            if scenario is not scenarios[-1]:  # its data goes with the peer
                _clean_up(peer)
    except (RuntimeError, OSError) as error:
        say(f"    {one_line(error)}")
        if len(run.records) == done:
            run.records.append(Record(name, number, scenarios[0].name, [], one_line(error), _now()))
    finally:
        peer.stop()
        run.save(path)


def _warm_up(peer: Peer, requests: int) -> None:
    """So many Produces, several under way at each node, then Fetches: a JVM compiles what it runs
    often, and only that."""
    with watched(peer, WARM_UP_S):
        partitions = WARM_UP_PARTITIONS * peer.nodes
        create_topic(peer.port, WARM_UP, partitions)
        produce_one(peer.port, WARM_UP, partitions)
        began = time.monotonic()
        answers = 0
        for make, size, most in (
            (produce_frame, 100, requests),
            (_first_records, WARM_UP_FETCH_BYTES, int(requests * WARM_UP_FETCHES)),
        ):
            targets = [
                Target(port, [make(WARM_UP, index, size)])
                for index, port in enumerate(leader_ports(peer.port, WARM_UP))
            ]
            done = replay_targets(targets, WARM_UP_S, depth=WARM_UP_DEPTH, most=most)
            answers += done.answers
        delete_topics(peer.port)
    say(f"    warmed by {answers:,} requests ({time.monotonic() - began:.0f} s)")


def _first_records(topic: str, partition: int, most_bytes: int) -> bytes:
    return fetch_frame(topic, partition, 0, most_bytes)


def _measure(peer: Peer, number: int, scenario: Scenario, window_s: float) -> Record:
    """Its figures, or why there are none."""
    record = Record(peer.name, number, scenario.name, [], None, _now())
    peer.prepare()
    began, unsteady = time.monotonic(), peer.unsteady
    try:
        with watched(peer, scenario.timeout_s):
            figures = scenario.run(peer, window_s)
            figures.append(Figure(MEMORY, "MiB", peer.resident_mib(), SMALLER))
            record.figures = _finite(figures)
    except Exception as error:  # noqa: BLE001 - one scenario less, and the report says so
        record.error = one_line(error)
        if (death := peer.death()) is not None and death not in record.error:
            record.error += f"; {peer.name} {death}"
    record.seconds = time.monotonic() - began
    record.unsteady = peer.unsteady - unsteady
    first = record.figures[0] if record.figures else None
    told = f"{first.name} {first.value:.4g} {first.unit}" if first else record.error
    say(f"    {scenario.name}: {told} ({record.seconds:.0f} s)")
    return record


def _keep_logs(peer: Peer, path: Path, scenario: str) -> None:
    """Beside the run's values: the peer's folder goes, and with it why a load failed."""
    for number, log in enumerate(peer.logs, start=1):
        name = peer.name.partition("@")[0]
        kept = path.with_name(f"{path.stem}-{scenario}-{name}-{number}.log")
        with contextlib.suppress(OSError):  # a peer that never got so far as to say something
            shutil.copyfile(log, kept)
            say(f"    its log: {kept}")


def _clean_up(peer: Peer) -> None:
    """Remove the scenario's data: the next one has the disk and the page cache to itself."""
    gc.collect()  # a client in a reference cycle would go on asking
    with watched(peer, CLEAN_UP_S):
        delete_topics(peer.port)
        deadline = time.monotonic() + FOLDER_SETTLE_S
        while _size(peer.folders) > FOLDER_LEFT_BYTES and time.monotonic() < deadline:
            time.sleep(0.1)


def _size(folders: Iterable[Path]) -> int:
    """Bytes of log that lie there; files may go while we look."""
    paths = (
        os.path.join(where, name)
        for folder in folders
        for where, _, names in os.walk(folder)  # not rglob, which fails where a folder goes
        for name in names
        if ".log" in name
    )
    total = 0
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            total += os.stat(path).st_size
    return total


def one_line(error: Exception) -> str:
    """What went wrong; of a whole log its first line and its last."""
    lines = [" ".join(line.split()) for line in str(error).splitlines() if line.strip()]
    if len(lines) > LINES_MAX:
        lines = [lines[0], "…", *lines[1 - LINES_MAX :]]
    return f"{type(error).__name__}: {' | '.join(lines)}"


def _finite(figures: Iterable[Figure]) -> list[Figure]:
    return [figure for figure in figures if math.isfinite(figure.value)]


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S")


def say(text: str) -> None:
    """Progress, for who waits."""
    print(text, file=sys.stderr, flush=True)
