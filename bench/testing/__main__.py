"""`python -m bench.testing`: `ottla.testing` beside librdkafka's mock cluster and kfake (Go).

In one run and in turns it measures the time until a broker has started, the time of the first
record and the first group, and that of a whole test with three clients (produce ten records, read
them as a group, commit). For Ottla it also measures the reset of three topics, a group and a
transactional id, and tests that begin with such a reset, as with the fixture `ottla`. The table has
medians and quartiles in milliseconds; a file gets every value. The status is 1 if Ottla misses a
goal. Needs Go and its modules.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

from bench.machine import machine
from bench.peers import ROOT
from bench.testing.candidates import OTTLA, Candidate, Kfake, Mock, Ottla
from bench.testing.clients import silenced
from bench.testing.results import Results
from bench.testing.rounds import GOALS_MS, MEASURES, Rounds
from bench.testing.table import table
from bench.turns import one_line, say

ROUNDS = 50
KEPT = Path(".cache/bench/testing.json")
CANDIDATES: dict[str, Callable[[], Candidate]] = {"ottla": Ottla, "mock": Mock, "kfake": Kfake}
COMPILED = ("broker", "controller", "ground", "ottla", "protocol", "storage", "testbed")


def main() -> int:
    """Measure the candidates, or only report kept values.

    Return 1 if Ottla misses a goal or the run is broken off.
    """
    parser = argparse.ArgumentParser(
        prog="python -m bench.testing",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")
    parser.add_argument(
        "--candidates", default=",".join(CANDIDATES), help="which of ottla, mock, kfake"
    )
    parser.add_argument("--json", type=Path, default=KEPT, help=f"every value; default {KEPT}")
    parser.add_argument(
        "--report", type=Path, metavar="JSON", help="measure nothing, print what this file says"
    )
    options = parser.parse_args()
    try:
        chosen = [CANDIDATES[name]() for name in options.candidates.split(",")]
        results = Results.load(options.report) if options.report else None
    except KeyError as error:
        parser.error(f"there is no candidate {error}: {', '.join(CANDIDATES)}")
    except (ValueError, OSError) as error:
        parser.error(str(error))
    if options.rounds < 1:
        parser.error("at least one round")
    if results is None:
        try:
            with silenced():
                results = measured(chosen, options.rounds, options.json)
        except KeyboardInterrupt:
            say(f"broken off; what was measured: --report {options.json}")
            return 1
        except FileNotFoundError as error:
            parser.error(f"{error}; --candidates leaves out what is not to be had")
        except (RuntimeError, OSError) as error:
            parser.error(f"broken off: {one_line(error)}")
        say(f"every value: {options.json}")
    print(table(results, MEASURES, GOALS_MS))
    return int(OTTLA in results.candidates and bool(results.missed(OTTLA, GOALS_MS)))


def measured(chosen: list[Candidate], rounds: int, path: Path) -> Results:
    """Run all rounds and return the results, which are saved even if the run is interrupted."""
    for package in COMPILED:
        compileall.compile_dir(ROOT / package, quiet=1)  # as pip does for installed packages
    with contextlib.ExitStack() as stack:
        for candidate in chosen:
            stack.callback(candidate.close)
            candidate.prepare()
        results = Results(
            machine(fills_page_cache=False),
            {candidate.name: candidate.what() for candidate in chosen},
            rounds,
        )
        stack.callback(results.save, path)
        Rounds(chosen, results).run(rounds, say)
    return results


if __name__ == "__main__":
    sys.exit(main())
