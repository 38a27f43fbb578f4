"""More seeds of the quorum's simulation: `python -m tests.quorum --seeds 2000 [--voters 3 5]`, or
`--changes` for voters that are added and removed meanwhile.

Prints each seed that fails, and ends with 1 if any did. `--mutant NAME` puts a fault in first.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

from tests.quorum.crash_points import crash_at, crash_points
from tests.quorum.quorum_mutants import MUTANTS, mutant
from tests.quorum.quorum_world import storm
from tests.quorum.voter_storm import voter_storm


def main(arguments: list[str]) -> int:
    """Run the seeds."""
    parser = argparse.ArgumentParser(prog="python -m tests.quorum", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--voters", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--ms", type=float, default=8_000.0, help="virtual time of faults")
    parser.add_argument("--mutant", choices=sorted(MUTANTS))
    parser.add_argument("--changes", action="store_true", help="add and remove voters meanwhile")
    parser.add_argument(
        "--jobs", type=int, default=1, help="processes, for --changes and --crash-points"
    )
    parser.add_argument(
        "--crash-points",
        action="store_true",
        help="all of C5, and no seeds; with --changes, that of changing voters",
    )
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    if options.crash_points:
        return _crash_points(options.changes, options.jobs)
    if options.changes:
        return _changes(options)
    failed, began, elections = 0, time.monotonic(), 0
    with mutant(options.mutant) if options.mutant else contextlib.nullcontext():
        for seed in range(options.first, options.first + options.seeds):
            for voters in options.voters:
                try:
                    elections += storm(seed, voters, options.ms).check.elections
                except Exception as error:  # noqa: BLE001 - whatever ends a run is its result
                    failed += 1
                    print(f"seed {seed}, {voters} voters: {type(error).__name__}: {error}")
    runs = options.seeds * len(options.voters)
    seconds = time.monotonic() - began
    print(f"{runs} runs, {failed} failed, {elections} elections, {seconds:.0f} s")
    return 1 if failed else 0


class _Run(NamedTuple):
    """The result of a seed with changes of the voters."""

    seed: int
    changes: int = 0
    elections: int = 0
    failure: str | None = None


def _changed(seed: int, duration_ms: float, mutant_name: str | None) -> _Run:
    logging.disable(logging.CRITICAL)
    with mutant(mutant_name) if mutant_name else contextlib.nullcontext():
        try:
            world = voter_storm(seed, duration_ms)
        except Exception as error:  # noqa: BLE001 - whatever ends a run is its result
            return _Run(seed, failure=f"{type(error).__name__}: {error}")
    return _Run(seed, world.changes, world.check.elections)


def _changes(options: argparse.Namespace) -> int:
    """Run the seeds in processes."""
    began = time.monotonic()
    seeds = range(options.first, options.first + options.seeds)
    run = partial(_changed, duration_ms=options.ms, mutant_name=options.mutant)
    runs: list[_Run] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for result in pool.map(run, seeds, chunksize=10):
            runs.append(result)
            if result.failure is not None:
                print(f"seed {result.seed}: {result.failure}", flush=True)
    failed = sum(result.failure is not None for result in runs)
    changes = sum(result.changes for result in runs)
    elections = sum(result.elections for result in runs)
    seconds = time.monotonic() - began
    print(
        f"{len(runs)} runs, {failed} failed, {changes} changes of voters, {elections} elections, "
        f"{seconds:.0f} s"
    )
    return 1 if failed else 0


def _crashed(case: tuple[int, bool], changing: bool) -> str | None:
    """Return how the quorum failed after a crash at a point, by loss of power or not; None: it did
    not."""
    logging.disable(logging.CRITICAL)
    point, power = case
    try:
        crash_at(point, power, changing)
    except Exception as error:  # noqa: BLE001 - whatever ends a run is its result
        return f"change {point}, power {power}: {type(error).__name__}: {error}"
    return None


def _crash_points(changing: bool, jobs: int) -> int:
    """Die at each point, by process death and by loss of power."""
    began = time.monotonic()
    cases = [(point, power) for point in crash_points(changing) for power in (False, True)]
    failed = 0
    with ProcessPoolExecutor(jobs) as pool:
        for failure in pool.map(partial(_crashed, changing=changing), cases, chunksize=10):
            if failure is not None:
                failed += 1
                print(failure, flush=True)
    print(f"{len(cases)} runs, {failed} failed, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
