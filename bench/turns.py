"""The order of a run: peers alternate, scenarios share a start, finished figures are kept.

A turn is one peer on new data with all scenarios of one node (or of three) that are not done.
Figures are written to the file after each scenario; the same command continues the run.
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

from bench.peers import BenchPeer, can_start, nothing, start_peer
from bench.replayer import ReplayedConnection, replay_targets
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
WARM_UP_PARTITIONS = 4  # for each node, with a connection each
WARM_UP_DEPTH = 8
WARM_UP_FETCHES = 0.1  # the number of Fetches as a share of the Produces
WARM_UP_FETCH_BYTES = 64 << 10
CLEAN_UP_S = 120.0
FOLDER_SETTLE_S = 15.0
FOLDER_LEFT_BYTES = 64 << 20
LINES_MAX = 4


@dataclass(slots=True)
class RoundResult:
    """The result of one scenario on one peer in one round."""

    peer: str
    round: int
    scenario: str
    figures: list[Figure]
    error: str | None = None
    began: str = ""
    seconds: float = 0.0
    unsteady: int = 0


@dataclass(slots=True)
class BenchRun:
    """The options and results of a run; its file is JSON with every value."""

    peers: list[str]
    rounds: int
    window_s: float
    warm_up: int
    scenarios: list[str]
    machine: dict[str, str] = field(default_factory=dict)
    flags: dict[str, str] = field(default_factory=dict)
    records: list[RoundResult] = field(default_factory=list)
    finished: bool = False

    def save(self, path: Path) -> None:
        """Write the file as a whole: a kill during the write leaves the previous file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".part")
        write_json(beside, asdict(self))
        beside.replace(path)

    @classmethod
    def load(cls, path: Path) -> BenchRun:
        """Read the file that `save` wrote."""
        fields: dict[str, Any] = json.loads(path.read_text())
        fields["records"] = [
            RoundResult(**{**record, "figures": [Figure(**figure) for figure in record["figures"]]})
            for record in fields["records"]
        ]
        return cls(**fields)

    def asks_the_same(self, other: BenchRun) -> bool:
        """Return whether both runs have the same options, so that their figures are comparable."""
        return all(
            getattr(self, name) == getattr(other, name)
            for name in ("peers", "rounds", "window_s", "warm_up", "scenarios")
        )

    def together_with(self, later: BenchRun) -> BenchRun:
        """Return a run with the rounds of both, the later run's after these.

        Raises ValueError if other options differ.
        """
        if not replace(self, rounds=later.rounds).asks_the_same(later):
            raise ValueError("only runs of the same peers, scenarios and windows go together")
        moved = [replace(record, round=record.round + self.rounds) for record in later.records]
        return replace(
            self,
            rounds=self.rounds + later.rounds,
            records=[*self.records, *moved],
            finished=self.finished and later.finished,
        )

    def has(self, peer: str, number: int, scenario: str) -> bool:
        """Return whether this scenario has a result, measured or failed."""
        return any(
            (record.peer, record.round, record.scenario) == (peer, number, scenario)
            for record in self.records
        )


def work_through(
    run: BenchRun,
    scenarios: dict[str, Scenario],
    path: Path,
    prepare: Callable[[], object] = nothing,
) -> None:
    """Alternate the peers until every scenario has its results.

    `prepare()` prepares the machine before each start, each scenario and each window.
    """
    chosen = [scenarios[name] for name in run.scenarios]
    shared = [scenario for scenario in chosen if not scenario.fresh]
    kinds = ((1, False), (1, True), (3, False))
    batches = [
        [scenario for scenario in shared if (scenario.nodes, scenario.secured) == kind]
        for kind in kinds
    ]
    batches += [[scenario] for scenario in chosen if scenario.fresh]
    for number in range(1, run.rounds + 1):
        began = time.monotonic()
        for batch in batches:
            for peer in run.peers:
                if not batch or not can_start(peer, batch[0].nodes, batch[0].secured):
                    continue
                while missing := [
                    scenario for scenario in batch if not run.has(peer, number, scenario.name)
                ]:
                    _turn(run, peer, number, missing, path, prepare)
        minutes = (time.monotonic() - began) / 60
        left = minutes * (run.rounds - number)
        say(f"round {number} took {minutes:.1f} minutes; some {left:.0f} minutes to go")
    run.finished = True
    run.save(path)


def _turn(
    run: BenchRun,
    name: str,
    number: int,
    scenarios: list[Scenario],
    path: Path,
    prepare: Callable[[], object],
) -> None:
    """Measure these scenarios on one peer on new data, until the peer fails.

    At least one scenario has a result afterwards, measured or failed. The next turn continues with
    a new peer. Raises RuntimeError if no peer starts.
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
            if scenario is not scenarios[-1]:  # its data is removed with the peer
                _clean_up(peer)
    except (RuntimeError, OSError) as error:
        say(f"    {one_line(error)}")
        if len(run.records) == done:
            run.records.append(
                RoundResult(name, number, scenarios[0].name, [], one_line(error), _now())
            )
    finally:
        peer.stop()
        run.save(path)


def _warm_up(peer: BenchPeer, requests: int) -> None:
    """Send this many Produces, several in flight at each node, and then Fetches.

    A JVM compiles only code that it runs often.
    """
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
                ReplayedConnection(port, [make(WARM_UP, index, size)])
                for index, port in enumerate(leader_ports(peer.port, WARM_UP))
            ]
            done = replay_targets(targets, WARM_UP_S, depth=WARM_UP_DEPTH, most=most)
            answers += done.answers
        delete_topics(peer.port)
    say(f"    warmed by {answers:,} requests ({time.monotonic() - began:.0f} s)")


def _first_records(topic: str, partition: int, most_bytes: int) -> bytes:
    return fetch_frame(topic, partition, 0, most_bytes)


def _measure(peer: BenchPeer, number: int, scenario: Scenario, window_s: float) -> RoundResult:
    """Return the scenario's figures, or the error without figures."""
    record = RoundResult(peer.name, number, scenario.name, [], None, _now())
    peer.prepare()
    began, unsteady = time.monotonic(), peer.unsteady
    try:
        with watched(peer, scenario.timeout_s):
            figures = scenario.run(peer, window_s)
            figures.append(Figure(MEMORY, "MiB", peer.resident_mib(), SMALLER))
            record.figures = _finite(figures)
    except Exception as error:  # noqa: BLE001 - the report shows the error
        record.error = one_line(error)
        if (death := peer.death()) is not None and death not in record.error:
            record.error += f"; {peer.name} {death}"
    record.seconds = time.monotonic() - began
    record.unsteady = peer.unsteady - unsteady
    first = record.figures[0] if record.figures else None
    outcome = f"{first.name} {first.value:.4g} {first.unit}" if first else record.error
    say(f"    {scenario.name}: {outcome} ({record.seconds:.0f} s)")
    return record


def _keep_logs(peer: BenchPeer, path: Path, scenario: str) -> None:
    """Copy the peer's logs beside the run's file, because the peer's folder is removed."""
    for number, log in enumerate(peer.logs, start=1):
        name = peer.name.partition("@")[0]
        kept = path.with_name(f"{path.stem}-{scenario}-{name}-{number}.log")
        with contextlib.suppress(OSError):  # the peer may have ended before it logged a line
            shutil.copyfile(log, kept)
            say(f"    its log: {kept}")


def _clean_up(peer: BenchPeer) -> None:
    """Remove the scenario's data, so that the next one has the disk and page cache for itself."""
    gc.collect()  # a client in a reference cycle would send requests until it is collected
    with watched(peer, CLEAN_UP_S):
        delete_topics(peer.port)
        deadline = time.monotonic() + FOLDER_SETTLE_S
        while _size(peer.folders) > FOLDER_LEFT_BYTES and time.monotonic() < deadline:
            time.sleep(0.1)


def _size(folders: Iterable[Path]) -> int:
    """Return the bytes of log in these folders; files may disappear meanwhile."""
    paths = (
        os.path.join(where, name)
        for folder in folders
        for where, _, names in os.walk(folder)  # not rglob, which fails if a folder disappears
        for name in names
        if ".log" in name
    )
    total = 0
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            total += os.stat(path).st_size
    return total


def one_line(error: Exception) -> str:
    """Return an error on one line; of a whole log its first line and its last ones."""
    lines = [" ".join(line.split()) for line in str(error).splitlines() if line.strip()]
    if len(lines) > LINES_MAX:
        lines = [lines[0], "…", *lines[1 - LINES_MAX :]]
    return f"{type(error).__name__}: {' | '.join(lines)}"


def _finite(figures: Iterable[Figure]) -> list[Figure]:
    return [figure for figure in figures if math.isfinite(figure.value)]


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S")


def say(text: str) -> None:
    """Print a line about the progress on standard error."""
    print(text, file=sys.stderr, flush=True)
