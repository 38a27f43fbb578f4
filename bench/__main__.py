"""`python -m bench`: the same load on Ottla and on Apache Kafka, as a table with ratios.

Peers run one after the other and alternate (A B A B), each time on fresh data, so that a machine
whose speed drifts favours neither. A goal is met when the worse quartile of the ratios meets it.
Beside the table there are a JSON file with every value and a picture. A run that was broken off
goes on by the same command.
"""

from __future__ import annotations

import argparse
import compileall
import signal
import sys
import time
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import FrameType

from bench.machine import machine
from bench.page_cache import PageCache, gives_free_memory_back
from bench.peers import ROOT, can_start, nothing
from bench.picture import picture
from bench.registry import all_scenarios
from bench.report import rows
from bench.scenario import Scenario
from bench.table import markdown, terminal
from bench.turns import Run, one_line, say, work_through

COMPILED = ("broker", "command", "controller", "ground", "log_format", "protocol", "storage")
WINDOW_S = 2.0
ROUNDS = 5
WARM_UP = 1_000_000
KEPT = Path(".cache/bench/run.json")
QUICK = ["start-up", "single-1", "replayed-1k-acks-1", "fetch-warm"]
QUICK_WINDOW_S = 0.2


def main() -> int:
    parser = _parser()
    options = parser.parse_args()
    known = all_scenarios()
    if options.spark:
        # Imported here: the rest needs no Spark.
        return int(import_module("bench.spark").run(options.records, options.rounds, options.json))
    if options.list:
        for one in known.values():
            usual = "usual" if one.usual else ""
            print(f"{one.name:32} {one.group:13} {usual:6} {one.title}")
        return 0
    path = options.json or KEPT
    if options.report:
        try:
            run = reduce(Run.together_with, map(Run.load, options.report))
        except ValueError as error:
            parser.error(str(error))
        return _report(run, known, options.report, options.markdown)
    try:
        for peer in options.peers.split(","):
            can_start(peer, 1)
        run = _begun(options, _chosen(options, known), path)
    except KeyError as error:
        parser.error(f"there is no scenario {error}; --list names them")
    except ValueError as error:
        parser.error(str(error))
    for checkout in {ROOT, *(Path(name.partition("@")[2]) for name in run.peers if "@" in name)}:
        # An older checkout has fewer packages.
        for folder in filter(Path.is_dir, (checkout / package for package in COMPILED)):
            # As pip does with what it installs, and Kafka's jars are: a start compiles nothing.
            compileall.compile_dir(folder, quiet=1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    cache = PageCache() if _fills(options) else None
    try:
        work_through(run, known, path, cache.fill if cache is not None else nothing)
    except KeyboardInterrupt:
        say(f"broken off; the same command goes on ({path})")
    except (RuntimeError, OSError) as error:
        say(f"broken off: {one_line(error)}")
    finally:
        if cache is not None:
            cache.close()
    return _report(run, known, [path], options.markdown)


def _report(run: Run, known: dict[str, Scenario], paths: list[Path], as_markdown: bool) -> int:
    """Print the table and draw the picture; the exit code: whether all was measured."""
    found = rows(run, known)
    print(markdown(run, found) if as_markdown else terminal(run, found))
    if any(row.ratios for row in found):
        drawn = paths[0].with_suffix(".svg")
        drawn.write_text(picture(run, found))
        say(f"every value: {', '.join(map(str, paths))}; as a picture: {drawn}")
    return 0 if run.finished and not any(record.error for record in run.records) else 1


def _chosen(options: argparse.Namespace, known: dict[str, Scenario]) -> list[str]:
    """By name, by group, or the usual ones; KeyError for an unknown name."""
    if options.scenarios:
        return [known[name].name for name in options.scenarios.split(",")]
    if options.groups:
        groups = options.groups.split(",")
        return [one.name for one in known.values() if one.group in groups]
    if options.quick:
        return QUICK
    return [one.name for one in known.values() if one.usual or (options.goals and one.is_for_goals)]


def _begun(options: argparse.Namespace, scenarios: list[str], path: Path) -> Run:
    """A run that was broken off and asked for the same, or a new one."""
    run = Run(
        options.peers.split(",") if not options.quick else ["ottla"],
        options.rounds if not options.quick else 1,
        options.window if not options.quick else QUICK_WINDOW_S,
        options.warm_up,
        scenarios,
        machine(_fills(options)),
    )
    if path.exists():
        before = Run.load(path)
        if not before.finished and before.asks_the_same(run):
            say(f"going on with {path}")
            return before
        path.replace(path.with_name(f"{path.stem}-{time.strftime('%Y%m%dT%H%M%S')}.json"))
    return run


def _fills(options: argparse.Namespace) -> bool:
    """Whether the page cache is to be filled before each window."""
    return not (options.quick or options.keep_page_cache) and gives_free_memory_back()


def _end(_number: int, _frame: FrameType | None) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # peers are stopped and removed now, in peace
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--peers",
        default="ottla,kafka",
        help="which, in which order: ottla, ottla@CHECKOUT, kafka, NAME=HOST:PORT/PID",
    )
    parser.add_argument("--scenarios", help="by name; default: the usual ones")
    parser.add_argument("--groups", help="all scenarios of these groups")
    parser.add_argument("--goals", action="store_true", help="the usual ones and all with a goal")
    parser.add_argument("--list", action="store_true", help="what there is to choose from")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="alternations")
    parser.add_argument(
        "--window", type=float, default=WINDOW_S, help="seconds; two that agree count"
    )
    parser.add_argument(
        "--warm-up", type=int, default=WARM_UP, help="requests that a JVM gets first"
    )
    parser.add_argument(
        "--keep-page-cache",
        action="store_true",
        help="do not fill it where free memory is the host's",
    )
    parser.add_argument("--json", type=Path, help=f"where every value goes; default {KEPT}")
    parser.add_argument(
        "--report",
        type=Path,
        nargs="+",
        metavar="JSON",
        help="measure nothing, print what this file says; of several runs, all rounds together",
    )
    parser.add_argument("--markdown", action="store_true", help="print what has a goal as Markdown")
    parser.add_argument("--quick", action="store_true", help="whether it works at all: Ottla alone")
    parser.add_argument("--spark", action="store_true", help="rows/s of Spark's Kafka source")
    parser.add_argument("--records", type=int, default=5_000_000, help="that Spark reads")
    return parser


if __name__ == "__main__":
    sys.exit(main())
