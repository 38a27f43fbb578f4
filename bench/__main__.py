"""`python -m bench`: the same load on Ottla and on Apache Kafka, as a table with ratios.

Peers run one after the other and alternate (A B A B), each time on new data, so that a machine
whose speed drifts favours neither. A goal is met when the worse quartile of the ratios meets it.
Besides the table, the run writes a JSON file with every value and a picture. The same command
continues an interrupted run.
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
from bench.turns import BenchRun, one_line, say, work_through

COMPILED = ("broker", "command", "controller", "ground", "log_format", "protocol", "storage")
WINDOW_S = 2.0
ROUNDS = 5
WARM_UP = 1_000_000
KEPT = Path(".cache/bench/run.json")
QUICK = ["start-up", "single-1", "replayed-1k-acks-1", "fetch-warm"]
QUICK_WINDOW_S = 0.2


def main() -> int:
    """Measure the chosen scenarios, or only report kept values.

    Returns the exit code; an interrupted run can go on later.
    """
    parser = _parser()
    options = parser.parse_args()
    scenarios = all_scenarios()
    if options.spark:
        # Imported here, because no other scenario needs Spark.
        return int(import_module("bench.spark").run(options.records, options.rounds, options.json))
    if options.list:
        for scenario in scenarios.values():
            usual = "usual" if scenario.usual else ""
            print(f"{scenario.name:32} {scenario.group:13} {usual:6} {scenario.title}")
        return 0
    path = options.json or KEPT
    if options.report:
        try:
            run = reduce(BenchRun.together_with, map(BenchRun.load, options.report))
        except ValueError as error:
            parser.error(str(error))
        return _report(run, scenarios, options.report, options.markdown)
    try:
        for peer in options.peers.split(","):
            can_start(peer, 1)
        run = _begun(options, _chosen(options, scenarios), path)
    except KeyError as error:
        parser.error(f"there is no scenario {error}; --list names them")
    except ValueError as error:
        parser.error(str(error))
    for checkout in {ROOT, *(Path(name.partition("@")[2]) for name in run.peers if "@" in name)}:
        # An older checkout has fewer packages.
        for folder in filter(Path.is_dir, (checkout / package for package in COMPILED)):
            # Installed packages and Kafka's jars are compiled too: so a start compiles nothing.
            compileall.compile_dir(folder, quiet=1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    cache = PageCache() if _fills(options) else None
    try:
        work_through(run, scenarios, path, cache.fill if cache is not None else nothing)
    except KeyboardInterrupt:
        say(f"broken off; the same command goes on ({path})")
    except (RuntimeError, OSError) as error:
        say(f"broken off: {one_line(error)}")
    finally:
        if cache is not None:
            cache.close()
    return _report(run, scenarios, [path], options.markdown)


def _report(
    run: BenchRun, scenarios: dict[str, Scenario], paths: list[Path], as_markdown: bool
) -> int:
    """Print the table, draw the picture, and return the exit code: 0 if all was measured."""
    report_rows = rows(run, scenarios)
    print(markdown(run, report_rows) if as_markdown else terminal(run, report_rows))
    if any(row.ratios for row in report_rows):
        picture_file = paths[0].with_suffix(".svg")
        picture_file.write_text(picture(run, report_rows))
        say(f"every value: {', '.join(map(str, paths))}; as a picture: {picture_file}")
    return 0 if run.finished and not any(record.error for record in run.records) else 1


def _chosen(options: argparse.Namespace, scenarios: dict[str, Scenario]) -> list[str]:
    """Return the scenarios that the options name, by name or group, or else the usual ones.

    Raises KeyError for an unknown name.
    """
    if options.scenarios:
        return [scenarios[name].name for name in options.scenarios.split(",")]
    if options.groups:
        groups = options.groups.split(",")
        return [scenario.name for scenario in scenarios.values() if scenario.group in groups]
    if options.quick:
        return QUICK
    return [
        scenario.name
        for scenario in scenarios.values()
        if scenario.usual or (options.goals and scenario.is_for_goals)
    ]


def _begun(options: argparse.Namespace, scenarios: list[str], path: Path) -> BenchRun:
    """Return the interrupted run of the same options, or a new run."""
    run = BenchRun(
        options.peers.split(",") if not options.quick else ["ottla"],
        options.rounds if not options.quick else 1,
        options.window if not options.quick else QUICK_WINDOW_S,
        options.warm_up,
        scenarios,
        machine(_fills(options)),
    )
    if path.exists():
        before = BenchRun.load(path)
        if not before.finished and before.asks_the_same(run):
            say(f"going on with {path}")
            return before
        path.replace(path.with_name(f"{path.stem}-{time.strftime('%Y%m%dT%H%M%S')}.json"))
    return run


def _fills(options: argparse.Namespace) -> bool:
    """Return whether to fill the page cache before each window."""
    return not (options.quick or options.keep_page_cache) and gives_free_memory_back()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, and ignore further signals while peers are removed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # no signal interrupts the removal of peers
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
