"""Run Apache Kafka's own system tests against Ottla, or Apache Kafka, on one machine.

    python -m tests.kafkatest --checkout FOLDER --within 40   # the first time
    python -m tests.kafkatest --within 40                     # continue where that ended
    python -m tests.kafkatest --list

Takes the cases of `suite.txt` that can run, those first that have never run. A case that fails on
Ottla is run on Kafka, too. Each result goes to `results.toml` at once. Exit 1 if a case fails on
Ottla alone. Needs root on Linux, Java, Maven and sshd; README.md says what else.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.kafkatest import archives, cases, ducktape_runs, hosts, layout, results
from tests.kafkatest.applicability import why_not
from tests.kafkatest.cases import Case
from tests.kafkatest.results import Result
from tests.tools.java_tools import PROJECT_DIR, exclusive, java_available

PATIENCE = 4.0
USUAL_S = 150
"""The time that a case takes which has never run."""
COMMIT_LETTERS = 12


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments ask for, and return the exit code. Wait for another run to end first,
    because both would use the same folder and the same addresses."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        suite = _chosen(options.cases)
    except ValueError as error:
        parser.error(str(error))
    if options.list:
        rows = results.read()
        print("\n".join(listed(case, rows.get(case, Result())) for case in suite))
        return 0
    if reason := hosts.why_not() or java_available().reason:
        parser.error(reason)
    with exclusive("kafkatest-run"):
        try:
            if options.checkout is not None:
                layout.take_sources(options.checkout, options.branch)
            layout.lay_out()
        except (ValueError, FileNotFoundError) as error:
            parser.error(str(error))
        if options.count or options.write_suite:
            return _collect(options.branch, writes=options.write_suite)
        archives.make()
        return _run(suite, options)


def _run(suite: Iterable[Case], options: argparse.Namespace) -> int:
    """Run the cases within the time, print a line for each, and return the exit code."""
    ends = time.monotonic() + 60 * options.within if options.within else float("inf")
    rows = results.read()
    able = [case for case in suite if not why_not(case)]
    for case in results.waiting(able, rows):
        usual_s = rows[case].seconds if case in rows else USUAL_S
        if time.monotonic() + usual_s > ends:
            continue
        run_case(case, options.peer, options.patience)
    faults = [case for case in able if results.read().get(case, Result()).is_fault]
    for case in faults:
        print(f"fails on Ottla alone: {case}")
    return 1 if faults else 0


def run_case(case: Case, peer: str, patience: float) -> None:
    """Run a case on the peer, and on Kafka if it fails on Ottla. Write its row."""
    commit = _commit()
    outcome = ducktape_runs.run(case, peer, patience)
    _print(case, peer, outcome)
    row = results.read().get(case, Result())
    if peer == "ottla":
        row = row.after_ottla(
            passed=outcome.passed,
            commit=commit,
            at=datetime.now(UTC),
            seconds=outcome.seconds,
            error=outcome.error,
        )
        results.record(case, row)
        if not outcome.passed and not row.is_decided(layout.kafka_version()):
            run_case(case, "kafka", patience)
    else:
        row = row.after_kafka(passed=outcome.passed, version=layout.kafka_version())
        results.record(case, row)


def listed(case: Case, result: Result) -> str:
    """Return a case's line of `--list`: how it ended, or why it does not run."""
    if reason := why_not(case):
        return f"{'not run':8} {case}  # {reason}"
    if not result.ottla:
        return f"{'waits':8} {case}"
    explained = result.reason or result.error
    kafka = f"; Kafka {result.version}: {result.kafka}" if result.kafka else ""
    why = f"  # {explained}{kafka}" if result.ottla == results.FAIL else ""
    return f"{result.ottla:8} {case}{why}"


def _collect(branch: str, *, writes: bool) -> int:
    """Print how many cases the branch has for each reason; write `suite.txt` if asked for."""
    collected = list(cases.collected(ducktape_runs.collect()))
    reasons = Counter(
        "switched off by the authors" if it.is_ignored else why_not(it.case) or "can run"
        for it in collected
    )
    for reason, count in reasons.most_common():
        print(f"{count:5} {reason}")
    if writes:
        suite = cases.representatives(collected, why_not)
        cases.write_suite(suite, branch)
        able = sum(not why_not(case) for case in suite)
        print(f"suite.txt has {len(suite)} cases, of which {able} can run")
    return 0


def _chosen(names: Sequence[str]) -> list[Case]:
    """Return the cases of the suite that the names choose, in the order of a run.

    A name is a whole case, which need not be in the suite, or a part of the names of cases. Raises
    ValueError if a name chooses none.
    """
    suite = cases.in_turns(cases.read_suite())
    if not names:
        return suite
    chosen: list[Case] = []
    for name in names:
        fitting = [case for case in suite if name in str(case)] or [Case.parse(name)]
        chosen += [case for case in fitting if case not in chosen]
    return chosen


def _print(case: Case, peer: str, outcome: ducktape_runs.Outcome) -> None:
    verdict = "pass" if outcome.passed else "FAIL"
    print(f"{verdict} {outcome.seconds:6.0f} s  {peer:5} {case}", flush=True)
    if not outcome.passed:
        print(f"     {outcome.error}\n     {outcome.folder}", flush=True)


def _commit() -> str:
    """Return the last commit that changed something beside tests and pages."""
    words = ["git", "log", "-1", f"--abbrev={COMMIT_LETTERS}", "--format=%h", "--"]
    words += [".", ":(exclude)tests", ":(exclude)*.md"]
    done = subprocess.run(words, cwd=PROJECT_DIR, capture_output=True, text=True)
    return done.stdout.strip()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.kafkatest",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--checkout", type=Path, help="a checkout of Kafka, or a git directory with the branch"
    )
    parser.add_argument(
        "--branch", default=layout.BRANCH, help="of the git directory (%(default)s)"
    )
    parser.add_argument(
        "--cases", nargs="+", default=[], metavar="CASE", help="these only: lines, or parts of them"
    )
    parser.add_argument("--within", type=float, metavar="MINUTES", help="as many as fit")
    parser.add_argument("--peer", choices=("ottla", "kafka"), default="ottla")
    parser.add_argument(
        "--patience",
        type=float,
        default=PATIENCE,
        help="the factor on what a test waits for something (%(default)g)",
    )
    parser.add_argument("--list", action="store_true", help="run none, show each case's state")
    parser.add_argument(
        "--count", action="store_true", help="run none, count all cases of the branch by reason"
    )
    parser.add_argument(
        "--write-suite", action="store_true", help="run none, make suite.txt from the branch"
    )
    return parser


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(" stopped")
