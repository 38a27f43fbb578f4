"""`python -m bench`: the same load on Ottla and on Apache Kafka, as a table with ratios.

Peers run one after the other and alternate (A B A B), each time on fresh data, so that a machine
whose speed drifts favours neither. A goal is met when the worse quartile of the ratios meets it.
"""

from __future__ import annotations

import argparse
import compileall
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from types import FrameType

from bench.peers import ROOT
from bench.registry import all_scenarios
from bench.report import rows
from bench.scenario import Scenario
from bench.table import terminal
from bench.turns import Run, say, work_through

COMPILED = ("broker", "controller", "protocol", "storage")
WINDOW_S = 3.0
ROUNDS = 5
WARM_UP = 1_000_000
KEPT = Path(".cache/bench/run.json")


def main() -> int:
    options = _parser().parse_args()
    known = all_scenarios()
    if options.spark:
        # Imported here: the rest needs no Spark.
        return int(import_module("bench.spark").run(options.records, options.rounds, options.json))
    if options.list:
        for one in known.values():
            print(f"{one.name:20}{one.group:12}{'usual' if one.usual else '':8}{one.title}")
        return 0
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    for package in COMPILED:
        # As pip does with what it installs, and Kafka's jars are: a start compiles nothing.
        compileall.compile_dir(ROOT / package, quiet=1)
    path = options.json or KEPT
    run = _begun(options, _chosen(options, known), path)
    try:
        work_through(run, known, path)
    except KeyboardInterrupt:
        say(f"broken off; the same command goes on ({path})")
    print(terminal(run, rows(run, known)))
    return 0 if run.finished else 1


def _chosen(options: argparse.Namespace, known: dict[str, Scenario]) -> list[str]:
    """By name, by group, or the usual ones."""
    if options.scenarios:
        return [known[name].name for name in options.scenarios.split(",")]
    if options.groups:
        groups = options.groups.split(",")
        return [one.name for one in known.values() if one.group in groups]
    return [one.name for one in known.values() if one.usual]


def _begun(options: argparse.Namespace, scenarios: list[str], path: Path) -> Run:
    """A run that was broken off and asked for the same, or a new one."""
    peers = options.peers.split(",")
    wanted = (peers, options.rounds, options.window, options.warm_up, scenarios)
    if path.exists():
        run = Run.load(path)
        found = (run.peers, run.rounds, run.window_s, run.warm_up, run.scenarios)
        if not run.finished and found == wanted:
            say(f"going on with {path}")
            return run
        path.replace(path.with_name(f"{path.stem}-{time.strftime('%Y%m%dT%H%M%S')}.json"))
    return Run(*wanted)


def _end(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--peers", default="ottla,kafka", help="which, in which order")
    parser.add_argument("--scenarios", help="by name; default: the usual ones")
    parser.add_argument("--groups", help="all scenarios of these groups")
    parser.add_argument("--list", action="store_true", help="what there is to choose from")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="alternations")
    parser.add_argument("--window", type=float, default=WINDOW_S, help="seconds of one measurement")
    parser.add_argument(
        "--warm-up", type=int, default=WARM_UP, help="requests that a JVM gets first"
    )
    parser.add_argument("--json", type=Path, help=f"where all figures go; default {KEPT}")
    parser.add_argument(
        "--spark", action="store_true", help="rows a second of Spark's Kafka source"
    )
    parser.add_argument("--records", type=int, default=5_000_000, help="that Spark reads")
    return parser


if __name__ == "__main__":
    sys.exit(main())
